"""Rules that forbid look at what a text of JSON holds, for tools that read such texts; and at words in brackets."""

from __future__ import annotations

import json
import time

import pytest

from executor_permissions import Policy
from executor_permissions.judge.rules._json_texts import MOST

RULES = {
    "patterns": ["fs(path=/etc/**)", "send(to=boss@x.com)", "*secret*", "get(url=https://prod.x.com/*)"],
    "arguments": {"merge": {"repo": ["prod"]}},
}


def escaped(text: str) -> str:
    """As JSON may spell each of its letters."""
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


@pytest.fixture(scope="module")
def policy():
    return Policy.from_dict({"defaultPolicy": "allow", "blacklist": RULES}, project_root="/proj", home="/home/me")


@pytest.mark.parametrize(
    ("tool", "name", "value"),
    [
        ("fs", "path", "/etc/passwd"),
        ("send", "to", "boss@x.com"),
        ("note", "any", "my secret"),
        ("get", "url", "https://prod.x.com/a"),
        ("merge", "repo", "prod"),
    ],
)
@pytest.mark.parametrize("spell", ['["{}"]', ' {{"a": {{"b": ["{}"]}}}}', '"{}"', "nested"])
def test_what_is_forbidden_is_so_in_a_text_of_json(policy, tool, name, value, spell):
    for each in (value, escaped(value)):
        text = json.dumps([json.dumps({"a": value})]) if spell == "nested" else spell.format(each)
        assert policy.decide(tool, {name: text}).verdict == "deny", text
        assert policy.decide(tool, {name: [text]}).verdict == "deny", text


def test_the_policys_own_files_in_a_text_of_json_are_for_a_person(policy):
    text = '["' + escaped("/proj/.toolexec/permissions.json") + '"]'
    decision = policy.decide("anything", {"paths": text})
    assert (decision.verdict, decision.maybe_denied) == ("ask", True)
    allowed = Policy.from_dict({"whitelist": {"tools": ["anything"]}}, project_root="/proj")
    assert allowed.decide("anything", {"paths": text}).verdict == "ask"
    assert allowed.decide("anything", {"paths": '["/proj/a"]'}).verdict == "allow"


def test_our_own_tools_read_no_such_text(policy):
    args = {"path": "/proj/settings.json", "content": '{"files.exclude": {".toolexec": true}}'}
    assert policy.decide("writeFile", args).verdict == "allow"


@pytest.mark.parametrize("to", ["Boss <boss@x.com>", "(boss@x.com)", '"boss@x.com"', "a@x.com, <BOSS@x.com>"])
def test_a_word_that_is_put_into_brackets_or_quotes_is_that_word(policy, to):
    assert policy.decide("send", {"to": to}).verdict == "deny"


def test_blanks_between_words_are_as_many_as_one_likes():
    policy = Policy.from_dict({"defaultPolicy": "allow", "blacklist": {"patterns": ["exec(*rm -rf*)"]}})
    assert policy.decide("exec", {"line": "ls; rm \t -rf x"}).verdict == "deny"


def test_a_text_that_holds_more_than_is_looked_at_may_be_what_is_forbidden(policy):
    text = json.dumps(["my secret", *["a"] * MOST]).replace("secret", escaped("secret"))
    assert policy.decide("note", {"any": text}).verdict == "ask"


@pytest.mark.parametrize("text", ["[" * 60_000, '"' * 60_000, json.dumps([f"/x{i}" for i in range(6_000)]), '["\\"['])
def test_such_texts_are_judged_soon(policy, text):
    started = time.perf_counter()
    policy.decide("fs", {"path": text})
    assert time.perf_counter() - started < 0.5
