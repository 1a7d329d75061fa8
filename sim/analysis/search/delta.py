"""Delta debugging: the smallest list, or JSON document, of which something is still true.
Deterministic: what is tried depends on the answers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def minimal(items: Sequence[T], holds: Callable[[list[T]], bool]) -> list[T]:
    """A part of `items`, in their order, of which `holds` is true and from which no single item can
    be left out.

    `holds` is true of all items. Halves are tried first, then ever smaller pieces (Zeller and
    Hildebrandt's ddmin, complements only), so most of what does not matter goes in few trials.
    """
    kept = list(items)
    if kept and holds([]):
        return []
    pieces = 2
    while len(kept) >= 2:
        size = -(-len(kept) // pieces)
        for start in range(0, len(kept), size):
            rest = kept[:start] + kept[start + size :]
            if rest and holds(rest):
                kept = rest
                pieces = max(2, pieces - 1)
                break
        else:
            if size == 1:
                break
            pieces = min(len(kept), pieces * 2)
    return kept


def pruned(
    value: Any,
    holds: Callable[[Any], bool],
    simpler: Callable[[tuple[str, ...], Any], Iterable[Any]],
    path: tuple[str, ...] = (),
) -> Any:
    """A JSON value with every key, item and scalar gone or simpler that is not needed for `holds`,
    which is true of `value`.

    `simpler` gives, for a value at a path (of keys; items of lists have that of their list),
    simpler ones to try, most wanted first.
    """
    for other in simpler(path, value):
        if other != value and holds(other):
            value = other
            break
    if isinstance(value, dict):
        keys = minimal(list(value), lambda kept: holds({key: value[key] for key in kept}))
        value = {key: value[key] for key in keys}
        for key in keys:
            value[key] = pruned(value[key], _in_mapping(holds, value, key), simpler, (*path, key))
    elif isinstance(value, list):
        value = minimal(value, holds)
        for index in range(len(value)):
            value[index] = pruned(value[index], _in_list(holds, value, index), simpler, path)
    return value


def _in_mapping(
    holds: Callable[[Any], bool], value: dict[str, Any], key: str
) -> Callable[[Any], bool]:
    return lambda other: holds({**value, key: other})


def _in_list(holds: Callable[[Any], bool], value: list[Any], index: int) -> Callable[[Any], bool]:
    return lambda other: holds([*value[:index], other, *value[index + 1 :]])
