"""Rules that people's answers have made hold in the folders that their commands were asked about in."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import json

import pytest

from executor import ToolCall
from executor_permissions import PermissionPlugin
from executor_permissions.store._grants import Grant

POLICY = {"defaultPolicy": "ask", "whitelist": {"patterns": ["cd *"]}}


class Person:
    """Gives one answer after another."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, approval):
        self.asked.append(approval)
        return self.answers.pop(0) if self.answers else "no"


@pytest.fixture
def make(tmp_path):
    """Makes a plugin that asks a `Person`."""

    def make(*answers):
        person = Person(*answers)
        settings = {"project_root": tmp_path, "home": tmp_path, "state_dir": tmp_path / "state"}
        return PermissionPlugin(policy=POLICY, channel=person, **settings), person

    return make


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("src", "sub"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answered(plugin, **args):
    return plugin.decide(ToolCall("c", "runCommand", args)).verdict


@pytest.mark.parametrize("scope", ["always", "always project", "always user"])
@pytest.mark.parametrize("command", ["rm a", "python x.py", "./build.sh", "make deploy"])
def test_what_is_always_allowed_in_a_folder_is_so_there_however_it_is_entered(make, project, command, scope):
    plugin, person = make(scope)
    assert plugin.check_permission("runCommand", {"command": f"cd src && {command}"})[0]
    assert "always holds in: ${project}/src\n" in person.asked[0].text
    plugins = [plugin] if scope == "always" else [plugin, make()[0]]  # another process reads it from the file
    for one in plugins:
        for args in (
            {"command": f"cd src && {command}"},
            {"command": f"(cd ./src && {command})"},
            {"command": command, "cwd": "src"},
        ):
            assert answered(one, **args) == "allow", args
        (project / "link").unlink(missing_ok=True)
        (project / "link").symlink_to("src")
        assert answered(one, command=f"cd link && {command}") == "allow"
        for args in ({"command": command}, {"command": command, "cwd": "sub"}, {"command": f"cd sub && {command}"}, {"command": f"cd src && cd .. && {command}"},
                     {"command": f"cd $X && {command}"}, {"command": f"cd src; {command}"}, {"command": command, "cwd": "src/.."}):  # fmt: skip
            assert answered(one, **args) != "allow", args


@pytest.mark.parametrize(
    ("command", "others"),
    [
        ("make -n deploy", ["make deploy", "make -j4 deploy", "make"]),
        ("make -n", ["make", "make -k"]),
        ("tox -l", ["tox", "tox -e py"]),
        ("apt-get -s remove x", ["apt-get remove x", "apt-get -y remove x"]),
        ("node --check x.js", ["node x.js"]),
        ("make deploy", ["make -B deploy"]),
        ("helm upgrade a ./b", ["helm --kube-context prod upgrade a ./b"]),
    ],
)
def test_options_in_front_that_change_what_a_command_does_belong_to_what_is_remembered(make, project, command, others):
    plugin, _ = make("always")
    assert plugin.check_permission("runCommand", {"command": command})[0]
    assert answered(plugin, command=command) == "allow"
    for other in others:
        assert answered(plugin, command=other) == "ask", other


def test_what_a_whole_sub_command_was_allowed_for_and_what_is_never_allowed_hold_anywhere(make, project):
    plugin, _ = make("always", "never")
    assert plugin.check_permission("runCommand", {"command": "cd src && git log -3"})[0]
    assert answered(plugin, command="git log -5") == "allow"
    plugin.check_permission("runCommand", {"command": "rm a", "cwd": "src"})
    assert answered(plugin, command="rm a") == "deny"


def test_grants_of_a_project_hold_in_its_folders_wherever_it_was_moved(tmp_path):
    def made(name, *answers):
        (tmp_path / name / "src").mkdir(parents=True)
        settings = {"project_root": tmp_path / name, "home": tmp_path, "state_dir": tmp_path / "state"}
        return PermissionPlugin(policy=POLICY, channel=Person(*answers), **settings)

    args = {"command": "rm a", "cwd": str(tmp_path / "one" / "src")}
    assert made("one", "always user").check_permission("runCommand", args)[0]
    assert answered(made("two"), command="rm a", cwd=str(tmp_path / "two" / "src")) == "allow"
    assert answered(made("three"), command="rm a", cwd=str(tmp_path / "three")) == "ask"


def test_an_older_grant_without_a_folder_holds_anywhere(make, project):
    (project / "state").mkdir(mode=0o700)
    told = Grant(id="1", tool="runCommand", verdict="allow", kind="shell", rule="rm a", scope="user").to_dict()
    del told["folders"]
    (project / "state" / "grants.json").write_text(json.dumps({"version": 1, "grants": [told]}))
    (project / "state" / "grants.json").chmod(0o600)
    assert answered(make()[0], command="cd src && rm a") == "allow"


FED = ["cat a | {}", "{} < a", "{} <<< x", "{{ {}; }} < a", "exec < a; {}", "cat a | timeout 5 {}", "cat a | bash -c '{}'", "while read -r l; do {}; done < a", "cat a | xargs -I% {}"]  # fmt: skip


@pytest.mark.parametrize("command", ["at now", "npx tsx", "kubectl apply -f -", "git update-ref --stdin", "mytool"])
def test_a_command_that_is_always_allowed_is_asked_about_where_it_is_sent_something(make, project, command):
    (project / "a").write_text("a")
    plugin, person = make("always")
    assert plugin.check_permission("runCommand", {"command": command})[0]
    assert person.asked[0].offered_rule == command
    for form in (command, f"timeout 5 {command}", f"{command} >/dev/null"):
        assert answered(plugin, command=form) == "allow", form
    for form in FED:
        assert answered(plugin, command=form.format(command)) != "allow", form


def test_a_command_that_is_sent_something_is_remembered_with_what_it_is_sent(make, project):
    (project / "a").write_text("a")
    plugin, person = make("yes", "always")
    assert plugin.check_permission("runCommand", {"command": "mytool"})[0]
    assert plugin.check_permission("runCommand", {"command": "echo x | mytool"})[0]
    assert person.asked[1].offered_rule == "runCommand with exactly these arguments"
    assert answered(plugin, command="echo x | mytool") == "allow"
    assert answered(plugin, command="echo y | mytool") == answered(plugin, command="mytool") == "ask"


def test_what_only_reads_may_be_sent_anything(make, project):
    plugin, person = make("always")
    assert plugin.check_permission("runCommand", {"command": "docker logs x"})[0]
    assert person.asked[0].offered_rule == "docker logs *"
    assert answered(plugin, command="docker logs y <<< z") == "allow"


@pytest.mark.parametrize(
    "args",
    [
        {"dest_path": "src/a.py"},
        {"notebook": "a.py"},
        {"what": {"files": [{"into": "./src/a.py"}]}},
        {"line": "--out=src/a.py"},
        {"text": '{"where": "src/a.py"}'},
    ],
)
def test_always_for_one_call_of_a_foreign_tool_is_about_the_files_of_then_whatever_their_arguments_are_called(
    tmp_path, monkeypatch, args
):
    for name in ("one", "two"):
        (tmp_path / name / "src").mkdir(parents=True)
        for file in ("a.py", "src/a.py"):
            (tmp_path / name / file).touch()

    def plugin(project, answer="no"):
        monkeypatch.chdir(tmp_path / project)
        places = {"project_root": tmp_path / project, "home": tmp_path, "state_dir": tmp_path / "state"}
        return PermissionPlugin(policy=POLICY, channel=Person(answer), **places)

    def verdict(project):
        return plugin(project).decide(ToolCall("c", "mcp__fs__do", args)).verdict

    assert plugin("one", "always user").check_permission("mcp__fs__do", args)[0]
    assert (verdict("one"), verdict("two")) == ("allow", "ask")


@pytest.mark.parametrize("args", [{"city": "Oslo"}, {"url": "https://example.org/a"}, {"query": "how to say yes"}, {}])
def test_always_for_one_call_that_names_no_file_holds_everywhere(tmp_path, monkeypatch, args):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        places = {"project_root": tmp_path / name, "home": tmp_path, "state_dir": tmp_path / "state"}
        plugin = PermissionPlugin(policy=POLICY, channel=Person("always user" if name == "one" else "no"), **places)
        assert plugin.check_permission("mcp__web__ask", args)[0], name
