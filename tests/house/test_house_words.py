"""A rule of the code base, checked from the source: no module matches the words of a decision."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.test_house import ALL, SIM, tree

# The words of a refusal, a reply, an event or an execution belong to the service and its clients.
WORDS = {"message", "text", "reason", "says", "act"}
_MATCHES = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"}
_MATCHES |= {"split", "find", "index", "count"}
_PATTERNS = {"match", "search", "fullmatch", "findall", "finditer", "split"}
_LOOKUPS = {"get", "index", "count"}
_MENTIONS = re.compile(rf"\b({'|'.join(sorted(WORDS))})\b")
# Folders and files that match texts which are no words of a decision.
NO_DECISIONS = {
    "world/format": "texts of scenario files and their problems",
    "run/loader": "texts of scenario files and their problems",
    "cli/parsing": "messages of argparse, which has no other form",
    "contract/compiler": "texts of proto files",
    "api/exchange/partners.py": "the reason of a transfer is an enumeration of the wire",
    "api/pipeline/redaction.py": "messages are bodies and frames, in which secrets are found",
    "api/streams/retail_private.py": "reasons are enumerations of the wire",
    "core/trading/cancel_replace.py": "reasons are enumerations of the wire",
    "evidence/recording/har.py": "texts of bodies in a HAR file",
    "oracle/order_requests.py": "messages are bodies of requests",
    "oracle/orders.py": "compares the reason of a refusal with the number that its rule demands",
    "run/actors/operator/action.py": "a problem of a body that names its key already",
    "run/actors/script/expectations.py": "a scenario expects words of a reason, as its author asks",
    "search/shrink.py": "a shorter run must fail with the same words",
}


def _is_words(node: ast.AST, aliases: set[str]) -> bool:
    """Return whether an expression is an attribute or a key of the words of something, or a variable
    that holds them.
    """
    match node:
        case ast.Name(id=name):
            return name in aliases
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name)):
            return name in WORDS
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=name), *_]):
            return name in WORDS
        case ast.Call(func=ast.Attribute(value=text, attr="lower" | "casefold" | "strip")):
            return _is_words(text, aliases)
        case ast.Call(func=ast.Name(id="str"), args=[text]):
            return _is_words(text, aliases)
        case ast.BoolOp(values=values):
            return any(_is_words(value, aliases) for value in values)
        case ast.NamedExpr(value=text):
            return _is_words(text, aliases)
    return False


def _aliases(function: ast.AST) -> set[str]:
    """Return the variables of a function that hold the words of something."""
    names: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name) if name in WORDS - {"text"}:
                names.add(name)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ) if _is_words(value, set()):
                names.add(name)
    return names


def _matched_words(function: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield what a function matches against words: comparisons, searches, look-ups."""
    aliases = _aliases(function)
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=arguments):
                patterns = arguments if name in _PATTERNS | _LOOKUPS else []
                texts = [value] if name in _MATCHES else []
                if any(_is_words(text, aliases) for text in (*texts, *patterns)):
                    yield node
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                sides = (left, *comparators)
                compares = all(
                    isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in ops
                )
                is_empty = any(isinstance(side, ast.Constant) and not side.value for side in sides)
                if compares and not is_empty and any(_is_words(side, aliases) for side in sides):
                    yield node
            case ast.Subscript(slice=text) if _is_words(text, aliases):
                yield node
            case ast.Match(subject=text) if _is_words(text, aliases):
                yield node


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions below a node, each with the functions inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        else:
            yield from _functions(child)


def _hits(file: Path) -> Iterator[str]:
    lines = file.read_text().splitlines()
    for function in _functions(tree(file)):
        if any(_MENTIONS.search(line) for line in lines[function.lineno - 1 : function.end_lineno]):
            for node in _matched_words(function):
                line = ast.unparse(node).splitlines()[0]
                yield f"{file}:{node.lineno} matches words: {line}"


def test_no_module_matches_the_words_of_a_decision() -> None:
    """A decision has a rule and facts (`sim/core/model/why.py`): who reads words instead guesses."""
    guesses, unused = [], set(NO_DECISIONS)
    for file in ALL:
        hits = [] if "messages" in file.parts else list(_hits(file))
        allowed = {path for path in NO_DECISIONS if file.is_relative_to(SIM / path)}
        if not allowed:
            guesses += hits
        elif hits:
            unused -= allowed
    assert guesses == []
    assert unused == set(), "these match no words any more"


@pytest.mark.parametrize(
    "source",
    [
        "def f(refusal): return refusal.message.startswith('Unknown')",
        "def f(event): return 'expired' in event['text']",
        "def f(out): return out.get('message', '').lower() == 'unknown order'",
        "def f(out): text = out['message']; return re.match('rate', text)",
        "def f(message): return _RULES[message]",
        "def f(call): return _RULES.get(call.reason)",
    ],
)
def test_a_guess_from_words_is_noticed(source: str) -> None:
    (function,) = ast.parse(source).body
    assert list(_matched_words(function))


# Commands that print a document for a program as it is.
_DOCUMENTS = {
    *("cli/asyncapi.py", "cli/completion.py", "cli/json_output.py", "cli/keys.py"),
    *("cli/openapi.py", "cli/parsing/parser.py", "cli/schema.py", "cli/sign.py", "cli/token.py"),
}


def test_every_line_for_a_terminal_goes_through_one_function() -> None:
    """`put` of `sim/read/layout.py` escapes what a stranger's text could do to a terminal."""
    prints = [
        f"{path}:{node.lineno}"
        for file in ALL
        if (path := file.relative_to(SIM).as_posix())
        not in {*_DOCUMENTS, "read/layout.py", "contract/compile.py"}
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert prints == []
