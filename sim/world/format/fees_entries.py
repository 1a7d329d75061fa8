"""The fees of a scenario: rows that replace parts of the published schedule, and tiers of the
weekly rebate on taker fees (rules P13, P16).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

from msgspec import Struct

from sim.core.accounts.fee_schedule import THETA_SCALE, FeeRow
from sim.core.model.quantities import CASH_SCALE, Cash, scaled
from sim.kernel.instants import Instant
from sim.world.format.scalar_types import INSTANT
from sim.world.format.struct_types import record
from sim.world.format.value_types import Schema, Text
from sim.world.format.yaml_tree import Mapping, Node, Problem, SequenceNode, problem

_DECIMAL: Schema = {"type": ["string", "number"], "pattern": r"^[+-]?\d+(\.\d+)?$"}


def _within(scale: int, low: int, high: int) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not low * scale <= scaled(text, scale) <= high * scale:
            raise ValueError(f"{text} is not between {low} and {high}")
        return text

    return parse


def _dollars(text: str) -> str:
    if scaled(text, 100) < 0:
        raise ValueError(f"{text} is below zero")
    return text


_COEFFICIENT = "a coefficient with at most four decimals"
SHARE = Text(_COEFFICIENT, _within(THETA_SCALE, 0, 1), schema=_DECIMAL)
COEFFICIENT = Text(_COEFFICIENT, _within(THETA_SCALE, -1, 1), schema=_DECIMAL)
DOLLARS = Text("dollars and cents", _dollars, schema=_DECIMAL)
PERCENT = Text(
    "a whole percentage",
    lambda text: int(_within(1, 0, 100)(text)),
    schema={"type": ["integer", "string"], "minimum": 0, "maximum": 100},
)


class FeeEntry(Struct, frozen=True, kw_only=True):
    """A row of the fee schedule: fee coefficients for the instruments that it matches. The fee of a
    fill is coefficient x contracts x p x (1 - p), where p is its price. A coefficient that the row
    does not give stays as it was.
    """

    from_: Annotated[Instant | None, INSTANT] = None
    """instant from which the row applies; always by default"""
    product: str = ""
    """product of the instruments to which it applies; all products by default"""
    market_type: str = ""
    """market type of these instruments: moneyline, spreads, ...; all by default"""
    fee_class: str = ""
    """fee class of these instruments: standard, combo, table_tennis, or the `fee_class` of an
    instrument; all by default"""
    taker: Annotated[str | None, SHARE] = None
    """coefficient of takers, from 0 to 1, with at most four decimals"""
    maker: Annotated[str | None, COEFFICIENT] = None
    """coefficient of makers, from -1 to 1, with at most four decimals; a negative one
    is a rebate"""
    tail: Annotated[str | None, SHARE] = None
    """coefficient of what takers of combos pay in addition: tail x contracts x p x (1 - p)^4"""
    cap: Annotated[str | None, DOLLARS] = None
    """most dollars that an order pays as a taker for all its fills"""
    cumulative: bool | None = None
    """false: every fill of an order is rounded on its own, so their sum may exceed the fee of
    the whole order"""


class RebateEntry(Struct, frozen=True, kw_only=True):
    """A tier of the weekly rebate on taker fees."""

    volume: Annotated[str, DOLLARS]
    """dollars that an account must have traded in the previous calendar month"""
    percent: Annotated[int, PERCENT]
    """percentage of the week's taker fees that is paid back"""


class FeesSection(Struct, frozen=True, kw_only=True):
    """Fees that differ from the published schedule."""

    schedule: tuple[FeeEntry, ...] = ()
    """rows that take precedence over the published schedule. For each coefficient the most specific
    matching row applies; of equally specific rows the one with the later `from`, then the later one
    in the file"""
    rebates: tuple[RebateEntry, ...] | None = None
    """tiers of the weekly rebate, instead of the published ones; an empty list pays none"""


_CHANGES = ("taker", "maker", "tail", "cap", "cumulative")


def fee_rows(section: FeesSection) -> Iterator[FeeRow]:
    """The rows with their coefficients as the scaled integers of the core."""
    for entry in section.schedule:
        yield FeeRow(
            start=entry.from_ or 0,
            product=entry.product,
            market_type=entry.market_type,
            fee_class=entry.fee_class,
            taker=_theta(entry.taker),
            maker=None if entry.maker is None else -scaled(entry.maker, THETA_SCALE),
            tail=_theta(entry.tail),
            cap=None if entry.cap is None else scaled(entry.cap, CASH_SCALE),
            cumulative=entry.cumulative,
        )


def rebate_steps(section: FeesSection) -> tuple[tuple[Cash, int], ...] | None:
    """Steps of the weekly rebate, the highest first; None for the published ones."""
    if section.rebates is None:
        return None
    steps = ((scaled(step.volume, CASH_SCALE), step.percent) for step in section.rebates)
    return tuple(sorted(steps, reverse=True))


def fee_problems(node: Node) -> Iterator[Problem]:
    """Problems of rows that have no effect, or that contradict another row of the file."""
    section = node.items.get("fees") if isinstance(node, Mapping) else None
    rows = section.items.get("schedule") if isinstance(section, Mapping) else None
    lines: dict[tuple[object, ...], int] = {}
    for item in rows.items if isinstance(rows, SequenceNode) else ():
        if not isinstance(item, Mapping):
            continue
        if not any(name in item.items for name in _CHANGES):
            yield problem(item.at, f"a row of fees needs at least one of {', '.join(_CHANGES)}")
        entry: FeeEntry = record(FeeEntry).read(item, [])
        where = (entry.from_, entry.product, entry.market_type, entry.fee_class)
        for name in _CHANGES:
            if name in item.items and (line := lines.get((*where, name))):
                twice = f"line {line} gives {name} for the same instruments from the same instant"
                yield problem(item.keys[name], f"{twice}: remove one of the two")
            elif name in item.items:
                lines[(*where, name)] = item.keys[name].line


def _theta(text: str | None) -> int | None:
    return None if text is None else scaled(text, THETA_SCALE)
