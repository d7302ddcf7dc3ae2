"""What a docstring says of each parameter reaches the schema; the rest is the description."""

from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from executor import ToolExecutor, tool
from executor.tools._docstring import read_docs


def google(query: str, limit: int = 10) -> dict:
    """Find things.

    Looks in all
    of the index.

    Args:
        query: What to look for,
            in words.
        limit (int): How many at most.

    Returns:
        What was found.
    """


def numpy(query: str, limit: int = 10) -> dict:
    """Find things.

    Looks in all
    of the index.

    Parameters
    ----------
    query : str
        What to look for,
        in words.
    limit : int, optional
        How many at most.

    Returns
    -------
    dict
        What was found.
    """


def sphinx(query: str, limit: int = 10) -> dict:
    """Find things.

    Looks in all
    of the index.

    :param query: What to look for,
        in words.
    :param int limit: How many at most.
    :type query: str
    :returns: What was found.
    """


def registered(fn, **options):
    with ToolExecutor() as executor:
        return executor.register(fn, **options)


def texts(made):
    return {name: part.get("description") for name, part in made.input_schema["properties"].items()}


@pytest.mark.parametrize("fn", [google, numpy, sphinx])
def test_each_style_gives_its_parameters_to_the_schema_and_the_rest_to_the_description(fn):
    made = registered(fn)
    assert texts(made) == {"query": "What to look for, in words.", "limit": "How many at most."}
    assert made.description.startswith("Find things.\n\nLooks in all\nof the index.\n\n")
    assert "What was found." in made.description
    assert "How many" not in made.description
    assert "\n\n\n" not in made.description


def test_a_text_of_its_own_wins_over_the_docstrings():
    def find(query: Annotated[str, Field(description="own")], limit: int = 10):
        """Find.

        Args:
            query: docstring's
            limit: docstring's too
        """

    assert texts(registered(find)) == {"query": "own", "limit": "docstring's too"}


def test_a_description_of_its_own_leaves_the_texts_of_the_parameters():
    made = registered(google, description="mine")
    assert made.description == "mine"
    assert texts(made)["limit"] == "How many at most."


def test_where_there_is_no_place_for_parameters_the_docstring_stays_whole():
    def takes_mapping(args):
        """Find.

        Args:
            args: Has a query.
        """

    assert "Has a query." in registered(takes_mapping).description
    assert "How many at most." in registered(google, schema={"type": "object"}).description


class Box:
    def find(self, query: str) -> str:
        """Find.

        Args:
            query: What to look for.
        """
        return query

    async def put(self, thing: list[str]):
        """
        Put.

        :param thing: What to put.
        """


def test_the_methods_of_a_toolbox_are_read_too():
    with ToolExecutor() as executor:
        find, put = executor.register_toolbox(Box(), prefix="box_")
    assert (find.description, texts(find)) == ("Find.", {"query": "What to look for."})
    assert (put.description, texts(put)) == ("Put.", {"thing": "What to put."})


ODD = [
    "Args:",
    "Args:\n    nobody: Somebody else's.",
    "Args:\n    query: mine\n    nobody: not mine",
    "Find.\n\nArgs:\nquery without an indent",
    "Find.\n\nParameters\n----------\n",
    "Find.\n\n:param\n:param :\n:param query",
    "Find.\n\n:param query: one\n:param query: two",
    "@param query\n@param",
    "Returns:\n    Args:\n        query",
    "Args:\n" + "    " * 50 + "query: deep",
    "Args:\n    query: " + "x" * 5000,
]


@pytest.mark.parametrize("doc", ODD)
def test_an_odd_docstring_is_no_obstacle(doc):
    def find(query: str):
        pass

    find.__doc__ = doc
    made = registered(find)
    text = texts(made)["query"]
    assert made.description == read_docs(find).whole if text is None else text not in made.description


@given(st.text(alphabet="Args:Parmetsnqu@\n -():x", max_size=120))
def test_any_docstring_can_be_read(doc):
    def find(query: str):
        pass

    find.__doc__ = doc
    docs = read_docs(find)
    assert docs.parameters or docs.description == docs.whole
    assert docs.parameters.keys() <= {"query"}


def test_a_decorated_tool_has_them_as_well():
    made = tool("find")(google)
    assert "How many" not in made.description
    assert texts(registered(made))["limit"] == "How many at most."
