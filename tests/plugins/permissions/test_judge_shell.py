"""One command of a line: wrappers that change nothing, variables, folders, redirections, files that are kept."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import pytest

from executor_permissions import Policy
from executor_permissions.judge.rules._rules import Placeholders, shell_rule


def decisions(table, rules, tool="runCommand"):
    """The (expected, command, decision) of *table* in which the policy of *rules* decides otherwise."""
    policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")
    wrong = []
    for expected, commands in table.items():
        for command in commands:
            decision = policy.decide(tool, {"command": command})
            told = (decision, *decision.parts)
            if decision.verdict != expected or decision.method == "error" or not all(map(is_whole, told)):
                wrong.append((expected, command, decision.verdict, decision.reason, decision.parts))
    return wrong


def is_whole(judged):
    """Whether a decision, or one of its parts, says all that it has to."""
    return judged.verdict in ("allow", "ask", "deny") and bool(judged.reason and judged.method)


def test_wrappers_that_change_nothing_are_looked_through():
    table = {
        "allow": [
            "timeout 5 ls a", "timeout 5s ls", "timeout 1.5m ls", "timeout 2h ls", "timeout 3d ls", "timeout -k 1 5 ls", "timeout -s KILL 5 ls", "timeout --kill-after 1 5 ls", "timeout --signal 9 5 ls", "timeout --kill-after=1 5 ls", "timeout --signal=9 5 ls",
            "timeout --preserve-status 5 ls", "timeout --foreground 5 ls", "timeout -v 5 ls", "timeout --verbose -k 1 5 ls", "time ls", "time -p ls", "nice ls", "nice -n 5 ls", "nice -n -5 ls", "nice -5 ls", "nice --5 ls", "nice --adjustment=5 ls", "nice --adjustment=-5 ls", "nohup ls", "command ls a",
            "env ls", "stdbuf ls", "stdbuf -o L ls", "env LANG=C ls", "env LANG=C CI=1 ls a", "stdbuf -oL ls", "stdbuf -i0 -o0 -eL ls", "stdbuf -o5K ls", "stdbuf -e4M ls", "stdbuf -o1G ls", "env LANG=C timeout 5 nice ls a", "nohup nice -n 5 ls", "timeout 5 timeout 5 timeout 5 ls",
        ],
        "ask": [
            "timeout ls", "timeout 5", "timeout 5x ls", "timeout -x 5 ls", "timeout 5 -v ls", "timeout -k 5", "timeout x ls", "timeout --fore 5 ls", "timeout $X ls", "time", "time -x ls", "nice -n ls", "nice -n x ls", "nice -x ls", "nice -n 5", "nice", "nohup", "nohup -x ls", "command", "command -v ls", "command -p ls", "env", "env -i ls",
            "env LANG=C", "env FOO=1 ls", "env LANG=C FOO=1 ls", "env -u x ls", "env -x=1 ls", "env $X ls", "stdbuf -oX ls", "stdbuf -oL", "stdbuf -xL ls", "timeout 5 rm x", "/usr/bin/timeout 5 ls", "sudo ls", "setsid ls", "env LANG=C /bin/ls", "$X ls", "nice --adjustment=x ls", "timeout 5 6 ls",
            "LD_PRELOAD=x timeout 5 ls", "env LANG=$X ls", "timeout 05.x ls", "timeout -s", "nice -n 5 rm", "time time", "env ls=1", "nice -n 5x ls", "stdbuf -oL -x ls",
        ],
    }  # fmt: skip
    assert decisions(table, {"whitelist": {"patterns": ["ls *"]}}) == []


def test_variables_in_front_are_covered_if_they_are_known_to_be_harmless():
    names = (
        "LANG LANGUAGE TZ CI NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES TERM NODE_ENV RAILS_ENV RACK_ENV APP_ENV FLASK_ENV DEBUG VERBOSE PYTHONUNBUFFERED"
        " PYTHONHASHSEED RUST_BACKTRACE GOOS GOARCH LC_ALL LC_TIME SOURCE_DATE_EPOCH DEBIAN_FRONTEND"
    )
    table = {
        "allow": [*(f"{name}=a ls" for name in names.split()), "LANG=C CI=1 ls x", "LANG= ls", "LANG=a/b ls", "LANG=a.b ls", "LANG=C", "LANG=C CI=1", "x=1", "x=$Y ls_=2"],
        "ask": ["PATH=/x ls", "FOO=1 ls", "LANG='a b' ls", "LANG=/x ls", "LANG=../x ls", "LC_ALL=/x ls", "LANG=$X ls", "LANG=$(id) ls", "LANG=C FOO=1 ls", "FOO=1", "LANG=C FOO=1", "XLC_ALL=a ls", "LANG=a.. ls", "LANG[1]=a ls", "LANG=(a) ls", "LANG+=a LD_X=1 ls"],
    }  # fmt: skip
    assert decisions(table, {"whitelist": {"patterns": ["ls *"]}}) == []


def test_where_cd_leads_decides_what_a_rule_covers_behind_it():
    table = {
        "allow": ["cd src", "cd src && ls", "cd /proj/src && ls", "cd src && cd sub && ls", "cd -- src", "cd .", "pushd src && ls", "cd src && cd .. && ls", "cd /proj", "cd . && git log", "ls && cd src", "git log && cd src", "cd -P src", "cd src && git log", "cd src; git log", "cd src && cd .. && git log", "pushd src && git log", "popd", "popd && ls", "popd; ls", "pushd", "pushd src && popd && git log"],
        "ask": [
            "cd", "cd ..", "cd /", "cd -", "cd ~", "cd $X", "cd src; cd ..; ls", "cd / && ls", "cd ../x && ls", "cd /projx", "cd src && cd ../.. && ls",
            "command cd / && ls", "builtin cd / && ls", "cd src && echo x > ../../a", "cd - && ls", "$X && ls", "cd src/* && ls", "(cd / && ls)", "pushd / && popd && ls",
        ],
    }  # fmt: skip
    rules = {
        "patterns": ["cd *", "pushd *", "popd *", "ls *", "git *", "command *", "builtin *", "echo *"],
        "tools": [],
    }
    assert decisions(table, {"whitelist": {**rules, "arguments": {"writeFile": {"path": ["${project}/"]}}}}) == []


def test_what_stays_known_of_the_folder_after_cd():
    rules = {"defaultPolicy": "allow", "blacklist": {"arguments": {"writeFile": {"path": ["${project}/keys/"]}}}}
    table = {
        "deny": ["echo > keys/a", "cd src && echo > ../keys/a", "cd keys && echo > a", "command cd keys && echo > a", "builtin cd keys; echo > a", "cd src; cd ..; echo > keys/a", "cd /x; echo > keys/a", "pushd keys; echo > a", "> keys/a", "echo >> keys/a", "echo &> keys/a", "ls | tee keys/a", "tee -a keys/a", "echo 2> keys/a", "echo >| keys/a"],
        "allow": ["echo > src/a", "echo > keysx", "tee -a src/b", "tee /dev/null", "echo > /dev/null", "echo 2>&1", "echo >&2", "tee /dev/stderr /dev/stdout", "echo 2>&-"],
        "ask": ["echo > /dev/tcp/h/1", "cat < /dev/udp/h/1"],
    }  # fmt: skip
    assert decisions(table, rules) == []


def test_redirections_are_judged_as_the_file_tools():
    rules = {
        "whitelist": {"patterns": ["echo *", "cat *", "tee *", "cd *"], "arguments": {"writeFile": {"path": ["${project}/w/"]}, "readFile": {"path": ["${project}/r/"]}}},
        "ask": {"arguments": {"writeFile": {"path": ["${project}/w/asked"]}}},
        "blacklist": {"arguments": {"readFile": {"path": ["${project}/r/no"]}, "write_file": {"path": ["${project}/w/no"]}}},
    }  # fmt: skip
    table = {
        "allow": ["echo > w/a", "cat < r/a", "> w/a", "tee w/a", "cat < r/a > w/b", "echo &>> w/a", "cat <<< x", "echo 2> w/a", "echo 3< r/a", "cd w && echo > a", "cd r && cat < a > ../w/a", "(cd w; echo) > w/a"],
        "ask": ["echo > r/a", "cat < w/a", "> x", "tee x", "tee w/a x", "tee w/*", "echo > w/asked", "cat < r/a > x", "cat <> w/a", "echo > ''", "echo > $X", "cd w; echo > a", "cd r && echo > a", "tee \"$X\"", "echo > w/{a,b}"],
        "deny": ["cat < r/no", "echo > w/no", "tee w/no", "cat < ./r/../r/no", "echo x | cat < /proj/r/no", "cd r && cat < no", "cd w; echo > no", "cd x; cat < ../r/no"],
    }  # fmt: skip
    assert decisions(table, rules) == []


def test_a_rule_about_either_name_of_the_file_tools_allows_a_redirection():
    for write, read in (("writeFile", "readFile"), ("write_file", "read_file")):
        rules = {
            "patterns": ["echo *", "cat *"],
            "arguments": {write: {"path": ["${project}/w/"]}, read: {"path": ["${project}/r/"]}},
        }
        table = {"allow": ["echo a > w/f", "cat < r/f"], "ask": ["echo a > r/f", "cat < w/f"]}
        assert decisions(table, {"whitelist": rules}) == []


def test_a_rule_that_looks_anywhere_is_about_either_name_too():
    for rule in ("*write_file(*no*", "*writeFile(*no*"):
        table = {"deny": [f"echo a > no{i}" for i in range(50)]}
        assert decisions(table, {"defaultPolicy": "allow", "blacklist": {"patterns": [rule]}}) == [], rule


def test_secrets_are_asked_about_and_blacklisted_files_kept_from_every_program():
    rules = {
        "whitelist": {"patterns": ["cat *", "ls *", "grep *", "foo *", "cp *", "cd *"]},
        "blacklist": {
            "arguments": {"readFile": {"path": ["${project}/.env", "${project}/keys/"]}, "open": {"path": ["/srv/a*"]}}
        },
    }
    table = {
        "allow": ["cat a", "cat ~/.sshx", "cat .env.example", "cat keysx", "cat src/*", "ls -la", "cat .docker", "cat /etc/shadows", "cat /etc/passwd", "cat /proc/self/status", "ls ~/src/*", "cat x=.envx", "cat a=b,c:d@e", "cd src && cat .env", "cat .envs", "cd src; cat .env.example"],
        "ask": [
            "cat ~/.ssh/id", "cat a/.netrc/b", "cat /x/.ssh/id", "cat .ssh", "cat ~/.aws/credentials", "cat ~/.gnupg/x", "cat ~/.netrc", "cat ~/.kube/config", "cat ~/.docker/config.json", "cat ~/.git-credentials", "cat ~/.npmrc", "cat ~/.pypirc", "cat /etc/shadow", "cat /etc/gshadow", "cat /etc/sudoers", "cat /proc/self/environ", "cat /etc/sudoers.d",
            "cat ~/.ss*/id", "cat ~/.a*/x", "cat /etc/sh*", "cat ~/.[s]sh/id", "cat /etc/sudo?rs", "cat ~/.net*", "cat ~/.k*/config", "cat ~/.doc*/config.json", "cat ~/.npm*", "cat ~/.py*", "cat ~/.gnu*/x", "cat ~/.git-c*", "cat /etc/gsh*", "cat //etc/shadow", "foo --file=/etc/shadow",
            "cat .e*", "cat k*/a", "cat .[e]nv", "cat keys/*", "cat *", "grep .env a", "cat *env*/../.env", "cat $X/.env", "cd $X && cat .env", "cd src && cd $X && cat .env",
        ],
        "deny": [
            "cat .env", "cat /proj/.env", "cat src/../.env", "cat keys/a", "foo --file=.env", "foo -f.env", "foo --x=/proj/keys/a", "cat ./keys", "cp .env x", "cat ../proj/.env", "foo @.env", "foo -d @.env", "foo a:.env", "foo -v .env:/x", "foo x=.env", "foo file:///proj/.env", "cat /proc/self/cwd/.env",
            "cat /proc/self/root/proj/.env", "cat /proc/thread-self/cwd/keys/a", "cat //proj//.env", "(cd src); cat .env", "cd nonexistent; cat .env", "cd src || cat .env", "cd src && cat ../.env", "x=.env; cat $x", "for f in a .env; do cat \"$f\"; done", "cat \"$PWD/.env\"", "cat $(pwd)/.env", "cd keys", "cd keys && ls", "bash -c 'cat .env'",
            "cat < .env", "while read x; do cat .env; done", "grep x .env", "sed p .env", "cd keys; cat a", "true && cat .env | wc", "pushd keys && cat a", "if cd src; then ls; else cat .env; fi", "for i in 1 2; do cat .env; cd src; done", "cd $X; cat .env", "cd $X; cat < .env",
        ],
    }  # fmt: skip
    assert decisions(table, rules) == []


def test_the_policys_own_files_are_kept_from_what_writes():
    rules = {"defaultPolicy": "allow", "whitelist": {"patterns": ["foo *"]}}
    own = "/proj/.toolexec"
    table = {
        "deny": [f"cp x {own}/a", "cp x .toolexec/a", "rm -r .toolexec", "touch .toolexec", "foo --out=.toolexec/x", "foo -o.toolexec/x", "cp x .tool*/a", "mv a src/../.toolexec/b", "cp x ~/.config/toolexec/a", "sed -i p .toolexec/permissions.json", "echo x > .toolexec/a", "tee .toolexec/a", "foo .toolexec", "cp x .[t]oolexec/a", "find .toolexec -delete", "foo /proj/.toolexec/x/y",
                 "curl -o .toolexec/a http://x", "awk x .toolexec/a", "pushd .toolexec", "cat .toolexec/a", "ls .toolexec", "head .toolexec/a", "grep x .toolexec/a", "stat .toolexec", "diff .toolexec/a b", "wc .toolexec/a", "jq . .toolexec/a", "tree .toolexec", "cd $X; foo .toolexec", "cd src; cp x ../.toolexec/a", "cd src; cp x .toolexec/a", "cat < .toolexec/a"],
        "ask": ["rm -r /proj", "mv . x", "rm -rf /", "rmdir /proj", "rsync -a x /proj", "chown me /proj", "chmod 5 /proj", "shred /proj", "git checkout .toolexec", "rm -r ~/.config", "rm -- .", "cat .tool*", "ls -d .*", "cd $X && foo .toolexec"],
        "allow": ["foo x", "foo .toolexecx", "rm -r src", "mv a b", "touch /proj", "foo *", "echo .toolexec", "rm -.", "cp x /projx", "[ -f .toolexec/a ]", "cd src && foo .toolexec", "cd src && cp x ../y/.toolexec"],
    }  # fmt: skip
    assert decisions(table, rules) == []


def test_what_a_line_may_run_of_what_it_wrote_or_set_hides():
    rules = {"defaultPolicy": "allow", "blacklist": {"patterns": ["evil *"]}}
    table = {
        "ask": [
            "echo x > a; ./a", "echo x > a; sh a", "echo x > a; . a", "echo x > a && source a", "cp a b; ./b", "curl -o a x; bash a", "tee a; sh a", "dd of=a; ./a", "mv a b; ./b", "ln a b; ./b", "install a b; ./b", "wget x; sh x", "rsync a b; ./b", "scp a b; ./b", "sed p; ./b", "awk p; ./b", "perl x; ./b", "python x; ./b", "python3 x; ./b", "node x; ./b", "truncate a; ./a", "sponge a; ./a", "./a > b", "sh a > b",
            "PATH=x ls", "IFS=x ls", "ENV=x ls", "BASH_ENV=x ls", "PS4=x ls", "PROMPT_COMMAND=x ls", "HOME=x ls", "CDPATH=x cd a", "SHELL=x ls", "LD_PRELOAD=x ls", "DYLD_X=y ls", "GIT_DIR=x ls", "BASH_FUNC_x=y ls", "PATH=x", "A=$(id) ls", "A='`id`' ls", "A='$(id)' ls", "PATH[0]=x ls", "SHELLOPTS=x ls", "GLOBIGNORE=x ls", "BASHOPTS=x ls", "EXECIGNORE=x ls",
            "foo evil", "foo a evil b", "foo /x/evil", "foo --x=evil", "foo --x=/y/evil", "foo 'a evil b'", "ls evil | foo", "foo <<< 'evil x'", "foo < evil", "$X", "$X evil", "xargs sh",
        ],
        "allow": [
            "echo x > a; ls a", "./a; echo x > a", "sh a; cp a b", "cat a; ./a", "A=1 ls", "LANG=x ls", "MYPATH=x ls", "foo evilx", "foo evil-x", "foo --evil=x", "echo evil", "foo 'a evil-b'", "ls evil", "grep evil a", "cat < evil", "npm evil", "git log evil", "rm evil", "cd evil", "env LANG=x foo", "printf evil", "test evil", "[ evil ]",
            "man evil", "which evil", "jq evil", "kill evil", "export evil", "gh evil", "logger evil", "read evil", "A='$x' ls",
        ],
    }  # fmt: skip
    assert decisions(table, rules) == []


def test_the_most_severe_rule_decides_and_is_named():
    rules = {
        "version": "1.1",
        "whitelist": {"patterns": ["ls *", "git *"]},
        "ask": {"patterns": ["git push *", "a | b"]},
        "blacklist": {"patterns": ["rm *", "git clean *", "c | d"]},
    }
    policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")

    def told(command):
        decision = policy.decide("runCommand", {"command": command})
        return decision.verdict, decision.method, decision.rule, [part.verdict for part in decision.parts]

    assert told("ls") == ("allow", "whitelist", "ls *", ["allow"])
    assert told("ls; foo") == ("ask", "default", None, ["allow", "ask"])
    assert told("git push") == ("ask", "ask_rule", "git push *", ["ask"])
    assert told("foo; git push") == ("ask", "ask_rule", "git push *", ["ask", "ask"])
    assert told("ls; git push; rm x") == ("deny", "blacklist", "rm *", ["allow", "ask", "deny"])
    assert told("git $X clean") == ("ask", "ask_rule", "git clean *", ["ask"])
    assert told("git clean") == ("deny", "blacklist", "git clean *", ["deny"])
    assert told("c | d") == ("deny", "blacklist", "c | d", ["deny"])
    assert told("a | b") == ("ask", "ask_rule", "a | b", ["ask", "ask", "ask"])
    assert told("env c $X | d")[:3] == ("deny", "blacklist", "c | d")
    assert told("npx c | d")[:3] == ("deny", "blacklist", "c | d")
    assert told("") == ("ask", "default", None, ["ask"])
    assert told("# nothing") == ("ask", "default", None, ["ask"])
    assert told("ls; ls; ls")[3] == ["allow"]


def test_reasons_say_what_keeps_a_rule_from_covering():
    policy = Policy.from_dict(
        {"whitelist": {"patterns": ["ls *", "sort *", "cd *", "git *", "awk *", "find *", "bash *", "bar a"]}},
        project_root="/proj",
        home="/home/me",
    )
    for command, reason in {
        "FOO=1 ls": "FOO=1 ls: it sets the variable FOO",
        "ls $x": "ls $x: a word of it is only known when it runs",
        "ls ~/.ssh/a": "ls ~/.ssh/a: /home/me/.ssh/a may hold secrets",
        "ls ~/.s*/a": "ls ~/.s*/a: /home/me/.ssh may hold secrets",
        "cd /": "cd /: it leaves the project",
        "cd $x": "cd $x: a word of it is only known when it runs",
        "cd / && ls": "cd /: it leaves the project",
        "cp a b; cd src && git log": "cp a b: no rule allows it",
        "sort -o a": "sort -o a: '-o' runs or writes something, and no rule spells it out",
        "sort a -o b": "sort a -o b: '-o' runs or writes something, and no rule spells it out",
        "sort -no a": "sort -no a: '-o' runs or writes something, and no rule spells it out",
        "sort --foo a": "sort --foo a: '--foo' is not among the options of sort that are known to be safe, and no rule spells it out",
        "sort --sort=$x": "sort --sort=$x: a word of it is only known when it runs",
        "timeout 5 sort -o a": "timeout 5 sort -o a: '-o' runs or writes something, and no rule spells it out",
        "git foo": "git foo: 'foo' is not among the sub-commands of git that are known to be safe, and no rule spells it out",
        "git log --pretty='%GG'": "git log --pretty='%GG': '%GG' is not known to be safe as the value of '--pretty', and no rule spells it out",
        "git clone -q . ../x": "git clone -q . ../x: '.' is not known to be safe for git clone, and no rule spells it out",
        "git config user.email x": "git config user.email x: 'git config' with these words is not known to be safe, and no rule spells it out",
        "git -c a=b log": "git -c a=b log: 'a=b' is not known to be safe as the value of '-c', and no rule spells it out",
        "awk 'BEGIN{system(1)}'": "awk 'BEGIN{system(1)}': 'BEGIN{system(1)}' is not known to be safe for awk, and no rule spells it out",
        "find . -exec cat {} +": "find . -exec cat {} +: find runs 'cat', and no rule spells it out",
        "bash": "bash: what bash runs is not in its words, so that no rule can spell it out",
        "foo": "foo: no rule allows it",
        "bar b": "bar b: no rule allows it",
        "python -c x": "python -c x: no rule allows it",
        "ls > x": "> x: it writes a file, and no rule for writeFile allows that",
        "ls > $x": "> $x: where it redirects to is only known when it runs",
        "ls > /dev/tcp/h/1": "> /dev/tcp/h/1: it opens a network connection",
        "x" * 33000: "x" * 200 + ": it is longer than 32 KiB",
        "": "it has no command",
    }.items():
        assert policy.decide("runCommand", {"command": command}).reason == reason


@pytest.mark.parametrize(("value", "verdict"), [("$?", "allow"), ("1$?", "allow"), ("$((2+3))", "allow"), ("$?1", "allow")] + [(one, "ask") for one in ("b.txt$?", "$?b", "x$#", "a$((1))")])  # fmt: skip
def test_a_word_with_a_number_in_it_is_a_number_only_if_nothing_else_is(value, verdict):
    policy = Policy.from_dict({"whitelist": {"patterns": ["sed *"]}}, project_root="/proj", home="/home/me")
    assert policy.decide("runCommand", {"command": f"sed -l {value} p"}).verdict == verdict


def test_what_one_command_runs_is_followed_to_a_limit():
    policy = Policy.from_dict(
        {"defaultPolicy": "allow", "blacklist": {"patterns": ["rm *"]}, "whitelist": {"patterns": ["ls *", "eval *"]}},
        project_root="/proj",
        home="/home/me",
    )

    def verdict(command):
        return policy.decide("runCommand", {"command": command}).verdict

    assert [verdict("env " * count + "rm x") for count in (8, 9, 10, 60)] == ["deny", "deny", "ask", "ask"]
    assert [verdict("env " * count + "ls x") for count in (1, 8, 9, 30)] == ["allow", "allow", "ask", "ask"]
    nested = "rm x"
    for _ in range(3):
        nested = "sh -c " + "'" + nested.replace("'", "'\\''") + "'"
    assert verdict(nested) == "deny"
    assert verdict("rm x" + " " * 33000) == "deny"
    assert verdict("x " * 17000) == "ask"
    assert verdict("foo " + "rm-x " * 7000) == "ask"
    assert verdict("x" * 32768) == "allow"
    assert verdict("x" * 32769) == "ask"
    assert verdict("é" * 16385) == "ask"


def test_a_denied_command_is_judged_no_further_and_others_part_by_part():
    rules = {"defaultPolicy": "allow", "whitelist": {"patterns": ["ls *"]}, "blacklist": {"patterns": ["rm *"]}}
    policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")

    def parts(command):
        decision = policy.decide("runCommand", {"command": command})
        return [(part.text, part.verdict, part.rule, part.method) for part in decision.parts]

    assert parts("rm x > f") == [("rm x", "deny", "rm *", "blacklist")]
    assert parts("ls > f") == [("ls", "allow", "ls *", "whitelist"), ("> f", "allow", None, "default")]
    assert parts("foo") == [("foo", "ask", None, "default")]
    assert parts("rm $x") == [("rm $x", "deny", "rm *", "blacklist")]
    assert parts("$x rm") == [("$x rm", "ask", None, "default")]
    assert parts("ls | tee f") == [
        ("ls", "allow", "ls *", "whitelist"),
        ("tee f", "ask", None, "default"),
        ("> f", "allow", None, "default"),
    ]
    assert parts("ls (") == [("ls (", "ask", None, "default"), ("ls", "allow", "ls *", "whitelist")]
    assert parts("ls (; rm x") == [
        ("ls (; rm x", "ask", None, "default"),
        ("ls", "allow", "ls *", "whitelist"),
        ("rm x", "deny", "rm *", "blacklist"),
    ]
    assert parts("> f") == [("> f", "allow", None, "whitelist"), ("> f", "allow", None, "default")]


def test_why_a_command_hides_is_the_reason():
    rules = {"defaultPolicy": "allow", "blacklist": {"patterns": ["rm *"]}}
    policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")
    for command, reason in {
        "env " * 60 + "ls": "it is nested too deep",
        "$x": "the name of its program is computed",
        "eval ls": "eval runs a text",
        "bash -c $x": "what the shell runs is computed",
        "ls | bash": "a shell runs what it is sent",
        "bash --rcfile f": "the shell runs a start-up file",
        "env $x": "what env runs is computed",
        "xargs $x": "what xargs runs is computed",
        "trap $x EXIT": "what trap runs is computed",
        "alias a=b": "alias may change how the rest is read",
        "complete -C x a": "complete runs a text",
        "printf -v 'a[$(id)]' x": "printf may run what is in its arguments",
        "source /dev/stdin": "a shell runs what it is sent",
        "echo a > b; sh b": "it may run what it has just written",
        "PATH=x ls": "it sets PATH, which changes what runs",
        "A='$(id)' ls": "it puts a command into the variable A",
        "foo run=rm": "foo may run what it is given",
        "foo <<< rm": "foo may run what it is sent",
        "cat < /dev/tcp/h/1": "it opens a network connection",
        "bash -c 'bash -c \"$x\"'": "what the shell runs is computed",
        "sh -c 'a ('": "it has a '(' in or behind a word: a function, an array or a pattern",
        "sh -c '" + "x" * 40000 + "'": "it is longer than 32 KiB",
    }.items():
        decision = policy.decide("runCommand", {"command": command})
        assert (decision.verdict, decision.reason) == ("ask", reason), command


def test_a_long_command_is_denied_for_a_program_that_it_only_mentions():
    rules = {"defaultPolicy": "allow", "blacklist": {"patterns": ["rm -rf *"]}}
    policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")
    decisions = [
        policy.decide("runCommand", {"command": "foo " + "a" * 33000 + end})
        for end in ("; rm x", "; rmx", "; x-rm", "")
    ]
    assert [(decision.verdict, decision.rule) for decision in decisions] == [
        ("deny", "rm"),
        ("ask", None),
        ("ask", None),
        ("ask", None),
    ]
    assert policy.decide("runCommand", {"command": "rm -rf " + "a" * 33000}).rule == "rm -rf *"


def test_without_a_parser_only_what_is_plainly_blacklisted_is_denied(monkeypatch):
    def missing():
        raise ImportError

    monkeypatch.setattr("executor_permissions.judge.bash._parser.load_parser", missing)
    rules = {"whitelist": {"patterns": ["ls *"]}, "blacklist": {"patterns": ["rm -rf *"]}}
    policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")
    verdicts = {
        command: policy.decide("runCommand", {"command": command}).verdict
        for command in (
            "ls",
            "rm x",
            "ls; rm -fr x",
            "'rm' -rf x",
            "r\\m -r -f x",
            '"rm" "-rf" x',
            "a $(rm -rf x)",
            "a `rm -rf x`",
            "{ rm -rf x; }",
            "a\nrm -rf x",
            "a & rm -rf x",
        )
    }
    assert verdicts == dict.fromkeys(verdicts, "deny") | {"ls": "ask", "rm x": "ask"}
    assert (
        policy.decide("runCommand", {"command": "ls"}).reason
        == "ls: tree-sitter, which reads shell commands, is not installed"
    )


class Remembered:
    """Grants as a person gave them: rules for commands, and an answer about the call as a whole."""

    def __init__(self, allow=(), deny=(), whole=None):
        places = Placeholders("/proj", "/home/me")
        self.rules = {
            verdict: [(shell_rule(text, places), scope) for text, scope in given]
            for verdict, given in (("allow", allow), ("deny", deny))
        }
        self.whole = whole

    def shell_rules(self, tool):
        return self.rules if tool == "runCommand" else {}

    def find(self, tool, args, bound):
        return self.whole


def test_what_people_answered_comes_between_the_ask_rules_and_the_whitelist():
    rules = {
        "version": "1.1",
        "whitelist": {"patterns": ["ls *"], "tools": ["t"]},
        "ask": {"patterns": ["cp *"], "tools": ["q"]},
        "blacklist": {"patterns": ["rm *"], "tools": ["b"]},
    }
    policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")
    shell = Remembered(
        [("foo *", "session"), ("bar *", "user"), ("cp *", "user"), ("rm *", "user")],
        [("mv *", "project"), ("ls x", "session")],
    )

    def told(tool, args, grants):
        decision = policy.decide(tool, args, grants=grants)
        return decision.verdict, decision.method, decision.rule

    for command, expected in {
        "foo a": ("allow", "session_whitelist", "foo *"),
        "bar a": ("allow", "grant", "bar *"),
        "foo a; bar b": ("allow", "session_whitelist", "foo *"),
        "foo a > f": ("ask", "default", None),
        "foo $x": ("ask", "default", None),
        "cp a": ("ask", "ask_rule", "cp *"),
        "rm a": ("deny", "blacklist", "rm *"),
        "mv a": ("deny", "session_blacklist", "mv *"),
        "ls x": ("deny", "session_blacklist", "ls x"),
        "ls y": ("allow", "whitelist", "ls *"),
        "ls $y": ("ask", "ask_rule", "ls x"),
        "env mv a": ("deny", "session_blacklist", "mv *"),
        "baz": ("ask", "default", None),
    }.items():
        assert told("runCommand", {"command": command}, shell) == expected, command
    assert (
        policy.decide("runCommand", {"command": "foo"}, grants=shell).parts[0].reason == "you allowed 'foo *' (session)"
    )
    assert policy.decide("runCommand", {"command": "mv a"}, grants=shell).reason == "you said never to 'mv *' (project)"
    allowed, denied = Remembered(whole=("allow", "x(…)", "session")), Remembered(whole=("deny", "x(…)", "user"))
    lasting = Remembered(whole=("allow", "x", "project"))
    assert told("x", {}, allowed) == ("allow", "session_whitelist", "x(…)")
    assert told("x", {}, lasting) == ("allow", "grant", "x")
    assert told("x", {}, denied) == ("deny", "session_blacklist", "x(…)")
    assert told("t", {}, denied) == ("deny", "session_blacklist", "x(…)")
    assert told("b", {}, allowed) == ("deny", "blacklist", "b")
    assert told("q", {}, allowed) == ("ask", "ask_rule", "q")
    assert told("runCommand", {"command": "foo $x"}, allowed) == ("allow", "session_whitelist", "x(…)")
    assert told("runCommand", {"command": "cp a"}, allowed) == ("ask", "ask_rule", "cp *")
    assert told("runCommand", {"command": "ls"}, denied) == ("deny", "session_blacklist", "x(…)")
    assert told("runCommand", {"command": "rm x"}, allowed) == ("deny", "blacklist", "rm *")


def test_a_tool_that_is_allowed_as_a_whole_is_kept_from_what_is_forbidden_or_hides():
    rules = {
        "version": "1.1",
        "whitelist": {"tools": ["runCommand"]},
        "ask": {"patterns": ["cp *"]},
        "blacklist": {"patterns": ["rm *"]},
    }
    table = {
        "allow": ["foo", "foo; bar", "foo $x", "FOO=1 ls"],
        "ask": ["cp x", "foo; cp x", "eval x", "$x", "foo (", "ls | sh"],
        "deny": ["rm x", "foo; rm x"],
    }
    assert decisions(table, rules) == []
    policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")
    assert policy.decide("runCommand", {"command": "foo; bar"}).rule == "runCommand"
    denied = {"ask": {"tools": ["runCommand"]}, "whitelist": {"patterns": ["ls *"]}}
    assert decisions({"ask": ["ls", "foo"]}, denied) == []
    assert (
        decisions({"deny": ["ls"]}, {"blacklist": {"tools": ["runCommand"]}, "whitelist": {"patterns": ["ls *"]}}) == []
    )
    assert (
        decisions(
            {"deny": ["foo", "foo; ls"], "allow": ["ls"]},
            {"defaultPolicy": "deny", "whitelist": {"patterns": ["ls *"]}},
        )
        == []
    )
