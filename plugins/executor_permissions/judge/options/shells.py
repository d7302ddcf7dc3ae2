"""Shells, their builtins, interpreters, and programs that run another. See `Entry` for the notation."""

# ruff: noqa: E501 -- tables: a key holds all the names that share one

from __future__ import annotations

from executor_permissions.judge.options._entry import Entry

PROGRAMS: dict[str, Entry] = {
    "timeout": Entry(
        "builder",
        "duration command",
        "-k:duration -s: -v --kill-after:duration --signal: --preserve-status --foreground --verbose",
        manual="GNU coreutils 9.1, util-linux 2.38",
        traits="stop peel",
    ),
    "nice": Entry(
        "builder",
        "command",
        "-# -n:number --adjustment:number",
        manual="GNU coreutils 9.1, util-linux 2.38",
        traits="stop peel",
    ),
    "nohup": Entry(
        "builder", "command", "--help --version", manual="GNU coreutils 9.1, util-linux 2.38", traits="stop peel"
    ),
    "setsid": Entry("builder", "command", "-w -f -c --wait --fork --ctty", manual="util-linux 2.38", traits="stop"),
    "stdbuf": Entry(
        "builder",
        "command",
        "-i:buffer -o:buffer -e:buffer --input:buffer --output:buffer --error:buffer",
        manual="GNU coreutils 9.1, util-linux 2.38",
        traits="stop peel",
    ),
    "time": Entry(
        "builder",
        "command",
        "-p -v --verbose --portability -q --quiet",
        manual="GNU coreutils 9.1, util-linux 2.38",
        asks="-f: -o:write -a --format: --output:write --append",
        traits="stop peel",
    ),
    "ionice": Entry(
        "builder",
        "command",
        "-c: -n: -t --class: --classdata: --ignore",
        manual="GNU coreutils 9.1, util-linux 2.38",
        asks="-p: -P: -u:",
        traits="stop peel",
    ),
    "command": Entry("builder", "command", manual="bash 5.2", asks="-p", traits="stop peel", shape="command"),
    "env": Entry(
        "builder",
        manual="GNU coreutils 9.1",
        asks="-i -0 -v -u: -C: -S: --ignore-environment --null --unset: --chdir: --split-string: --debug "
        "--block-signal? --default-signal? --ignore-signal? --list-signal-handling",
        traits="peel",
        shape="env",
    ),
    "xargs": Entry(
        "builder",
        "command",
        "-0 -r -t -d: -E: -I: -L: -n:number -P:number -s:number -x --null --no-run-if-empty --verbose --delimiter: "
        "--max-args:number --max-procs:number --max-chars:number --exit --show-limits --replace? --max-lines? -i? -l? "
        "-e? --eof?",
        manual="GNU findutils 4.9",
        asks="-a:read --arg-file:read -p -o --interactive --open-tty --process-slot-var:",
        traits="stop",
    ),
    "watch": Entry(
        "builder",
        "command",
        "-b -c -d? -e -g -n: -p -q: -r -t -w -x --beep --color --differences? --errexit --chgexit --interval: "
        "--precise --equexit: --no-title --no-wrap --exec",
        manual="procps 4.0",
        traits="stop",
        shape="joined",
    ),
    "bash sh dash zsh ksh mksh ash rbash fish yash csh tcsh": Entry(
        "builder",
        "",
        "--version:alone -a -e -f -h -u -v -x -n +a +e +f +h +u +v +x +n",
        manual="bash 5.2",
        shape="interpreter",
    ),
    "pwsh powershell cmd": Entry("builder", manual="PowerShell 7", shape="nothing"),
    "perl ruby": Entry(
        "builder",
        "",
        "-v:alone -V:alone --version:alone -h:alone --help:alone -w -W",
        manual="perl 5.36, ruby 3.1",
        shape="interpreter",
    ),
    "php lua luajit Rscript R julia tclsh wish guile ghci irb ipython osascript swift groovy scala elixir iex erl racket sbcl clojure jshell bc dc gnuplot octave": Entry(
        "builder",
        "",
        "-v:alone -V:alone --version:alone -h:alone --help:alone -version:alone",
        manual="php 8.2, lua 5.4",
        shape="interpreter",
    ),
    "vi vim nvim view ex ed emacs nano pico joe micro rvim vimdiff gvim code": Entry(
        "writer", "write*", "--version", manual="vim 9.0", traits="plus"
    ),
    "export declare typeset local readonly": Entry("writer", "", "-p -x", manual="bash 5.2", shape="export"),
    "test [ [[": Entry("reader", manual="bash 5.2", shape="test"),
    "true false :": Entry("reader", manual="bash 5.2", traits="inert", shape="anything"),
    "cd pushd": Entry("reader", "read", "-L -P", manual="bash 5.2"),
    "mapfile readarray": Entry("writer", "name", "-t -d: -n: -O: -s:", manual="bash 5.2", asks="-C: -c: -u:"),
    "getopts": Entry("writer", "text name text*", manual="bash 5.2"),
    "let": Entry("writer", manual="bash 5.2"),  # a subscript in it is run
    "wait": Entry("reader", "text*", "-# -n -f", manual="bash 5.2", asks="-p:"),
    "popd dirs exit return break continue shift jobs fg bg": Entry(
        "reader", "text*", "-# -l -p -v -r -n", manual="bash 5.2", traits="exact"
    ),
    "set": Entry(
        "writer",
        "text",
        "-e -u -x -v -f -n -h -C +e +u +x +v -eu -ex -eux -ux -euo -eo:(pipefail) -euo:(pipefail) -euxo:(pipefail) "
        "-o:(pipefail|errexit|nounset|xtrace|verbose|noglob|noclobber)",
        manual="bash 5.2",
        traits="exact plus",
    ),
    "unset": Entry("writer", "unsetname*", "-v -f", manual="bash 5.2", asks="-n"),
    "read": Entry("writer", "name*", "-r -s -n: -t: -d: -p: -N:", manual="bash 5.2", asks="-a: -e -i: -u:"),
    "ulimit umask": Entry("reader", "text*", "-a -S -H -c -d -f -l -m -n -s -t -u -v -p", manual="bash 5.2"),
}
