"""Whether an answer fits the type the official SDK declares for it.

`misfits` reads the SDK's own annotations (TypedDicts, literals, unions); a field the SDK does not
know is no misfit. Where the wire documentedly differs from the SDK's types, `DEVIATIONS` says so
and why. Unset messages and times are written as null, whatever the SDK declares (section 0 of the
public facts).
"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)


class Misfit(NamedTuple):
    """One value that is not what the SDK declares: the type and field, what is expected and what
    was found.
    """

    owner: str
    field: str
    expected: str
    observed: str


# (type, field): why the wire differs from the SDK's type. Numbers of conflicts and sections are
# those of the public facts on the retail API.
DEVIATIONS = {
    ("Market", "id"): "C-21: a string of digits (§2.10)",
    ("MarketDetail", "id"): "C-21: a string of digits (§2.10)",
    ("Event", "id"): "C-3: a string in recordings, and so in the reading `observed`",
    ("Series", "id"): "a string, §2.7 of the facts",
    ("Tag", "id"): "a string (§2.10)",
    ("Order", "quantity"): "may be decimal (§2.8)",
    ("Order", "cumQuantity"): "may be decimal (§2.8)",
    ("Order", "leavesQuantity"): "may be decimal (§2.8)",
    ("Activity", "type"): "two types are newer than the SDK (§2.8)",
}


def misfits(value: Any, declared: Any, owner: str = "", field: str = "") -> Iterator[Misfit]:
    """Everything in a value that does not fit a declared type."""
    if declared is Any or (declared is float and type(value) is int):
        return
    if value is None and (is_typeddict(declared) or field.endswith("Time")):
        return
    origin = get_origin(declared)
    if is_typeddict(declared):
        yield from _of_record(value, declared, owner, field)
    elif origin in (Union, UnionType):
        kinds = [list(misfits(value, kind, owner, field)) for kind in get_args(declared)]
        if all(kinds):
            yield from min(kinds, key=len)
    elif origin is Literal:
        if value not in get_args(declared):
            yield Misfit(owner, field, "a known word", repr(value))
    elif origin is list:
        yield from _of_items(
            value,
            list,
            value if isinstance(value, list) else (),
            get_args(declared)[0],
            owner,
            field,
        )
    elif origin is dict:
        yield from _of_items(
            value,
            dict,
            value.values() if isinstance(value, dict) else (),
            get_args(declared)[1],
            owner,
            field,
        )
    elif type(value) is not (NoneType if declared is None else declared):
        yield Misfit(owner, field, getattr(declared, "__name__", str(declared)), repr(value)[:60])


def _of_items(
    value: Any, kind: type, items: Any, declared: Any, owner: str, field: str
) -> Iterator[Misfit]:
    if not isinstance(value, kind):
        yield Misfit(owner, field, kind.__name__, repr(value)[:60])
    for item in items:
        yield from misfits(item, declared, owner, field)


def _of_record(value: Any, declared: Any, owner: str, field: str) -> Iterator[Misfit]:
    if not isinstance(value, dict):
        yield Misfit(owner, field, declared.__name__, repr(value)[:60])
        return
    for missing in sorted(declared.__required_keys__ - value.keys()):
        yield Misfit(declared.__name__, missing, "present", "absent")
    for name, kind in get_type_hints(declared).items():
        if name in value:
            yield from misfits(value[name], kind, declared.__name__, name)


def check(value: Any, declared: Any) -> None:
    """Fail on a misfit that no deviation explains."""
    results = [
        misfit
        for misfit in misfits(value, declared)
        if (misfit.owner, misfit.field) not in DEVIATIONS
    ]
    assert not results, f"not what the SDK declares: {results[:5]}"
