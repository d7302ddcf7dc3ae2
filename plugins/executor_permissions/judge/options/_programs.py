"""
What is known about programs: which run another, which options of the others run or write something.

Data only. A program that is not named here is taken at its word: ``foo *`` covers every argument of foo.
"""

# ruff: noqa: E501, SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrapper:
    """
    How a program that runs its arguments is called.

    Attributes:
        values: Its options that take a value in the next word: ``-u`` and ``--user``.
        operands: How many words come before the inner command.
        assignments: Whether ``NAME=value`` may come before the inner command.
        joined: Whether the inner words are joined and given to a shell.
        commands: Those of *values* that are commands themselves.
        optional: Whether the operands may be left out.
    """

    values: frozenset[str]
    operands: int
    assignments: bool
    joined: bool
    commands: frozenset[str]
    optional: bool


def _wrapper(
    values: str = "",
    operands: int = 0,
    *,
    assignments: bool = False,
    joined: bool = False,
    commands: str = "",
    optional: bool = False,
) -> Wrapper:
    told = frozenset(commands.split())
    return Wrapper(told.union(values.split()), operands, assignments, joined, told, optional)


GREPS = frozenset("grep egrep fgrep zgrep".split())
SEDS = frozenset("sed gsed ssed".split())
AWKS = frozenset("awk gawk mawk nawk".split())
FIND_RUNS = frozenset("-exec -execdir -ok -okdir".split())  # of find: a command follows
PYTHON_FLAGS = "bBdEIOPqRsSuvx"  # the options of Python without a value
WRAPPERS: dict[str, Wrapper] = {
    "arch": _wrapper("-e -d -arch"),
    "builtin": _wrapper(),
    "busybox": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "catchsegv": _wrapper(),
    "chpst": _wrapper("-u -U -b -e -/ -n -l -L -m -d -o -p -f -c -r -t"),
    "chroot": _wrapper("--userspec --groups", 1),
    "chrt": _wrapper("-T -P -D -p --sched-runtime --sched-period --sched-deadline", 1, optional=True),
    "command": _wrapper(),
    "coproc": _wrapper(),
    "cpulimit": _wrapper("-l -p -e -P -c --limit --pid --exe --path --cpu"),
    "dbus-run-session": _wrapper("--config-file", commands="--dbus-daemon"),
    "doas": _wrapper("-C -u -a", assignments=True),
    "env": _wrapper("-u -C -a -P --unset --chdir --argv0", assignments=True),
    "exec": _wrapper("-a"),
    "fakeroot": _wrapper("-l -s -i -b --lib", commands="-f --faked"),
    "firejail": _wrapper(),
    "flock": _wrapper("-w -E --timeout --wait --conflict-exit-code", 1),
    "gtime": _wrapper("-f -o --format --output"),
    "gtimeout": _wrapper("-k -s --kill-after --signal", 1),
    "ionice": _wrapper("-c -n -p -P -u --class --classdata --pid --pgid --uid"),
    "linux32": _wrapper(),
    "linux64": _wrapper(),
    "ltrace": _wrapper(
        "-a -A -D -e -F -l -n -o -p -s -u -w -x -X --align --config --debug --indent --library --output --where"
    ),
    "nice": _wrapper("-n --adjustment"),
    "nocorrect": _wrapper(),
    "noglob": _wrapper(),
    "nohup": _wrapper(),
    "nsenter": _wrapper("-t -S -G -N --target --setuid --setgid --net-socket"),
    "numactl": _wrapper(
        "-i -N -m -C -p -P -w --interleave --cpunodebind --membind --physcpubind --preferred --preferred-many "
        "--weighted-interleave"
    ),
    "pkexec": _wrapper("--user"),
    "prlimit": _wrapper("-p --pid -o --output"),
    "proxychains": _wrapper("-f"),
    "proxychains4": _wrapper("-f"),
    "rlwrap": _wrapper(
        "-b -C -D -e -f -g -H -l -M -O -P -q -s -S -t -w --break-chars --command-name --history-no-dupes "
        "--extra-char-after-completion --file --forget-matching --history-filename --logfile --multi-line-ext "
        "--only-cook --pre-given --quote-characters --histsize --substitute-prompt --set-term-name "
        "--wait-before-prompt",
        commands="-z --filter",
    ),
    "setarch": _wrapper("", 1, optional=True),
    "setpriv": _wrapper(
        "--ruid --euid --rgid --egid --reuid --regid --groups --securebits --inh-caps --bounding-set --ambient-caps "
        "--pdeathsig --ptracer --selinux-label --apparmor-profile --landlock-access --landlock-rule --seccomp-filter"
    ),
    "setsid": _wrapper(),
    "setuidgid": _wrapper("", 1),
    "softlimit": _wrapper("-m -d -s -l -a -o -p -f -c -r -t"),
    "ssh": _wrapper(
        "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -P -Q -R -S -W -w",
        1,
        joined=True,
    ),
    "sg": _wrapper("-c", 1, joined=True),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "strace": _wrapper(
        "-a -b -e -E -I -o -O -p -P -s -S -u -U -X --abbrev --argv0 --attach --columns --const-print-style --detach-on "
        "--env --fault --inject --interruptible --output --raw --read --signal --signals --status --string-limit "
        "--summary-columns --summary-sort-by --summary-syscall-overhead --syscall-limit --trace --trace-path --user "
        "--verbose --write"
    ),
    "sudo": _wrapper(
        "-C -c -D -g -h -p -R -r -T -t -U -u -a --chdir --chroot --close-from --command-timeout --group --host --prompt"
        " --role --type --other-user --user --auth-type --login-class",
        assignments=True,
    ),
    "systemd-run": _wrapper(
        "-p -u -E -H -M -C --unit --property --setenv --uid --gid --nice --working-directory --slice --description "
        "--service-type --host --machine --background --on-active --on-boot --on-startup --on-unit-active "
        "--on-unit-inactive --on-calendar --timer-property --path-property --socket-property --job-mode --capsule"
    ),
    "taskset": _wrapper("", 1),
    "time": _wrapper("-f -o --format --output"),
    "timeout": _wrapper("-k -s --kill-after --signal", 1),
    "torsocks": _wrapper("-a -P -p -u --address --port --user --pass"),
    "toybox": _wrapper(),
    "unbuffer": _wrapper(),
    "unshare": _wrapper(
        "-R -w -S -G -l --root --wd --setuid --setgid --propagation --map-user --map-group --map-users --map-groups "
        "--setgroups --boottime --monotonic --load-interp"
    ),
    "valgrind": _wrapper(),
    "watch": _wrapper("-n -q -s --interval --equexit --shotsdir", joined=True),
    "xvfb-run": _wrapper(
        "-e -f -n -p -s -w --error-file --auth-file --server-num --xauth-protocol --server-args --wait"
    ),
}

REMOTE = frozenset({"ssh", "slogin"})  # the files and programs of the other machine are other ones
# Sub-commands that run the words behind them.
RUNNERS: dict[str, frozenset[str]] = {
    "asdf": frozenset({"exec"}),
    "bun": frozenset({"x", "exec"}),
    "bundle": frozenset({"exec"}),
    "conda": frozenset({"run"}),
    "direnv": frozenset({"exec"}),
    "docker": frozenset({"run", "exec"}),
    "hatch": frozenset({"run"}),
    "kubectl": frozenset({"exec", "run", "debug"}),
    "lxc": frozenset({"exec"}),
    "mamba": frozenset({"run"}),
    "mise": frozenset({"exec", "x"}),
    "npm": frozenset({"exec", "exe", "x", "explore", "explor", "explo"}),
    "nvm": frozenset({"exec", "run"}),
    "pdm": frozenset({"run"}),
    "pipenv": frozenset({"run"}),
    "pipx": frozenset({"run"}),
    "pnpm": frozenset({"exec", "dlx"}),
    "podman": frozenset({"run", "exec"}),
    "poetry": frozenset({"run"}),
    "pyenv": frozenset({"exec"}),
    "rbenv": frozenset({"exec"}),
    "rye": frozenset({"run"}),
    "uv": frozenset({"run"}),
    "yarn": frozenset({"exec", "dlx"}),
}
# Programs that run the words behind them, with more options than are worth knowing here.
LAUNCHERS = frozenset(
    "bunx bwrap dotenv entr gdb lldb npx parallel perf proot rr script su runuser uvx nix-shell nix vagrant"
    " concurrently nodemon watchexec at batch tmux screen dtach abduco expect".split()
)

# Of these: they run what they are sent, parallel if it is given no command.
FED = frozenset("at batch parallel".split())

SHELLS = frozenset("sh bash dash zsh ksh mksh ash rbash fish yash csh tcsh pwsh powershell cmd".split())
INTERPRETERS = frozenset(
    "python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php lua luajit Rscript R julia tclsh wish guile"
    " ghci irb ipython osascript swift groovy scala elixir iex erl racket sbcl clojure jshell bc dc gnuplot octave"
    " sqlite3 psql mysql mariadb".split()
)
# What interprets the names of variables it is given, and runs a $(…) in the subscript.
NAME_BUILTINS = frozenset(
    "let declare typeset local readonly export unset read mapfile readarray printf test [ wait getopts [[ ((".split()
)

# Arguments of these are never run, whatever they say, but for those in the next; of other programs only what their
# tables know to the last word.
INERT = frozenset("[ [[ ag curl export gh jira logger notify-send npm pip pytest read say set unset".split())
# Of those: options, of which npm takes a beginning too, and sub-commands behind which something is run, or set as a
# program that is run later.
RUN_BEHIND: dict[str, frozenset[str]] = {
    "gh": frozenset("alias browse clone codespace config cs ext extension extensions fork ssh".split()),
    "npm": frozenset(
        "c config edit set --browser --editor --git --node-options --script-shell --shell --viewer".split()
    ),
    "pip": frozenset("config --editor --python".split()),
}
WRITERS = frozenset(
    "tee dd cp mv ln install curl wget rsync scp sed awk perl python python3 node truncate sponge".split()
)

SAFE_VARIABLES = frozenset(
    "LANG LANGUAGE TZ CI NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES TERM NODE_ENV RAILS_ENV RACK_ENV"
    " APP_ENV FLASK_ENV DEBUG VERBOSE PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONUTF8 RUST_BACKTRACE"
    " RUST_LOG GIT_PAGER_IN_USE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS CGO_ENABLED GOOS GOARCH PY_COLORS"
    " PIP_DISABLE_PIP_VERSION_CHECK HOMEBREW_NO_AUTO_UPDATE DEBIAN_FRONTEND SOURCE_DATE_EPOCH".split()
)
RESOLVING_VARIABLES = frozenset(
    "PATH IFS ENV BASH_ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND BASH_CMDS BASH_ALIASES HOME CDPATH EXECIGNORE"
    " GLOBIGNORE POSIXLY_CORRECT SHELL BASH_LOADABLES_PATH".split()
)


_PLAIN_VALUE = re.compile(r"(?![/-])(?!.*\.\.)[\w./:=,@+*-]*\Z", re.ASCII)


def is_safe_variable(name: str, value: str) -> bool:
    """
    Whether setting *name* changes nothing about what runs: a value that is a path may, and one that is more than a word.

    make reads each variable of its environment as text of its own, ``$(shell …)`` in it included, and hands it to shells.
    """
    return (name in SAFE_VARIABLES or name.startswith("LC_")) and _PLAIN_VALUE.match(value) is not None


def is_code_of_the_project(name: str, value: str) -> bool:
    """Whether setting *name* lets Python find code in folders of the project: for what runs its code anyway."""
    if name != "PYTHONPATH":
        return False
    return all(place and place[0] not in "/~$" and ".." not in place.split("/") for place in value.split(":"))


# Programs whose sub-command is what "never" forbids, whatever it is given.
SUBCOMMANDS = frozenset(
    "git npm pnpm yarn pip pip3 docker podman kubectl cargo go uv poetry gh apt brew systemctl helm terraform make dotnet"
    " conda bundle rake mvn gradle flutter deno bun hatch pdm tox nox".split()
)
