"""Delta debugging: the smallest list, or JSON document, for which a predicate still holds.

`minimal` is Zeller and Hildebrandt's ddmin, complements only. It removes halves, then quarters, and
so on, so that most irrelevant items disappear in few trials. The result is 1-minimal: removing any
single item makes the predicate false. It is not the global minimum, which would need a trial for
every subset: two items that can only be removed together stay. Trials depend on earlier answers
alone, so the result is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def minimal(items: Sequence[T], holds: Callable[[list[T]], bool]) -> list[T]:
    """Return a 1-minimal part of `items`, in their order, for which `holds` is true.

    `holds` must be true for all items.
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
    """Return a JSON value without keys and items that are not needed for `holds` to stay true.

    `simpler` returns simpler values to try for the value at a path, the simplest first. A path
    consists of keys; an item of a list has the path of its list.
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
