"""Programs whose arguments are not read in the usual way: env, interpreters, databases, shell builtins."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Glob, Module, Unknown
from executor_permissions.judge.options import _walk
from executor_permissions.judge.options._checks import MAKE_ARGUMENTS, fits
from executor_permissions.judge.options._programs import PYTHON_FLAGS, is_safe_variable
from executor_permissions.judge.options._tables import grammar_of, module_grammar
from executor_permissions.judge.options._walk import NEVER, option_at, walk_plainly
from executor_permissions.judge.paths._overlap import may_meet

if TYPE_CHECKING:
    from executor_permissions.judge.options._entry import Grammar
    from executor_permissions.judge.options._walk import Walk

_OF_FLAGS = frozenset({"true", "false", "null", "always"})
_JOBS = re.compile(r"-[jklv]?[0-9]{0,3}\Z")
_ONLY_LOOKS = re.compile(r"\s*(?:select|explain)\b[^;]*;?\s*\Z", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_LONGEST_LETTERS = len("-cp")
_TAKES_CODE = re.compile(r"-[A-Za-z0-9]*[eEcr]\Z|-[eE].|--(?:eval|execute|expression|run|print|command)(?:=|\Z)")
_TELL_ABOUT_THEMSELVES = frozenset({"--version", "-version", "-v", "-V", "--help", "-help", "-h"})
_EVALUATES = ("-v", "-R")  # of tests
_FROM_ELSEWHERE = ("/dev/", "/proc/")


def walk_nopt(walk: Walk, grammar: Grammar, at: int) -> None:
    """The options of npm: one without a value takes the next word all the same, if that may be a value of its type."""
    words = walk.words
    for i in range(at + 1, len(words)):
        if words[i - 1] == "--":
            break
        if words[i] in _OF_FLAGS and words[i - 1][:1] == "-":
            walk.ask(len(words) - 1)  # which of them are operands nobody knows
    walk_plainly(walk, grammar, at)


def walk_env(walk: Walk, grammar: Grammar, at: int) -> None:
    """Options, variables, then a command."""
    walk.grammar = grammar
    words = walk.words
    while at < len(words) and words[at][:1] == "-" and words[at] != "-":
        if words[at] == "--":
            at += 1
            break
        at = option_at(walk, grammar, at)
    while at < len(words) and "=" in words[at]:
        name, _, value = words[at].partition("=")
        if type(words[at]) is not str or not is_safe_variable(name, value):
            walk.ask(at)
        at += 1
    if walk.unsure:
        walk.ask(len(words) - 1)
    if at < len(words):
        walk.inner.append((at, len(words)))


def walk_export(walk: Walk, grammar: Grammar, at: int) -> None:
    """Variables that change nothing about what runs may be set."""
    walk.grammar = grammar
    for i in range(at, len(walk.words)):
        word = walk.words[i]
        if word[:1] == "-":
            if word not in grammar.options:
                walk.ask(i)
        else:
            name, _, value = word.partition("=")
            if not is_safe_variable(name, value):
                walk.ask(i)


def walk_test(walk: Walk, grammar: Grammar, at: int) -> None:
    """``-v`` and ``-R`` run what is in a subscript: names of files are harmless where none of them can be these."""
    walk.grammar = grammar
    words = walk.words
    for i in range(at, len(words)):
        if type(words[i]) is Unknown or (type(words[i]) is Glob and any(may_meet(words[i], one) for one in _EVALUATES)):
            walk.ask(i)
        elif words[i] in _EVALUATES and i + 1 < len(words) and not _NAME.match(words[i + 1]):
            walk.ask(i + 1)
        elif i > at and words[i - 1] in ("-f", "-e", "-d", "-s", "-r", "-x", "-L", "-h"):
            walk.reads.append(words[i])


def walk_python(walk: Walk, grammar: Grammar, at: int) -> None:
    """A script or a module is run as it stands; code in the command or from the input is not covered."""
    walk.grammar = grammar
    words = walk.words
    while at < len(words):
        word = words[at]
        if word in ("-V", "-VV", "--version", "-h", "--help"):
            return
        if word in ("-X", "-W"):
            _check_python_option(walk, at)
            at += 2
        elif word[:1] != "-":
            _script(walk, at)
            return
        elif word == "-" or type(word) is not str:
            walk.ask(NEVER)
            return
        elif word[1:2] != "-" and "m" in word and set(word[1 : word.index("m")]) <= _PYTHON_FLAGS:
            _module(walk, at)
            return
        elif word[1:2] == "-":
            walk.ask(len(words) - 1)  # the next word may be its value
            return
        else:
            if not set(word[1:]) <= _PYTHON_FLAGS:
                walk.ask(at)
                if _PYTHON_CODE.match(word):
                    return  # a rule that names it is taken at its word about the code
            at += 1
    walk.ask(NEVER)


_PYTHON_FLAGS = frozenset(PYTHON_FLAGS)
_PYTHON_CODE = re.compile(rf"-[i{PYTHON_FLAGS}]*c")
_SAFE_X = re.compile(r"(?:dev|utf8(?:=[01])?|importtime|faulthandler|tracemalloc(?:=\d{1,3})?)\Z")
_SAFE_W = re.compile(r"(?:default|error|always|module|once|ignore)\Z")
# Modules of the standard library run, write and serve many things; those that are known to be safe have a table.
_STANDARD_MODULES = sys.stdlib_module_names | {"lib2to3", "smtpd", "distutils", "imp", "asyncore", "turtledemo", "test"}


def _check_python_option(walk: Walk, at: int) -> None:
    value = walk.words[at + 1] if at + 1 < len(walk.words) else ""
    safe = _SAFE_X if walk.words[at] == "-X" else _SAFE_W
    if type(value) is not str or not safe.match(value):
        walk.ask(min(at + 1, len(walk.words) - 1))


def _module(walk: Walk, at: int) -> None:
    """``-m pytest``: a tool of Python is judged by its table; any other module has to be one of the project."""
    word = walk.words[at]
    attached = word[word.index("m") + 1 :]
    name = attached or (walk.words[at + 1] if at + 1 < len(walk.words) else "")
    own = grammar_of(f"-m {name}") is not None
    if not name or type(name) is not str or (name.partition(".")[0] in _STANDARD_MODULES and not own):
        walk.ask(at + 1)
        return
    start = at if attached else at + 1
    walk.named = start + 1
    known = module_grammar(name)
    if known is None:
        walk.runs.append(Module(name))
    else:
        _walk.SHAPES[known.entry.shape](walk, known, start + 1)


def walk_go_run(walk: Walk, grammar: Grammar, at: int) -> None:
    """Files of Go, or one package; what follows is for the program."""
    walk.grammar = grammar
    words = walk.words
    while at < len(words) and words[at][:1] == "-":
        at = option_at(walk, grammar, at)
    if walk.unsure:
        walk.ask(len(words) - 1)
    first = at
    while at < len(words) and (at == first or (words[at - 1].endswith(".go") and words[at].endswith(".go"))):
        if type(words[at]) is not str:
            walk.ask(NEVER)
        walk.is_value("codego", words[at], at)
        at += 1


def walk_unittest(walk: Walk, grammar: Grammar, at: int) -> None:
    """Each name is imported, and called if it is that of a function; behind ``discover`` there are folders."""
    walk_plainly(walk, grammar, at)
    words = walk.words
    if at < len(words) and words[at].lower() == "discover":
        names = [str(one) for one in walk.runs if type(one) is Module]
        walk.runs = [*(one for one in walk.runs if type(one) is not Module), *names[1:]]
        return
    for i in range(at, len(words)):
        name = words[i].partition(".")[0]
        if name in _STANDARD_MODULES and name != "test" and words[i] in walk.runs:
            walk.ask(i)


def _script(walk: Walk, at: int) -> None:
    """A script by its path: one that is no plain file is code from somewhere else."""
    word = walk.words[at]
    if type(word) is not str or word.startswith(_FROM_ELSEWHERE):
        walk.ask(NEVER)
    walk.is_value("code", word, at)


def walk_interpreter(walk: Walk, grammar: Grammar, at: int) -> None:
    """Shells and other interpreters: a script is covered, code and the options that are not listed are not."""
    walk.grammar = grammar
    words = walk.words
    while at < len(words):
        word = words[at]
        option = grammar.options.get(word)
        if option is not None and option.value == "alone":
            if at < len(words) - 1:
                walk.ask(at)
            return
        if word[:1] not in ("-", "+"):
            break
        loading = grammar.options.get(word.partition("=")[0])
        if loading is not None and loading.value == "code":
            at = option_at(walk, grammar, at)
            continue
        if option is None and not _is_cluster(word, grammar):
            at = _behind_unknown(walk, at)
            if at < 0:
                return
        else:
            at += 1
    if at < len(words):
        _further_tests(walk, at)
        if words[at][:1] == "@" or (grammar.subs and words[at] in grammar.subs):
            walk.ask(at)  # scala, swift and jshell read options from that file; a sub-command is no script
        _script(walk, at)
    else:
        walk.ask(NEVER)


def _behind_unknown(walk: Walk, at: int) -> int:
    """
    Behind the option at *at*, that nobody knows, stands its value, if it takes one, or else the script.

    Returns:
        The index of the word behind that; -1 if there is none, or if it is code that a rule names the option for.
    """
    word, following = walk.words[at], at + 1
    walk.ask(NEVER if word == "-" else at)
    if word == "-" or _TAKES_CODE.match(word):
        return -1
    valued = "=" not in word and (len(word) <= _LONGEST_LETTERS or word[:2] == "--")
    if not valued or following == len(walk.words) or walk.words[following][:1] == "-":
        return following
    _script(walk, following)
    return following + 1 if following + 1 < len(walk.words) else -1


def _further_tests(walk: Walk, at: int) -> None:
    """``node --test``: each operand is a file of tests."""
    for i in range(at + 1, len(walk.words)) if "--test" in walk.words[1:at] else ():
        walk.is_value("code", walk.words[i], i)


def _is_cluster(word: str, grammar: Grammar) -> bool:
    return type(word) is str and len(word) > 1 and all("-" + letter in grammar.options for letter in word[1:])


def walk_database(walk: Walk, grammar: Grammar, at: int) -> None:
    """A database client: without a statement it reads its input."""
    walk_plainly(walk, grammar, at)
    words = walk.words
    if words[-1] in _TELL_ABOUT_THEMSELVES:
        return
    operands = [word for word in words[at:] if word[:1] != "-"]
    # The others are given statements by options; with "file:" in front a name is an address, with options of its own.
    if len(operands) < 2 or not words[0].endswith("sqlite3") or operands[0].startswith("file:"):
        walk.ask(NEVER)
    elif not ("-readonly" in words or all(map(_ONLY_LOOKS.match, operands[1:]))):
        walk.writes.append(operands[0])


def walk_cmake(walk: Walk, grammar: Grammar, at: int) -> None:
    """What stands behind ``--`` is for the program that builds: make, most often."""
    words = walk.words
    end = words.index("--", at) if "--" in words[at:] else len(words)
    walk_plainly(walk, grammar, at)
    for i in range(end + 1, len(words)):
        if not (_JOBS.match(words[i]) if words[i][:1] == "-" else fits("maketarget", words[i])):
            walk.ask(i)


def walk_make(walk: Walk, grammar: Grammar, at: int) -> None:
    """A target is a file that is made; what a test program is told in a variable are files of tests."""
    walk_plainly(walk, grammar, at)
    for word in walk.words[at:]:
        name, equals, given = word.partition("=")
        if equals and name.rstrip(":?+ ") in MAKE_ARGUMENTS:
            walk.runs += [one for one in given.split() if one[:1] != "-"]
        elif "/" in word and word[:1] != "-" and not equals:
            walk.writes.append(word)


def walk_config(walk: Walk, grammar: Grammar, at: int) -> None:
    """``git config NAME VALUE`` writes; with one of the reading options, or a name alone, it does not."""
    walk_plainly(walk, grammar, at)
    words = walk.words
    end = words.index("--", at) if "--" in words[at:] else len(words)
    reads = any(word.startswith(_READS_CONFIG) or word == "-l" for word in words[at:end])
    operands = [*(word for word in words[at:end] if word[:1] != "-"), *words[end + 1 :]]
    # A newer git has words of its own there: "edit" opens an editor. The names of settings have a dot.
    if not reads and operands != ["list"] and (len(operands) != 1 or "." not in operands[0]):
        walk.ask(at - 1)


_READS_CONFIG = ("--get", "--list")


def walk_joined(walk: Walk, grammar: Grammar, at: int) -> None:
    """Ssh and watch join the words of their command to one text, which a shell reads."""
    walk_plainly(walk, grammar, at)
    if not walk.inner and walk.words[-1] not in _TELL_ABOUT_THEMSELVES:
        walk.ask(NEVER)  # the shell reads its commands from the input
    for start, end in walk.inner:
        for i in range(start, end):
            if not fits("shellword", walk.words[i]):
                walk.ask(i)


def walk_command(walk: Walk, grammar: Grammar, at: int) -> None:
    """``command -v NAME`` tells what the name stands for, and runs nothing."""
    if walk.words[at : at + 1] in (["-v"], ["-V"]):
        walk.grammar = grammar
    else:
        walk_plainly(walk, grammar, at)


def walk_printf(walk: Walk, grammar: Grammar, at: int) -> None:
    """Options stand in front of the format only; what follows it is printed."""
    walk.grammar = grammar
    words = walk.words
    at += words[at : at + 1] == ["--"]
    if at < len(words) and (words[at][:1] == "-" or not fits("printfformat", words[at])):
        walk.ask(at)


def walk_nothing(walk: Walk, grammar: Grammar, _at: int) -> None:
    """No argument of it is known to be safe."""
    walk.grammar = grammar
    if len(walk.words) > 1:
        walk.ask(len(walk.words) - 1)


def walk_anything(walk: Walk, grammar: Grammar, _at: int) -> None:
    """Whatever its arguments are, it runs and writes nothing."""
    walk.grammar = grammar


def walk_listing(walk: Walk, grammar: Grammar, at: int) -> None:
    """Without ``-l`` it takes from its input what it is to do later."""
    walk_plainly(walk, grammar, at)
    if "-l" not in walk.words:
        walk.ask(NEVER)


def walk_named(walk: Walk, grammar: Grammar, at: int) -> None:
    """Without a sub-command it reads code from its input."""
    walk_plainly(walk, grammar, at)
    if walk.named == 1 and walk.words[-1] not in _TELL_ABOUT_THEMSELVES:
        walk.ask(NEVER)


_walk.SHAPES.update(
    named=walk_named,
    anything=walk_anything,
    cmake=walk_cmake,
    command=walk_command,
    config=walk_config,
    database=walk_database,
    env=walk_env,
    export=walk_export,
    gorun=walk_go_run,
    interpreter=walk_interpreter,
    joined=walk_joined,
    listing=walk_listing,
    make=walk_make,
    nopt=walk_nopt,
    nothing=walk_nothing,
    printf=walk_printf,
    python=walk_python,
    test=walk_test,
    unittest=walk_unittest,
)
