"""What a value must be like for a wildcard to cover it, by the kind that a table names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from executor_permissions.judge.bash._words import Glob, Number
from executor_permissions.judge.options._awk import is_safe_awk
from executor_permissions.judge.options._sed import is_safe_sed

if TYPE_CHECKING:
    from collections.abc import Callable

_JQ_REFUSED = re.compile(r"(?<![.\w\"])(?:env|ENV|import|include|modulemeta|get_search_list|__prog\w*)\b")
_YQ_REFUSED = re.compile(  # behind a "-" it is a part of a name, or what is subtracted
    r"(?<![.\w\"-])(?:(?:str)?load\w*|(?:str)?env\w*|eval|system\w*)\b|(?<![.\w\"])(?:(?:str)?load\w*|(?:str)?env\w*|eval|system\w*)\s*\("
)
_SQL_REFUSED = re.compile(
    r"(?:^|\n)[^\S\n]*\.|\\|load_extension|writefile|readfile|fsdir|lsdir|zipfile|\battach\b|\binto\b|\bvacuum\b|\bpragma\b|\bprogram\b"
    r"|\bcopy\b|\bedit\s*\(|fts3_tokenizer|\bpg_\w*(?:read|ls|write)\w*|\blo_(?:im|ex)port\b",
    re.IGNORECASE,
)
_SECRETS = frozenset({"secret", "secrets"})
_SQL_SHOWS = re.compile(r"\.(?:tables|schema|indexes|indices|databases|fullschema)(?: +[\w%]+)?\s*\Z")
_SHELL_WORD = re.compile(r"[A-Za-z0-9_./:=,@%+-]+\Z")
_DURATION = re.compile(r"\d{1,9}(?:\.\d{1,9})?[smhd]?\Z")
_BUFFER = re.compile(r"(?:0|L|\d{1,9}[KMG]?)\Z")
_NUMBER = re.compile(r"[-+]?\d{1,9}\Z")
_REFERENCE = re.compile(r"(?:[A-Z]+(?:_HEAD)?|refs/(?!.*\.\.)[\w./+@-]+)\Z")
_NPM_PACKAGE = re.compile(r"(?:@[a-z0-9._~-]+/)?[A-Za-z0-9_~][A-Za-z0-9._~-]*(?:@[A-Za-z0-9.^~<>=*|+ -]*)?\Z")
_CMAKE_TARGET = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./+-]*\Z")
_PYTHON = re.compile(r"system\Z|(?:c?python|pypy)?[-@0-9.,<>=!~^*| ]*\Z")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_TRANSPORT = re.compile(r"[A-Za-z0-9+-]+::")
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_NEEDED = frozenset(
    {"PATH", "HOME", "PWD", "OLDPWD"}
)  # without PATH, bash takes programs from the folder that it is in
_VARIABLE = re.compile(r"([A-Za-z_]\w*)\s*(?::{0,3}|\?|\+)=(.*)\Z", re.DOTALL)  # make: "!=" would run its value
_WEB = re.compile(r"(?:https?://)?[^:/@?#]*(?::\d+)?(?:[/?#]|\Z)", re.IGNORECASE)
_CURLS = frozenset("{}[]")
_PROTOCOL = re.compile(r"[+=-]*(?:-[a-z0-9]*|(?<!-)https?|)\Z", re.IGNORECASE)
_BSD_LETTERS = re.compile(r"[TarxfHjlsuvXhcnSwmLZ]*[oO]?\Z")
_BSD_WITH_ENVIRONMENT = re.compile(r"[TarxfHjlsuvXhcnSwmLZoOe]*e[TarxfHjlsuvXhcnSwmLZoOe]*\Z")
_PS_COLUMNS = frozenset({"pid", "ppid", "cmd", "args", "comm", "user", "rss", "vsz", "etime", "time", "stat", "tty"})
_WARNING = re.compile(r"[a-z]+(?::[^:]*(?::\w*)?)?\Z")
_DD_OPERAND = re.compile(r"(?:if|bs|ibs|obs|cbs|count|skip|seek|iseek|oseek|iflag|oflag|status|conv)=")
_MAKE_NUMBER = re.compile(r"(?:\d{1,6}|yes|no|true|false|on|off|y|n|)\Z")
_MAKE_SWITCHES = frozenset(
    {"V", "VERBOSE", "DEBUG", "CI", "NO_COLOR", "COLOR", "QUIET", "SILENT", "RELEASE", "JOBS", "COVERAGE", "WERROR"}
)
MAKE_ARGUMENTS = frozenset({"ARGS", "TEST_ARGS", "TESTARGS", "PYTEST_ARGS", "TEST", "TESTS", "T", "FILE", "FILES"})
_MAKE_ARGUMENT = re.compile(r"[A-Za-z0-9_./:=,@%+ -]*\Z")
_TARGET = re.compile(r"(?!\.[^/]|.*/\.[^/])[^$()\n]+\Z")
_BUILT_IN = (".out", ".sh", ",v")
_HARMLESS_SWITCHES = frozenset(
    {"-k", "-v", "-vv", "-q", "-x", "-s", "-l", "--lf", "--ff", "-n", "--verbose", "--quiet"}
)
_PRINTF_COUNTS = re.compile(r"%[-+ #0-9.*'hlLqjzt]*n")  # bash: the next operand is a variable to set
_LINT = re.compile(r"(?:-[DWAF])?[a-z][a-z0-9_:-]*\Z|-[DWAF]\Z")
_RUST_TARGET = re.compile(r"[a-z0-9_]+(?:-[a-z0-9_.]+)*\Z")
_RUSTFMT_ARGUMENTS = frozenset(
    {"--check", "-l", "-q", "-v", "--files-with-matches", "--verbose", "--quiet", "--color=never"}
)
_MANUAL = re.compile(r"[A-Za-z0-9_.:+@-]+(?:\([0-9][a-z]*\))?\Z")
_CHECKS_SIGNATURE = re.compile(r"%[-+ ]?G|signature|describe")  # "%+G?" is "%G?" in a line of its own
_OF_SS = re.compile(  # in its filters: any other word is taken for a host, whose name is looked up
    r"state|exclude|all|connected|synchronized|bucket|big|established|syn-(?:sent|recv)|fin-wait-[12]|time-wait|closed"
    r"|close-wait|last-ack|listening|closing|src|dst|[sd]port|autobound|and|or|not|eq|neq?|gt|geq?|lt|leq?"
    r"|(?:[\d.]+|\*|\[[\da-fA-F:.]*\])?(?:/\d+)?(?::[\w*-]*)?"
)
_AROUND_WORDS_OF_SS = re.compile(r"[\s()!=<>&|]+")
_HOST_OF_LSOF = re.compile(r"[^@]*(?:@(?:[\d.]+|\[[\da-fA-F:.]*\])(?::[^@]*)?)?")
_RSYNC_MERGES = (".", ":", "merge", "dir-merge", "!", "clear")


def _is_remote(value: str) -> bool:
    """Where git takes data from or sends it to: no transport that is a command."""
    return not _TRANSPORT.match(value) and value[:1] not in ("-", "/", ".", "~") and not value.startswith("file:")


def _is_fetched(value: str) -> bool:
    """What git is to fetch: with a name of its own for it, it moves or removes a branch that is there."""
    return value[:1] != "+" and ":" not in value


def _is_plain_format(value: str) -> bool:
    """A format of git that does not have a signature checked, which runs a program."""
    return _CHECKS_SIGNATURE.search(value) is None


def _is_safe_jq(value: str) -> bool:
    """A filter that reads its input only: no environment, no modules."""
    return _JQ_REFUSED.search(value) is None


def _is_safe_yq(value: str) -> bool:
    """A filter of either yq that reads its input only: no file, no environment, no text that is taken for one."""
    return _is_safe_jq(value) and _YQ_REFUSED.search(value) is None


def _is_cluster_resource(value: str) -> bool:
    """What kubectl is to show: no secrets, in any of the ways to write them."""
    return all(re.split(r"[/.]", one, maxsplit=1)[0].lower() not in _SECRETS for one in value.split(","))


def _is_safe_sql(value: str) -> bool:
    """Statements without a dot command, a file or a program."""
    return _SQL_SHOWS.match(value) is not None or (_SQL_REFUSED.search(value) is None and "|" not in value[:1])


def _is_awk_operand(value: str) -> bool:
    """A file or an assignment; gawk opens a network connection for ``/inet/…``."""
    return "/inet" not in value


def _is_relative(value: str) -> bool:
    """A path below the current folder."""
    return value[:1] not in ("/", "~", "-") and ".." not in value.split("/")


def _is_refspec(value: str) -> bool:
    """What is pushed: nothing that forces or deletes."""
    return value[:1] not in ("+", ":")


def _is_make_operand(value: str) -> bool:
    """A target, or a variable that is known to be a mere switch, or words that a test program is given."""
    if "=" not in value:
        # For any name there is a built-in rule: X.out is a copy of X, lib(X) an archive with X, and X is made of X.sh.
        # No name that begins with a dot, in any folder, is a target that people write.
        is_copy = value.endswith(_BUILT_IN) and value != "a.out"
        return not is_copy and _TARGET.match(value) is not None and _is_relative(value)
    match = _VARIABLE.match(value)
    if match is None:
        return False
    name, given = match[1], match[2].strip()
    if name in _MAKE_SWITCHES:
        return _MAKE_NUMBER.match(given) is not None
    if name not in MAKE_ARGUMENTS or not _MAKE_ARGUMENT.match(given):
        return False
    return all(word in _HARMLESS_SWITCHES if word[:1] == "-" else _is_relative(word) for word in given.split())


def _is_url(value: str) -> bool:
    """An address on the web: no local file, no other protocol."""
    # Braces and brackets are curl's: several addresses in one, of which each may be of another protocol.
    return _WEB.match(value) is not None and value[:1] != "-" and _CURLS.isdisjoint(value)


def _are_of_the_web(value: str) -> bool:
    """Protocols that curl may use, or may not: of others, a server would choose which file of the user is read."""
    return all(map(_PROTOCOL.match, value.split(",")))


def _is_variable(value: str) -> bool:
    """A variable with its value: a bare name would hand over the value that is set here."""
    return _VARIABLE.match(value) is not None


CHECKS: dict[str, Callable[[str], bool]] = {
    "address": lambda value: ":" in value and _is_remote(value),  # else it is a folder, with settings of its own
    "archive": lambda value: ":" not in value,  # HOST:FILE runs ssh
    "awk": is_safe_awk,
    "below": _is_relative,
    "buffer": lambda value: _BUFFER.match(value) is not None,
    # npm, pip and the like: a package by its name, or a folder; no address, and no repository that is short for one.
    "codenpm": lambda value: value[:1] == "." or _NPM_PACKAGE.match(value) is not None,
    "codefolder": _is_relative,
    "codego": lambda value: "@" not in value,  # with a version it is fetched
    "codelocal": lambda value: _SCHEME.match(value) is None,  # pip and deno take addresses as well
    "codepackage": lambda value: ":" not in value and value[:1] not in ("-", "~"),
    "cmakevariable": lambda value: value.startswith(("CMAKE_BUILD_TYPE=", "BUILD_", "CMAKE_EXPORT_COMPILE_COMMANDS=")),
    "cookie": lambda value: "=" in value and value[:1] != "@",
    "curlformat": lambda value: value[:1] != "@" and "%output" not in value,
    "ddoperand": lambda value: _DD_OPERAND.match(value) is not None,
    "dockervariable": _is_variable,
    "duration": lambda value: _DURATION.match(value) is not None,
    "fetched": _is_fetched,
    "filename": lambda value: "/" not in value,
    # cmake, in the folder that it builds in; behind -- are options of what builds, see `walk_cmake`.
    "codebuilt": lambda value: value == ".." or value[:1] == "-" or _is_relative(value),
    "cmaketarget": lambda value: _CMAKE_TARGET.match(value) is not None,  # make takes what it is for options, too
    "created": lambda value: value != "token" and _is_cluster_resource(value),  # kubectl prints what it has changed
    "format": _is_plain_format,
    "header": lambda value: value[:1] != "@",
    "jq": _is_safe_jq,
    "lint": lambda value: _LINT.match(value) is not None,
    "maketarget": _is_make_operand,
    "manpage": lambda value: _MANUAL.match(value) is not None,  # with a "/" it is a file, which may include others
    "module": _is_relative,
    "name": lambda value: _NAME.match(value) is not None,
    "npmpackage": lambda value: _NPM_PACKAGE.match(value) is not None,  # no folder, address or repository
    "codeproject": lambda value: value[:1] != "/",  # dotnet: an option for MSBuild, which loads what it names
    "pythonversion": lambda value: _PYTHON.match(value) is not None,  # else it is a program, which is run
    "readcontext": lambda value: ":" not in value,  # docker: else it is fetched
    "nohost": lambda value: _HOST_OF_LSOF.fullmatch(value) is not None,  # the name of one is looked up
    "nodollar": lambda value: not set(value) & {"$", "\n", "\r"},  # less: these end the value, more may follow
    "number": lambda value: _NUMBER.match(value) is not None,
    "plusformat": lambda value: value[:1] == "+",
    "printfformat": lambda value: _PRINTF_COUNTS.search(value.replace("%%", "")) is None,
    "pscolumn": lambda value: "env" not in value and (not value.isalpha() or value in _PS_COLUMNS),
    "protocols": _are_of_the_web,
    "psformat": lambda value: "env" not in value,
    "pslist": lambda value: _BSD_WITH_ENVIRONMENT.match(value) is None,  # no user of that name: ps takes it for letters
    "psletters": lambda value: _BSD_LETTERS.match(value) is not None,
    "readawk": _is_awk_operand,
    "refname": lambda value: _REFERENCE.match(value) is not None,  # any other name is that of a file below .git
    "refspec": _is_refspec,
    "remote": _is_remote,
    "remotename": lambda value: _is_remote(value) and ":" not in value,  # an address is any place of the net
    "resource": _is_cluster_resource,
    "rsyncfilter": lambda value: not value.lstrip("-+ ").startswith(_RSYNC_MERGES),
    "rustfmtargument": lambda value: value in _RUSTFMT_ARGUMENTS,
    "rusttarget": lambda value: _RUST_TARGET.match(value) is not None and not value.endswith(".json"),
    "codescript": lambda value: value != "env",  # bun: a script of the package, a file, or a program
    "script": lambda value: value != "env",  # npm, pnpm and yarn have one of this name: it prints the environment
    "sed": lambda value: value != "" and is_safe_sed(value),  # BSD's "-i ''" is followed by the script
    "shellword": lambda value: _SHELL_WORD.match(value) is not None,
    "socketfilter": lambda value: all(map(_OF_SS.fullmatch, _AROUND_WORDS_OF_SS.split(value))),
    "sql": _is_safe_sql,
    "testargument": lambda value: not value.startswith("--logfile"),
    "unsetname": lambda value: _NAME.match(value) is not None and value not in _NEEDED,
    "url": _is_url,
    "warning": lambda value: _WARNING.match(value) is not None,
    "yq": _is_safe_yq,
}
# The names of files that a glob becomes are as good as any name that is written out; a number is known to be one.
_FITS_GLOB = frozenset({"codepackage", "readawk", "testargument"})
_NUMBERS = frozenset({"buffer", "duration", "number"})
_FITS_NUMBER = _NUMBERS | {"readawk", "testargument"}
_MORE = re.compile(r"(?:\d|\$[?#$]|…)*[^\d$…]")  # of "x$?" and "$?x": there is a number in it, and it is none


def fits(kind: str, value: str) -> bool:
    """
    Whether *value* is one of *kind* that a wildcard covers; any value is, of a kind without a check.

    Of a word that only the running shell knows, the text that stands for it tells nothing.
    """
    check = CHECKS.get(kind)
    if check is None or (type(value) is str and check(value)):
        return True
    if type(value) is Glob:
        return kind in _FITS_GLOB and check(value)
    if type(value) is not Number or (kind in _NUMBERS and _MORE.match(value)):
        return False
    return kind in _FITS_NUMBER
