"""An argument that is left out has a value too: rules that forbid, or ask, are about the one that its schema names."""

from __future__ import annotations

import pytest

from executor import ToolCall, ToolExecutor
from executor_permissions import PermissionPlugin
from executor_permissions.judge.rules._defaults import defaults_of


def deploy(target: str = "prod", *, dry_run: bool = False, force: bool = False) -> str:
    return f"{target} {dry_run} {force}"


@pytest.fixture
def kind_of(tmp_path):
    opened = []

    def ask(policy, args, answer=lambda _: "no", tool=deploy):
        plugin = PermissionPlugin(
            policy=policy, project_root="/proj", home="/home/me", state_dir=tmp_path / "state", channel=answer
        )
        executor = ToolExecutor(permission_plugin=plugin)
        opened.append(executor)
        executor.register("deploy", tool)
        return executor.call(ToolCall("1", "deploy", args)).kind

    yield ask
    for executor in opened:
        executor.shutdown()


@pytest.mark.parametrize(
    ("rules", "args", "kind"),
    [
        ({"patterns": ["deploy(target=prod)"]}, {}, "denied"),
        ({"patterns": ["deploy(target=prod)"]}, {"dry_run": True}, "denied"),
        ({"patterns": ["deploy(target=prod)"]}, {"target": "dev"}, "ok"),
        ({"patterns": ["deploy(dry_run=false)"]}, {"target": "dev"}, "denied"),
        ({"patterns": ["deploy(dry_run=false)"]}, {"dry_run": True}, "ok"),
        ({"patterns": ["deploy(target=prod, dry_run=false)"]}, {}, "denied"),
        ({"patterns": ["deploy(target=prod, dry_run=false)"]}, {"dry_run": True}, "ok"),
        ({"arguments": {"deploy": {"target": ["prod"]}}}, {}, "denied"),
        ({"arguments": {"deploy": {"target": ["prod"]}}}, {"target": "dev"}, "ok"),
        ({"patterns": ["deploy(*force*)", "*prod*"]}, {}, "ok"),  # names, and rules about whatever is in the call
    ],
)
def test_what_forbids_a_value_is_about_the_default_of_an_argument(kind_of, rules, args, kind):
    assert kind_of({"defaultPolicy": "allow", "blacklist": rules}, args) == kind
    assert kind_of({"defaultPolicy": "allow", "ask": rules}, args) == kind


def test_what_allows_a_value_needs_it_to_be_given(kind_of):
    policy = {"whitelist": {"patterns": ["deploy(target=prod)"]}}
    assert kind_of(policy, {}) == "denied"
    assert kind_of(policy, {"target": "prod"}) == "ok"


def test_what_is_forbidden_while_somebody_is_asked_is_about_defaults_as_well(tmp_path):
    def forbid_and_allow(_):
        plugin.session.deny("deploy(target=prod)")
        return "yes"

    plugin = PermissionPlugin(
        policy={}, project_root="/proj", home="/home/me", state_dir=tmp_path, channel=forbid_and_allow
    )
    with ToolExecutor(permission_plugin=plugin) as executor:
        executor.register("deploy", deploy)
        assert executor.call(ToolCall("1", "deploy", {})).kind == "denied"


@pytest.mark.parametrize("schema", [True, {"type": "object"}, {"properties": {"target": True, "dry_run": {}}}])
def test_a_schema_without_defaults_has_none(tmp_path, schema):
    plugin = PermissionPlugin(
        policy={"defaultPolicy": "allow", "blacklist": {"patterns": ["deploy(target=prod)"]}}, state_dir=tmp_path
    )
    with ToolExecutor(permission_plugin=plugin) as executor:
        executor.register("deploy", lambda args: str(args), schema=schema)
        assert executor.call(ToolCall("1", "deploy", {})).kind == "ok"


PROD = {"default": "prod"}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"target": {"$ref": "#/$defs/To"}}, "$defs": {"To": PROD}},
        {"properties": {"target": {"$ref": "#/components/schemas/a~1b"}}, "components": {"schemas": {"a/b": PROD}}},
        {"properties": {"target": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/B"}, "B": PROD}},
        {"properties": {"target": {"allOf": [PROD]}}},
        {"properties": {"target": {"anyOf": [{"type": "null", "default": None}, {"type": "string", **PROD}]}}},
        {"allOf": [{"properties": {"target": PROD}}]},
        {"$ref": "#/$defs/All", "$defs": {"All": {"properties": {"target": PROD}}}},
        {"if": {}, "then": {"properties": {"target": PROD}}},
        {"default": {"target": "prod"}},
    ],
)
def test_a_default_counts_wherever_the_schema_has_it(tmp_path, schema):
    policy = {"defaultPolicy": "allow", "blacklist": {"patterns": ["deploy(target=prod)"]}}
    with ToolExecutor(permission_plugin=PermissionPlugin(policy=policy, state_dir=tmp_path)) as executor:
        executor.register("deploy", lambda args: str(args), schema=schema)
        assert executor.call(ToolCall("1", "deploy", {})).kind == "denied"
        assert executor.call(ToolCall("2", "deploy", {"target": "dev"})).kind == "ok"


def test_a_default_of_its_own_comes_before_that_of_what_it_refers_to():
    schema = {
        "properties": {"target": {"$ref": "#/$defs/To", "default": "dev"}, "a": {"$ref": "#/no"}, "b": {"$ref": "#"}},
        "$defs": {"To": PROD},
    }
    assert defaults_of(schema) == {"target": "dev"}


def test_a_schema_that_has_no_end_has_some_defaults():
    circle = {"allOf": []}
    circle["allOf"] = [circle, {"properties": {"a": circle, "b": PROD}}]
    assert defaults_of(circle) == {"b": "prod"}
    many = {"properties": {f"a{i}": {"$ref": "#/$defs/To"} for i in range(5000)}, "$defs": {"To": PROD}}
    assert 0 < len(defaults_of(many)) < 5000
