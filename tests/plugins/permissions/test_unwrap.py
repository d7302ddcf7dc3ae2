"""What a command runs besides itself: a blacklisted program is found behind whatever runs it."""

# ruff: noqa: E501 -- tables of cases: a line each, and words in one
from __future__ import annotations

from executor_permissions import Policy
from executor_permissions.judge.bash._words import Command
from executor_permissions.judge.runs._unwrap import look_inside

DENY, MAYBE, HIDDEN, FREE = "deny", "maybe", "hidden", "free"


def judged(command, *patterns):
    """How *command* stands to a blacklist of *patterns*: surely it, maybe it, hiding what it runs, or neither."""
    rules = {"defaultPolicy": "allow", "blacklist": {"patterns": [*patterns]}}
    decision = Policy.from_dict(rules, project_root="/proj", home="/home/me").decide("runCommand", {"command": command})
    assert decision.method != "error", decision
    if decision.verdict == "ask":
        return MAYBE if decision.rule in patterns else HIDDEN
    return DENY if decision.verdict == "deny" else FREE


def misjudged(table, *patterns):
    found = [
        (expected, command, judged(command, *(patterns or ("rm *",)))) for expected, all_ in table for command in all_
    ]
    return [one for one in found if one[0] != one[2]]


# Every wrapper with options of its own that take a value: their values are not the program.
WRAPPERS = [
    (DENY, [
        "arch -e A=1 rm x", "builtin rm x", "busybox rm x", "caffeinate -t 5 rm x", "catchsegv rm x", "chpst -u me rm x", "chroot --groups g / rm x", "chroot / rm x", "chrt -T 5 1 rm x", "chrt 1 rm x",
        "command rm x", "coproc rm x", "cpulimit -l 5 rm x", "cpulimit --limit 5 rm x", "dbus-run-session --config-file f rm x", "doas -u me rm x", "doas A=1 rm x", "env -u A rm x", "env --chdir d rm x", "env A=1 B=2 rm x", "env {A,B}=1 rm x",
        "exec -a n rm x", "fakeroot -l lib rm x", "firejail rm x", "flock -w 5 f rm x", "flock f rm x", "gtime -f x rm x", "gtime --output f rm x", "gtimeout -k 5 5 rm x", "gtimeout 5 rm x", "ionice -c 2 -n 1 rm x", "ionice --class 2 rm x",
        "linux32 rm x", "linux64 rm x", "ltrace -o f rm x", "ltrace --output f rm x", "nice -n 5 rm x", "nice --adjustment 5 rm x", "nocorrect rm x", "noglob rm x", "nohup rm x", "nsenter -t 1 rm x", "nsenter --target 1 rm x",
        "numactl -N 0 rm x", "numactl --membind 0 rm x", "pkexec --user me rm x", "prlimit --pid 5 rm x", "prlimit -o x rm x", "proxychains -f c rm x", "proxychains4 -f c rm x", "rlwrap -H f rm x", "setarch x86 rm x",
        "setpriv --reuid 5 rm x", "setsid rm x", "setuidgid me rm x", "softlimit -m 5 rm x", "ssh -p 22 host rm x", "ssh host 'rm x'", "ssh host 'ls; rm x'", "ssh -o A=b host rm x", "stdbuf -o L rm x", "stdbuf --output L rm x",
        "strace -e open rm x", "strace --trace open rm x", "sudo -u me rm x", "sudo --user me rm x", "sudo A=1 rm x", "systemd-run -p A=b rm x", "systemd-run --unit u rm x", "taskset 1 rm x", "time -f x rm x", "\\time -o f rm x", "time -p rm x",
        "timeout -k 5 5 rm x", "timeout --signal 9 5 rm x", "timeout 5 rm x", "torsocks -a h rm x", "toybox rm x", "unbuffer rm x", "unshare -R d rm x", "unshare --root d rm x", "valgrind rm x", "watch -n 5 rm x", "watch 'ls; rm x'", "watch --interval 5 rm x",
        "nsenter -W rm x", "nsenter --wdns rm x", "xvfb-run -s x rm x", "xvfb-run --server-args x rm x",
    ]),
    (DENY, [
        "nice -n5 rm x", "sudo -nu me rm x", "sudo -- rm x", "env -- rm x", "env - rm x", "env -i - A=1 rm x", "env -i A=1 -u B rm x", "env A=1 -- rm x", "env A=1 -u B rm x", "timeout 5 -v rm x", "timeout --kill-after=5 5 rm x", "nice +5 rm x",
        "flock -c 'rm x'", "flock f -c 'rm x'", "flock --command 'rm x'", "watch -c 'rm x'", "env -S 'rm x'", "env -vS 'rm x'", "env -iS 'rm x'", "env --split 'rm x'", "env --s='rm x'", "env -S 'sh -c' 'rm x'", "env --split-string=sh -c 'rm x'", "env -Ssh -c 'rm x'", "env -i -S \"rm 'x\"", "env -S 'A=1 rm x'", "env --split-string 'rm x'", "env --split-string='rm x'", "env '-Srm x'", "env '-vSrm x'", "env -S rm x",
        "sudo env nice timeout 5 rm x", "/usr/bin/env rm x", "exec -- rm x", "exec -c rm x", "command -p rm x", "command rm -v", "command -- rm x", "time rm x", "env A+=1 rm x", "coproc N { rm x; }", "nohup nohup nohup rm x",
    ]),
    (FREE, [
        "command -v rm", "command -V rm", "nice -n rm ls", "env -u rm ls", "sudo -u rm ls", "env A=rm ls", "timeout 5 ls", "timeout 5", "nice", "echo rm x", "exec -a rm ls", "env", "sudo", "ssh host", "ssh host echo rm", "watch ls", "flock rm ls",
        "taskset 1 ls", "env A=1", "time ls", "chroot / ls", "timeout rm ls",
    ]),
    (MAYBE, ["coproc N rm x", "env $X rm x", "nice $X rm x", "sudo -u $X $Y rm x", "env $A=1 rm x", "timeout $X $Y rm x", "env A=1 $X rm x", "env A=$X rm x", "timeout $X rm x", "sudo A=$X rm x"]),
    (HIDDEN, ["env $X", "nice $X", "sudo $X ls", "env $X=1 ls", "ssh host $X", "watch $X", "timeout 5 $X"]),
]  # fmt: skip


def test_a_program_is_found_behind_every_wrapper():
    assert misjudged(WRAPPERS) == []


RUNNERS = [
    (DENY, [
        "asdf exec rm x", "bun x rm x", "bun exec rm x", "bundle exec rm x", "hatch run rm x", "mise exec rm x", "mise x rm x", "npm exec rm x", "npm x rm x", "nvm exec rm x", "nvm run rm x", "pdm run rm x", "pipenv run rm x", "pipx run rm x",
        "pnpm exec rm x", "pnpm dlx rm x", "poetry run rm x", "pyenv exec rm x", "rbenv exec rm x", "rye run rm x", "uv run rm x", "yarn exec rm x", "yarn dlx rm x",
        "docker run -- rm x", "docker exec -- rm x", "podman run -- rm x", "podman exec -- rm x", "kubectl exec -- rm x", "kubectl run -- rm x", "kubectl debug -- rm x", "lxc exec -- rm x", "conda run -- rm x", "mamba run -- rm x", "direnv exec -- rm x",
        "poetry -v run rm x", "poetry run -- rm x", "uv run --frozen -- rm x", "npm exec -c 'rm x'", "npm exec -y --call 'rm x'", "poetry a run rm x", "/usr/bin/uv run rm x",
        "npm exe -- rm x", "yarn exec 'rm x'", "bun exec 'rm x; ls'", "pnpm --shell-mode exec 'rm x'",
    ]),
    (MAYBE, [
        "docker run image rm x", "docker exec c rm x", "podman run image rm x", "kubectl exec pod rm x", "lxc exec c rm x", "conda run rm x", "mamba run rm x", "direnv exec d rm x", "uv run --with y rm x", "docker run rm x", "poetry run -q rm x",
        "docker run a b c d e f g h i j k l m rm x", "npm explore p -- rm x", "npm explore p rm x", "npm explor p 'rm x'", "npm -w a explore p -- rm x",
    ]),
    (FREE, ["uv run ls", "poetry run", "poetry", "npm run build", "docker run image ls", "uv lock", "bun run x", "npm exec ls", "asdf list", "npm test -- ls"]),
    (HIDDEN, ["uv lock rm", "bun rm x", "docker rm x"]),
    (HIDDEN, ["npm run t --script-shell=/bin/rm", "npm --script-sh rm test", "npm docs t --browser='rm x'", "npm config set script-shell rm", "gh cs ssh -- rm x", "gh alias set x '!rm y'", "gh repo clone a/b -- -u 'rm x'", "gh config set pager 'rm x'", "pip --python rm list", "pip config --edit 'rm x' edit"]),
    (FREE, ["npm rm x", "npm i rm", "npm run rm", "npm view rm", "npm test -- rm", "gh pr create --body 'rm x'", "gh search issues rm", "pip install rm", "pip show rm"]),
]  # fmt: skip


def test_a_program_is_found_behind_sub_commands_that_run_it():
    assert misjudged(RUNNERS) == []


LAUNCHERS = [
    (MAYBE, [f"{name} a rm x" for name in ["bunx", "bwrap", "dotenv", "entr", "gdb", "lldb", "npx", "parallel", "perf", "proot", "rr", "script", "su", "runuser", "uvx", "nix-shell", "nix", "vagrant", "concurrently", "nodemon", "watchexec", "at", "batch", "tmux", "screen", "dtach", "abduco", "expect"]]),
    (MAYBE, ["npx rm x", "npx a b c d e f g h i j k l m n o rm x"]),
    (DENY, ["su -c 'rm x'", "script -c 'ls; rm x' f", "tmux new 'rm x'", "npx 'rm x'", "parallel 'rm {}' a"]),
    (HIDDEN, ["npx a b c d e f g h i j k l m n o p rm"]),
    (FREE, ["npx x y", "parallel 'ls x'", "su me"]),
]  # fmt: skip


# Right behind the option that it is the value of.
GLUED = [
    (DENY, ["su -c'rm x'", "su --command='ls; rm x'", "script -c'rm x' f", "script --command='rm x' f", "runuser -c'rm x'", "npx -c'rm x'", "npx --call='rm x'", "npm exec -c'rm x'", "npm exec --call='rm x'", "flock f -c'rm x'", "flock f --command='rm x'", "nodemon -x'rm x'", "nodemon --exec='rm x'", "tmux new -d'rm x'", "entr -s'rm x'", "vagrant ssh -c'rm x'"]),
    (MAYBE, ["script -qc'rm x' f", "foo -c'rm x'", "foo -a'ls; rm x' y", "ansible all -a'rm x'"]),
    (HIDDEN, ["man -P'rm x' ls", "man -H'rm x' ls", "tar -xf a -I'rm x'", "tar -F'rm x' -xf a", "rsync -e'rm x' a h:b", "rsync -ae'rm x' a h:b", "scp -S'rm x' a h:b", "wget --use-askpass='rm x' y"]),
    (FREE, ["grep -e'rm x' a", "git commit -m'rm x'", "su -c'ls x'", "foo -c'ls x'", "tar -xf a -I'zstd -d'", "rsync -e'ssh -p 22' a h:b", "script -qc'ls x' f", "wget 'https://x/rm y'"]),
]  # fmt: skip


def test_a_program_is_found_behind_the_letter_of_an_option():
    assert misjudged(GLUED) == []


# env parts the text that it splits at \\_ too, and puts variables into it.
SPLIT = [
    (DENY, ["env -S 'rm\\_x'", "env -S'rm\\_-r\\_x'", "env -vS 'A=1\\_rm x'", "env --split-string='nice\\_rm x'", "env -S '\"rm\"\\_x'"]),
    (HIDDEN, ["env -S '${X} x'", "env -S'nice\\_${X} x'"]),
    (FREE, ["env -S 'ls\\_rm'", "env -S 'ls ${X}'", "env -S 'ls \\\\_rm x'"]),
]  # fmt: skip


def test_what_env_splits_is_split():
    assert misjudged(SPLIT) == []


def test_a_program_is_found_in_what_a_launcher_is_given():
    assert misjudged(LAUNCHERS) == []


SHELLS = [
    (DENY, ["bash -rcfile f -c 'rm x'", "bash -norc -c 'rm x'", "fish --command 'rm x'", "sg group 'rm x'", "git '-ca=rm y' x", "git --config=a='rm y' x"]),
    (DENY, [f"{name} -c 'rm x'" for name in ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "yash", "csh", "tcsh", "pwsh", "powershell", "cmd"]]),
    (DENY, [
        "bash -xc 'rm x'", "bash -c -x 'rm x'", "bash -o pipefail -c 'rm x'", "bash +o posix -c 'rm x'", "bash --norc -c 'rm x'", "bash -c -- 'rm x'", "bash -O extglob -c 'rm x'", "bash -co pipefail 'rm x'", "pwsh -Command 'rm x'",
        "bash -c - 'rm x'", "bash --rcfile f -c 'rm x'", "bash --init-file f -c 'rm x'", "bash --rcfile=f -c 'rm x'", "bash <<E\nrm x\nE", "bash -s <<E\nrm x\nE", "bash <<< 'rm x'", "bash -s a <<< 'rm x'", "bash /dev/stdin <<< 'rm x'", "bash - <<< 'rm x'", "bash -c 'rm x' $X", "bash -c 'bash -c \"rm x\"'", "bash -c 'ls && rm x' a b",
        "bash -- - <<< 'rm x'", "bash /dev/fd/0 <<< 'rm x'", "sh /proc/self/fd/0 <<< 'rm x'", "bash -c 'rm $1' x $Y", "bash -s -- -x <<< 'rm x'",
    ]),
    (HIDDEN, [
        "bash -c $X", 'bash -c "$X"', "bash $X", "bash -x $X", "bash -c", "bash -x -c", "ls | bash", "ls | sh -s a", "bash < f", "bash -s < f", "ls | bash -", "bash /dev/stdin < f", "bash /dev/fd/3", "bash /dev/tcp/h/1", "bash /proc/self/fd/3", "bash <(ls)", "bash -c '$1' $X", "bash -c 'ls $1' $X",
        "bash --rcfile f", "bash --init-file f x.sh", "bash --rcfile=f x.sh", "ls | bash -x", "bash <<< $X", "ls | bash -o posix", "bash -i $X", "bash /proc/5/fd/0 < f", "bash /dev/udp/h/1", "bash /proc/thread-self/fd/0 < f", "bash -s x y < f",
    ]),
    (FREE, ["bash x.sh", "bash -x x.sh", "ls | bash x.sh", "bash -c 'ls'", "bash", "bash -c 'ls' $X", "bash x.sh < f", "bash --norc x.sh", "bash --login x.sh", "bash -o posix x.sh"]),
]  # fmt: skip


def test_what_a_shell_is_given_is_read():
    assert misjudged(SHELLS) == []


BUILTINS = [
    (DENY, ["eval rm x", "eval 'rm x'", "eval 'ls;' 'rm x'", "trap 'rm x' EXIT", "trap -- 'rm x' EXIT", "alias a='rm x'", "alias b=ls a='rm x'", "complete -C 'rm x' a", "compgen -C 'rm x'", "bind -x 'rm x'", "mapfile -C 'rm x' a", "readarray -C 'rm x' a", "complete -F 'rm x' a", "mapfile -c 5 'rm x'",
        "source /dev/stdin <<< 'rm x'", ". /dev/stdin <<< 'rm x'", "complete 'rm x' -F f"]),
    (HIDDEN, ["eval ls", "eval $X", "eval", "eval rm $X", "eval 'rm x' $X", "trap $X EXIT", "alias a=ls", "hash -p /x ls", "enable -f x y", "fc -s", "complete -C x a", "complete -Cx a", "compgen -F f", "bind -x x", "mapfile -C x a", "readarray -C x", "source /dev/stdin", ". /dev/fd/3", "source $X", ". <(ls)", "source /dev/stdin < f", "complete -x a",
        "printf -v 'a[$(id)]' x", "unset 'a[$(id)]'", "let 'a[`id`]'", "test -v 'a[$(id)]'", "[ -v 'a[$(id)]' ]", "wait -n -p 'a[$(id)]'", "getopts a 'b[${x}]'", "read 'a[$(id)]'", "mapfile 'a[$(id)]'", "readarray 'a[$(id)]'", "export 'a[$(id)]=1'", "declare 'a[$(id)]=1'", "typeset 'a[$(id)]=1'",
        "local 'a[$(id)]=1'", "readonly 'a[$(id)]=1'"]),
    (FREE, ["trap", "trap ls EXIT", "trap -p", "trap - EXIT", "alias", "hash", "enable", "fc", "source x.sh", ". x.sh", "source", ".", "complete -p", "compgen -W x", "mapfile a", "readarray -t a", "bind -p", "printf x", "unset x", "read x", "test -f x", "let x", "echo 'a[$(id)]'", "export A=1", "trap 'ls' INT"]),
]  # fmt: skip


def test_builtins_that_run_a_text_are_read_or_hide():
    assert misjudged(BUILTINS) == []


FINDERS = [
    (DENY, [
        r"find . -exec rm {} \;", r"find . -execdir rm {} \;", r"find . -ok rm {} \;", r"find . -okdir rm {} \;", "find . -exec rm {} +", r"find . -exec ls {} \; -exec rm {} \;", "find . -exec ls {} + -exec rm {} +", r"find . -exec echo + \; -exec rm x \;", "find . -exec rm x",
        r"find . -exec env rm {} \;", r"find . -exec sh -c 'rm x' \;", "fd x -x rm", "fd x -X rm", "fd --exec rm y", "fd --exec-batch rm y", "fdfind x -x rm", "fd -x rm -x y",
        "xargs rm", "ls | xargs rm", "xargs -n 1 rm", "xargs -n1 rm", "xargs -0 rm -f", "xargs -I {} rm {}", "xargs -I{} rm {}", "xargs --max-args 1 rm", "xargs -d x rm", "xargs -a f rm", "xargs --arg-file f rm", "xargs -i rm {}", "xargs --replace=X rm X", "xargs -- rm", "xargs env rm", "xargs -J % rm %",
        "xargs -E e rm", "xargs -L 1 rm", "xargs -P 2 rm", "xargs -s 9 rm", "xargs -r rm", "xargs -R 1 rm", "xargs -S 1 rm", "xargs --delimiter x rm", "xargs --max-lines rm", "xargs --replace rm {}", "xargs --replace env rm {}", "xargs --max-procs 2 rm", "xargs --max-chars 9 rm", "xargs --process-slot-var v rm", "xargs sh -c 'rm x'", "xargs -n $X rm",
    ]),
    (HIDDEN, ["xargs $X", "xargs sh -c", "xargs -I{} sh -c {}", "xargs -I {} sh -c '{}'", "xargs -i sh -c {}", "xargs -iX sh -c X", "xargs -J % sh -c %", "xargs --replace=X sh -c X", "xargs -I{} {}", "xargs -I X X a", "xargs sh", "xargs env", r"find . -exec {} \;", r"find . -exec sh -c {} \;", r"find . -exec sh {} \;", "find . -exec sh {} +", "xargs eval", "fd -x sh -c", "xargs nice"]),
    (MAYBE, ["xargs $X rm"]),
    (FREE, ["xargs ls", "xargs", "ls | xargs -n 1 echo", "find . -name x", r"find . -exec ls {} \;", "find . -exec", "fd x", "fd x -x ls", "xargs -I {} ls {}", "xargs -r", "find"]),
]  # fmt: skip


def test_what_find_fd_and_xargs_run_is_found():
    assert misjudged(FINDERS) == []


OTHERS = [
    (DENY, [
        "git -c alias.x='!rm y' x", "git -c core.pager='rm y' log", "git --config a='rm y' x", "git --config='!A=1 rm y' x", "git '-calias.x=!A=1 rm y' x", "git rebase -x 'rm y'", "git rebase --exec 'rm y'", "git rebase --exec='rm y'", "git difftool --extcmd 'rm y'", "git difftool --extcmd='rm y'",
        "git clone --upload-pack 'rm y' z", "git clone --upload-pack='rm y' z", "git push --receive-pack 'rm y'", "git push --receive-pack='rm y'", "git submodule foreach 'rm y'", "git submodule foreach rm y", "git submodule foreach -q --recursive rm y", "git submodule --quiet foreach sh -c 'rm y'", "git submodule foreach env rm y", "git bisect run rm y", "git filter-branch --tree-filter 'rm y'", "git filter-branch --index-filter 'ls; rm y'",
        "git foo --exec='rm y'", "git grep -O'rm y' x", "git grep -nO'rm y' x", "git grep --open='rm y' x", "git difftool -yx'rm y'", "git difftool -yx 'rm y'", "git rebase -ix'rm y' HEAD", "git clone -qu'rm y' a", "git fetch --upload-p='rm y' x", "ag --pager 'rm y' x", "ag --pager='ls; rm y' x", "ag x --pag 'rm y'", "sed '1e rm y' x", "sed -n -e p -e '$!e rm y' x", "at now <<< 'rm y'", "batch <<< 'ls; rm y'", "parallel <<< 'rm y'",
    ]),
    (MAYBE, ["git clone -u 'rm y' z"]),
    (MAYBE, ["foo rm", "foo --a=rm", "foo --a='rm x'", "foo /bin/rm", "foo 'ls; rm x'", "foo run -x rm -f", "nohup foo rm", "foo bar baz rm", "rm=1 foo --run=/bin/rm"]),
    (HIDDEN, ["x | sed 's/^//e'", "sed '/a/e' x", "sed -ne 's/x/y/2ge' x", "sed --expression='s,x,y,e' x", "gsed --exp 1e x", "x | at now", "x | batch", "x | parallel -j 2", "awk 'BEGIN{system(x)} rm'", "git run rm", "sort --compress-program rm a", "foo a=rm", "ls rm | foo", "foo <<< 'rm x'"]),
    (FREE, ["sed -n p e", "sed s/e/x/ e", "sed -e p e", "sed -f e e", "sed -i.e p e", "sed y/e/f/ 1e", "x | parallel ls", "git log", "git status rm", "git commit -m 'rm x'", "git -c a=b log", "awk 'rm x'", "tar tf rm", "foo rmdir", "foo 'lsrm x'", "foo armor", "echo 'rm x'", "ls | foo", "cat rm | grep rm", "python -m pytest", "foo rm-x", "git grep 'a=rm x'", "git grep -n -e rm", "git clean -fdx rm", "git commit -m '-Orm x'", "git grep foreach rm", "git submodule foreach git rm x", "ag rm", "ag 'rm x' y"]),
]  # fmt: skip


def test_what_other_programs_are_given_to_run_is_found():
    assert misjudged(OTHERS) == []


# The same command of git by a setting: an alias, or what is pushed without a word about it.
SET = [
    (DENY, ["git -c alias.p='push --force' p", "git -c Alias.P='push --force' p origin", "git -c alias.p=push p --force", "git -c alias.p=q -c alias.q='push -f' p", "git -C x -c alias.p='-C y push' p -f", "git -c remote.origin.push=+main push", "git -c remote.o.mirror=true push", "timeout 5 git -c alias.p='push --force' p", "git for-each-repo --config=a.b push --force", "git -c a.b=/x for-each-repo --conf a.b push -f", "git for-each-repo --config=a.b -- push -f"]),
    (MAYBE, ["git config alias.q 'push --force'", "git config alias.q 'push --force'; git q", "git config --global --add alias.q 'push -f'", "git config set alias.q '!git push -f'", "git config alias.q push; git q --force", "git config remote.origin.push +main; git push", "git config remote.origin.mirror true"]),
    (HIDDEN, ["git -c help.autocorrect=immediate psuh --force", "git -chelp.autoCorrect=1 pusg", "git config help.autocorrect 1; git pusg", "git config set help.autocorrect=1", "git --config-env=alias.p=X p", "git --config-env alias.p=X p", "git -c include.path=x p", "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p; git p", "declare -x GIT_ICASE_PATHSPECS=1; git diff -- .ENV", "git -c includeIf.x.path=x p"]),
    (FREE, ["git push", "git help.autocorrect", "git for-each-repo --config=a.b status", "git log --grep help.autocorrect=1", "git config alias.q status", "git -c alias.s='status -s' s", "git -c user.name=a commit", "git config remote.origin.url x", "export GIT_PAGER=cat; git log", "git config --get alias.q", "git -c remote.origin.push=main push"]),
]  # fmt: skip


def test_settings_of_git_stand_for_what_they_make_it_do():
    assert misjudged(SET, "git push --force *", "git push --mirror *") == []


def test_python_modules_are_programs():
    rules = {"defaultPolicy": "allow", "blacklist": {"patterns": ["pip install *"]}}
    policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")
    denied = [
        f"{name} {way} install x"
        for name in ("python", "python2", "python3")
        for way in ("-m pip", "-um pip", "-u -m pip", "-B -u -m pip")
    ]
    allowed = [
        "python x.py -m pip install x",
        "python -m pytest",
        "python --m pip install x",
        "python pip install",
        "python -m",
    ]
    assert [command for command in denied if policy.decide("runCommand", {"command": command}).verdict != "deny"] == []
    assert [command for command in allowed if policy.decide("runCommand", {"command": command}).rule] == []


SETTINGS = [
    (DENY, [way.format(name) for way in ("{}='rm x' ls", "env {}='rm x' ls", "export {}='rm x'; ls", "{}='rm x'; ls", "declare -x {}='ls; rm x'", "typeset {}='rm x'", "readonly {}='rm x'", "f() {{ local {}='rm x'; }}", "timeout 5 env A=b {}='rm x' ls", "sh -c \"{}='rm x' ls\"", "sudo {}=/bin/rm visudo")
            for name in ("EDITOR", "VISUAL", "PAGER", "MANPAGER", "KUBE_EDITOR", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "RSYNC_RSH", "SSH_ASKPASS", "BROWSER", "PROMPT_COMMAND")]),
    (MAYBE, [way.format(name) for way in ("{}='--x=\"rm y\" -z' ls", "env {}='!rm x' ls", "export {}='a; rm x'") for name in ("TAR_OPTIONS", "BASH_ENV", "GIT_CONFIG_VALUE_0", "LESSOPEN", "npm_config_script_shell", "MAKEFLAGS", "LESS")]),
    (DENY, [f"{name} {way}" for name in ("ssh", "scp", "sftp", "/usr/bin/ssh") for way in ("-o ProxyCommand='rm x' h", "-oProxyCommand='rm x' h", "-vo 'LocalCommand rm x' h", "-o 'proxycommand = \"rm x\"' h", "-o KnownHostsCommand=rm h", "-4 -o A=b -oXAuthLocation=/bin/rm h", "h -o RemoteCommand='rm x'")]),
    (DENY, ["GIT_SSH_COMMAND='ssh -o ProxyCommand=\"rm x\"' git fetch", "git -c core.sshCommand='ssh -oProxyCommand=\"rm x\"' fetch"]),
    (FREE, ["PAGER='less -R' ls", "env EDITOR=vim ls", "export LANG=C NODE_OPTIONS=--max-old-space-size=99; ls", "CFLAGS='-O2 -g' make", "MESSAGE='rm x' ls", "export PATH_OF='a b'", "ssh -o StrictHostKeyChecking=no h ls", "ssh -o ProxyCommand='nc %h %p' h ls", "scp -o Port=22 a h:b", "declare -i n=3", "env LESS=-R ls"]),
]  # fmt: skip


def test_what_a_variable_or_a_setting_has_run_is_read():
    assert misjudged(SETTINGS) == []


def test_what_is_inside_is_known_by_its_place_among_the_words():
    table = {
        ("alias", "a=rm x", "b=ls"): [1, 2], ("alias", "b", "a=rm x"): [2], ("eval", "rm x"): [1], ("trap", "--", "rm x", "EXIT"): [2], ("bind", "-x", "rm x"): [1, 2],
    }  # fmt: skip
    told = {words: [inner.at for inner in look_inside(Command(list(words), "")).commands] for words in table}
    assert told == table
