"""Plants a bug: replaces a piece of a function's source and compiles it in the same place.

The function object stays the same, so modules that imported it earlier run the changed code too.
"""

from __future__ import annotations
import __future__

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType


@dataclass(frozen=True, slots=True)
class Rewrite:
    """In the function at `place` ("module:name" or "module:Class.name"), `old`, which occurs there
    once, becomes `new`. What `new` calls beyond the module's own names it imports by itself.
    """

    target: str
    old: str
    new: str


@contextmanager
def planted(*rewrites: Rewrite) -> Iterator[None]:
    """Run with the bug, and without it afterwards."""
    functions = [_function(rewrite.target) for rewrite in rewrites]
    codes = [function.__code__ for function in functions]
    try:
        for function, item in zip(functions, rewrites, strict=True):
            _rewrite(function, item)
        yield
    finally:
        for function, code in zip(functions, codes, strict=True):
            function.__code__ = code


def _function(position: str) -> FunctionType:
    module, _, path = position.partition(":")
    value: object = importlib.import_module(module)
    for name in path.split("."):
        value = inspect.getattr_static(value, name)
    if not isinstance(value, FunctionType):
        raise TypeError(f"{position} is no plain function")
    return value


def _rewrite(function: FunctionType, rewrite: Rewrite) -> None:
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(rewrite.old) != 1:
        raise ValueError(
            f"{rewrite.target}: {rewrite.old!r} occurs {source.count(rewrite.old)} times"
        )
    tree = ast.parse(source.replace(rewrite.old, rewrite.new))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    flags = __future__.annotations.compiler_flag  # names in annotations stay unread
    module = compile(tree, inspect.getfile(function), "exec", flags)
    names: dict[str, FunctionType] = {}
    exec(module, function.__globals__, names)
    function.__code__ = names[function.__name__].__code__
