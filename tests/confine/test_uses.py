"""Boxes of isolated tools, of MCP servers, and of the command."""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from executor import CancelToken, Image, Text, ToolCall, ToolExecutor
from executor.errors import BackendUnavailableError, ToolFailedError
from executor.mcp import MCPBridge
from executor_permissions import PermissionPlugin

pytestmark = pytest.mark.usefixtures("landlock", "bubblewrap")
RAW = Path(__file__).parents[1] / "mcp" / "raw_server.py"


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A module of tools that another process can import."""
    (tmp_path / "boxed_tools.py").write_text("""
import os, signal, socket
from dataclasses import dataclass
from executor import Image, Text, current_call
from executor.values import OutputChunk

def write(args):
    with open(args["path"], "w") as file:
        file.write("canary")
    return "written"

def read(args):
    current_call().emit("reading")
    with open(args["path"]) as file:
        return file.read()

def connect(args):
    socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    return "made"

class Says:
    def __init__(self, how):
        self.how = how

    def __reduce__(self):
        return self.how

def forges(args):  # as what a boxed tool starts can, which finds this one's descriptors below /proc
    import pickle, struct, sys
    from executor.errors import ToolFailedError
    make = (open, (args["path"], "w"))
    change = (ToolFailedError, ("x",), (None, {"__str__": str}))
    said = pickle.dumps({
        "call": ("returned", Says(make)), "emit": ("emit", Says(make)), "change": ("raised", Says(change)),
        "attribute": ("__init__", 1), "nothing": 7, "memo": 7,
    }[args["how"]])
    if args["how"] == "memo":
        said = b"\\x80\\x04Nr\\x00\\x00\\x00\\x08."
    for descriptor in range(3, 20):
        try:
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith("pipe:"):
                os.write(descriptor, struct.pack("<Q", len(said)) + said)
        except OSError:
            pass
    return "told"

def rows(args):
    return [{"a rather long name of a field": 1, "another one, just as long": "x"} for _ in range(10_000)]

def endless(args):
    import pickle, struct
    if args["how"] == "long":
        for descriptor in range(3, 20):
            try:
                if os.readlink(f"/proc/self/fd/{descriptor}").startswith("pipe:"):
                    os.write(descriptor, struct.pack("<Q", 1 << 60))
            except OSError:
                pass
        return "told"
    told = ["a"]
    if args["how"] == "itself":
        told.append(told)
    for _ in range(60 if args["how"] != "itself" else 0):
        told = [told, told]
    return Text("t", annotations={"a": told}) if args["how"] == "block" else told

@dataclass
class Point:
    x: int
    where: Text

def returns(args):
    current_call().emit(OutputChunk("a", "stderr", b"a"))
    point = Point(1, Text("t", annotations={"priority": 1}))
    return [point, Image(b"PNG", "image/png"), {"set": {1}, "bytes": b"b", 1: 2.5}]

def fails(args):
    from executor.errors import ToolFailedError
    raise ToolFailedError("do something else", result={"seen": 1}) from KeyError("k")

def stands_for_plain_data(args):
    import collections, datetime, decimal, enum, pathlib
    heat = enum.Enum("heat", {"WARM": "warm"})
    pair = collections.namedtuple("pair", "a b")
    return [
        collections.Counter("aa"), collections.OrderedDict(b=1), collections.deque([3]), pair(1, "x"), heat.WARM,
        datetime.date(2026, 1, 2), pathlib.Path("/etc/x"), decimal.Decimal("1.50"), {"\\0": "k", "n": {(1, 2): None}},
    ]

from executor.errors import ToolFailedError

class OwnError(ToolFailedError):
    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")

def own_error(args):
    raise OwnError(7, "full")

def odd(args):
    return Says((str, ("x",)))

def leaves(args):
    told, tells = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.open(args["path"], os.O_RDONLY)
        os.write(tells, b"x")
        signal.pause()
    os.read(told, 1)
    current_call().emit("here")
    signal.pause()

def stuck(args):
    current_call().emit("here")
    while True:
        pass
""")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "boxed_tools", raising=False)
    return importlib.import_module("boxed_tools")


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def executor():
    with ToolExecutor() as made:
        yield made


def register(executor, fn, confine):
    executor.register(fn.__name__, fn, isolation="process", confine=confine, schema={"type": "object"})


def test_an_isolated_tool_may_do_what_its_box_may(executor, tools, project, own_folders):
    (project / "a").write_text("seen")
    (own_folders / ".netrc").write_text("SECRET")
    register(executor, tools.read, "read")
    register(executor, tools.connect, "read")
    register(executor, tools.write, "project")
    assert executor.execute("read", {"path": "a"}) == (True, "seen")
    assert not executor.execute("read", {"path": str(own_folders / ".netrc")})[0]
    assert "Permission" in str(executor.execute("connect")[1])
    assert executor.execute("write", {"path": "b"}) == (True, "written")
    assert not executor.execute("write", {"path": str(own_folders / "c")})[0]
    assert not (own_folders / "c").exists()


def test_a_reading_tool_writes_nothing(executor, tools, project):
    register(executor, tools.write, "read")
    assert not executor.execute("write", {"path": "b"})[0]
    assert os.listdir(project) == []


@pytest.mark.parametrize("how", ["call", "emit", "change", "attribute", "nothing"])
def test_what_a_box_says_makes_nothing_happen_outside(executor, tools, project, how):
    register(executor, tools.forges, "read")
    executor.execute("forges", {"path": str(project / "canary"), "how": how}, print)
    assert os.listdir(project) == []
    assert str(ToolFailedError("is not changed")) == "is not changed"


def test_plain_data_blocks_and_errors_come_out_of_a_box(executor, tools, project):
    for fn in (tools.returns, tools.fails, tools.odd):
        register(executor, fn, "read")
    heard = []
    success, value = executor.execute("returns", {}, heard.append)
    plain = {"x": 1, "where": Text("t", annotations={"priority": 1})}
    assert (success, value) == (True, [plain, Image(b"PNG", "image/png"), {"set": {1}, "bytes": b"b", 1: 2.5}])
    assert (heard[0], heard[0].stream) == ("a", "stderr")
    told = executor.execute("fails")[1]
    assert (told["error"], told["result"]) == ("do something else", {"seen": 1})
    assert "only plain data, dataclasses and blocks leave a box" in executor.execute("odd")[1]["error"]


@pytest.mark.parametrize("how", ["long", "itself", "doubled", "block"])
def test_what_has_no_end_does_not_come_out_of_a_box(executor, tools, how):
    register(executor, tools.endless, "read")
    success, told = executor.execute("endless", {"how": how})
    assert not success
    assert ("it holds itself" if how == "itself" else "leave a box at once") in told["error"]


def test_what_a_box_says_takes_no_more_memory_outside_than_it_is_long(executor, tools):
    register(executor, tools.forges, "read")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    success, told = executor.execute("forges", {"path": "", "how": "memo"})  # a pickle: the place 2^27 of its memo
    assert (success, "cannot be read" in told["error"]) == (False, True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # KiB


def test_what_stands_for_plain_data_comes_out_of_a_box_as_that(executor, tools):
    register(executor, tools.stands_for_plain_data, "read")
    assert executor.execute("stands_for_plain_data") == (
        True,
        [{"a": 2}, {"b": 1}, [3], (1, "x"), "warm", "2026-01-02", "/etc/x", "1.50", {"\0": "k", "n": {(1, 2): None}}],
    )


def test_an_error_of_a_tool_that_no_other_process_can_make_says_what_it_says(executor, tools):
    executor.register("own_error", tools.own_error, isolation="process", schema={"type": "object"})
    assert executor.execute("own_error")[1]["error"] == "7: full"


def test_keys_that_come_again_and_again_come_out_of_a_box(executor, tools):
    register(executor, tools.rows, "read")
    success, told = executor.execute("rows")
    assert success
    assert told == [{"a rather long name of a field": 1, "another one, just as long": "x"}] * 10_000


@pytest.mark.parametrize("confine", ["read", "project"])
def test_it_is_ended_like_any_other(executor, tools, project, confine):
    register(executor, tools.stuck, confine)
    heard = threading.Event()
    token = CancelToken()
    result = executor.call(ToolCall("1", "stuck"), on_output=lambda _: (heard.set(), token.cancel()), cancel=token)
    assert heard.is_set()
    assert result.kind == "cancelled"


@pytest.mark.parametrize("confine", ["read", "project"])
def test_what_has_left_its_session_is_ended_with_it(executor, tools, project, tmp_path, held, confine):
    register(executor, tools.leaves, confine)
    token = CancelToken()
    call = ToolCall("1", "leaves", {"path": str(tmp_path / "held")})
    made = executor.submit(call, on_output=lambda _: token.cancel(), cancel=token)
    assert made.result(timeout=20).kind == "cancelled"
    assert held()


def test_the_policy_says_which_files_it_may_not_read(tools, project, tmp_path):
    (project / ".env").write_text("SECRET")
    denied = {"arguments": {"readFile": {"path": ["${project}/.env"]}}}
    plugin = PermissionPlugin(
        policy={"version": "1.2", "blacklist": denied, "whitelist": {"tools": ["read"]}},
        project_root=project, state_dir=tmp_path / "state", channel_type="none",
    )  # fmt: skip
    with ToolExecutor(permission_plugin=plugin) as executor:
        register(executor, tools.read, "read")
        success, told = executor.execute("read", {"path": str(project / ".env")})
    assert not success
    assert "SECRET" not in str(told)


@pytest.mark.parametrize(
    ("options", "problem"),
    [({"confine": "read"}, "isolation='process'"), ({"confine": "tight", "isolation": "process"}, "use read, project")],
)
def test_a_box_needs_a_process_of_its_own(executor, tools, options, problem):
    with pytest.raises(ValueError, match=problem):
        executor.register("read", tools.read, schema={"type": "object"}, **options)


@pytest.fixture
def server(project):
    """Starts the raw server in a box: ``server(confine, …)`` gives its bridge."""
    made = []

    def start(confine, **env):
        entry = {"command": sys.executable, "args": ["-S", str(RAW)], "env": env, "cwd": str(project)}
        made.append(MCPBridge({"s": {**entry, "confine": confine}}, cache=None))
        return made[-1]

    yield start
    for bridge in made:
        bridge.close()


def text_of(answer):
    return " ".join(block.get("text", "") for block in answer["content"])


@pytest.mark.parametrize("confine", ["read", "project", "network"])
def test_a_server_runs_in_the_box_that_its_entry_names(server, confine):
    bridge = server(confine, GIVEN_TOKEN="its-own")
    answer = bridge.call_tool("s", "environment")
    assert "its-own" in str(answer)
    assert "/toolexec/boxes/" in str(answer)
    pid = bridge.status()["s"].pid
    told = Path(f"/proc/{pid}/status").read_text()
    assert ("Seccomp:\t2" in told) is (confine == "read")  # under bubblewrap it is the launcher's number


def test_a_library_that_an_entry_names_is_not_loaded_outside_the_servers_box(server, project, tmp_path):
    source, library = project / "evil.c", project / "evil.so"
    source.write_text(
        "#include <fcntl.h>\n"
        "__attribute__((constructor)) static void run(void) "
        f'{{ open("{tmp_path}/canary", O_CREAT | O_WRONLY, 0644); open("{project}/seen", O_CREAT | O_WRONLY, 0644); }}'
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    assert str(library) in str(server("project", LD_PRELOAD=str(library)).call_tool("s", "environment"))
    assert (project / "seen").exists()
    assert not (tmp_path / "canary").exists()


def test_a_servers_folder_that_has_become_a_link_opens_nothing(project, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "work").symlink_to(outside)
    line = f"touch {outside}/canary; exec {sys.executable} -S {RAW}"
    entry = {"command": "sh", "args": ["-c", line], "cwd": str(project / "work"), "confine": "project"}
    bridge = MCPBridge({"s": entry}, cache=None)
    with pytest.raises(BackendUnavailableError, match=f"leads to {outside}"):
        bridge.call_tool("s", "environment")
    bridge.close()
    assert os.listdir(outside) == []


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"command": "x", "confine": "tight"}, "use read, project, network, open"),
        ({"url": "https://example.org/mcp", "confine": "read"}, "started here"),
    ],
)
def test_an_entry_that_names_no_box_is_not_used(entry, problem):
    from executor.mcp._config import parse_entry

    assert problem in parse_entry("s", entry).problem


def toolexec(*words, cwd, **more):
    command = [sys.executable, "-m", "executor", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60, **more)


@pytest.mark.parametrize(
    ("profile", "code", "box"), [("read", 1, "landlock"), ("project", 7, "bubblewrap"), ("open", 7, "no box")]
)
def test_a_person_tries_a_box(project, profile, code, box):
    done = toolexec("confine", profile, "--", "sh", "-c", "cat; touch a && exit 7", cwd=project, input="typed")
    assert (done.returncode, done.stdout) == (code, "typed")
    assert f"{profile}: {box}" in done.stderr
    assert (project / "a").exists() is (code == 7)


def test_a_box_by_hand_has_the_policys_words_about_files(project, own_folders):
    (project / ".toolexec").mkdir()
    policy = '{"version": "1.2", "blacklist": {"arguments": {"readFile": {"path": ["${project}/.env"]}}}}'
    (project / ".toolexec" / "permissions.json").write_text(policy)
    (project / ".env").write_text("SECRET")
    done = toolexec("confine", "project", "--", "cat", ".env", cwd=project)
    assert done.returncode == 1
    assert "SECRET" not in done.stdout


def test_a_program_that_is_not_there_is_an_error_of_the_command(project):
    done = toolexec("confine", "read", "--", "no-such-program", cwd=project)
    assert done.returncode == 2
    assert "no-such-program" in done.stderr


def test_doctor_says_what_holds(project):
    done = toolexec("doctor", "--json", cwd=project)
    found = next(each for each in json.loads(done.stdout)["findings"] if each["check"] == "boxes")
    assert found["status"] == "ok"
    assert found["found"] == "read: landlock; project: bubblewrap; network: bubblewrap"  # a table has one line for it


def test_a_dry_run_says_which_box_it_would_be(project, own_folders, tmp_path):
    policy = tmp_path / "permissions.json"
    policy.write_text('{"version": "1.2", "whitelist": {"patterns": ["ls *"]}}')
    env = {**os.environ, "TOOLEXEC_PERMISSIONS": str(policy)}
    words = ("permissions", "check", "runCommand", "command=ls -la")
    done = toolexec(*words, cwd=project, env=env)
    assert "box: read: landlock" in done.stdout
    told = json.loads(toolexec(*words, "--json", cwd=project, env=env).stdout)
    assert told["confine"] == {"profile": "read", "box": "landlock"}


def test_what_yes_answers_is_in_a_box(project, own_folders):
    done = toolexec("call", "runCommand", f"command=touch {own_folders}/out; touch in", "--yes", "--json", cwd=project)
    assert (project / "in").exists()
    assert not (own_folders / "out").exists()
    assert '"confined"' in done.stdout


def test_nothing_of_it_is_loaded_before_there_is_a_box():
    script = (
        "import sys, executor; executor.ToolExecutor().shutdown()\n"
        "print([name for name in sys.modules if name.startswith('executor.confine') or name == 'ctypes'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_starts_a_box_needs_nothing_but_the_standard_library():
    script = "import executor.confine._become; print('loaded')"
    command = [sys.executable, "-S", "-c", script]
    root = str(Path(__file__).parents[2])
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": root})
    assert done.stdout == "loaded\n"


def test_a_first_policy_requires_boxes_where_there_are_all(project, tmp_path):
    path = tmp_path / "policy.json"
    env = {**os.environ, "TOOLEXEC_PERMISSIONS": str(path)}
    done = toolexec("permissions", "init", cwd=project, env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(path.read_text())["confine"]["require"] is True
