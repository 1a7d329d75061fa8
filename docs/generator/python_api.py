"""Blocks of the Python interface: public members of classes, from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

_BLANK = re.compile(r"\n\s*\n")


def members(*kinds: type) -> Callable[[], str]:
    """Every public member of some classes, from signatures and docstrings."""

    def make() -> str:
        return "\n\n".join(_class(kind) for kind in kinds)

    return make


def _class(kind: type) -> str:
    parts = [f"### {kind.__name__}", _prose(kind)]
    for name, value in vars(kind).items():
        if name.startswith("_") and name not in ("__call__",):
            continue
        if isinstance(value, property) or hasattr(value, "func"):
            function = value.fget if isinstance(value, property) else value.func
            parts += [f"#### `{kind.__name__}.{name}`", f"Property. {_prose(function)}"]
        elif callable(value):
            displayed = (
                f"{name}{_signature(value)}" if name != "__call__" else f"(){_signature(value)}"
            )
            parts += [f"#### `{kind.__name__}.{name}`", f"```text\n{displayed}\n```", _prose(value)]
    return "\n\n".join(parts)


def _signature(function: Any) -> str:
    result = inspect.signature(function)
    bound = result.replace(parameters=list(result.parameters.values())[1:])
    return str(bound).replace("'", "").replace("typing.", "")


def _prose(thing: Any) -> str:
    return _BLANK.sub("\n\n", inspect.getdoc(thing) or "")
