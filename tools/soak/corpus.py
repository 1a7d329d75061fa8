"""The inputs of the searches: bundled scenarios, one that uses nearly every key, and values outside
the range of dates, accounts and encodings.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim.world.format.yaml_tree import read_file, read_text, value_of

SCENARIOS = Path(__file__).parent.parent.parent / "scenarios"
# Scenarios that run in less than a second; mutants of the others find the same defects in minutes.
QUICK = (
    "combo-by-quote",
    "day-orders-at-the-close",
    "halt-and-suspension",
    "injected-faults",
    "kyc-approval-window",
    "maintenance-window",
    "money-through-a-bank",
    "price-time-priority",
    "quickstart",
    "reacting-to-events",
    "settlement-and-payout",
)
WHOLE = Path(__file__).with_name("whole.yaml").read_text("utf-8")
# Valid values of every type, to be put in the place of other types, and values out of range.
TEXTS = (
    *("", "0", "-1", "1", "5", "2", "100", "0.5", "0.01", "0.001", "0.00000001", "-0.5", "1e9"),
    *("nan", "inf", "-0", "+5", "1_000", "0x10", "007", "٣", "9" * 12, "9" * 18, "9" * 19),
    *("9" * 400, "92233720368547758", "9223372036854775807", "9223372036854775808", "1" + "0" * 18),
    *("0." + "0" * 17 + "1", "999999999999999999.999999999999999999", "true", "null", "~", "abc"),
    *("2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-07-09"),
    *("1990-01-01T00:00:00Z", "2199-12-31T23:59:59Z", "0001-01-01", "9999-12-31", "2026-02-30"),
    *("1969-12-31T23:59:59Z", "2262-04-12T00:00:00Z", "2026-11-01T01:30:00-04:00"),
    *("0s", "1ns", "1s", "-1s", "+1s", "+0s", "+1ns", "PT0S", "P1D", "100000h", "70000d", "1y"),
    *("0.000000001s", "1.5d", "+60000d", "1/0", "0/1", "2/3", "1/99999999999999999999", "always"),
    *("never", "0/s", "1/0s", "5/s", "99999999999999999999/s", "5/99999999999999999999h", "1/1ns"),
    *("1000000000/ns", "off", "paced:0", "paced:99999999999", "00:00", "24:00", "x" * 300),
    *("é", "日本", "\u202e", "\ud7ff", "\u2028", "\u0085", "😀", "a\nb", "a\x00b", "\x00", "\x7f"),
    *("\ufeff", " ", "a b", "firms/x", "firms/", "firms//users/", "${a}", "${", "$", "{", "*"),
    *("OPEN", "buy", "maker", "a", "my", ".", "..", "/", "../../etc/passwd", "crypto:btc"),
    *("crypto:", "a-b", "%", "?", "#", "'", '"', "\\", "SIDE_BUY", "ideal", "hostile", "-", "--"),
)
VALUES: tuple[Any, ...] = (
    *TEXTS,
    *([], {}, ["a"], {"a": "b"}, [[]], [{}], {"": ""}, None, 7, 0, -1, True, False, 0.5, 1e18),
    *(2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 1e-9),
)


_NUMBER = re.compile(r"[+-]?[0-9.]+")
_SPAN = re.compile(r"\+?([0-9.]+(ns|us|ms|s|m|h|d|w))+|P.*")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*")
_RATE = re.compile(r"[0-9]+/.*")
KINDS = (_NUMBER, _SPAN, _INSTANT, _RATE)


def of_one_kind(value: Any, rng: random.Random) -> Any:
    """Return a value of the type of another: a number for a number, an instant for an instant."""
    if isinstance(value, bool) or value is None or isinstance(value, dict | list):
        return copy.deepcopy(rng.choice(VALUES))
    text = str(value)
    for kind in KINDS:
        if kind.fullmatch(text):
            return rng.choice([other for other in TEXTS if kind.fullmatch(other)])
    return rng.choice(TEXTS)


def documents() -> list[dict[str, Any]]:
    """Return the scenarios to mutate, as JSON values."""
    bundled = [value_of(read_file(SCENARIOS / f"{name}.yaml")) for name in QUICK]
    return [*bundled, value_of(read_text(WHOLE, "whole"))]


def texts() -> list[str]:
    """Return the scenarios to mutate, as text."""
    return [*((SCENARIOS / f"{name}.yaml").read_text("utf-8") for name in QUICK), WHOLE]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return every path in a document."""
    if isinstance(value, dict):
        inner: Any = value.items()
    else:
        inner = enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*at, key)
        yield from places(item, (*at, key))


def at(document: Any, way: tuple[Any, ...]) -> Any:
    """Return the value at a path."""
    for key in way:
        document = document[key]
    return document


def mutate(document: dict[str, Any], rng: random.Random) -> None:
    """Change one value: delete, replace, duplicate, move, rename or wrap it."""
    result = list(places(document))
    if not result:
        return
    *way, last = rng.choice(result)
    holder = at(document, tuple(way))
    kind = rng.choice(
        ("kin", "kin", "kin", "kin", "value", "value", "delete", "double", "move", "rename")
    )
    if kind == "kin":
        holder[last] = of_one_kind(holder[last], rng)
    elif kind == "value":
        holder[last] = copy.deepcopy(rng.choice(VALUES))
    elif kind == "delete":
        del holder[last]
    elif kind == "double" and isinstance(holder, list):
        holder[last:last] = [copy.deepcopy(holder[last])] * rng.choice((1, 1, 3))
    elif kind == "rename" and isinstance(holder, dict):
        names = sorted({str(position[-1]) for position in result if isinstance(position[-1], str)})
        holder[rng.choice((*names, *TEXTS))] = holder.pop(last)
    else:  # a value from elsewhere
        holder[last] = copy.deepcopy(at(document, rng.choice(result)))


def mutate_text(text: str, rng: random.Random) -> str:
    """Change a few characters of a file, as a typing error or a bad merge does."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        lines = text.split("\n")
        row = rng.randrange(len(lines))
        line = lines[row]
        column = rng.randrange(len(line) + 1)
        kind = rng.randrange(9)
        if kind == 0:
            del lines[row]
        elif kind == 1:
            lines.insert(row, line)
        elif kind == 2:
            lines[row] = rng.choice(("\t", " ", "  ", "- ")) + line
        elif kind == 3:
            lines[row] = line[1:]
        elif kind == 4:
            lines[row] = line[:column] + line[column + 1 :]
        elif kind == 5:
            lines[row] = line[:column] + rng.choice("{}[]:,-#&*!|>'\"%@`\t\x00é~?") + line[column:]
        elif kind == 6:
            lines[row] = line[:column] + rng.choice(TEXTS) + line[column:]
        elif kind == 7:
            lines[row], lines[row - 1] = lines[row - 1], line
        else:
            lines[row:] = [line[:column]]
        text = "\n".join(lines)
    return text
