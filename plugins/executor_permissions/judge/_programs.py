"""
What is known about programs: which run another, which options of the others run or write something.

Data only. A program that is not named here is taken at its word: ``foo *`` covers every argument of foo.
"""

# ruff: noqa: E501, SIM905 -- sets of words are read, and changed, best as a line of words
from __future__ import annotations

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
    """

    values: frozenset[str]
    operands: int
    assignments: bool
    joined: bool


def _wrapper(values: str = "", operands: int = 0, *, assignments: bool = False, joined: bool = False) -> Wrapper:
    return Wrapper(frozenset(values.split()), operands, assignments, joined)


_TRACE = "-a -A -b -D -e -E -I -l -n -o -O -p -P -s -S -u -U -w -x -X --output --expr --trace --string-limit --attach"
WRAPPERS: dict[str, Wrapper] = {
    "arch": _wrapper("-e"),
    "builtin": _wrapper(),
    "busybox": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "catchsegv": _wrapper(),
    "chpst": _wrapper("-u -U -e -/ -n -l -L -m -d -o -p -f -c -r -t"),
    "chroot": _wrapper("--userspec --groups", 1),
    "chrt": _wrapper("-T -P -D -p", 1),
    "command": _wrapper(),
    "coproc": _wrapper(),
    "cpulimit": _wrapper("-l -p -e -c --limit --pid --exe"),
    "dbus-run-session": _wrapper("--config-file --dbus-daemon"),
    "doas": _wrapper("-C -u -a", assignments=True),
    "env": _wrapper("-u -C --unset --chdir", assignments=True),
    "exec": _wrapper("-a"),
    "fakeroot": _wrapper("-l -s -i -b --lib --faked"),
    "firejail": _wrapper(),
    "flock": _wrapper("-w -E --timeout --wait --conflict-exit-code", 1),
    "gtime": _wrapper("-f -o --format --output"),
    "gtimeout": _wrapper("-k -s --kill-after --signal", 1),
    "ionice": _wrapper("-c -n -p -P -u --class --classdata --pid"),
    "linux32": _wrapper(),
    "linux64": _wrapper(),
    "ltrace": _wrapper(_TRACE),
    "nice": _wrapper("-n --adjustment"),
    "nocorrect": _wrapper(),
    "noglob": _wrapper(),
    "nohup": _wrapper(),
    "nsenter": _wrapper("-t -S -G --target --setuid --setgid"),
    "numactl": _wrapper("-i -N -m -C -p --interleave --cpunodebind --membind --physcpubind --preferred"),
    "pkexec": _wrapper("--user"),
    "prlimit": _wrapper("-p --pid -o --output"),
    "proxychains": _wrapper("-f"),
    "proxychains4": _wrapper("-f"),
    "rlwrap": _wrapper("-a -b -C -D -e -f -g -H -l -O -p -P -q -s -S -t -w -z"),
    "setarch": _wrapper("", 1),
    "setpriv": _wrapper("--reuid --regid --groups --securebits --inh-caps --bounding-set --ambient-caps"),
    "setsid": _wrapper(),
    "setuidgid": _wrapper("", 1),
    "softlimit": _wrapper("-m -d -s -l -a -o -p -f -c -r -t"),
    "ssh": _wrapper(
        "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -P -Q -R -S -W -w",
        1,
        joined=True,
    ),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "strace": _wrapper(_TRACE),
    "sudo": _wrapper(
        "-C -c -D -g -h -p -R -r -T -t -U -u --chdir --chroot --close-from --command-timeout --group --host --prompt"
        " --role --type --other-user --user",
        assignments=True,
    ),
    "systemd-run": _wrapper("-p -t -u -E -H -M -G --unit --property --setenv --uid --gid --nice --working-directory"),
    "taskset": _wrapper("", 1),
    "time": _wrapper("-f -o --format --output"),
    "timeout": _wrapper("-k -s --kill-after --signal", 1),
    "torsocks": _wrapper("-a -P -p -u"),
    "toybox": _wrapper(),
    "unbuffer": _wrapper(),
    "unshare": _wrapper("-R -w -S -G --root --wd --setuid --setgid --propagation --map-user --map-group"),
    "valgrind": _wrapper(),
    "watch": _wrapper("-n -q --interval --equexit", joined=True),
    "xvfb-run": _wrapper("-e -f -n -p -s -w --error-file --auth-file --server-num --server-args --wait"),
}

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
    "npm": frozenset({"exec", "x"}),
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

SHELLS = frozenset("sh bash dash zsh ksh mksh ash rbash fish yash csh tcsh pwsh powershell cmd".split())
INTERPRETERS = frozenset(
    "python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php lua luajit Rscript R julia tclsh wish guile"
    " ghci irb ipython osascript swift groovy scala elixir iex erl racket sbcl clojure jshell bc dc gnuplot octave"
    " sqlite3 psql mysql mariadb".split()
)
EDITORS = frozenset("vi vim nvim view ex ed emacs nano pico joe micro rvim vimdiff gvim".split())
# What interprets the names of variables it is given, and runs a $(…) in the subscript.
NAME_BUILTINS = frozenset(
    "let declare typeset local readonly export unset read mapfile readarray printf test [ wait getopts [[ ((".split()
)

# Arguments of these are never run, whatever they say.
INERT = frozenset(
    "echo printf grep egrep fgrep rg ag ls cat head tail wc true false pwd git cd mkdir touch diff cmp stat file which"
    " type whereis basename dirname realpath readlink date cut tr nl tac rev jq man less more tree du df ps id whoami"
    " kill rm mv cp ln chmod chown test [ sleep seq sort uniq comm md5sum sha256sum gh jira say notify-send logger"
    " export set unset read npm pip pytest tee curl wget exit return shift break continue : [[".split()
)
READERS = frozenset(
    "cat head tail wc ls stat file diff cmp grep egrep fgrep rg less more md5sum sha256sum sha1sum cut nl tac rev jq"
    " du basename dirname realpath readlink test [ cd tree echo printf".split()
)
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


def is_safe_variable(name: str, value: str) -> bool:
    """Whether setting *name* changes nothing about what runs; a value that is a path may."""
    return (name in SAFE_VARIABLES or name.startswith("LC_")) and value[:1] != "/" and ".." not in value


# Option -> it runs or writes something. "-o" is a letter, also in a cluster; "-exec" (find) a word; "word" a sub-command.
_OPTIONS = {
    "apt": "-o -c --option --config-file",
    "apt-get": "-o -c --option --config-file",
    "base64": "-o --output",
    "bsdtar": "--use-compress-program -I -P -C --directory --to-command -T --files-from",
    "cargo": "--config -Z --target-dir --out-dir --artifact-dir --manifest-path -C",
    "clang": "-fplugin -specs -wrapper -load -B",
    "coverage": "--rcfile --data-file -o",
    "crontab": "-e -r -i -u",
    "curl": "-o -O -T -K -c -D -F -J -d --output --output-dir --remote-name --remote-name-all --remote-header-name"
    " --upload-file --config --cookie-jar --dump-header --trace --trace-ascii --stderr --libcurl --etag-save --hsts"
    " --alt-svc --form --form-string --data --data-ascii --data-binary --data-raw --data-urlencode --json"
    " --create-dirs --engine --netrc-file --unix-socket --url-query",
    "date": "-s --set",
    "docker": "run exec cp config context plugin -H --host --config",
    "dpkg": "--pre-invoke --post-invoke --admindir --root --instdir",
    "eslint": "-o -c -f --output-file --config --rulesdir --resolve-plugins-relative-to --plugin --parser --format --init",
    "fd": "-x -X --exec --exec-batch",
    "fdfind": "-x -X --exec --exec-batch",
    "file": "-C -m --compile --magic-file",
    "find": "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from",
    "g++": "-fplugin -specs -wrapper -B",
    "gcc": "-fplugin -specs -wrapper -B",
    "gh": "alias extension config api auth codespace",
    "go": "run generate tool env -exec -toolexec -vettool -overlay -modfile -o -C -outputdir -coverprofile -cpuprofile"
    " -memprofile -blockprofile -mutexprofile -trace -pkgdir -ldflags -gccgoflags",
    "helm": "plugin --post-renderer --kubeconfig",
    "jest": "-c --config --outputFile --coverageDirectory --globalSetup --setupFiles --rootDir --testRunner",
    "journalctl": "--vacuum-size --vacuum-time --vacuum-files --rotate --flush --sync --cursor-file --setup-keys",
    "kubectl": "exec cp run edit debug proxy port-forward plugin config --kubeconfig",
    "less": "-o -O -k --log-file --LOG-FILE --lesskey-file --lesskey-src --lesskey-content",
    "make": "-f -E -C -I --file --makefile --eval --directory --include-dir",
    "man": "-P -H -C --pager --html --config-file --browser",
    "more": "-o",
    "mypy": "--config-file --cache-dir --python-executable --junit-xml --install-types --html-report --txt-report"
    " --xml-report --any-exprs-report --cobertura-xml-report --linecount-report --linecoverage-report --xslt-html-report",
    "nc": "-e -c -o",
    "ncat": "-e -c -o -x --exec --sh-exec --lua-exec --output --hex-dump",
    "netcat": "-e -c -o",
    "nmap": "-o -i --script --script-args --datadir --servicedb --resume",
    "npm": "exec x explore edit config set c create --script-shell --prefix -C --userconfig --globalconfig"
    " --node-options --git --shell -c --call --editor --viewer --browser --init-module --cache --registry",
    "openssl": "-out -engine -provider -provider-path -config -keyout",
    "pip": "config download wheel -t --target --prefix --root --src --log -i --index-url --extra-index-url --trusted-host"
    " --proxy --cert --client-cert --python --editor --report -d --dest -w --wheel-dir -f --find-links --cache-dir",
    "pnpm": "exec dlx create config set -C --dir --script-shell --shell-emulator -c --registry",
    "poetry": "run shell config self -C --directory --project -P",
    "prettier": "--plugin --config",
    "printf": "-v",
    "pytest": "-p -c -o --config-file --rootdir --confcutdir --override-ini --pdbcls --basetemp --junitxml --junit-xml"
    " --log-file --result-log --debug --pastebin --report-log --html --cov-config --json-report-file --cov-report",
    "rg": "-z --search-zip --pre --hostname-bin",
    "rsync": "-e -M --rsh --rsync-path --remote-option --log-file --write-batch --only-write-batch --partial-dir --temp-dir",
    "ruff": "-o --output-file --config --cache-dir",
    "rustc": "-C -o -L --codegen --out-dir --sysroot -Z",
    "scp": "-S -o -F -D",
    "sftp": "-S -o -F -b -D",
    "ssh": "-o -F -E -S -L -R -D -W -w -e -I -J",
    "sort": "-o -T --output --compress-program --temporary-directory",
    "split": "--filter",
    "systemctl": "edit link set-environment import-environment -H -M --host --machine --root",
    "tcpdump": "-z -w -W -G",
    "tree": "-o -R --output",
    "terraform": "console -chdir -out",
    "uv": "run tool x --directory --project --index-url --default-index --index --config-file --python -p",
    "wget": "-O -o -a -P -e -i --output-document --output-file --append-output --directory-prefix --execute --input-file"
    " --config --use-askpass --post-file --post-data --body-file --body-data --method --save-cookies --hsts-file --warc-file",
    "yarn": "exec dlx create config set --cwd --use-yarnrc --registry",
    "yq": "-i -s --inplace --split-exp",
    "zip": "-T --unzip-command --test",
}
ALIASES = {"pip3": "pip", "gmake": "make", "py.test": "pytest", "podman": "docker", "gsed": "sed"}


@dataclass(frozen=True, slots=True)
class Guard:
    """The options of one program that a wildcard never covers."""

    letters: frozenset[str]
    long: tuple[str, ...]
    words: frozenset[str]
    commands: frozenset[str]


def _guard(text: str) -> Guard:
    tokens = text.split()
    return Guard(
        frozenset(token[1] for token in tokens if len(token) == 2 and token[0] == "-"),
        tuple(token for token in tokens if token.startswith("--")),
        frozenset(token for token in tokens if token[0] == "-" and token[1] != "-" and len(token) > 2),
        frozenset(token for token in tokens if token[0] != "-"),
    )


GUARDS: dict[str, Guard] = {program: _guard(text) for program, text in _OPTIONS.items()}
# Programs that do not take a shortened long option for the whole.
EXACT_LONG = frozenset(
    "pytest rg fd fdfind go docker kubectl npm pnpm yarn eslint jest uv cargo find mypy ruff".split()
)
# Whole options that a guarded one merely begins with.
NOT_SHORTENED = frozenset({"--pre", "--global", "--data", "--form", "--exec"})

GIT_COMMANDS = frozenset(
    "add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-ref-format checkout"
    " cherry cherry-pick clean clone column commit commit-tree count-objects describe diff diff-files diff-index diff-tree"
    " fetch for-each-ref format-patch fsck gc grep hash-object init log ls-files ls-remote ls-tree merge merge-base"
    " merge-file merge-tree mktag mktree mv name-rev notes pack-refs patch-id prune pull push range-diff read-tree rebase"
    " reflog remote repack request-pull reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref"
    " sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag update-index update-ref var"
    " verify-commit verify-pack verify-tag version whatchanged worktree write-tree".split()
)
GIT_GLOBAL = frozenset(
    "--no-pager -P --no-replace-objects --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs"
    " --icase-pathspecs --version -v --html-path --man-path --info-path --no-lazy-fetch --no-advice".split()
)
GIT_GLOBAL_VALUES = frozenset(
    "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --attr-source".split()
)
GIT_LONG = (
    "--output --output-directory --upload-pack --receive-pack --exec --extcmd --open-files-in-pager --ext-diff --textconv"
    " --template --config --config-env --separate-git-dir --git-dir --work-tree --unsafe-paths --filters --strategy"
    " --exec-path"
).split()
GIT_LETTERS = {
    "archive": "o", "clone": "uc", "format-patch": "o", "grep": "O", "rebase": "xs", "merge": "s", "pull": "s",
}  # fmt: skip
GIT_NESTED = frozenset({("bisect", "run"), ("submodule", "foreach"), ("bundle", "create"), ("bisect", "visualize")})
GIT_GLOB_SAFE = frozenset({"add", "rm", "mv", "restore", "status", "ls-files", "check-ignore", "stage"})

# Programs whose rules are offered as "program sub-command *".
SUBCOMMANDS = frozenset(
    "git npm pnpm yarn pip pip3 docker podman kubectl cargo go uv poetry gh apt brew systemctl helm terraform make dotnet"
    " conda bundle rake mvn gradle flutter deno bun hatch pdm tox nox".split()
)
READ_ONLY = frozenset(
    "ls cat head tail wc grep egrep fgrep rg du df stat file pwd whoami id uname which ps diff cmp cut tr nl tac rev"
    " basename dirname realpath readlink tree echo printf true false jq date sleep seq md5sum sha256sum".split()
)
