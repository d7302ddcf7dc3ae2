"""URLs, home folders, repeated arguments, nested scripts and redirections: each case tells two readings apart."""

from __future__ import annotations

import pytest

from executor.errors import PermissionConfigError
from executor_permissions import Policy


@pytest.fixture
def policy(tmp_path):
    """Makes policies for a project with two folders, and a home that is not the user's."""
    for name in ("src", "keys", "home"):
        (tmp_path / name).mkdir()

    def policy(**value):
        return Policy.from_dict(value, project_root=tmp_path, home=tmp_path / "home")

    return policy


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("https://example.com/a", "allow"),
        ("https://Example.com:443/a", "allow"),
        ("https://example.com/b", "ask"),
        ("https://example.com:444/a", "ask"),
    ],
)
def test_a_url_is_allowed_in_whatever_way_the_rule_spells_its_host_and_port(policy, url, verdict):
    allowing = policy(whitelist={"arguments": {"fetch": {"url": ["https://EXAMPLE.com:443/a"]}}})
    assert allowing.decide("fetch", {"url": url}).verdict == verdict


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("https://evil.com/a", "deny"),
        ("HTTPS://u@EVIL.com:443/a", "deny"),  # another spelling of the whole
        ("https://evil.net/x", "deny"),
        ("https://EVIL.net/x", "deny"),  # only its normal form fits the pattern
        ("http://evil.org:80/x", "deny"),  # only its text fits the pattern
        ("https://good.com/a", "allow"),
        ("no address at all", "ask"),  # where it leads is for its tool to say
    ],
)
def test_a_blacklisted_url_is_caught_in_its_text_and_in_its_normal_form(policy, url, verdict):
    rules = ["https://evil.com/a", "https://evil.net/**", "http://evil.org:80/**"]
    denying = policy(defaultPolicy="allow", blacklist={"patterns": [f"fetch(url={rule})" for rule in rules]})
    assert denying.decide("fetch", {"url": url}).verdict == verdict


def test_a_pattern_that_names_an_argument_twice_is_refused(policy):
    with pytest.raises(PermissionConfigError, match="the argument 'a' stands twice"):
        policy(whitelist={"patterns": ["tool(a=1, a=2)"]})


@pytest.mark.parametrize(
    ("tool", "path", "verdict"),
    [
        ("readFile", "~/notes/a", "allow"),
        ("readFile", "~/other", "ask"),
        ("readFile", "notes/a", "ask"),
        ("readFile", "src/a", "allow"),
        ("listFiles", "~", "allow"),
        ("listFiles", "~/other", "allow"),
        ("listFiles", "~other", "ask"),
        ("listFiles", ".", "ask"),
    ],
)
def test_a_tilde_is_the_home_that_the_policy_was_given(policy, tool, path, verdict):
    rules = {"readFile": {"path": ["~/notes/", "${project}/src/"]}, "listFiles": {"path": ["~/"]}}
    assert policy(whitelist={"arguments": rules}).decide(tool, {"path": path}).verdict == verdict


def test_a_script_within_wrappers_is_read_to_the_last_level_and_asked_about_beyond_it(policy):
    denying = policy(defaultPolicy="allow", blacklist={"patterns": ["rm *"]})

    def verdict(outside, inside):
        command = f"{'env ' * outside}bash -c '{'env ' * inside}rm x'"
        return denying.decide("runCommand", {"command": command}).verdict

    assert [verdict(*levels) for levels in ((0, 0), (5, 3), (4, 4))] == ["deny"] * 3
    assert [verdict(*levels) for levels in ((5, 4), (4, 5), (1, 60), (60, 1))] == ["ask"] * 4


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("echo x > src/a", "allow"),
        ("cd src && echo x > a", "allow"),
        ("cd src; echo x > a", "ask"),  # where it leads is only known if cd succeeds
        ("echo x > keys/a", "deny"),
        ("cd src && echo x > ../keys/a", "deny"),
        ("echo x > other", "ask"),
        ("cd src && echo x > ../other", "ask"),
    ],
)
def test_a_redirection_is_judged_as_the_file_tool_and_asked_about_after_cd(policy, command, verdict):
    writing = policy(
        whitelist={"patterns": ["cd *", "echo *"], "arguments": {"writeFile": {"path": ["${project}/src/"]}}},
        blacklist={"arguments": {"writeFile": {"path": ["${project}/keys/"]}}},
    )
    assert writing.decide("runCommand", {"command": command}).verdict == verdict


@pytest.mark.parametrize(
    ("rule", "one", "several"),
    [
        ("send(to=*@x.com)", ["ann@x.com", "ann.b+c@x.com"],
         ["a@evil.com,b@x.com", "a@evil.com; b@x.com", "Eve <a@evil.com> b@x.com", '"a@evil.com"b@x.com']),
        ("send(*@x.com)", ["ann@x.com"], ["a@evil.com,b@x.com", "a@evil.com b@x.com"]),
        ("send(to=logs-*)", ["logs-a", "logs-a b"], ["logs-a,secret", "logs-a;secret", "logs-a|x", "logs-a\nx"]),
        ("send(to=logs-*,logs-*)", ["logs-a,logs-b"], ["logs-a,logs-b,secret"]),
        ("send(to=Hello *)", ["Hello you, there; a|b @all"], []),
        ("send(to=*)", ["Hello you, there; a|b @all"], []),
    ],
)  # fmt: skip
def test_a_wildcard_in_a_rule_about_one_thing_covers_no_list_of_several(policy, rule, one, several):
    allowing = policy(whitelist={"patterns": [rule]})
    assert [allowing.decide("send", {"to": value}).verdict for value in one] == ["allow"] * len(one)
    assert [allowing.decide("send", {"to": value}).verdict for value in several] == ["ask"] * len(several)
