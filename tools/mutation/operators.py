"""Small changes of Python source: what a mutant is, and every mutant of a file.

| Kind | Change |
|---|---|
| constant | an integer one up or down, True and False exchanged |
| comparison | its boundary (`<`, `<=`), `==` and `!=`, `is` and `is not`, `in` and `not in` |
| logic | `and` and `or` exchanged, `not` dropped, a condition negated |
| arithmetic | `+` and `-`, `*` and `//` exchanged, a minus sign dropped |
| choice | `min` and `max`, `any` and `all`, `floor` and `ceil` exchanged |
| arguments | the first two positional arguments exchanged, where both are names or both attributes |
| return | None returned |
| statement | a call, an assignment to a part, a `raise`, `continue` or `break` deleted |

Imports, annotations, text, assertions, sizes of caches, `__repr__`, the layout of classes and
`strict=True` of `zip` are left alone: no rule of the exchange is in them.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

TEXT_MAX = 110  # columns of the change that a mutant shows

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
CHOICES = {"min": "max", "max": "min", "any": "all", "all": "any"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CACHES = ("lru_cache", "cache")
# Arguments that define the layout, the encoding and the immutability of a class: correct code stays
# correct without them.
IDLE_OPTIONS = ("slots", "kw_only", "gc", "weakref", "frozen")


@dataclass(frozen=True)
class Mutant:
    """One change of one file. `before` and `after` are the least piece of source that shows it."""

    path: str
    line: int
    function: str  # dotted name within the module, "" for code outside functions
    kind: str
    before: str
    after: str
    number: int  # which change of the file: an index into `mutants`

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names a mutant while lines move."""
        return self.path, self.function, self.before, self.after


Edit = tuple[str, ast.AST, Callable[[ast.AST], ast.AST]]


def mutants(path: str, source: str) -> list[Mutant]:
    """Every mutant of a file, in order of its source."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    results = []
    for number, (kind, node, edit) in enumerate(_edits(tree)):
        piece = _piece(node, parents)
        results.append(
            Mutant(
                path=path,
                line=getattr(node, "lineno", 0),
                function=_function(node, parents),
                kind=kind,
                before=_condition(node, parents) + _head(piece),
                after=_condition(node, parents) + _head(_replaced(piece, node, edit)),
                number=number,
            )
        )
    return [mutant for mutant in results if mutant.before != mutant.after]


def mutated(source: str, number: int) -> ast.Module:
    """The tree of a file after its change `number`; lines stay those of the source."""
    tree = ast.parse(source)
    _, node, edit = next(edit for at, edit in enumerate(_edits(tree)) if at == number)
    changed = _replaced(tree, node, edit)
    assert isinstance(changed, ast.Module)
    return ast.fix_missing_locations(changed)


def _condition(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """What a jump depends on, as its own text says nothing; "" for every other node."""
    bare = isinstance(node, ast.Return) and node.value is None
    if not bare and not isinstance(node, ast.Continue | ast.Break | ast.Raise):
        return ""
    above = parents[node]
    return f"{_head(above)} " if isinstance(above, ast.If) and node in above.body else ""


def _head(node: ast.AST) -> str:
    """Source of a node; of a compound statement its first line."""
    return ast.unparse(node).split("\n")[0] if hasattr(node, "body") else ast.unparse(node)


class _Replace(ast.NodeTransformer):
    def __init__(self, node: ast.AST, by: ast.AST) -> None:
        self.node, self.by = node, by

    def visit(self, node: ast.AST) -> ast.AST:
        return self.by if node is self.node else self.generic_visit(node)


def _replaced(tree: ast.AST, node: ast.AST, edit: Callable[[ast.AST], ast.AST]) -> ast.AST:
    """A copy of a tree in which `node` is edited."""
    memo: dict[int, ast.AST] = {}
    total = copy.deepcopy(tree, memo)
    twin = memo[id(node)]
    return _Replace(twin, ast.copy_location(edit(copy.deepcopy(twin)), twin)).visit(total)


def _piece(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """The largest expression or simple statement around a node that fits a line."""
    piece = node
    while (parent := parents.get(piece)) is not None:
        simple = isinstance(parent, ast.stmt) and not hasattr(parent, "body")
        if not (simple or isinstance(parent, ast.expr | ast.keyword | ast.comprehension)):
            break
        if isinstance(parent, ast.stmt | ast.expr | ast.keyword):
            if len(ast.unparse(parent)) > TEXT_MAX:
                break
        piece = parent
    return piece if not isinstance(piece, ast.comprehension) else node


def _function(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """Dotted name of the function whose body holds a node; defaults and decorators are outside."""
    names: list[str] = []
    inside = False
    while (parent := parents.get(node)) is not None:
        if isinstance(parent, FUNCTIONS):
            if node in parent.body or names:
                names.append(parent.name)
                inside = True
        elif isinstance(parent, ast.ClassDef):
            names.append(parent.name)
        node = parent
    return ".".join(reversed(names)) if inside else ""


def _edits(tree: ast.Module) -> Iterator[Edit]:
    for node in _walk(tree):
        for kind, edit in _edits_of(node):
            yield kind, node, edit


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes in order of the source that hold behaviour."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_idle(child):
                yield from _walk(child)


def _is_idle(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert():
            return True
        case ast.Expr(value=ast.Constant()):
            return True  # a docstring
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.FunctionDef(name="__repr__" | "__str__" | "__hash__"):
            return True
        case ast.Call(func=ast.Name(id=name)) if name in CACHES:
            return True
        case ast.keyword(arg=name, value=ast.Constant()) if name in IDLE_OPTIONS:
            return True
        case ast.keyword(arg="strict", value=ast.Constant(value=True)):
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
    return False


def _edits_of(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    match node:
        case ast.Constant(value=bool(value)):
            yield "constant", lambda n: _set(n, value=not value)
        case ast.Constant(value=int(value)):
            yield "constant", lambda n: _set(n, value=value + 1)
            if value > 0:
                yield "constant", lambda n: _set(n, value=value - 1)
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield "comparison", lambda n: _set(n, ops=[COMPARISONS[type(op)]()])
        case ast.BoolOp(op=op):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "logic", lambda n: _set(n, op=other)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "logic", lambda _: operand
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "arithmetic", lambda _: operand
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            if not _has_text(node):
                yield "arithmetic", lambda n: _set(n, op=ARITHMETIC[type(op)]())
        case ast.Return(value=ast.expr() as value) if not _is_nothing(value):
            yield "return", lambda n: _set(n, value=ast.Constant(None))
        case ast.Call():
            yield from _edits_of_call(node)
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare):
        yield "logic", lambda n: _set(n, test=ast.UnaryOp(ast.Not(), n.test))  # type: ignore[attr-defined]
    if _can_go(node):
        yield "statement", lambda _: ast.Pass()


def _edits_of_call(node: ast.Call) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    if isinstance(node.func, ast.Name) and node.func.id in CHOICES:
        name = CHOICES[node.func.id]
        yield "choice", lambda n: _set(n, func=ast.Name(name, ast.Load()))
        return  # exchanged arguments would change nothing
    if len(node.args) > 1 and not any(isinstance(arg, ast.Starred) for arg in node.args[:2]):
        first, second = node.args[:2]
        alike = type(first) is type(second) and isinstance(first, ast.Name | ast.Attribute)
        if alike and ast.dump(first) != ast.dump(second):
            yield "arguments", lambda n: _set(n, args=[second, first, *n.args[2:]])  # type: ignore[attr-defined]


def _can_go(node: ast.AST) -> bool:
    """Whether the statement can be deleted without a name that is missing afterwards."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Delete() | ast.AugAssign():
            return True
        case ast.Continue() | ast.Break() | ast.Return(value=None):
            return True
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
    return False


def _has_text(node: ast.BinOp | ast.AugAssign) -> bool:
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def _is_nothing(node: ast.AST) -> bool:
    """None, or False: who asks whether something holds takes both for no."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _set(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node
