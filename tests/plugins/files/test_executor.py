"""The file tools as an assistant uses them: through an executor and its registry."""

import threading

import pytest

from executor import PluginRegistry, ToolExecutor, current_call
from executor_files import _match
from executor_files._search import MAX_SEARCHED_BYTES
from executor_permissions import PermissionPlugin


@pytest.fixture
def executor(here, configured):
    registry = PluginRegistry(entry_points=False)
    registry.discover()
    registry.expose("files", {"root": str(here)})
    with ToolExecutor(registry=registry) as executor:
        yield executor


def test_a_file_is_written_edited_read_found_listed_and_deleted(here, executor):
    def run(name, **arguments):
        success, value = executor.execute(name, arguments)
        assert success, value
        return value

    run("writeFile", path="a/f", content="one\ntwo\n", create_parents=True)
    run("editFile", path="a/f", old_text="two", new_text="2")
    assert run("readFile", path="a/f", start_line=2)["content"] == "2\n"
    assert run("searchFiles", pattern=r"\d")["matches"] == [{"file": "a/f", "line": 2, "text": "2"}]
    assert [entry["path"] for entry in run("listFiles", recursive=True)["entries"]] == ["a", "a/f"]
    run("deleteFile", path="a/f")
    run("deleteFile", path="a")
    assert list(here.iterdir()) == []


def test_what_goes_wrong_says_what_to_do_next(executor):
    success, value = executor.execute("readFile", {"path": "no"})
    assert not success
    assert "look with listFiles" in value["error"]
    success, value = executor.execute("readFile", {"path": "no", "lines": 3})
    assert not success
    assert value["errors"]


def test_the_configuration_given_to_the_registry_holds(executor):
    success, value = executor.execute("readFile", {"path": "/etc/hosts"})
    assert not success
    assert "outside" in value["error"]


def test_an_endless_expression_keeps_no_other_call_from_running(here, executor, monkeypatch):
    (here / "f").write_text("a" * 1000 + "!")
    asked = threading.Event()
    asking = []
    ask = _match._Conversation._ask

    def noticed(conversation, request):
        asking.append(conversation._child)
        asked.set()
        return ask(conversation, request)

    monkeypatch.setattr(_match._Conversation, "_ask", noticed)
    answers = []
    search = threading.Thread(target=lambda: answers.append(executor.execute("searchFiles", {"pattern": "(a+)+$"})))
    search.start()
    assert asked.wait(10)
    assert executor.execute("readFile", {"path": "f"})[0]
    assert not answers
    asking[0].kill()
    search.join(10)
    assert "ended with code -9" in answers[0][1]["error"]


def test_what_the_gate_resolved_is_what_the_tool_opens(tmp_path):
    """A link that is swapped between the decision and the opening leads nowhere."""
    (tmp_path / "harmless").write_text("harmless")
    (tmp_path / "secret").write_text("secret")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "harmless")

    class Swapping:
        def check_permission(self, name, args, context, call_id):
            judged = current_call().resolve_path(args["path"])
            assert judged == tmp_path / "harmless"
            link.unlink()
            link.symlink_to(tmp_path / "secret")
            return True, {}

    registry = PluginRegistry(entry_points=False)
    registry.expose("files")
    with ToolExecutor(registry=registry, permission_plugin=Swapping()) as executor:
        success, value = executor.execute("readFile", {"path": str(link)})
        assert success
        assert value["content"] == "harmless"


def test_what_no_tool_may_read_is_neither_found_nor_listed(here, executor):
    files = ["a.txt", ".env", "keys/id", "src/b.txt", "src/c.pem", "open/d.txt"]
    for name in files:
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text("secret\n")
    arguments = {
        "readFile": {"path": ["${project}/.env", "${project}/keys/", "**/*.pem"]},
        "searchFiles": {"path": ["${project}/open/"]},
    }
    policy = {
        "blacklist": {"arguments": arguments},
        "whitelist": {"tools": ["readFile", "searchFiles", "listFiles"]},
    }
    plugin = PermissionPlugin(policy=policy, project_root=here, home=here / "home", state_dir=here / "state")
    executor.set_permission_plugin(plugin)
    success, found = executor.execute("searchFiles", {"pattern": "secret", "path": str(here)})
    assert success, found
    assert sorted(match["file"] for match in found["matches"]) == ["a.txt", "src/b.txt"]
    assert found["skipped"]["withheld"] == 4
    success, listed = executor.execute("listFiles", {"path": str(here), "recursive": True, "include_hidden": True})
    assert success, listed
    shown = {entry["path"] for entry in listed["entries"]}
    assert {"a.txt", "src", "src/b.txt", "open", "open/d.txt"} <= shown
    assert not shown & {".env", "keys", "keys/id", "src/c.pem"}
    assert listed["withheld"] >= 4
    assert [entry["tool"] for entry in plugin.audit()] == ["searchFiles", "listFiles"]


def test_what_is_told_of_a_file_that_no_tool_may_read_does_not_depend_on_its_content(here, executor):
    """Else a model reads it letter by letter: by patterns that match it, or do not."""
    arguments = {"readFile": {"path": ["${project}/.env"]}}
    policy = {"blacklist": {"arguments": arguments}, "whitelist": {"tools": ["searchFiles"]}}
    plugin = PermissionPlugin(policy=policy, project_root=here, home=here / "home", state_dir=here / "state")
    executor.set_permission_plugin(plugin)
    told = []
    for content in (b"TOKEN=a\n", b"TOKEN=b\n", b"\0", b"x" * (MAX_SEARCHED_BYTES + 1)):
        (here / ".env").write_bytes(content)
        for path in (".", ".env"):
            success, found = executor.execute("searchFiles", {"pattern": "^TOKEN=[a]", "path": str(here / path)})
            assert success, found
            told.append({name: value for name, value in found.items() if name not in ("path", "_permission")})
    assert told == [{"matches": [], "files_searched": 0, "truncated": False, "skipped": {"withheld": 1}}] * 8


def test_nothing_is_withheld_where_nobody_judges(here, executor):
    (here / "a").write_text("secret\n")
    _, found = executor.execute("searchFiles", {"pattern": "secret"})
    assert [match["file"] for match in found["matches"]] == ["a"]
    assert "skipped" not in found


@pytest.mark.parametrize(
    ("name", "more"), [("readFile", {}), ("deleteFile", {}), ("listFiles", {}), ("writeFile", {"content": ""})]
)
def test_a_relative_path_is_judged_from_the_root_folder_from_which_it_is_opened(
    here, executor, monkeypatch, name, more
):
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    (here / "kept").mkdir()
    policy = {"defaultPolicy": "allow", "blacklist": {"arguments": {name: {"path": [f"{here}/kept/"]}}}}
    executor.set_permission_plugin(PermissionPlugin(policy=policy, home=here / "home", state_dir=here / "state"))
    success, value = executor.execute(name, {"path": "kept/../kept", **more})
    assert not success
    assert "forbids it" in value["error"]
