"""The file tools as an assistant uses them: through an executor and its registry."""

import os
import threading

import pytest

from executor import Decision, PluginRegistry, ToolCall, ToolExecutor, current_call, hookimpl
from executor_files import _match
from executor_files._search import MAX_SEARCHED_BYTES
from executor_permissions import PermissionPlugin

KEPT = {
    "blacklist": {"arguments": {"readFile": {"path": ["${project}/.env", "${project}/secrets/", "**/*.pem"]}}},
    "whitelist": {"tools": ["listFiles", "searchFiles"]},
}


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
    assert "skipped" not in found
    success, listed = executor.execute("listFiles", {"path": str(here), "recursive": True, "include_hidden": True})
    assert success, listed
    shown = {entry["path"] for entry in listed["entries"]}
    assert {"a.txt", "src", "src/b.txt", "open", "open/d.txt"} <= shown
    assert not shown & {".env", "keys", "keys/id", "src/c.pem"}
    assert set(listed) - {"_permission"} == {"path", "entries", "truncated"}
    assert [entry["tool"] for entry in plugin.audit()] == ["searchFiles", "listFiles"]


@pytest.fixture
def kept(here, executor):
    """A function that has the executor judge by a policy which keeps .env, secrets/ and all *.pem from readFile."""
    plugin = PermissionPlugin(policy=KEPT, project_root=here, home=here / "home", state_dir=here / "state")
    executor.set_permission_plugin(plugin)

    def told(name, **arguments):
        """What a call tells, or the error that it gives."""
        success, value = executor.execute(name, arguments)
        if not success:
            return value["error"]
        return {key: value[key] for key in value if key != "_permission"}

    return told


def test_what_is_told_of_a_file_that_no_tool_may_read_does_not_depend_on_its_content(here, kept):
    """Else a model reads it letter by letter: by patterns that match it, or do not."""
    told = []
    for content in (b"TOKEN=a\n", b"TOKEN=b\n", b"\0", b"x" * (MAX_SEARCHED_BYTES + 1)):
        (here / ".env").write_bytes(content)
        told += [kept("searchFiles", pattern="^TOKEN=[a]", path=str(here / path)) for path in (".", ".env")]
    assert told[0] == {"path": str(here), "matches": [], "files_searched": 0, "truncated": False}
    assert "may not be read, nor searched: the rule '${project}/.env'" in told[1]
    assert told == told[:2] * 4


_ALL = {"include_hidden": True, "recursive": True}
_LOOKS = [
    *(("listFiles", _ALL | {"pattern": each}) for each in ("*", ".e*", "k*", "secrets/**", "*.pem", "s*", "link*")),
    ("listFiles", _ALL | {"limit": 1}),
    *(("listFiles", {"path": each}) for each in (".env", "secrets", "secrets/key", "a.pem")),
    *(("searchFiles", {"pattern": "x", "path": each}) for each in (".env", "secrets", "secrets/key", "a.pem")),
    *(("searchFiles", {"pattern": "x", "glob": each}) for each in (None, "*.pem", "k*")),
    ("searchFiles", {"pattern": "x", "include_ignored": True}),
]


@pytest.mark.parametrize(("name", "arguments"), _LOOKS)
def test_what_no_tool_may_read_is_as_if_it_were_not_there(here, kept, name, arguments):
    """Else a model finds its name by patterns, and by the .gitignore files that it may write."""
    (here / ".git").mkdir()
    (here / ".gitignore").write_text("ignored.pem\n/secrets\n")
    (here / "folder").mkdir()
    before, changed = kept(name, **arguments), (here / "folder").stat().st_mtime_ns
    (here / "secrets").mkdir()
    for each in (".env", "secrets/key", "a.pem", "ignored.pem", "folder/b.pem"):
        (here / each).write_text("x\n")
    (here / "link").symlink_to(".env")
    (here / "link.pem").symlink_to("nowhere")
    os.utime(here / "folder", ns=(changed, changed))
    assert kept(name, **arguments) == before


@pytest.mark.parametrize("name", ["listFiles", "searchFiles"])
def test_where_a_link_that_no_tool_may_read_leads_is_not_told(here, kept, name):
    for folder in ("secrets", "open"):
        (here / folder).mkdir()
    (here / "secrets" / "out").symlink_to(here / "open")
    (here / "to_env").symlink_to(".env")
    arguments = {"pattern": "x"} if name == "searchFiles" else {}
    told = {kept(name, path=f"secrets/{each}", **arguments) for each in ("out", "none")}
    assert len(told) == 1
    assert str(here) not in "".join(told) + kept(name, path="to_env", **arguments)


@pytest.mark.parametrize("odd", [b" \xff.txt", b"\xff.pem", b" back\\slash"])
def test_a_file_whose_name_cannot_be_judged_opens_no_other(here, kept, odd):
    (here / ".env").write_text("x\n")
    (here / "secrets").mkdir()
    (here / "secrets" / "key").write_text("x\n")
    with open(os.fsencode(here) + b"/" + odd, "wb") as file:
        file.write(b"y\n")
    assert kept("searchFiles", pattern="x")["matches"] == []
    listed = kept("listFiles", include_hidden=True, recursive=True)["entries"]
    assert [entry["path"] for entry in listed] == ([" \\xff.txt"] if odd == b" \xff.txt" else [])


def test_what_is_for_a_person_to_allow_is_not_told_of(here, kept):
    """Of a name with a backslash nobody knows which file a program takes it for."""
    (here / "a\\b.pem").write_text("x\n")
    assert kept("searchFiles", pattern="x")["matches"] == []


def test_a_hook_that_has_an_opinion_on_some_paths_only_is_asked_about_each(here):
    class Keeping:
        @hookimpl
        def executor_check_permission(self, call):
            path = str(call.arguments.get("path"))
            return Decision("deny", "not that") if call.name == "readFile" and path.endswith(".env") else None

    registry = PluginRegistry(entry_points=False)
    registry.discover()
    registry.expose("files")
    registry.expose(registry.register(Keeping()))
    for name in ("a", "b.env", "c"):
        (here / name).write_text("x\n")
    with ToolExecutor(registry=registry) as executor:
        found, listed = executor.execute("searchFiles", {"pattern": "x"})[1], executor.execute("listFiles", {})[1]
        assert [match["file"] for match in found["matches"]] == ["a", "c"]
        assert [entry["path"] for entry in listed["entries"]] == ["a", "c"]
        assert "may not be read, nor listed: not that" in executor.execute("listFiles", {"path": "b.env"})[1]["error"]


@pytest.mark.parametrize("name", ["listFiles", "searchFiles"])
def test_a_call_that_is_stopped_asks_about_no_further_file(here, name):
    asked = []

    class Denying:
        @hookimpl
        def executor_check_permission(self, call):
            if call.name != "readFile" or call.arguments["path"] in (".", str(here)):
                return None
            asked.append(call.arguments["path"])
            executor.cancel("stopped")
            return Decision("deny", "not that")

    for number in range(9):
        (here / str(number)).touch()
    registry = PluginRegistry(entry_points=False)
    registry.discover()
    registry.expose("files")
    registry.expose(registry.register(Denying()))
    arguments = {"path": "."} | ({"pattern": "x"} if name == "searchFiles" else {})
    with ToolExecutor(registry=registry) as executor:
        assert executor.call(ToolCall("stopped", name, arguments)).kind == "cancelled"
    assert asked == [str(here / "0")]


def test_a_folder_that_no_rule_is_about_tells_of_what_may_be_read_in_it(here, executor):
    for name in ("src/open/a", "src/b"):
        (here / name).parent.mkdir(exist_ok=True, parents=True)
        (here / name).write_text("x\n")
    allowed = {"readFile": {"path": ["${project}/src/open/"]}}
    policy = {"defaultPolicy": "deny", "whitelist": {"tools": ["searchFiles", "listFiles"], "arguments": allowed}}
    plugin = PermissionPlugin(policy=policy, project_root=here, home=here / "home", state_dir=here / "state")
    executor.set_permission_plugin(plugin)
    listed, found = (
        executor.execute("listFiles", {"recursive": True})[1],
        executor.execute("searchFiles", {"pattern": "x"})[1],
    )
    assert [entry["path"] for entry in listed["entries"]] == ["src/open", "src/open/a"]
    assert [match["file"] for match in found["matches"]] == ["src/open/a"]
    assert "nor listed: no rule is about readFile" in executor.execute("listFiles", {"path": "src/b"})[1]["error"]


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
