"""Everything that changes on a date: dated rules, operations and fields of the contract, entries of
the changelog.

A rule is a `Dated` in the component that it belongs to. `RULES` lists them all, and a test compares
the list with the source. Operations and fields carry their dates in the contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from msgspec import Struct, structs

from sim.api.exchange.ledgers import LEDGER_ROWS
from sim.api.gateway.live_views import FEE_SHOWN
from sim.api.rendering.retail_books import SHARES_ON_REST
from sim.api.rendering.retention import PURGES, WIPES
from sim.api.rendering.sports_types import WHOLE_GAME_TYPES
from sim.api.retail.activity import RESOLUTION_FORM
from sim.api.retail.order_request import PAIRS_READ
from sim.api.rfq.reads import RFQS_GENERAL
from sim.api.rfq.writes import QUOTES_KEEP_IDS
from sim.api.streams.limits import KEEPALIVE_READ, STREAMS_PER_FIRM
from sim.contract.changelog import releases
from sim.contract.contract import load_contract
from sim.contract.messages import PACKAGES, Message
from sim.contract.wire_fields import fields_of
from sim.core.accounts.fee_schedule import SCHEDULE
from sim.core.service.maintenance_calendar import WINDOWS
from sim.core.trading.trading import DAY_ROLL
from sim.kernel.dated import Dated
from sim.kernel.instants import Instant, format_instant
from sim.world.reference.games import PARTIAL_CONTRACTS
from sim.world.reference.market_pair import NAMED_SIDES
from sim.world.reference.market_templates import INNINGS, TWO_SIDED

RULES: tuple[Dated[Any], ...] = (
    *WINDOWS.values(),
    DAY_ROLL,
    *SCHEDULE.values(),
    PURGES,
    WIPES,
    LEDGER_ROWS,
    *TWO_SIDED.values(),
    INNINGS,
    NAMED_SIDES,
    PARTIAL_CONTRACTS,
    PAIRS_READ,
    STREAMS_PER_FIRM,
    KEEPALIVE_READ,
    SHARES_ON_REST,
    FEE_SHOWN,
    WHOLE_GAME_TYPES,
    RESOLUTION_FORM,
    QUOTES_KEEP_IDS,
    RFQS_GENERAL,
)

Row = dict[str, Any]


def rows() -> list[Row]:
    """Return one row per change: rules, then operations, fields and changelog entries."""
    return [*_rules(), *_operations(), *_fields(), *_changelog()]


def _row(
    kind: str, name: str, at: Instant, change: tuple[str, str], section: str = "", summary: str = ""
) -> Row:
    before, after = change
    return {
        "kind": kind,
        "name": name,
        "section": section,
        "from": format_instant(at),
        "before": before,
        "after": after,
        "summary": summary,
    }


def _rules() -> Iterator[Row]:
    for rule in RULES:
        for at, before, after in rule.changes():
            change = (_text(before), _text(after))
            yield _row("rule", rule.name, at, change, rule.section, rule.title)


def _operations() -> Iterator[Row]:
    for operation in load_contract().operations:
        # Ids of statements have the form "S4.3-1".
        sections = {f"§{name[1:].partition('-')[0]}" for name in operation.statements}
        for at, change in _life(operation.since, operation.until, "served"):
            section = ", ".join(sorted(sections))
            yield _row("operation", operation.name, at, change, section, operation.summary)


def _fields() -> Iterator[Row]:
    for module in PACKAGES.values():
        for cls in vars(import_module(module)).values():
            if isinstance(cls, type) and issubclass(cls, Message) and cls.__full_name__:
                for field in fields_of(cls):
                    for at, change in _life(field.since, field.until, "shown"):
                        yield _row("field", f"{cls.__full_name__}.{field.name}", at, change)


def _life(
    since: Instant | None, until: Instant | None, word: str
) -> Iterator[tuple[Instant, tuple[str, str]]]:
    """Yield the changes of something that exists from one instant on, or until another."""
    if since is not None:
        yield since, (f"not {word}", word)
    if until is not None:
        yield until, (word, f"not {word}")


def _changelog() -> Iterator[Row]:
    for release in releases():
        yield _row("changelog", release.name, release.published, ("", ""), summary=release.title)


def _text(value: object) -> str:
    """Return a dated value in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Struct) and type(value).__str__ is Struct.__str__:
        defaults = {field.name: field.default for field in structs.fields(value)}
        return ", ".join(
            f"{name} {set_to}"
            for name, set_to in structs.asdict(value).items()
            if set_to != defaults[name]
        )
    return str(value)
