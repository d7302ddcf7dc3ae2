"""
What somebody does in the first ten minutes, from a fresh clone, with an empty environment, at a shell in a terminal.

Every step types a line, waits for what is to appear, answers what is asked, and wants one exit code. The clone's
``.venv`` is made of what runs the tests, without an installation; the long form installs it as README.md says.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.cli.conftest import Terminal

ROOT = Path(__file__).parents[2]
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
PROMPT = re.compile(r"<(\d+)>% $")
COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
ASKS = "? more > "  # how a question at the terminal ends
SERVER = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("dice")


@server.tool()
def roll(sides: int = 6) -> str:
    """Roll a die."""
    return f"rolled a die of {sides}"


server.run()
'''

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(not (ROOT / ".git").exists() or shutil.which("git") is None, reason="a clone needs git"),
]


class Shell(Terminal):
    """A person at bash, in the clone, who knows nothing but a home of their own."""

    def __init__(self, folder, home):
        path = f"{folder}/.venv/bin:{SYSTEM}"
        environment = ["env", "-i", f"HOME={home}", f"PATH={path}", "TERM=xterm", "PS1=<$?>% "]
        super().__init__([*environment, "bash", "--norc", "--noprofile", "--noediting", "-i"], folder)
        self._seen = 0
        self.ended()
        self.run("stty cols 160 rows 50")

    def expect(self, text):
        """Read until *text* comes after what was expected before. Returns everything up to it."""
        while (at := self._new.find(text)) < 0:
            if not self._read():
                pytest.fail(f"{text!r} was never shown, but {self.shown!r}")
        start, self._seen = self._seen, self._seen + at + len(text)
        return COLOURS.sub("", self.shown[start : self._seen])

    def run(self, line, *talk, code=0):
        """
        Type *line*, and for each ``(text, answer)`` wait for the text and type the answer.

        Returns:
            What was shown until the next prompt, which has the exit code; it is to be *code*.
        """
        self.type(f"{line}\n")
        shown = ""
        for text, answer in talk:
            shown += self.expect(text)
            self.type(answer)
        rest, ended = self.ended()
        assert ended == code, f"{line}\nended with {ended}, not {code}:\n{shown}{rest}"
        return (shown + rest).partition("\n")[2]  # without the line as the terminal echoes it

    @property
    def _new(self):
        return self.shown[self._seen :]

    def ended(self):
        """Read to the next prompt. Returns what was shown before it, and the exit code in it."""
        while (found := PROMPT.search(self._new)) is None:
            if not self._read():
                pytest.fail(f"the shell has gone: {self.shown!r}")
        text, self._seen = self._new[: found.start()], len(self.shown)
        return COLOURS.sub("", text), int(found.group(1))


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone, with a ``.venv`` in which toolexec is installed as far as anybody can see."""
    folder = tmp_path_factory.mktemp("first") / "toolexec"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / ".venv")], check=True)
    packages = next((folder / ".venv").glob("lib/python*/site-packages"))
    paths = (folder, folder / "plugins", sysconfig.get_path("purelib"))
    (packages / "toolexec.pth").write_text("".join(f"{path}\n" for path in paths))
    command = folder / ".venv" / "bin" / "toolexec"
    command.write_text(f"#!{folder}/.venv/bin/python\nfrom executor.cli import main\n\nmain()\n")
    command.chmod(0o755)
    return folder


@pytest.fixture
def sit_down(clone, tmp_path):
    """Open a terminal: ``sit_down()``. All of one test have the same home, with the policy that ``init`` writes."""
    home = tmp_path / "home"
    (home / ".config" / "toolexec").mkdir(parents=True, mode=0o700)
    opened = []

    def start(*, policy=True):
        if policy:
            file = home / ".config" / "toolexec" / "permissions.json"
            shutil.copy(ROOT / "permissions.example.json", file)
            file.chmod(0o600)
        opened.append(Shell(clone, home))
        return opened[-1]

    yield start
    for one in opened:
        one.clean_up()


def in_readme(start):
    """The block of README.md that begins so."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return next(block for block in re.findall(r"^```\w+\n(.*?)^```$", text, re.M | re.S) if block.startswith(start))


def test_the_first_command_and_what_the_command_says_of_itself(sit_down):
    me = sit_down(policy=False)
    _, _, line = in_readme("python3 -m venv").partition("\n")
    shown = me.run(line.rstrip("\n"))
    assert len(re.findall(r"^(?:> )?\d\d:\d\d:\d\d$", shown, re.M)) == 4
    assert re.search(r"goes on in the background as shell_[0-9a-f]+; following it", shown)
    assert re.search(r"^exit code 0, confined \(profile: \w+, box: \w+\), duration: ", shown, re.M)
    for line, code in (("toolexec", 2), ("toolexec --help", 0)):
        shown = me.run(line, code=code)
        assert all(f"\n  {name} " in shown for name in ("call", "init", "tasks", "tools", "doctor"))
        assert shown.count("Usage:") == 1
    assert re.fullmatch(r"toolexec \S+\n", me.run("toolexec version"))
    me.run('eval "$(toolexec completion bash)"')
    assert "_toolexec_completion" in me.run("complete -p toolexec")


def test_init_asks_says_what_it_did_and_is_done_once(sit_down):
    me = sit_down(policy=False)
    shown = me.run("toolexec init", ("Write it? [Y/n]: ", "n\n"))
    assert "Done" not in shown
    assert "What you left out can be set up by another 'toolexec init'" in shown
    shown = me.run("toolexec init", ("Write it? [Y/n]: ", "maybe\n"), ("Write it? [Y/n]: ", "\n"))
    assert "permissions.json was written" in shown
    assert "Done. Now try: toolexec call runCommand command='git status'" in shown
    assert "\nexit code 0, " in me.run("toolexec call runCommand command='git status'")
    assert "Everything is set up" in me.run("toolexec init")


def test_the_next_lines_of_the_readme_do_what_they_say(sit_down):
    me = sit_down(policy=False)
    lines = [line.removeprefix("$ ").rstrip() for line in in_readme("$ toolexec init").splitlines()]
    init, tools, read, write, detach, follow, doctor = lines
    me.run(init, ("Write it? [Y/n]: ", "\n"))
    assert "runCommand(" in me.run(tools)
    assert "# toolexec" in me.run(read)
    assert "bytes_written: 5" in me.run(write, (ASKS, "y\n"))
    task = re.search(r"^shell_[0-9a-f]+$", me.run(detach, code=7), re.M).group()
    assert ":" in me.run(follow.replace("shell_…", task))
    assert "broken" not in me.run(doctor)


def test_results_pipes_and_exit_codes(sit_down):
    me = sit_down()
    assert me.run("toolexec call echo text=hello").startswith("hello\n")
    assert "path: string" in me.run("toolexec tools list").partition("readFile(")[2]
    assert "A line for the shell" in me.run("toolexec tools show runCommand")
    assert "# toolexec" in me.run("toolexec call readFile path=README.md end_line=1")
    assert "does not exist" in me.run("toolexec call readFile path=nosuch.md", code=5)
    assert me.run("toolexec call runCommand command='seq 1000000' | head -1; echo ${PIPESTATUS[1]}") == "1\n0\n"
    shown = me.run("toolexec call runCommand command='seq 1000000' | tail -1; echo ${PIPESTATUS[*]}")
    assert shown.endswith("\n1000000\n0 0\n")
    shown = me.run("toolexec call runCommand command='echo out; ls nosuch' 2>/dev/null | cat; echo ${PIPESTATUS[*]}")
    assert shown == "out\n5 0\n"
    assert me.run("toolexec call runCommand command=false", code=5).startswith("exit code 1, ")


def test_questions_are_answered_at_the_prompt(sit_down):
    me = sit_down()
    write = "toolexec call writeFile path=asked.txt content="
    assert "bytes_written: 2" in me.run(f"{write}hi", (ASKS, "yes\n"))
    assert "Permission denied: the user said no" in me.run(f"{write}ho", (ASKS, "n\n"), code=3)
    assert me.run("cat asked.txt; echo") == "hi\n"
    assert "'yse' is no answer; ? explains" in me.run(f"{write}hu", (ASKS, "yse\n"), (ASKS, "y\n"))
    shown = me.run("toolexec call runCommand command='touch a.txt'", (ASKS, "?\n"), (ASKS, "always\n"))
    assert "let it run now and from now on" in shown
    assert "exit code 0" in me.run("toolexec call runCommand command='touch a.txt'")
    assert "asked.txt" in me.run("toolexec files history asked.txt")
    me.run("toolexec files undo asked.txt", (ASKS, "y\n"))
    assert me.run("cat asked.txt; echo") == "hi\n"


def test_a_denial_names_the_command_that_mends_it(sit_down):
    me = sit_down()
    line = "toolexec call runCommand command='mkdir -p made'"
    assert me.run(f"{line} --dry-run").startswith("runCommand: ask ")
    shown = me.run(f"{line} </dev/null", code=3)
    assert "pass --yes, or call it from a terminal" in shown
    advice = shown.partition("to allow it from now on: ")[2].strip()
    assert advice.startswith("toolexec permissions add ")
    assert "whitelist: mkdir -p made" in me.run(advice)
    me.run(f"{line} </dev/null")
    assert "sudo *" in me.run("toolexec call runCommand command='sudo ls' --dry-run", code=3)
    assert "the rule 'sudo *' of the blacklist forbids it" in me.run(
        "toolexec call runCommand command='sudo ls'", code=3
    )
    assert "to change that: toolexec permissions remove --deny 'sudo *'" in me.run(
        "toolexec permissions explain runCommand command='sudo ls'"
    )


def test_a_long_command_goes_on_in_the_background_and_is_stopped(sit_down):
    me = sit_down()
    shown = me.run("toolexec call runCommand --threshold 0.2 command='echo begin; sleep 1; echo end'")
    assert re.search(r"goes on in the background as shell_[0-9a-f]+; following it\n", shown)
    assert shown.startswith("begin\n") or "\nbegin\n" in shown  # a busy machine has no time for it before
    assert re.search(r"\nend\nexit code 0, ", shown)
    long = "command='echo begin; sleep 1000'"
    assert "runCommand was interrupted" in me.run(f"toolexec call runCommand {long}", ("\nbegin\n", "\x03"), code=130)
    shown = me.run(f"toolexec call runCommand --threshold 0 {long}", ("; following it", "\x03"), code=130)
    assert "runCommand was interrupted" in shown
    assert "timed out after 0.5 s" in me.run(f"toolexec call runCommand --timeout 0.5 {long}", code=6)
    assert "running" not in me.run("toolexec tasks list")


def test_tasks_are_followed_watched_and_stopped(sit_down):
    me = sit_down()
    shown = me.run("toolexec call runCommand --detach command='for i in 1 2 3; do echo n$i; sleep 0.5; done'", code=7)
    task = re.search(r"^shell_[0-9a-f]+$", shown, re.M).group()
    assert f"toolexec tasks output -f {task}" in shown
    assert task in me.run("toolexec tasks list")
    assert me.run(f"toolexec tasks output -f {task}") == "n1\nn2\nn3\n"
    assert "exit code 0" in me.run(f"toolexec tasks wait {task}")
    shown = me.run(f"toolexec tasks show {task}")
    assert "status: completed" in shown
    assert '"method": "detached"' in shown
    task = re.search(
        r"^shell_[0-9a-f]+$", me.run("toolexec call runCommand --detach command='sleep 1000'", code=7), re.M
    )[0]
    assert "still running" in me.run(f"toolexec tasks wait --timeout 0.1 {task}", code=7)
    if has_rich():
        me.run("toolexec tasks top", (task, ""), ("q ends this view", "q"))
    assert f"{task} was cancelled" in me.run(f"toolexec tasks cancel {task}")
    assert "cancelled" in me.run(f"toolexec tasks wait {task}", code=5)


def has_rich():
    from executor.cli._tables import has_rich as there

    return there()


MISTAKES = {
    "toolexec call runComand command=ls": ("Did you mean runCommand?", "'toolexec tools list' shows what there is"),
    "toolexec cal echo": ("Did you mean 'call'?", "'toolexec --help' says more"),
    "toolexec tasks lst": ("Did you mean 'list'?", "'toolexec tasks --help' says more"),
    "toolexec call": ("Missing argument 'NAME'", "'toolexec tools list' shows the tools", "'toolexec call --help'"),
    "toolexec call runCommand": ("give either command (a line for the shell) or argv", "runCommand(command?: string"),
    "toolexec call writeFile path=x": ("'content' is a required property", "writeFile(path: string, content: string"),
    "toolexec call readFile README.md": ("write path=README.md", "readFile(path: string"),
    "toolexec call runCommand ls -la": ("No such option '-l'", "written key=value: command='ls -l'"),
    "toolexec call runCommand --timeout soon command=ls": ("'soon' is not a valid number of seconds",),
    "toolexec tasks output shell_nosuch": ("no task 'shell_nosuch'", "'toolexec tasks list' shows what there is"),
    "toolexec approvals answer nosuch yes": ("no question 'nosuch'", "'toolexec approvals list' shows those that are"),
    "toolexec serve --print-config nosuch": ("no assistant that is known", "claude-code, cursor"),
}


def test_every_mistake_is_told_in_one_style_with_what_to_do_next(sit_down):
    me = sit_down()
    for line, texts in MISTAKES.items():
        shown = me.run(line, code=2)
        assert shown.startswith("error: "), (line, shown)
        assert [text for text in texts if text not in shown] == [], (line, shown)
        assert "Traceback" not in shown


def test_a_server_is_added_tried_called_and_removed(sit_down, tmp_path):
    me = sit_down()
    (tmp_path / "dice.py").write_text(SERVER)
    assert "no MCP server is configured" in me.run("toolexec mcp list")
    assert "dice added to" in me.run(f"toolexec mcp add dice -- python {tmp_path}/dice.py")
    assert '"roll"' in me.run("toolexec mcp test dice")
    assert re.search(r"^ *dice +stdio .* 1 *$", me.run("toolexec mcp list"), re.M)
    assert "rolled a die of 20" in me.run("toolexec call mcp__dice__roll sides=20", (ASKS, "y\n"))
    me.run("toolexec mcp remove dice")
    assert "has no server 'dice'" in me.run("toolexec mcp remove dice", code=2)


@pytest.mark.long
def test_a_server_that_cannot_start_is_told_as_such(sit_down):
    me = sit_down()
    me.run("toolexec mcp add broken -- nosuchprogram")
    assert "there is no program 'nosuchprogram'" in me.run("toolexec mcp test broken", code=4)
    assert "could not be started" in me.run("toolexec call mcp__broken__roll", code=4)
    me.run("toolexec mcp remove broken")


def test_a_plugin_is_written_installed_and_called(sit_down, tmp_path):
    me = sit_down()
    me.run(f"toolexec plugins new hello {tmp_path}/hello")
    # The same line without these options is in README.md; they keep it from the network.
    quiet = "--quiet --no-build-isolation --no-deps --no-index --disable-pip-version-check"
    me.run(f"python -m pip install {quiet} {tmp_path}/hello")
    assert re.search(r"hello +executor-hello +0\.1\.0 +exposed +hello", me.run("toolexec plugins list"))
    assert "words: 2" in me.run("toolexec call hello text='Ada Lovelace'", (ASKS, "y\n"))
    me.run("python -m pip uninstall --quiet --yes executor-hello")


def test_a_question_is_answered_from_a_second_terminal(sit_down):
    me, other = sit_down(), sit_down()
    me.type("toolexec call writeFile path=second.txt content=2\n")
    me.expect(ASKS)
    question = re.search(r"ask_\w+", other.run("toolexec approvals list")).group()
    assert f"{question} was answered: yes" in other.run(f"toolexec approvals answer {question} yes")
    shown = me.expect("bytes_written: 1")
    assert "answered elsewhere" in shown
    assert me.ended()[1] == 0
    assert me.run("cat second.txt; echo") == "2\n"


def test_assistants_and_python(sit_down, clone):
    me = sit_down()
    entry = json.loads(me.run("toolexec serve --print-config claude-code"))["mcpServers"]["toolexec"]
    assert (entry["command"], entry["args"]) == (str(clone / ".venv/bin/toolexec"), ["serve"])
    shown = me.run("toolexec serve", ("Ctrl-C ends it", "\x03"), code=130)
    assert "--print-config" in shown
    (clone / "first.py").write_text(in_readme("from executor import PluginRegistry"))
    shown = me.run("python first.py")
    assert "Task exceeded 0.5s threshold, continuing in background." in shown
    assert shown.endswith("completed 0 ['one', 'two']\n")


@pytest.mark.long
@pytest.mark.packaging
@pytest.mark.timeout(600)
def test_a_clone_is_installed_as_the_readme_says(tmp_path):
    folder = tmp_path / "toolexec"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    (tmp_path / "home").mkdir()
    me = Shell(folder, tmp_path / "home")
    try:
        install, _, first = in_readme("python3 -m venv").partition("\n")
        me.run(install.replace("python3", sys.executable, 1))
        assert "exit code 0" in me.run(first.rstrip("\n"))
        me.run("toolexec init", ("Write it? [Y/n]: ", "\n"))
        assert "rich is" not in me.run("toolexec tasks list")
        assert "pip install rich" in me.run("toolexec tasks top")
        me.run("toolexec plugins new hello && pip install --quiet -e ./executor-hello")
        assert "words: 2" in me.run("toolexec call hello text='Ada Lovelace'", (ASKS, "y\n"))
        assert "broken" not in me.run("toolexec doctor")
    finally:
        me.clean_up()
