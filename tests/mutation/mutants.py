"""The small changes that a line of Python can suffer, each an edit of the source's bytes: line numbers stay."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: (r"\bis\b", ("is not",)),
    ast.IsNot: (r"\bis\s+not\b", ("is",)),
    ast.In: (r"\bin\b", ("not in",)),
    ast.NotIn: (r"\bnot\s+in\b", ("in",)),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: (r"\*\*", "*"),
    ast.BitOr: (r"\|", "&"),
    ast.BitAnd: ("&", "|"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
DELETED = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete, ast.Raise, ast.Break, ast.Continue)
# Calls whose texts are for people or for type checkers: an emptied text there is not another behaviour.
WORDS_ONLY = {"cast", "TypeVar", "getLogger", "debug", "info", "warning", "error", "exception", "warn"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """
    One edit.

    Attributes:
        start: The first byte that it replaces.
        end: The byte behind the last.
        new: What stands there instead.
        operator: The kind of change.
        line: The line it begins in, from 1.
        function: First line of the innermost function around it (its decorators included); 0 outside of functions.
    """

    start: int
    end: int
    new: bytes
    operator: str
    line: int
    function: int

    def applied(self, source: bytes) -> bytes:
        """The source with this change."""
        return source[: self.start] + self.new + source[self.end :]

    def texts(self, source: bytes) -> tuple[str, str]:
        """The lines it touches, before and after, without the blanks around them."""
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        last = len(source) if last < 0 else last
        before = source[first:last]
        after = source[first : self.start] + self.new + source[self.end : last]
        return before.decode().strip(), after.decode().strip()


def mutants_of(source: bytes) -> list[Mutant]:
    """Every change of *source* that still parses, in the order of the text."""
    return [mutant for mutant in candidates(source) if _parses(mutant.applied(source))]


def candidates(source: bytes) -> list[Mutant]:
    """The same with the few that do not: finding that out takes most of the time."""
    found = {(mutant.start, mutant.end, mutant.new): mutant for mutant in _Finder(source).found()}
    return [found[key] for key in sorted(found)]


def _parses(source: bytes) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class _Finder:
    """Walks the tree of one module."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.function = 0

    def found(self) -> Iterator[Mutant]:
        yield from self._inside(ast.parse(self.source))

    def _inside(self, node: ast.AST) -> Iterator[Mutant]:
        for child in ast.iter_child_nodes(node):
            if not _left_alone(child, node):
                yield from self._at(child)

    def _at(self, node: ast.AST) -> Iterator[Mutant]:
        outer = self.function
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.function = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        name = f"_{type(node).__name__.lower()}"
        if hasattr(self, name):
            yield from getattr(self, name)(node)
        if self.function and isinstance(node, DELETED) and not _is_docstring(node):
            yield self._edit(node, "pass", "statement deleted")
        if not (isinstance(node, ast.Constant) or _is_words(node)):
            yield from self._inside(node)
        elif _is_words(node):
            yield from (mutant for mutant in self._inside(node) if mutant.operator != "text emptied")
        self.function = outer

    def _span(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def _edit(self, node: ast.AST, new: str, operator: str) -> Mutant:
        start, end = self._span(node)
        return Mutant(start, end, new.encode(), operator, node.lineno, self.function)

    def _between(self, left: ast.AST, right: ast.AST, sign: str, new: str, operator: str) -> Iterator[Mutant]:
        """Change the sign that stands between two nodes, past brackets, comments and line ends."""
        begin, end = self._span(left)[1], self._span(right)[0]
        gap = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), self.source[begin:end])
        found = re.search(sign.encode(), gap)
        if found is not None:
            line = self.source.count(b"\n", 0, begin + found.start()) + 1
            yield Mutant(begin + found.start(), begin + found.end(), new.encode(), operator, line, self.function)

    def _compare(self, node: ast.Compare) -> Iterator[Mutant]:
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            sign, others = COMPARISONS[type(operator)]
            for other in others:
                yield from self._between(left, right, sign, other, "comparison")

    def _boolop(self, node: ast.BoolOp) -> Iterator[Mutant]:
        sign, other = (r"\band\b", "or") if isinstance(node.op, ast.And) else (r"\bor\b", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from self._between(left, right, sign, other, "and/or")

    def _unaryop(self, node: ast.UnaryOp) -> Iterator[Mutant]:
        if isinstance(node.op, ast.Not):
            start, end = self._span(node)[0], self._span(node.operand)[0]
            kept = self.source[start + len("not") : end].lstrip()  # a bracket before the operand
            yield Mutant(start, end, kept, "not removed", node.lineno, self.function)

    def _binop(self, node: ast.BinOp) -> Iterator[Mutant]:
        if type(node.op) in ARITHMETIC:
            sign, other = ARITHMETIC[type(node.op)]
            yield from self._between(node.left, node.right, sign, other, "arithmetic")

    def _augassign(self, node: ast.AugAssign) -> Iterator[Mutant]:
        if type(node.op) in ARITHMETIC:
            sign, other = ARITHMETIC[type(node.op)]
            yield from self._between(node.target, node.value, sign + "=", other + "=", "arithmetic")

    def _condition(self, test: ast.expr, *values: str) -> Iterator[Mutant]:
        for value in values:
            if not (isinstance(test, ast.Constant) and repr(test.value) == value):
                yield self._edit(test, value, f"condition {value}")

    def _if(self, node: ast.If) -> Iterator[Mutant]:
        yield from self._condition(node.test, "True", "False")

    def _ifexp(self, node: ast.IfExp) -> Iterator[Mutant]:
        yield from self._condition(node.test, "True", "False")

    def _while(self, node: ast.While) -> Iterator[Mutant]:
        yield from self._condition(node.test, "False")

    def _comprehension(self, node: ast.comprehension) -> Iterator[Mutant]:
        for test in node.ifs:
            yield from self._condition(test, "True", "False")

    def _return(self, node: ast.Return) -> Iterator[Mutant]:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield self._edit(node, "return None", "returns None")

    def _excepthandler(self, node: ast.ExceptHandler) -> Iterator[Mutant]:
        if not (len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and node.body[0].exc is None):
            (start, _), (_, end) = self._span(node.body[0]), self._span(node.body[-1])
            yield Mutant(start, end, b"raise", "except raises", node.lineno, self.function)
        if isinstance(node.type, ast.Tuple):
            for kind in node.type.elts:
                start, end = self._span(kind)
                yield self._edit(node.type, self.source[start:end].decode(), "except narrowed")

    def _constant(self, node: ast.Constant) -> Iterator[Mutant]:
        value = node.value
        if isinstance(value, bool):
            yield self._edit(node, str(not value), "constant")
        elif isinstance(value, int | float):
            yield self._edit(node, repr(value + 1), "constant")
            yield self._edit(node, repr(value - 1), "constant")
        elif isinstance(value, str | bytes) and value:
            yield self._edit(node, repr(type(value)()), "text emptied")


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_words(node: ast.AST) -> bool:
    """Whether texts in it are only read by people: an exception that is raised, a line of a log."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Raise)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in WORDS_ONLY


def _left_alone(node: ast.AST, parent: ast.AST) -> bool:
    """Whether *node* is no behaviour: annotations, docstrings, asserts that narrow types, imports for type checkers."""
    if isinstance(node, ast.Assert | ast.JoinedStr) or (_is_docstring(node) and not isinstance(parent, ast.Call)):
        return True
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test) or "__name__" in ast.unparse(node.test)
    if isinstance(node, ast.Assign):
        return any(getattr(target, "id", "") in {"__all__", "__slots__"} for target in node.targets)
    if isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
        return True
    if isinstance(node, ast.keyword) and node.arg == "slots":
        return True
    if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") in {"Literal", "Callable", "Annotated"}:
        return True
    return node in (getattr(parent, "annotation", None), getattr(parent, "returns", None))
