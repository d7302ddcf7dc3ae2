"""Blocks: MCP's shapes there and back, and blocks of servers that nobody understands."""

from __future__ import annotations

import pickle

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.values import Audio, Image, Link, Resource, Text, blocks_of
from executor.values._blocks import dicts_of, returned_blocks, text_of_blocks

PNG = b"\x89PNG\r\n\x1a\n"
EVERY = [
    Text("hello"),
    Text("for the user", annotations={"audience": ["user"], "priority": 0.5}),
    Image(PNG, "image/png"),
    Audio(b"RIFF", "audio/wav"),
    Resource("file:///a.txt", "text/plain", text="what it says"),
    Resource("file:///a.bin", blob=b"\0\1"),
    Link("https://example.org/a", "a", "A title", "About a", "text/html", 12),
    Link("https://example.org/b", "b"),
]


@pytest.mark.parametrize("block", EVERY, ids=repr)
def test_a_block_is_the_same_after_a_way_through_json_and_through_pickle(block):
    assert type(block).from_dict(block.to_dict()) == block
    assert blocks_of([block.to_dict()]) == (block,)
    assert pickle.loads(pickle.dumps(block)) == block
    assert hash(pickle.loads(pickle.dumps(block))) == hash(block)


@pytest.mark.parametrize("block", EVERY, ids=repr)
def test_the_sdk_of_mcp_reads_what_is_written_and_its_objects_are_read(block):
    kinds = {
        "text": mcp_types.TextContent,
        "image": mcp_types.ImageContent,
        "audio": mcp_types.AudioContent,
        "resource": mcp_types.EmbeddedResource,
        "resource_link": mcp_types.ResourceLink,
    }
    read = kinds[block.type].model_validate(block.to_dict())
    assert blocks_of([read]) == (block,)


def test_an_image_is_made_of_bytes_or_of_base64():
    image = Image(PNG, "image/png")
    assert Image("iVBORw0K\nGgo=", mime_type="image/png") == image
    assert Image(memoryview(PNG), "image/png") == image
    assert image.raw == PNG
    assert image.data == "iVBORw0KGgo="
    assert repr(image) == "Image(8 bytes, 'image/png')"
    assert str(image) == "[image: image/png, 8 bytes]"
    with pytest.raises(AttributeError):
        image.data = "else"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Image("no base64!", "image/png"), "not base64"),
        (lambda: Image(5, "image/png"), "data is int"),
        (lambda: Image(b"", ""), "mime_type"),
        (lambda: Audio(b"", None), "audio/"),
        (lambda: Resource("u"), "either text or a blob"),
        (lambda: Resource("u", text="a", blob=b"b"), "either text or a blob"),
        (lambda: Resource("u", blob="?"), "blob is not base64"),
        (lambda: Text.from_dict({"type": "text"}), "text is None"),
        (lambda: Link.from_dict({"name": "x"}), "uri is None"),
        (lambda: Resource.from_dict({"resource": "x"}), "object 'resource'"),
    ],
)
def test_what_is_no_block_is_an_error_that_says_why(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_a_block_that_is_not_understood_becomes_a_text_that_says_what_it_was():
    class Broken:
        type = "text"

        def model_dump(self, **_):
            raise RuntimeError("broken")

    read = blocks_of(
        [
            {"type": "video", "data": "x"},
            {"type": "image", "data": "!", "mimeType": "image/png"},
            {"type": "image", "data": "", "mime_type": "image/png"},
            {},
            7,
            None,
            Broken(),
            "plain",
            {"type": "text", "text": "t", "annotations": "nonsense"},
        ]
    )
    said = [block.text for block in read if isinstance(block, Text)]
    assert "unknown type 'video'" in said[0]
    assert "not base64" in said[1]
    assert read[2] == Image(b"", "image/png")
    assert "broken" in said[-3]
    assert read[-2:] == (Text("plain"), Text("t"))
    assert len(read) == 9


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.binary(),
        lambda s: (
            st.lists(s)
            | st.dictionaries(
                st.sampled_from(["type", "text", "data", "mimeType", "resource", "uri", "blob"]),
                s | st.sampled_from(["text", "image", "audio", "resource", "resource_link"]),
            )
        ),
    )
)
def test_whatever_a_server_sends_there_is_one_block_for_each(content):
    read = blocks_of(content)
    assert len(read) == (0 if content is None else len(content) if isinstance(content, list) else 1)
    assert blocks_of(dicts_of(read)) == read


def test_blocks_are_found_in_what_a_tool_returned():
    image = Image(PNG, "image/png")
    assert returned_blocks(image) == (image,)
    assert returned_blocks(["see:", image]) == (Text("see:"), image)
    assert returned_blocks((image, Text("x"))) == (image, Text("x"))
    for other in ("text", ["a", "b"], [], [image, 5], {"image": image}, None, (1, 2)):
        assert returned_blocks(other) is None


def test_the_text_of_blocks_says_what_is_not_text():
    text = text_of_blocks(blocks_of(["see:", *EVERY[2:]]))
    assert text.splitlines() == [
        "see:",
        "[image: image/png, 8 bytes]",
        "[audio: audio/wav, 4 bytes]",
        "what it says",
        "[resource: file:///a.bin, of an unknown type, 2 bytes]",
        "[link: A title: https://example.org/a (About a)]",
        "[link: b: https://example.org/b]",
    ]
