"""Scripts at random: a grammar richer than what is understood, with the places where parsers are known to differ."""

# ruff: noqa: E501 -- tables of fragments: a line each
from __future__ import annotations

import random

ALLOWED = [
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "grep",
    "find",
    "sort",
    "uniq",
    "diff",
    "stat",
    "cut",
    "tr",
    "echo",
    "printf",
    "test",
    "[",
    "cd",
    "pwd",
    "true",
    "false",
    "date",
    "seq",
    "git status",
    "git log",
    "git diff",
    "git add",
    "git commit",
    "make test",
    "sed",
    "awk",
    "tree",
    "npm test",
]
EVIL = ["evil", "touch c", "rm a.txt", "sh x", "./evil"]
USUAL = [
    "a",
    "a.txt",
    "b.txt",
    "src",
    "-l",
    "-n",
    "-1",
    "x",
    "7",
    "2",
    "x2",
    "./a.txt",
    "--",
    "-la",
    "src/c.txt",
    "HEAD",
    "--stat",
    "'a b'",
    '"a b"',
    "'*.txt'",
    '"x"',
    "a\\ b",
    "''",
]
USUAL_REDIRECTS = [
    "2>&1",
    ">/dev/null",
    "2>/dev/null",
    "> /dev/null",
    "<a.txt",
    "< b.txt",
    "</dev/null",
    "<&-",
    ">&2",
    "2>&-",
    "<<<x",
]
USUAL_SEPARATORS = [";", "; ", " && ", " || ", " | ", "\n", "\n", " & ", "|"]
USUAL_BODIES = ["x", "a b", "ls; pwd", ""]
PLAIN = [
    "a",
    "a.txt",
    "b.txt",
    "src",
    "-l",
    "-n",
    "-1",
    "x",
    "7",
    "2",
    "-x2",
    "a=b",
    "k=1",
    "./a.txt",
    "-",
    "--",
    "a,b",
    "x:y",
    "%s",
    "+5",
    "@",
    "HEAD^",
    "s/a/b/",
    "-ok",
    "!",
    "!x",
    "}",
    "{",
    "]",
    "[",
    "{}",
    "a{b",
    "x}",
    "in",
    "do",
    "then",
    "fi",
    "done",
    "esac",
    "if",
    "time",
    "-ocanary2",
    "-delete",
    "-o",
    "c2",
    "-oc",
    "-exec",
    "-oc2",
    "-delete",
]
QUOTED = [
    "a",
    "a b",
    "it",
    "",
    " ",
    "x;evil",
    "$",
    "a#b",
    "#",
    "\\",
    "*",
    "~",
    "(evil)",
    "&& evil",
    "| evil",
    "<<E",
    "E",
    "-delete",
    "  x",
    "\nx",
    "x\ny",
    "{a,b}",
    ";",
    "ü",
    "-ocanary",
    ">c",
    "!",
]
VARIABLES = [
    "$x",
    "${x}",
    "$HOME",
    "${HOME}",
    "$?",
    "$#",
    "$$",
    "$!",
    "$-",
    "$0",
    "$1",
    "$@",
    "$*",
    "$_",
    "${x:-y}",
    "${x-}",
    "${x:+.env}",
    "${HOME:-y}",
    "${x:-a b}",
    "${x:-*}",
    "${#x}",
    "${x##y}",
    "${x%*/}",
    "${x#a}",
    "${x:=evil}",
    "${!x}",
    "${a[1]}",
    "$((1+2))",
    "$[1+1]",
    "$((x))",
    "$(( 1 ))",
    "$'a'",
    "$'\\n'",
    '$"a"',
    "$",
    "$/",
    "$.",
]
GLOBS = ["*", "*.txt", "?", "[ab]*", "a*", "-*", "[", "*[", "[!a]", "src/*", ".*"]
BRACES = [
    "{a,b}", "{1..2}", "{a,'b'}", "{a','b}", "a{b,c}d", "{,-delete}", "{a}", "{a,b", "{a..c}", "{a,b}.txt", "{-delete,a}",
    "{.,-exec}", "src/{a,b}", "{a,b}{1,x}", "*.{a,txt}", "{b,-o}", "{..,a}", "{a,b}=1", "{a,{b,c}}", "{echo,a}", "{a,a..b}",
    "-{o,n}b", "{a,b}*", "a{,.txt}", "{a,\\b}", "{a,$x}", "{a,b}$x", "{?,a}.txt", "{~,a}", "{a,b}}", "{{a,b}", "{a,b},{",
]  # fmt: skip
TILDES = ["~", "~/x", "a~", "a=~", "a:~", "~root", "~+", "~-", "~'x'", "--x=~/y", "~:x"]
REDIRECTS = [
    "2>&1",
    ">&1",
    ">&2",
    ">&1",
    "2>&-o",
    "<&-c",
    "<&-2",
    "1>&2",
    ">/dev/null",
    "2>/dev/null",
    ">c",
    "> c",
    ">>c",
    "2>c",
    "<a.txt",
    "< a.txt",
    "<&-",
    ">&-",
    "2>&-",
    "<&0",
    "<&-2",
    "2>&--delete",
    ">&2-",
    "2>&1>c",
    "&>/dev/null",
    "&>c",
    "&>>c",
    ">|c",
    "<>c",
    "{fd}>c",
    "<<<x",
    "<<< 'a b'",
    '<<<"$x"',
    "3>c",
    "99>c",
    "99999999999>c",
    ">&c",
    ">$x",
    "> *",
    "<(ls)",
    ">(cat)",
    "2>&11",
    "02>&1",
    "> 'c d'",
    ">\\c",
]
SEPARATORS = [
    ";",
    " ; ",
    "&&",
    " && ",
    "||",
    " || ",
    "|",
    " | ",
    "|&",
    "&",
    " & ",
    "\n",
    "\n\n",
    ";\n",
    " &&\n",
    " |\n",
    " # x\n",
    "#x\n",
    ";#x\n",
    " # it's\n",
    " # \\\n",
    ";;",
    "; ;",
    " &\n",
    "&;",
]
BLANKS = ["", "", "", "", "", "", "  ", "\t", " \\\n", " \\\n ", "\\\n", " \t "]
DELIMITERS = ["E", "'E'", '"E"', "\\E", "E2", "'E'x", "$E", "' E'"]
BODIES = [
    "x",
    "evil",
    " $(evil)",
    "$(evil)",
    "`evil`",
    "$x",
    "\\",
    "E ",
    " E",
    "\tE",
    "EE",
    "it's",
    '"',
    ")",
    "}",
    "",
    "# x",
    "a \\",
    "find a.txt; ls -delete",
    "$((1))",
]
FRONTS = ["x=1", "x=", "LANG=C", "x=$(ls)", "a[0]=1", "x+=1", "> /dev/null", "2>&1", "x=(a b)", "x='a b'"]
TESTS = ["=", "<", ">", "-a", "|", "-o", "==", "\\<"]
SPECIALS = [
    *" \t\n;|&<>(){}[]$`'\"\\#!~*?=-0129E,.:",
    "\\\n",
    "$(",
    "<<",
    "&&",
    "evil",
    " evil ",
    ";evil",
    "]",
    "}",
    "fi",
    "done",
    "\\ ",
    "''",
    '""',
    "2>&1",
    " - ",
    "é",
    "$!",
]


class Grammar:
    """
    Says scripts. The same random numbers say the same.

    Most scripts are nearly usual ones: a place or two in each is odd, so that what is odd is allowed at times.
    """

    def __init__(self, pick: random.Random) -> None:
        self.pick = pick
        self._oddness = pick.choice([0.03, 0.08, 0.15, 0.4])
        self._bodies: list[str] = []

    def odd(self) -> bool:
        return self.pick.random() < self._oddness

    def choice(self, usual: list[str], odd: list[str]) -> str:
        return self.pick.choice(odd if self.odd() else usual)

    def text(self) -> str:
        """A whole script; in some, characters are changed."""
        script = self.script(self.pick.choice([0, 0, 1, 1, 1, 2])) + self._flush()
        if self.pick.random() < 0.1:  # bash prints what stands in a substitution, and reads that
            script = self.pick.choice(
                [f'echo "$({script})"', f"for i in $({script}); do pwd; done", f"x=`{script}` ls"]
            )
        for _ in range(self.pick.choice([0, 0, 0, 0, 0, 1, 1, 2])):
            script = self._changed(script)
        return script

    def _changed(self, text: str) -> str:
        at = self.pick.randrange(len(text) + 1)
        what = self.pick.randrange(4)
        if what == 0:
            return text[:at] + text[at + 1 :]
        if what == 1:
            end = at + self.pick.randrange(1, 6)
            return text[:end] + text[at:end] + text[end:]
        return text[:at] + self.pick.choice(SPECIALS) + text[at + (what == 2) :]

    def _flush(self) -> str:
        """The bodies of the here-documents that were begun, behind a newline."""
        if not self._bodies or self.pick.random() < 0.03:
            return ""
        bodies, self._bodies = "".join(self._bodies), []
        return "\n" + bodies

    # Lists and commands.

    def script(self, depth: int) -> str:
        text = self.pipeline(depth)
        for _ in range(self.pick.choice([0, 0, 0, 1, 1, 2])):
            separator = self.choice(USUAL_SEPARATORS, SEPARATORS)
            if "\n" in separator and self._bodies:
                separator = separator.rstrip("\n") + self._flush()
            text += separator + self.pipeline(depth)
        return text

    def pipeline(self, depth: int) -> str:
        front = self.choice([""], ["", "! ", "time ", "time -p ", "!", "! ! "])
        return front + self.command(depth)

    def command(self, depth: int) -> str:
        if self.pick.random() < 0.12:
            return self._trap()
        if depth <= 0 or self.pick.random() < 0.65:
            return self.simple(depth)
        text = self._odd_compound(depth - 1) if self.odd() else self._compound(depth - 1)
        redirect = " " + (self._heredoc() if self.odd() else self.choice(USUAL_REDIRECTS, REDIRECTS))
        return text + self.pick.choice(["", "", "", redirect])

    def _part(self, depth: int) -> str:
        return self.script(depth) + self._flush()

    def _compound(self, depth: int) -> str:
        one, two = self._part(depth), self._part(depth)
        return self.pick.choice(
            [
                f"({one})", f"( {one} )", f"{{ {one}; }}", f"{{ {one}\n}}", f"if {one}; then {two}; fi",
                f"if {one}\nthen {two}\nelse {one}\nfi", f"if {one}; then {two}; elif {two}; then {one}; fi",
                f"for i in a {self.word(0)}; do {one}; done", f"for i in 1 2\ndo {one}\ndone",
                f"while {one}; do {two}; break; done", f"until {one}; do {two}; break; done",
                f"case {self.word(0)} in a|{self.word(0)}) {one};; *) {two};; esac",
                f"[ {self.word(0)} {self.choice(['=', '!=', '-a'], TESTS)} {self.word(0)} ]",
                f"[[ {self.word(0)} {self.choice(['=', '!=', '=='], TESTS)} {self.word(0)} ]]",
                f"[[ {self.choice(['-f', '-n', '! -d'], TESTS)} {self.word(0)} ]]",
                f"[ {self.word(0)} ]{self.choice([';', '&&'], ['', '#', '&', '#;', ' #'])}{one}",
            ]
        )  # fmt: skip

    def _odd_compound(self, depth: int) -> str:
        one, two, word = self._part(depth), self._part(depth), self.word(0)
        return self.pick.choice(
            [
                f"for i in do done; do {one}; done", f"case a in (a) {one} ;; esac", f"case x in x) {one}; esac", f"{{{one};}}",
                f"case a in a) {one};& b) {two};; esac", f"f() {{ {one}; }}; f", f"[[ {word} ]]", f"(( 1 )) && {one}",
                f"coproc {one}", f"select x in a; do {one}; break; done", f"for i; do {one}; done", f"if ({one}) then {two}; fi",
                f"for ((i=0;i<1;i++)); do {one}; done", f"(({one}))", f"( ( {one} ) )", f"{{ {one} }}", f"[ {word} ]#;{one}",
            ]
        )  # fmt: skip

    def _trap(self) -> str:
        """Where one reader of bash or another is known to be wrong, said in another way each time."""
        program, word, other = self.pick.choice(ALLOWED), self.word(0), self.simple(0)
        blank, duplicated = self.pick.choice(BLANKS), self.pick.choice(["2>&1", ">&2", "2>&-", ">c", "2>c", "<a.txt"])
        body = self.pick.choice(["", "x\n"]) + self.pick.choice(["", " ", "\t", "  ", "\\"])
        return self.pick.choice(
            [
                f"{program} <<E\n{body}{self.pick.choice(['$(evil)', '`evil`', '${x:-$(evil)}'])}\nE\n",
                f"{program} <<'E'{self.pick.choice(['', ' #', ' ' + word, '|' + other])}\n{body}E\n{other}",
f"{program} {word} {self.pick.choice(['-oc', '-x', '-i', '-', 'x', 'c}'])}{self.pick.choice('123')}{duplicated}",
                f"{program} {word} {self.pick.choice(['<&-', '>&-', '2>&-', '2>&1', '>&2'])}{word} {word}",
f"{program} {self.pick.choice(['', '-delete', word])}{self.pick.choice(['$!', '$!', '$-', '$$', '$#', '$_', '$@'])}",
                f"{program} <&-{word} {word}",
                f"[ {word} ]{self.pick.choice(['#;', '#|', '>c ', '2', '#&'])}{other}",
                f"[[ {self.pick.choice([word, '-f ' + word])} ]]{self.pick.choice(['>c ', ' ]]', '#', '; '])}{other}",
                f"[ {word}{blank}{self.pick.choice(TESTS)}{blank}{word} ]",
                f"echo \"$(cat <<'E'\nx\nE\n{program} {word}; {other})\"",
                f"for i in $(cat <<'E'\nx\nE\n{program} {word}; {other}); do {program}; done",
                f"for i in $({{ cat <<'E'\nx\nE\n{program}; }}; {other}); do {other}; done",
                f"{program} {word}'{word.replace(chr(39), '')}'\\ {word}",
                f"{program} {word}#{other}",
                f"{program} \\\n#{other}\n{other}",
                f"case a in a) {other};;{blank}b) {program};; esac{blank}{duplicated}",
            ]
        )  # fmt: skip

    def simple(self, depth: int) -> str:
        program = self.pick.choice(ALLOWED)
        if self.odd():
            program = self.pick.choice([self._disguised(program), *EVIL])
        text = program
        if self.odd():
            text = self.pick.choice(FRONTS) + " " + program
        for _ in range(self.pick.choice([0, 0, 1, 1, 1, 2, 2, 3])):
            redirect = self.pick.random() < 0.2
            token = self.choice(USUAL_REDIRECTS, REDIRECTS) if redirect else self._token(depth)
            text += self.pick.choice(BLANKS) if self.odd() else " "
            text += token
        return text + (self.choice([" ]"], ["]", " ]#", " ]x", " ];"]) if program == "[" else "")

    def _disguised(self, program: str) -> str:
        at = self.pick.randrange(len(program) + 1)
        return program[:at] + self.pick.choice(["\\", "''", '""', "\\\n", "$x", "$!"]) + program[at:]

    def _token(self, depth: int) -> str:
        return self._heredoc() if self.pick.random() < 0.06 else self.word(depth)

    def _heredoc(self) -> str:
        written = self.choice(["E", "'E'", "'E'"], DELIMITERS)
        delimiter = written.replace("'", "").replace('"', "").replace("\\", "")
        operator = self.choice(["<<"], ["<<-", "<< ", "<<-"])
        lines = [self.choice(USUAL_BODIES, BODIES) + "\n" for _ in range(self.pick.choice([0, 1, 1, 2]))]
        indent = "\t" if operator == "<<-" and self.odd() else ""
        self._bodies.append("".join(lines) + indent + delimiter + self.choice(["\n"], ["", " \n"]))
        return operator + written

    # Words.

    def word(self, depth: int) -> str:
        if depth > 0 and self.pick.random() < 0.12:
            return self._substitution(depth)
        word = self._piece() if self.odd() else self.pick.choice(USUAL)
        while self.odd():
            word += self._piece()
        return word

    def _piece(self) -> str:
        kind = self.pick.randrange(16)
        if kind < 6:
            return self.pick.choice(PLAIN)
        if kind < 8:
            return "'" + self.pick.choice(QUOTED).replace("'", "") + "'"
        if kind < 10:
            return '"' + self._in_quotes() + '"'
        if kind < 13:
            return self.pick.choice(VARIABLES)
        if kind < 14:
            return "\\" + self.pick.choice([" ", "$", "`", '"', "'", "\\", "a", "#", "*", ";", "n", "~", "{", "ü"])
        return self.pick.choice(self.pick.choice([GLOBS, BRACES, TILDES, ["#", "a#b", "@(a|b)", "=", "=x"]]))

    def _in_quotes(self) -> str:
        pieces = []
        for _ in range(self.pick.choice([1, 1, 2, 3])):
            kind = self.pick.randrange(8)
            if kind < 5:
                pieces.append(self.pick.choice(QUOTED).replace('"', ""))
            elif kind < 7:
                pieces.append(self.pick.choice(VARIABLES).replace('"', ""))
            else:
                pieces.append("\\" + self.pick.choice(["$", "`", '"', "\\", "a", "n", " ", "!"]))
        return "".join(pieces)

    def _substitution(self, depth: int) -> str:
        waiting, self._bodies = self._bodies, []
        inner = self.script(depth - 1)
        if self.pick.random() < 0.25:
            inner = "cat " + self._heredoc() + self._flush()
            inner += self.script(0) if self.pick.random() < 0.4 else ""
        inner += self._flush()
        self._bodies = waiting + self._bodies
        text = self.choice([f"$({inner})"], [f"`{inner}`", f"$( {inner} )"])
        return text if self.odd() else f'"{text}"'
