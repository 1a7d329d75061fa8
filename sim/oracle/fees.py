"""Fee coefficients by date and class of instrument (rule P13)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from sim.kernel.instants import Instant, parse_instant
from sim.oracle.exchange import NaiveExchange
from sim.oracle.state import CASH, Document


class FeeRates(NamedTuple):
    """Coefficients in dollars; `cap` is the most that one order pays as a taker, in dollars."""

    taker: Fraction
    maker: Fraction
    tail: Fraction = Fraction(0)
    cap: Fraction | None = None
    cumulative: bool = True


def _rates(taker: str, maker: str, tail: str = "0") -> FeeRates:
    return FeeRates(Fraction(taker), Fraction(maker), Fraction(tail))


_SPRING, _JULY = _rates("0.05", "0"), _rates("0.06", "0.0125")
# By class of instrument, from which instant on.
PUBLISHED: dict[str, list[tuple[Instant, FeeRates]]] = {
    fee_class: [(0, _SPRING), (parse_instant("2026-07-01T00:00:00-04:00"), _JULY), *later]
    for fee_class, later in {
        "standard": [(parse_instant("2026-09-25T00:00:00-04:00"), _rates("0.0695", "0.0125"))],
        "combo": [(parse_instant("2026-09-25T00:00:00-04:00"), _rates("0.0695", "0.0125", "0.04"))],
        "table_tennis": [
            (parse_instant("2026-09-25T00:00:00-04:00"), _rates("0.0695", "0.0125")),
            (parse_instant("2026-09-30T23:59:00-04:00"), _rates("0.10", "0.0125")),
        ],
    }.items()
}


def rates(exchange: NaiveExchange, terms: Document) -> FeeRates:
    """Return the coefficients of an instrument now: published, of the scenario, or assumed."""
    schedule = PUBLISHED.get(terms["fee_class"], PUBLISHED["standard"])
    chosen = [rate for start, rate in schedule if start <= exchange.now][-1]
    rows = [row for row in exchange.beginning.fees if _applies(row, terms, exchange.now)]
    rows.sort(key=lambda row: (_specific(row), row.get("start", 0)))
    for row in rows:
        overriding = {name: row[name] for name in row if row[name] is not None}
        chosen = chosen._replace(**_override(overriding))
    taker, maker = exchange.assumed("fees.taker_theta"), exchange.assumed("fees.maker_theta")
    if taker >= 0:
        chosen = chosen._replace(taker=Fraction(taker, 10_000))
    return chosen if maker < 0 else chosen._replace(maker=Fraction(maker, 10_000))


def _applies(row: Document, terms: Document, now: Instant) -> bool:
    names = (("product", "product_id"), ("market_type", "market_type"), ("fee_class", "fee_class"))
    return row.get("start", 0) <= now and all(
        row.get(name, "") in ("", terms[of]) for name, of in names
    )


def _specific(row: Document) -> int:
    return sum(bool(row.get(name)) for name in ("product", "market_type", "fee_class"))


def _override(row: Document) -> dict[str, Any]:
    changed: dict[str, Any] = {
        name: Fraction(row[name], 10_000) for name in ("taker", "maker", "tail") if name in row
    }
    if "cap" in row:
        changed["cap"] = Fraction(row["cap"], CASH)
    if "cumulative" in row:
        changed["cumulative"] = row["cumulative"]
    return changed
