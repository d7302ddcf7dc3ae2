"""Tools that are called like others, in a namespace or with a version, are kept from what these are."""

from __future__ import annotations

import pytest

from executor_permissions import Policy

OTHERS = ["ns:{}", "ns:{}:2", "runCommandx:{}:1.0"]
KEPT = [
    ("runCommand", {"patterns": ["rm -rf *"]}, {"command": "rm -fr x"}),
    ("runCommand", {"patterns": ["rm -rf *"]}, {"command": "ls && rm -rf x"}),
    ("runCommand", {"patterns": ["*secret*"]}, {"command": "cat a/secret"}),
    ("sh_tool", {"patterns": ["rm -rf *"]}, {"command": "sudo rm -r -f x"}),
    ("by_kind", {"patterns": ["rm -rf *"]}, {"line": "rm -rf x"}),
    ("by_list", {"patterns": ["rm -rf *"]}, {"words": ["rm", "-rf", "x"]}),
    ("writeFile", {"arguments": {"writeFile": {"path": ["/proj/a/"]}}}, {"path": "/proj/b/../a/x", "content": ""}),
    ("readFile", {"patterns": ["readFile(path=/proj/.env)"]}, {"path": "/proj/./.env"}),
    ("delete_all", {"tools": ["delete_all"]}, {}),
    ("delete_all", {"patterns": ["delete*"]}, {}),
]
FREE = [
    ("runCommand", {"patterns": ["ls *"]}, {"command": "ls -a"}),
    ("sh_tool", {"patterns": ["ls *"]}, {"command": "ls -a"}),
    ("by_kind", {"patterns": ["ls *"]}, {"line": "ls -a"}),
    ("readFile", {"arguments": {"readFile": {"path": ["${project}/"]}}}, {"path": "/proj/a"}),
    ("get_time", {"tools": ["get_time"]}, {}),
]


def policy(default: str, **sections: object) -> Policy:
    value = {
        "defaultPolicy": default,
        "shellTools": ["sh_tool"],
        "argumentKinds": {"by_kind": {"line": "shell"}, "by_list": {"words": "argv"}},
        **sections,
    }
    return Policy.from_dict(value, project_root="/proj", home="/home/me")


@pytest.mark.parametrize("section", ["blacklist", "ask"])
@pytest.mark.parametrize(("tool", "rules", "args"), KEPT)
def test_what_forbids_or_asks_is_about_every_tool_of_that_name(section, tool, rules, args):
    judged = policy("allow", **{section: rules})
    verdicts = {judged.decide(name.format(tool), args).verdict for name in ("{}", *OTHERS)}
    assert verdicts == {"deny" if section == "blacklist" else "ask"}
    assert policy("allow").decide(tool, args).verdict == "allow"


@pytest.mark.parametrize(("tool", "rules", "args"), FREE)
def test_what_allows_is_about_the_one_of_that_very_name(tool, rules, args):
    judged = policy("ask", whitelist=rules)
    assert judged.decide(tool, args).verdict == "allow"
    assert [judged.decide(name.format(tool), args).verdict for name in OTHERS] == ["ask"] * len(OTHERS)


def test_the_whole_of_such_a_tool_is_allowed_by_its_own_name():
    judged = policy("ask", whitelist={"tools": ["ns:runCommand"]}, blacklist={"patterns": ["rm *"]})
    verdicts = [judged.decide("ns:runCommand", {"command": command}).verdict for command in ("ls", "rm x")]
    assert verdicts == ["allow", "deny"]
