"""Patterns for denying: every spelling of what they name is caught, and nothing that only looks like it."""

# ruff: noqa: E501 -- tables of cases: a line each
from __future__ import annotations

import random

import pytest

from executor_permissions import Policy
from executor_permissions.judge.bash._words import Command, Unknown
from executor_permissions.judge.paths._globs import Wildcard
from executor_permissions.judge.rules._fitting import may_become, normal
from executor_permissions.judge.rules._given import Given
from executor_permissions.judge.rules._rules import Placeholders, shell_rule
from executor_permissions.judge.rules._tokenize import tokenize
from executor_permissions.judge.rules._tokens import operands_of


def misjudged(table):
    """The (pattern, command, verdict) of *table* that a blacklist of the pattern does not judge as it says."""
    wrong = []
    for pattern, *lists in table:
        rules = {"defaultPolicy": "allow", "blacklist": {"patterns": [pattern]}}
        policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")
        for expected, commands in zip(("deny", "allow", "maybe", "hidden"), lists, strict=False):
            for command in commands:
                decision = policy.decide("runCommand", {"command": command})
                found = decision.verdict if decision.method != "error" else "error"
                if found == "ask":
                    found = "maybe" if decision.rule == pattern else "hidden"
                if found != expected:
                    wrong.append((pattern, command, found))
    return wrong


# Rows of (pattern, what it catches, what it does not, what it may be, what hides).
OPTIONS = [
    ("rm -rf *", ["rm -rf x", "rm -fr x", "rm -r -f x", "rm x -rf", "rm -Rf x", "rm --recursive --force x", "rm --rec --fo x", "rm --r --f x", "rm -r --force x", "rm --recursive -f x", "rm -rvf x", "/bin/rm -rf x", "rm -rf", "rm -rf -- x", "rm -dr -vf x"],
     ["rm -r x", "rm -f x", "rm x", "rm -- -rf", "rmdir -rf x", "rm -rv x", "rm - -r"], ["rm -r $x", "rm $x", "rm x $y -f"]),
    ("rm --recursive *", ["rm -r x", "rm -R x", "rm --recursive x", "rm --recurs x", "rm -fr x"], ["rm -f x", "rm --force x", "rm -- --recursive", "rm --x"], ["rm $x"]),
    ("rm --dir *", ["rm -d x", "rm --dir x"], ["rm -r x"]),
    ("rm --interactive *", ["rm -i x"], ["rm -f x"]),
    ("rm -v *", ["rm --verbose x", "rm -v x", "rm -fv x"], ["rm -f x"]),
    ("chmod -R *", ["chmod --recursive x", "chmod -Rv x", "chmod -R x"], ["chmod -v x", "chmod x"]),
    ("chmod --silent *", ["chmod -f x"], ["chmod -v x"]),
    ("chmod --verbose *", ["chmod -v x"], []),
    ("chmod 777 *", ["chmod 777 x", "chmod 0777 x", "chmod 00777 x", "chmod -R 777 x", "/bin/chmod 0777 x", "chmod -v 777 x"], ["chmod 755 x", "chmod x 777"], ["chmod $m x"]),
    ("install 777 *", ["install 777 x"], ["install 0777 x"]),
    ("chown -R *", ["chown --recursive x", "chown -R x"], ["chown x"]),
    ("chown -h *", ["chown --no-dereference x"], ["chown -R x"]),
    ("chgrp -R *", ["chgrp --recursive x"], ["chgrp x"]),
    ("cp -r *", ["cp -R a b", "cp --recursive a b"], ["cp a b"]),
    ("cp -f *", ["cp --force a b"], ["cp -r a b"]),
    ("cp --archive *", ["cp -a a b"], ["cp -r a b"]),
    ("mv -f *", ["mv --force a b"], ["mv a b", "mv -n a b"]),
    ("ln -f *", ["ln --force a b"], ["ln -s a b"]),
    ("ln --symbolic *", ["ln -s a b", "ln -sf a b"], ["ln a b"]),
    ("git push --force *", ["git push -f", "git push --force", "git push --for x", "git -C x push --force"], ["git push", "git push -u x", "git pull --force"], ["git push $x"]),
    ("git branch -d *", ["git branch -D x", "git branch --delete x", "git branch -d x"], ["git branch x"]),
    ("git branch --delete *", ["git branch -d x", "git branch -D x"], ["git branch -a"]),
    ("git add --all *", ["git add -A"], ["git add x"]),
    ("git commit --message *", ["git commit -m x"], ["git commit"]),
    ("git push --set-upstream *", ["git push -u x"], ["git push -q"]),
    ("git push -q *", ["git push --quiet"], ["git push"]),
    ("git push --force=* *", ["git push --force=x"], ["git push --force", "git push --forcex=1"]),
    ("git log --output=x *", ["git log --output=x", "git log --outp=x", "git log --output x"], ["git log --output=y", "git log --x=x", "git log --=x"]),
    ("npm install -g *", ["npm install --global x", "npm install -g x"], ["npm install x"]),
    ("npm install --force *", ["npm install -f x"], ["npm install -g x"]),
    ("docker rm --force *", ["docker rm -f x"], ["docker rm x"]),
    ("pip install -U *", ["pip install --upgrade x", "pip install --up x"], ["pip install x"]),
    ("pip uninstall --yes *", ["pip uninstall -y x"], ["pip uninstall x"]),
    ("apt install --yes *", ["apt install -y x"], ["apt install x"]),
    ("apt-get install --yes *", ["apt-get install -y x"], ["apt-get install x"]),
    ("sed -i *", ["sed --in-place p f", "sed -ni p f", "sed --in p f"], ["sed -n p f"]),
    ("tar --extract *", ["tar -x", "tar -xf a"], ["tar -t"]),
    ("tar -c *", ["tar --create", "tar -cf a"], ["tar -x"]),
    ("tar -f *", ["tar --file a"], ["tar -t"]),
    ("curl -o *", ["curl --output f x", "curl -so f x"], ["curl x"]),
    ("curl --remote-name *", ["curl -O x"], ["curl -o x"]),
    ("curl -T *", ["curl --upload-file f"], ["curl x"]),
    ("curl -d *", ["curl --data x"], ["curl x"]),
    ("curl -X *", ["curl --request PUT x"], ["curl x"]),
    ("wget --output-document *", ["wget -O f x"], ["wget -o f x"]),
    ("kill -9 *", ["kill --signal=KILL 1", "kill -9 1"], ["kill -8 1", "kill 1"]),
    ("foo -a *", ["foo -a", "foo -ba", "foo x -a", "foo -abc"], ["foo --a", "foo a", "foo -b", "foo -"]),
    ("foo -abcd *", ["foo -abcd", "foo --abcd"], ["foo -abc", "foo -dcba", "foo -a -b -c -d"]),
    ("foo --long *", ["foo --long", "foo --lon"], ["foo --longer", "foo --", "foo -long"]),
    ("foo -a* *", ["foo -ab", "foo -a"], ["foo -b", "foo a"], ["foo $x"]),
    ("foo --a=* -b *", ["foo --a=1 -b", "foo -b --a=2"], ["foo --a=1", "foo -b"]),
    ("foo - *", ["foo -"], ["foo", "foo x"]),
    ("foo -a/b *", ["foo -a/b", "foo -a/b x"], ["foo -a"]),
    ("find -delete *", ["find . -delete", "find --delete"], ["find . -d -e -l -t", "find . -deletex"]),
    ("find -ab *", ["find . -ab"], ["find . -ba", "find . -a -b"]),
    ("go -x *", ["go -x build", "go --x build"], ["go -xy build"]),
    ("/bin/foo -x *", ["foo -x", "/y/foo -x"], ["foo"]),
    ("foo -\\* *", ["foo '-*'"], ["foo -x"]),
]  # fmt: skip


def test_options_are_caught_in_every_order_and_spelling():
    assert misjudged(OPTIONS) == []


OPERANDS = [
    ("foo", ["foo", "foo x", "foo -x", "/bin/foo", "./foo", "foo.exe", "foo.sh x"], ["food", "echo foo", "foo-bar"]),
    ("foo *", ["foo", "foo x y"], ["food"]),
    ("foo a", ["foo a", "foo a -x", "foo -x a", "foo -x v a"], ["foo", "foo b", "foo a b"], ["foo $x", "foo a $x"]),
    ("foo a *", ["foo a", "foo a b", "foo -x a b", "foo -x v a b"], ["foo b a", "foo --x=v b a", "foo"], ["foo $x"]),
    ("foo a b *", ["foo a b", "foo a -x b", "foo a -x v b c", "foo -- a b"], ["foo a", "foo a c b", "foo b a", "foo a -- c b"]),
    ("foo a * c", ["foo a c", "foo a b c", "foo a b b c", "foo a b c d"], ["foo a b", "foo c"]),
    ("foo * c *", ["foo c", "foo a c", "foo a b c d"], ["foo a b", "foo"]),
    ("foo * *", ["foo", "foo a"], []),
    ("foo a*c *", ["foo abc", "foo ac d"], ["foo ab", "foo b"]),
    ("foo a? *", ["foo 'a?'"], ["foo ab"]),
    ("foo 'a b' *", ["foo 'a b'", 'foo "a b" c'], ["foo a b"]),
    ("foo '*' *", ["foo '*'"], ["foo x"]),
    ("foo \\* *", ["foo '*'"], ["foo x"]),
    ("foo a\\ *", ["foo a b"], ["foo ab", "foo a"]),
    ("foo k=* *", ["foo k=1", "foo x k=2", "foo k="], ["foo x", "foo j=1"], ["foo $x"]),
    ("foo k= *", ["foo k=1", "foo a k="], ["foo k", "foo jk=1"]),
    ("foo k=1 *", ["foo k=1", "foo x k=1"], ["foo k=2", "foo k=12"]),
    ("foo k=1 j=2 *", ["foo j=2 k=1"], ["foo k=1", "foo j=2"]),
    ("foo k=1 a *", ["foo a k=1"], ["foo k=1 b", "foo a"]),
    ("foo /etc *", ["foo /etc", "foo a /etc", "foo //etc", "foo /etc/", "foo /x/../etc", "foo /./etc", "foo /etc/."], ["foo /etc/x", "foo a", "foo etc"], ["foo $x", "foo a $x"]),
    ("foo /a /b *", ["foo /a /b", "foo /b /a", "foo x /b y /a"], ["foo /a", "foo /b x"], ["foo /a $x"]),
    ("foo /a b *", ["foo /a b"], ["foo x /a b", "foo b /a"]),
    ("foo /etc/*", ["foo /etc/x", "foo a /etc/x/y"], ["foo /etcx", "foo /etc"]),
    ("rm -rf ~", ["rm -rf ~", "rm -rf /home/me", "rm -rf $HOME", "rm -rf ~/", "rm -fr x ~"], ["rm -rf ~/x", "rm -rf x"]),
    ("rm -rf ~/x *", ["rm -rf ~/x", "rm -rf /home/me/x"], ["rm -rf x"], [], ["rm -rf ~"]),
    ("cat ${home}/x *", ["cat ~/x", "cat /home/me/x"], ["cat x"]),
    ("cat ${project}/x *", ["cat /proj/x"], ["cat y"]),
    ("cat {project}/x *", ["cat /proj/x"], ["cat /home/me/x"]),
    ("f*o a *", ["foo a", "fooo a", "/x/foo a"], ["foo b", "fob a"]),
    ("* --evil *", ["foo --evil", "bar x --evil"], ["foo evil"]),
    ("/bin/foo *", ["foo", "/bin/foo", "/usr/bin/foo"], ["bar"]),
    ("mkfs *", ["mkfs.ext4 x", "mkfs x"], ["mkfsx"]),
    ("git log -5", ["git log -5", "git log -5 x"], ["git log"]),
    ("foo a -x", ["foo a -x", "foo -x a"], ["foo a", "foo -x"]),
    ("foo a\\b *", ["foo ab"], ["foo a"]),
    ("a | b", ["a | b", "a x | c | b y", "a; b", "b | a | b"], ["a", "b"], [], ["b | a"]),
    ("a x | b *", ["a x | b y", "a x && b"], ["a y", "c x"], ["a $x | b"], ["a y | b", "a | b"]),
    ("a && b", ["a && b", "a x && b y"], ["b && a"]),
    ("a ; b", ["a; b", "a x; b"], ["b; a"]),
    ("a || b & c", ["a || b & c", "a x || b & c y"], ["a & c & b"]),
    ("a |& b", ["a |& b", "a x |& b"], [], [], ["b |& a"]),
    ("a | b x", ["a | b x"], ["b x"], [], ["a | b y", "a | c x"]),
]  # fmt: skip


def test_operands_are_caught_in_their_order_and_paths_wherever_they_stand():
    assert misjudged(OPERANDS) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("a", ["a"]),
        ("  a   b  ", ["a", "b"]),
        ("a\tb\nc", ["a", "b", "c"]),
        ("'a b' c", ["a b", "c"]),
        ("a'b c'd", ["ab cd"]),
        ('"a b"', ["a b"]),
        ("''", [""]),
        ("'' a", ["", "a"]),
        ("a''", ["a"]),
        ("'a\"b'", ['a"b']),
        ("'*;|&\\'", ["\\*\\;\\|\\&\\\\"]),
        ("'a*'*", ["a\\**"]),
        ("a\\ b", ["a\\ b"]),
        ("a\\", ["a\\"]),
        ("\\* a", ["\\*", "a"]),
    ],
)
def test_a_pattern_is_split_into_words(text, words):
    assert tokenize(text) == words


@pytest.mark.parametrize(("text", "quote"), [("'a", "'"), ('a "b', '"'), ("'a' '", "'"), ("'a\"", "'")])
def test_an_open_quote_is_an_error(text, quote):
    with pytest.raises(ValueError, match=f"the quote {quote} is not closed"):
        tokenize(text)


@pytest.mark.parametrize(
    ("token", "word", "fits"),
    [
        ("a", "a", True), ("a", "b", False), ("a*", "abc", True), ("a*", "a", True), ("a*", "ba", False), ("*a", "a\nb", False), ("a*b", "a\nb", True), ("a.c", "abc", False), ("a*.c", "axxc", False),
        ("a\\*", "a*", True), ("a\\*", "ab", False), ("a\\b", "ab", True), ("\\**", "*x", True), ("\\**", "x", False), ("a*\\", "ab\\", True),
        ("a", "a=1", False), ("a*", "a\n", True), ("*a", "ba\n", False),
    ],
)  # fmt: skip
def test_a_star_is_any_text_and_a_backslash_takes_it_literally(token, word, fits):
    assert Wildcard.of(token).fits(word) is fits


def test_a_star_in_the_name_of_a_program_stays_in_its_folder():
    rules = {"whitelist": {"patterns": ["./bin/x*"]}, "blacklist": {"patterns": ["f*o *"]}, "defaultPolicy": "allow"}
    policy = Policy.from_dict(rules, project_root="/proj", home="/home/me")
    assert policy.decide("runCommand", {"command": "/f/bar/o x"}).verdict == "allow"
    assert policy.decide("runCommand", {"command": "/bar/foo x"}).verdict == "deny"


@pytest.mark.parametrize(
    ("glob", "wanted", "may"),
    [
        ("r*", "rm", True), ("r*", "ls", False), ("*m", "rm", True), ("*", "rm", True), ("r?", "rm", True), ("r?x", "rm", False), ("[rl]m", "rm", True), ("?m", "r*", True),
        ("r*", "r*m", True), ("l*", "r*m", False), ("*x", "r*m", False), ("rm*", "r*m", True), ("*", "r*m", True), ("*l", "*m", False), ("r*y", "*m", False), ("l*m", "r*m", False), ("*am", "*m", True),
        (".*", ".env", True), ("*", ".env", False), ("a/*", "a/.b", False), ("a/*", "a/b", True),
    ],
)  # fmt: skip
def test_a_glob_of_the_shell_may_become_what_is_wanted(glob, wanted, may):
    assert may_become(glob, Wildcard.of(wanted)) is may


@pytest.mark.parametrize(
    ("text", "words", "letters"),
    [
        ("rm -rf x -v", ["-rf", "-v"], "rfv"),
        ("rm x -R", ["-R"], "R"),
        ("rm -f -- -r --dir", ["-f"], "f"),
        ("rm - -f", ["-f"], "f"),
        ("git branch -D x", ["-D"], "D"),
        ("branch -D x", ["-D"], "D"),
        ("rm --recursive --no-preserve-root x", ["--recursive", "--no-preserve-root"], ""),
    ],
)
def test_options_are_those_before_two_dashes(text, words, letters):
    given = Given(text.split()[0], text.split())
    assert (given.words, given.letters) == (words, set(letters))


def test_a_word_that_only_the_shell_knows_is_no_option_that_was_given():
    given = Given("rm", ["rm", Unknown("-$x"), Unknown("--"), "-f"])
    assert (given.words, given.letters) == (["-f"], {"f"})
    assert given.has("-f")
    assert not given.has("-x")


@pytest.mark.parametrize(
    ("word", "path"),
    [
        ("a", "a"), ("./a", "a"), ("a/../b", "b"), ("/x", "/x"), ("//x", "/x"), ("///x", "/x"), ("/a//b/./c", "/a/b/c"), ("/a/../..", "/"), ("..", ".."), ("./../a", "../a"), ("a/", "a"), ("/", "/"),
        (Unknown("./$x"), Unknown("./$x")),
    ],
)  # fmt: skip
def test_a_path_has_one_form(word, path):
    assert normal(word) == path


MARKS = Placeholders("/proj", "/home/me")
SPOKEN = ["git", "push", "--force", "-f", "*", "or*", "./push", "x/../push", "/etc", "//etc", "a", "x=", "x=a", "+m", "-", "--",
          "chmod", "755", "0755", "0", "*push*", "a/*"]  # fmt: skip


def test_a_pattern_that_needs_a_word_catches_nothing_without_it():
    pick = random.Random(3)
    caught = passed_over = 0
    for _ in range(30_000):
        tokens = pick.choices(SPOKEN, k=pick.randrange(1, 5))
        pattern = shell_rule(" ".join(tokens), MARKS).patterns[0]
        words = [pick.choice(SPOKEN).replace("*", "1") for _ in range(pick.randrange(1, 6))]
        words[0] = pick.choice([words[0], tokens[0].strip("*") or "git"])
        operands = operands_of(words)
        needed = operands is None or pattern.needs <= operands
        passed_over += not needed
        caught += (matched := pattern.catches(words)) > 0
        assert needed or not matched, (tokens, words)
    assert min(caught, passed_over) > 1000


def test_of_unknown_words_and_of_modes_nothing_is_needed():
    assert operands_of(["git", "a", "./b/../c"]) == {"git", "a", "./b/../c", "c"}
    assert operands_of(["git", Unknown("$x")]) is None
    assert operands_of(["/bin/chmod", "0755"]) is None


def test_what_a_pattern_covers_has_its_second_word():
    pick = random.Random(4)
    covered = 0
    for _ in range(20_000):
        pattern = shell_rule(" ".join(pick.choices(SPOKEN, k=pick.randrange(1, 4))), MARKS).patterns[0]
        words = [pattern.tokens[0], *(pick.choice(SPOKEN).replace("*", "1") for _ in range(pick.randrange(3)))]
        if pattern.covers(Command(words, "")):
            covered += 1
            assert pattern.second in (None, *words[1:2])
    assert covered > 500
