"""
Secrets by their shape, wherever they stand in a text: tokens of vendors, headers, URLs, options and assignments.

Everything here takes time in proportion to the text: a shape is only looked for when a word it needs occurs, each
pattern starts at a fixed text, and what it reads after that is bounded or never read again.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from executor._secret_names import hides, is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "***"


class _Shape(NamedTuple):
    """
    A secret that its own text gives away.

    Attributes:
        reason: Whose it is, or where it is described.
        needs: Texts (lower case) of which one occurs wherever the shape does.
        pattern: The whole; the groups ``before`` and ``after`` stay, so that the kind can still be recognised. Compiled
            when it is first needed: all of them together take 10 ms.
    """

    reason: str
    needs: tuple[str, ...]
    pattern: str
    flags: re.RegexFlag = re.NOFLAG


def _token(reason: str, prefixes: str, rest: str) -> _Shape:
    """A vendor's token: one of *prefixes*, which stays, and *rest*."""
    starts = prefixes.split()
    choice = "|".join(re.escape(start) for start in sorted(starts, key=len, reverse=True))
    pattern = rf"(?<![A-Za-z0-9])(?P<before>{choice}){rest}(?P<after>)"
    return _Shape(reason, tuple(start.lower() for start in starts), pattern)


_SHAPES = (
    _Shape(
        "RFC 7468: a private key in PEM; without its end it goes to the end of the text",
        ("private key",),
        r"(?P<before>-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----).*?"
        r"(?P<after>-----END (?P=kind)-----|\Z)",
        re.DOTALL,
    ),
    _Shape(
        "RFC 3986: user:password@ of a URL; the password may hold an @, so the last one before the path counts",
        ("://",),
        r"""(?P<before>://[^\s/?\#:@"'<>]{0,256}+:)[^\s/?\#"'<>]{1,512}(?P<after>@)""",
    ),
    _Shape(
        "Oracle's thin driver: user/password@",
        ("jdbc:oracle:",),
        r"(?P<before>jdbc:oracle:\w{1,16}:[^\s/@]{1,128}/)[^\s@]{1,128}(?P<after>@)",
        re.IGNORECASE,
    ),
    _Shape(
        "RFC 6750: a bearer's token outside a header; a word of a sentence has no digit and is shorter",
        ("bearer",),
        r"(?P<before>\bbearer[ \t]{1,4})(?=[\w.~+/=-]{0,64}?\d|[\w.~+/=-]{24})[\w.~+/-]{6,}+=*(?P<after>)",
        re.IGNORECASE,
    ),
    _Shape(
        "RFC 7617: user and password in base64 outside a header",
        ("basic",),
        r"(?P<before>\bbasic[ \t]{1,4})(?=[\w+/-]{0,64}?[\d=])[\w+/-]{12,}+={0,2}(?![\w.])(?P<after>)",
        re.IGNORECASE,
    ),
    _Shape(
        "signed URLs (Azure sig, AWS X-Amz-Signature) and keys that APIs take in the query",
        ("sig", "key="),
        r"""(?P<before>[?&](?:sig|signature|x-amz-signature|x-goog-signature|key)=)[^&\#\s"'<>()]{12,}+(?P<after>)""",
        re.IGNORECASE,
    ),
    _Shape(
        "Slack: an incoming webhook's URL is its secret",
        ("hooks.slack.com",),
        r"(?P<before>hooks\.slack\.com/(?:services|workflows)/)[\w/-]{8,}+(?P<after>)",
    ),
    _Shape(
        "RFC 7519, RFC 7516: JWT of three parts, or five when encrypted; the first begins as JSON does",
        ("eyj",),
        r"(?<![\w-])(?P<before>eyJ)[\w-]{6,}+(?:\.[\w-]*+){2,4}(?P<after>)",
    ),
    _Shape(
        "AWS: an access key's id, with its secret when that follows",
        ("akia", "asia", "abia", "acca"),
        r"""(?<![A-Za-z0-9])(?P<before>AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"""
        r"""(?:[\s:,;"']{1,8}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+]))?(?P<after>)""",
    ),
    _token("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{16,}+"),
    _token("GitLab", "glpat- gloas- gldt- glrt- glcbt- glptt- glft- glsoat- glagent-", r"[\w-]{16,}+"),
    _token("Slack", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xoxe.", r"[\w.-]{10,}+"),
    _token("Google: API key, OAuth client secret, access and refresh token", "AIza GOCSPX- ya29. 1//0", r"[\w-]{20,}+"),
    _token("Anthropic", "sk-ant-", r"[\w-]{16,}+"),
    _token("OpenAI and those who copy its form, with a digit", "sk-", r"(?=[\w-]{0,64}?\d)[\w-]{20,}+"),
    _token("Stripe", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"\w{10,}+"),
    _token("npm", "npm_", r"[A-Za-z0-9]{30,}+"),
    _token("PyPI: a macaroon, whose text begins so", "pypi-Ag", r"[\w-]{16,}+"),
    _token("Hugging Face, Groq, xAI, Replicate", "hf_ gsk_ xai- r8_", r"[A-Za-z0-9]{30,}+"),
    _token("SendGrid", "SG.", r"[\w-]{16,}+\.[\w-]{16,}+"),
    _token("Shopify", "shpat_ shpca_ shppa_ shpss_", r"[A-Fa-f0-9]{32}"),
    _token("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{32,}+"),
    _token("Docker, Linear, Notion, Grafana, Figma", "dckr_pat_ lin_api_ ntn_ glsa_ figd_", r"[\w-]{20,}+"),
    _token("HashiCorp Vault", "hvs. hvb. hvr.", r"[\w-]{20,}+"),
    _token("Databricks", "dapi", r"[a-f0-9]{32}"),
    _token("age", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}+"),
    _token("Twilio: the secret of an API key", "SK", r"[a-f0-9]{32}(?![A-Za-z0-9])"),
    _token("Mailgun", "key-", r"[a-f0-9]{32}(?![A-Za-z0-9])"),
    _token("Atlassian, Bitbucket", "ATATT3 ATCTT3 ATBB", r"[\w=-]{16,}+"),
    _token("Square, New Relic, Heroku", "sq0atp- sq0csp- NRAK- NRJS- NRII- HRKU-", r"[\w-]{16,}+"),
    _token("Tailscale, Sentry, PostHog", "tskey- sntrys_ sntryu_ phx_ phc_", r"[\w-]{16,}+"),
    _token("NVIDIA, Perplexity, Supabase, Pulumi", "nvapi- pplx- sbp_ pul-", r"[\w-]{24,}+"),
    _token("PlanetScale", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.-]{16,}+"),
    _Shape(
        "HCP Terraform, Airtable: an id, a dot, the secret",
        (".atlasv1.", "pat"),
        r"(?<![A-Za-z0-9])(?P<before>\w{14}\.atlasv1\.|pat\w{14}\.)[\w-]{60,}+(?P<after>)",
    ),
    _Shape(
        "the Bot API of Telegram: a bot's number and its key",
        (":aa",),
        r"(?<!\w)(?P<before>\d{8,12}:AA)[\w-]{30,}+(?P<after>)",
    ),
    _Shape(
        "netrc, and what asks for a login like it",
        ("login",),
        r"(?P<before>\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8})[^\s\"']{1,256}+(?P<after>)",
    ),
)


_ELEMENT = re.compile(r"(?P<before><(?P<name>[A-Za-z_][\w.-]{0,63}+)>)[^<>]{1,512}+(?P<after></(?P=name)>)")  # of XML

# Vendors without end have tokens without a beginning of their own. Of ten neighbours in what chance has made of small
# letters, capitals and digits, four and a half are of different kinds, a capital before a small letter left out; in
# names that people make of words and numbers two.
_RANDOM = re.compile(r"(?<![A-Za-z0-9_])(?!AAAA)(?=[a-z0-9_-]{0,200}+[A-Z])[A-Za-z0-9_-]{20,}+")  # AAAA: public keys
_CHANGES = 0.36
_FEW = 2  # of each kind there are so many at least


def _hide_random(match: re.Match[str]) -> str:
    kinds = ["A" if char.isupper() else "a" if char.islower() else "1" for char in match[0] if char.isalnum()]
    if min(kinds.count("A"), kinds.count("a"), kinds.count("1")) < _FEW:
        return match[0]
    changes = sum(one != other and one + other != "Aa" for one, other in pairwise(kinds))
    return MASK if changes >= _CHANGES * (len(kinds) - 1) else match[0]


class _Program(NamedTuple):
    """
    Options of a program whose short names say nothing.

    Attributes:
        joined: The value follows at once: ``mysql -pX``.
        apart: The value is the next word.
        user: The value is ``user:password`` (or ``user%password``), joined or apart, and the user stays.
        bundle: The last of those short options that take a value, behind others in one word: ``curl -sSu``.
    """

    joined: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    bundle: str = ""


_MYSQL = _Program(joined=("-p",))
_LOGIN = _Program(apart=("-p",))
_PROGRAMS = {
    **dict.fromkeys(
        ("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow", "mariadb", "mariadb-dump"), _MYSQL
    ),
    "curl": _Program(user=("-u", "--user", "-U", "--proxy-user"), bundle="uU"),
    "smbclient": _Program(user=("-U", "--user")),
    **dict.fromkeys(("zip", "unzip"), _Program(joined=("-P",), apart=("-P", "--password"))),
    **dict.fromkeys(("http", "https", "xh"), _Program(user=("-a", "--auth"))),  # HTTPie
    **dict.fromkeys(("docker login", "podman login", "az login", "mongo", "mongosh", "mongodump"), _LOGIN),
    "sshpass": _Program(joined=("-p",), apart=("-p",)),
    "redis-cli": _Program(apart=("-a",)),
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify"), _Program(apart=("-w",))),
    "sqlcmd": _Program(joined=("-P",), apart=("-P",)),
    "7z": _Program(joined=("-p",)),
}
_PROGRAM = re.compile(
    rf"(?<![\w.-])(?P<name>{'|'.join(re.escape(name) for name in sorted(_PROGRAMS, key=len, reverse=True))})(?=[ \t])"
)
_COMMAND = re.compile(r"""(?s:"(?:[^"\\]|\\.)*+"?|'[^']*+'?|\\.|[^\n;|&"'\\])*+""")  # up to its end, not the line's
_BARE = r"""(?s:\\[^"']|[^\s"'\\;|&<>()`])++"""  # a word of a shell, or a value of a query


def _options(names: tuple[str, ...]) -> str:
    return "|".join(re.escape(name) for name in names) or r"(?!)"


@cache
def _short(name: str) -> re.Pattern[str]:
    """The options of the program *name* with their values, each in the last group that takes part."""
    program = _PROGRAMS[name]
    value = rf"""(?:"(?P<{{0}}a>[^"]++)|'(?P<{{0}}b>[^']++)|(?P<{{0}}c>{_BARE}))"""
    user = rf"""(?:"[^":%]*+[:%](?P<ua>[^"]++)|'[^':%]*+[:%](?P<ub>[^']++)|[^\s:%"']++[:%](?P<uc>{_BARE}))"""
    bundled = rf"|-[A-Za-z]{{1,8}}[{program.bundle}]" if program.bundle else ""
    return re.compile(
        rf"(?<=\s)(?:(?:{_options(program.joined)}){value.replace('{0}', 'j')}"
        rf"|(?:{_options(program.apart)})[ \t]++{value.replace('{0}', 's')}"
        rf"|(?:{_options(program.user)}{bundled})[ \t=]*+{user})"
    )


_TRIGGERS = ("pass", "pwd", "secret", "token", "key", "cred", "auth", "cookie", "bearer", "jwt", "otp", "cvv")
_NAME = re.compile(
    r"""(?<![\w-])(?P<dash>-{1,2})?(?P<name>[A-Za-z_][\w.-]{0,63}+)"""
    r"""(?:(?P<sign>(?P<quote>\\{0,7}+["'])?+[ \t]{0,8}+(?::=|=>|[:=])(?![:=])[ \t]{0,8}+)|(?(dash)[ \t]{1,8}+|(?!)))"""
)
_QUOTE = re.compile(r"""[bfru]{0,2}(?P<quote>\\{0,7}+["'])""", re.IGNORECASE)
_INSIDE = {'"': re.compile(r'(?:[^"\\]|\\.)*+', re.DOTALL), "'": re.compile(r"(?:[^'\\]|\\.)*+", re.DOTALL)}
_SCHEME = re.compile(r"(?:bearer|basic|digest|token|apikey|negotiate|ntlm|hawk|aws4-hmac-sha256)[ \t]++", re.IGNORECASE)
_REST = re.compile(r"""[^"'\\\r\n]++""")  # of a header: to the end of its line, or of the quotes it stands in
_ANYWHERE = re.compile(_BARE)
_LAST = re.compile(r"""[^\s"'\\]++(?=[ \t]*+(?:$|["'\\\r\n#]))""")  # one word with nothing after it on its line
_NUMBER = re.compile(r"\d{1,9}")
# What stands where a secret would and is not one: a reference to a variable, a call, a type, nothing, `***` already.
_NO_SECRET = re.compile(
    r"(?:\$|\\?\$\{?[A-Za-z_]\w*\}?|\$\{\{.{0,80}\}\}|\{\w*\}|%\w+%|<[\w -]+>|\*+"
    r"|\$\(.*|[\w.]+\(.*|self\.\w+|os\.environ.*|process\.env.*"
    r"|str|int|bool|float|bytes|string|number|object|any|none|null|nil|true|false|undefined)?[,;]?",
    re.IGNORECASE | re.DOTALL,
)


_BRIEF = 20  # characters up to which one look for all words together is quicker than one for each


@cache
def _telling() -> re.Pattern[str]:
    """Any of the words of which one occurs wherever there is something to look at closely."""
    words = {need for shape in _SHAPES for need in shape.needs}.union(_TRIGGERS, _PROGRAMS, ("</",))
    return re.compile("|".join(map(re.escape, sorted(words))))


def mask_text(text: str) -> str:
    """*text* with every secret that its shape or name gives away as ``***``."""
    lowered = text.lower()
    if len(lowered) > _BRIEF or _telling().search(lowered):
        text = _mask_told(text, lowered)
    return _RANDOM.sub(_hide_random, text)


def _mask_told(text: str, lowered: str) -> str:
    for shape in _SHAPES:
        if _has(lowered, shape.needs):
            text = re.sub(shape.pattern, _hide_between, text, flags=shape.flags)
    if _has(lowered, _TRIGGERS):
        text = _mask_named(text)
    if _has(lowered, _PROGRAMS):
        text = _mask_short_options(text)
    if "</" in text:
        text = _ELEMENT.sub(lambda match: _hide_between(match) if is_secret_name(match["name"]) else match[0], text)
    return text


def _has(text: str, words: Iterable[str]) -> bool:
    for word in words:  # noqa: SIM110 -- three times as fast as any(): records are made of many short texts
        if word in text:
            return True
    return False


def _hide_between(match: re.Match[str]) -> str:
    value = match.string[match.end("before") : match.start("after")]
    return match[0] if _NO_SECRET.fullmatch(value) else f"{match['before']}{MASK}{match['after']}"


def _mask_named(text: str) -> str:
    """Mask what stands after a secret's name: ``PGPASSWORD=x``, ``--token x``, ``"secret": "x"``, ``Cookie: a=b``."""
    pieces, at = [], 0
    for match in _NAME.finditer(text):
        if match.start() < at or not is_secret_name(match["name"]):
            continue
        start, end = _value_after(match)
        value = text[start:end]
        if _NO_SECRET.fullmatch(value) or _is_count(match["name"], value) or text.startswith("(", end):  # a call
            continue
        pieces += [text[at:start], MASK]
        at = end
    return "".join([*pieces, text[at:]])


def _is_count(name: str, value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None and not hides(name, int(value))


def _value_after(match: re.Match[str]) -> tuple[int, int]:
    """Where the value of a name begins and ends; nothing lies between when this is a sentence, or another option."""
    text, start, sign = match.string, match.end(), match["sign"]
    quote = _QUOTE.match(text, start)
    if quote is not None:
        scheme = _SCHEME.match(text, quote.end())
        return (scheme or quote).end(), _closing(text, (scheme or quote).end(), quote["quote"])
    found = None
    if sign is not None and (scheme := _SCHEME.match(text, start)):
        found = _REST.match(text, scheme.end())
    elif sign is not None and ":" in sign and match["name"].lower().endswith("cookie"):
        found = _REST.match(text, start)
    elif sign is None and not text.startswith("-", start):
        found = _ANYWHERE.match(text, start)
    elif sign is not None:
        # Only where a shell or a query would read it so is a bare word a value wherever it stands.
        everywhere = sign == "=" or match["dash"] or match["quote"]
        found = (_ANYWHERE if everywhere else _LAST).match(text, start)
    return found.span() if found is not None else (start, start)


def _closing(text: str, start: int, quote: str) -> int:
    """Where the text in quotes ends; at the end of the text when they are never closed."""
    if len(quote) == 1:
        inside = _INSIDE[quote].match(text, start)
        assert inside is not None  # it matches the empty text too
        return inside.end()
    end = text.find(quote, start)  # quotes within quotes: JSON inside JSON
    while end > start and text[end - 1] == "\\":  # deeper ones
        end = text.find(quote, end + 1)
    return len(text) if end < 0 else end


def _mask_short_options(text: str) -> str:
    """Mask ``-pX`` of mysql and its like, up to the end of the command they are in."""
    pieces, at = [], 0
    for match in _PROGRAM.finditer(text):
        if match.start() < at:
            continue
        command = _COMMAND.match(text, match.end())
        assert command is not None  # it matches the empty text too
        pieces += [text[at : match.end()], _short(match["name"]).sub(_hide_last, command[0])]
        at = command.end()
    return "".join([*pieces, text[at:]])


def _hide_last(match: re.Match[str]) -> str:
    assert match.lastgroup is not None  # each alternative ends with a group
    if _NO_SECRET.fullmatch(match[match.lastgroup]):
        return match[0]
    return match.string[match.start() : match.start(match.lastgroup)] + MASK


_OPTION = re.compile(r"--?[A-Za-z][\w.-]*+")
_BUNDLE = re.compile(r"-[A-Za-z]{2,9}")
_USER = re.compile(r"[^:%]*+[:%]")


class Words:
    """Masks the words of a command line (argv) one after another, each in the light of those before it."""

    def __init__(self) -> None:
        self._program = _Program()
        self._before = ""

    def mask(self, word: str) -> str:
        """*word*, or what is kept of it."""
        masked = self._masked(word)
        name = word.rpartition("/")[2]
        self._program = _PROGRAMS.get(name) or _PROGRAMS.get(f"{self._before} {name}") or self._program
        self._before = name if name in _GROUPS else word
        return masked

    def _masked(self, word: str) -> str:
        before, program = self._before, self._program
        bundled = _BUNDLE.fullmatch(before) is not None and before[-1:] in program.bundle
        names_user = before in program.user or bundled
        if names_user and (split := _USER.match(word)):
            return split[0] + MASK
        option = _OPTION.fullmatch(before) is not None
        if option and not word.startswith("-") and (is_secret_name(before) or before in program.apart):
            return word if _NO_SECRET.fullmatch(word) else MASK
        for name in program.user:
            if word.startswith(name) and (split := _USER.match(word)):
                return split[0] + MASK
        for name in program.joined:
            if word.startswith(name) and len(word) > len(name):
                return name + MASK
        return mask_text(word)


_GROUPS = {name.partition(" ")[0] for name in _PROGRAMS if " " in name}  # docker, whose "login" is meant
