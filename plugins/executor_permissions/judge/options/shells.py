"""Shells, their builtins, interpreters, and programs that run another. See `Entry` for the notation."""

# ruff: noqa: E501 -- tables: a key holds all the names that share one

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

PROGRAMS: dict[str, Entry] = {
    "timeout": Entry(
        "builder",
        "GNU coreutils 9.1, util-linux 2.38",
        "duration command",
        "-k:duration -s: -v --kill-after:duration --signal: --preserve-status --foreground --verbose",
        traits="stop peel",
    ),
    "nice": Entry(
        "builder",
        "GNU coreutils 9.1, util-linux 2.38",
        "command",
        "-# -n:number --adjustment:number",
        traits="stop peel",
    ),
    "nohup": Entry(
        "builder",
        "GNU coreutils 9.1, util-linux 2.38",
        "command",
        "--help --version",
        traits="stop peel",
    ),
    "setsid": Entry("builder", "util-linux 2.38", "command", "-w -f -c --wait --fork --ctty", traits="stop"),
    "stdbuf": Entry(
        "builder",
        "GNU coreutils 9.1, util-linux 2.38",
        "command",
        "-i:buffer -o:buffer -e:buffer --input:buffer --output:buffer --error:buffer",
        traits="stop peel",
    ),
    "time": Entry(
        "builder",
        "GNU coreutils 9.1, util-linux 2.38",
        "command",
        "-p -v --verbose --portability -q --quiet",
        asks="-f: -o:write -a --format: --output:write --append",
        traits="stop peel",
    ),
    "ionice": Entry(
        "builder",
        "GNU coreutils 9.1, util-linux 2.38",
        "command",
        "-c: -n: -t --class: --classdata: --ignore",
        asks="-p: -P: -u:",
        traits="stop peel",
    ),
    "command": Entry(
        "builder",
        "bash 5.2",
        "command",
        asks="-p",
        traits="stop peel",
        shape="command",
    ),
    "env": Entry(
        "builder",
        "GNU coreutils 9.1",
        "",
        asks="-i -0 -v -u: -C: -S: --ignore-environment --null --unset: --chdir: --split-string: --debug "
        "--block-signal? --default-signal? --ignore-signal? --list-signal-handling",
        traits="peel",
        shape="env",
    ),
    "xargs": Entry(
        "builder",
        "GNU findutils 4.9",
        "command",
        "-0 -r -t -d: -E: -I: -L: -n:number -P:number -s:number -x --null --no-run-if-empty --verbose --delimiter: "
        "--max-args:number --max-procs:number --max-chars:number --exit --show-limits --replace? --max-lines? -i? "
        "-l? -e? --eof?",
        asks="-a:read --arg-file:read -p -o --interactive --open-tty --process-slot-var:",
        traits="stop",
    ),
    "watch": Entry(
        "builder",
        "procps 4.0",
        "command",
        "-b -c -d? -e -g -n: -p -q: -r -t -w -x --beep --color --differences? --errexit --chgexit "
        "--interval: --precise --equexit: --no-title --no-wrap --exec",
        traits="stop",
        shape="joined",
    ),
    "bash sh dash zsh ksh mksh ash rbash fish yash csh tcsh": Entry(
        "builder",
        "bash 5.2",
        "",
        "--version:alone -a -e -f -h -u -v -x -n +a +e +f +h +u +v +x +n",
        shape="interpreter",
    ),
    "pwsh powershell cmd": Entry(
        "builder",
        "PowerShell 7",
        "",
        shape="nothing",
    ),
    "perl ruby": Entry(
        "builder",
        "perl 5.36, ruby 3.1",
        "",
        "-v:alone -V:alone --version:alone -h:alone --help:alone -w -W",
        shape="interpreter",
    ),
    "php lua luajit Rscript R julia tclsh wish guile ghci irb ipython osascript swift groovy scala elixir iex erl racket sbcl clojure jshell bc dc gnuplot octave": Entry(
        "builder",
        "php 8.2, lua 5.4",
        "",
        "-v:alone -V:alone --version:alone -h:alone --help:alone -version:alone",
        shape="interpreter",
    ),
    "vi vim nvim view ex ed emacs nano pico joe micro rvim vimdiff gvim code": Entry(
        "writer",
        "vim 9.0",
        "write*",
        "--version",
        traits="plus",
    ),
    "export declare typeset local readonly": Entry(
        "writer",
        "bash 5.2",
        "",
        "-p -x",
        shape="export",
    ),
    "test [": Entry(
        "reader",
        "bash 5.2",
        "",
        shape="test",
    ),
    "true false :": Entry("reader", "bash 5.2", traits="inert", shape="anything"),
    "cd pushd": Entry(
        "reader",
        "bash 5.2",
        "read",
        "-L -P",
    ),
    "popd dirs exit return break continue shift wait jobs fg bg": Entry(
        "reader",
        "bash 5.2",
        "text*",
        "-# -l -p -v -r -n",
        traits="exact",
    ),
    "set": Entry(
        "writer",
        "bash 5.2",
        "text",
        "-e -u -x -v -f -n -h -C +e +u +x +v -eu -ex -eux -ux +x -euo -eo:(pipefail) -euo:(pipefail) "
        "-euxo:(pipefail) -o:(pipefail|errexit|nounset|xtrace|verbose|noglob|noclobber)",
        traits="exact plus",
    ),
    "unset": Entry("writer", "bash 5.2", "unsetname*", "-v -f", asks="-n"),
    "read": Entry(
        "writer",
        "bash 5.2",
        "name*",
        "-r -s -n: -t: -d: -p: -N:",
        asks="-a: -e -i: -u:",
    ),
    "ulimit umask": Entry(
        "reader",
        "bash 5.2",
        "text*",
        "-a -S -H -c -d -f -l -m -n -s -t -u -v -p",
    ),
}
