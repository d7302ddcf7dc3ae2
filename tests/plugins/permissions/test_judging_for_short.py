"""`Policy.decide` takes what is known of a call as one value, and the two that are known most often by name."""

from executor_permissions import CallInfo, Policy


def test_the_folder_and_the_kinds_of_arguments_may_be_given_by_name(tmp_path):
    policy = Policy.from_dict({"whitelist": {"patterns": ["ls *"]}}, project_root=str(tmp_path))
    kinds = {"p": "shell"}
    assert policy.decide("d", {"p": "ls"}).verdict == "ask"
    assert policy.decide("d", {"p": "ls"}, argument_kinds=kinds) == policy.decide(
        "d", {"p": "ls"}, CallInfo(kinds=kinds)
    )
    assert policy.decide("d", {"p": "ls"}, argument_kinds=kinds).verdict == "allow"

    inside = Policy.from_dict(
        {"whitelist": {"arguments": {"readFile": {"path": ["${project}/"]}}}}, project_root=str(tmp_path)
    )
    assert inside.decide("readFile", {"path": "a"}, cwd=str(tmp_path)).verdict == "allow"
    assert inside.decide("readFile", {"path": "a"}, cwd=str(tmp_path.parent)).verdict == "ask"
    assert inside.decide("readFile", {"path": "a"}, CallInfo(str(tmp_path)), cwd=str(tmp_path.parent)).verdict == "ask"
