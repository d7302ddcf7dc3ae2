"""Rules that forbid an option with a value, or a file, in whatever way that is given."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions import Policy


def verdict(tmp_path, rule, command):
    value = {"defaultPolicy": "allow", "blacklist": {"patterns": [rule]}}
    decision = Policy.from_dict(value, project_root=tmp_path).decide("runCommand", {"command": command})
    assert decision.method != "error", decision.reason
    return decision.verdict


@pytest.mark.parametrize(
    ("rule", "same", "others"),
    [
        ("kubectl --context prod *", ["kubectl --context=prod get x", "kubectl get x --context prod", "kubectl get --context='prod' x", "timeout 5 kubectl get x --context=prod"],
         ["kubectl --context=dev get prod", "kubectl get x --context production"]),
        ("kubectl * --context prod *", ["kubectl --context=prod get x", "kubectl get x --context=prod"], ["kubectl get x --context=dev"]),
        ("kubectl -n prod *", ["kubectl -n=prod get x", "kubectl -nprod get x", "kubectl --namespace=prod get x", "kubectl get x --namespace prod"], ["kubectl -n dev get x"]),
        ("kubectl --namespace=prod *", ["kubectl -nprod get x", "kubectl --namespace prod get x", "kubectl get x -n prod"], ["kubectl get x -n dev"]),
        ("docker run --network host *", ["docker run --network=host x", "docker container run --rm --network=host x"], ["docker run --network=none x", "docker ps --network=host"]),
        ("docker run -v /:* *", ["docker run -v/:/x y", "docker run --volume=/:/x y", "docker run --rm -v=/:/x y"], ["docker run -v .:/x y"]),
        ("curl -X DELETE *", ["curl -XDELETE x", "curl -sXDELETE x", "curl -sX DELETE x", "curl --request=DELETE x", "curl x --req DELETE"], ["curl -XGET x"]),
        ("tar -C / *", ["tar -C/ -xf a", "tar --directory=/ -xf a", "tar -xf a -C /"], ["tar -C src -xf a"]),
        ("deploy --env prod --now", ["deploy --env=prod --now", "deploy --now --env=prod"], ["deploy --env=prod", "deploy --env=dev --now"]),
        ("deploy --env prod", ["deploy --env=prod"], ["deploy --env=dev", "deploy prod"]),
    ],
)  # fmt: skip
def test_a_forbidden_value_of_an_option_is_found_wherever_and_however_it_is_given(tmp_path, rule, same, others):
    assert {command: verdict(tmp_path, rule, command) for command in same} == dict.fromkeys(same, "deny")
    assert {command: verdict(tmp_path, rule, command) for command in others} == dict.fromkeys(others, "allow")


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("cat *.env*", "cat < .env", "ask"),
        ("cat *.env*", "timeout 5 cat - < ./.env", "ask"),
        ("cat *.env*", "bash -c 'cat < .env'", "ask"),
        ("less .env", "less 0< .env", "ask"),
        ("cat *.env*", "cat < a", "allow"),
        ("cat *.env*", "cat a > .env", "allow"),
    ],
)
def test_a_file_that_a_rule_forbids_for_a_program_is_asked_about_as_its_input(tmp_path, rule, command, expected):
    assert verdict(tmp_path, rule, command) == expected


def test_two_letters_of_a_sub_command_of_npm_are_enough(tmp_path):
    assert verdict(tmp_path, "npm publish *", "npm pu") == "deny"
