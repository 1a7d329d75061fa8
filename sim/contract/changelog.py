"""The changelog of the simulated interface (§9): numbered releases with tags, as of a virtual
instant, as a page and as an RSS feed.

Numbers, and dates on which something takes effect, are the specification's where it gives them.
Where it gives none, the place in the order is ours (`unconfirmed`). The removal of the three
funded-order calls on 2026-08-06 has no entry, because none was issued at the time.
"""

from __future__ import annotations

from datetime import date
from email.utils import format_datetime
from html import escape
from xml.etree import ElementTree

from msgspec import Struct

from sim.kernel.instants import Instant, eastern, to_datetime

INSTITUTIONAL, RETAIL = "Institutional API", "Retail API"


class Release(Struct, frozen=True, kw_only=True):
    """One entry. `date` is when it was published, Eastern; `effective` when what it announces
    happens ("" at once).
    """

    number: int
    date: str
    title: str
    tags: tuple[str, ...]
    text: str
    effective: str = ""
    unconfirmed: bool = True

    @property
    def name(self) -> str:
        """`v0.0.71`."""
        return f"v0.0.{self.number}"

    @property
    def published(self) -> Instant:
        """Noon Eastern of its day."""
        return eastern(date.fromisoformat(self.date), 12)


RELEASES = (
    Release(
        number=25,
        date="2026-04-06",
        title="Production gRPC address corrected",
        tags=("Bug Fix", "Documentation", INSTITUTIONAL),
        text="The gRPC endpoint has the form grpc-api.{env}.<exchange domain>.",
    ),
    Release(
        number=26,
        date="2026-04-09",
        title="Retail batch endpoints; outcomeSide and action",
        tags=("New Feature", RETAIL),
        text=(
            "POST /v1/orders/batched, /batched/cancel and /batched/modify take 1 to 20 orders."
            " outcomeSide plus action may replace intent; the pair wins."
        ),
    ),
    Release(
        number=27,
        date="2026-04-13",
        title="Commission and trade date on executions",
        tags=("New Feature", INSTITUTIONAL),
        text=(
            "Executions carry commissionNotionalCollected, commissionSpreadPx and"
            " transactTradeDate."
        ),
    ),
    Release(
        number=28,
        date="2026-04-14",
        effective="2026-04-16",
        title="Maintenance moves to Thursday",
        tags=("Maintenance", INSTITUTIONAL, RETAIL),
        text=(
            "Weekly maintenance is every Thursday, 6:00am to 8:00am ET, from 2026-04-16. Until then"
            " it is Tuesday, 4:00am to 6:00am ET."
        ),
    ),
    Release(
        number=32,
        date="2026-05-01",
        title="Ledger endpoints, stream cap, keepalive",
        tags=("New Feature", INSTITUTIONAL, RETAIL),
        text=(
            "Position and balance ledgers reach back to 2026-05-01T00:00:00Z. InstrumentStats gain"
            " last_trade_qty and settlement_set_time. KeepAliveCommand (field 7) keeps a"
            " bidirectional stream alive. A firm has at most 20 concurrent streams, pooled over all"
            " types. New activity types: taker fee rebate and liquidity program."
        ),
    ),
    Release(
        number=34,
        date="2026-05-11",
        title="Partial contracts and decimal ticks",
        tags=("New Feature", INSTITUTIONAL, RETAIL),
        text=(
            "Quantities may be decimal on some markets (minimumTradeQty), ticks may be 0.005 or"
            " 0.0025. Orders carry price_to_quantity_filled (41) and fractional_quantity_scale"
            " (49). Integer position fields are rounded and deprecated."
        ),
    ),
    Release(
        number=41,
        date="2026-05-20",
        title="Volume incentive program",
        tags=("Incentives", RETAIL),
        text=(
            "The volume incentive program is live. Eligible are trades priced between 0.03 and"
            " 0.97; a taker qualifies from 500 USD of notional. Programs and their periods are at"
            " GET /v1/incentives, what they earned at GET /v1/incentives/earnings."
        ),
    ),
    Release(
        number=60,
        date="2026-06-15",
        effective="2026-06-29",
        title="Subjects and deprecated fields leave",
        tags=("Breaking Change", "Upcoming", RETAIL),
        text=(
            "The subjects endpoints and the deprecated market, market side and event fields are"
            " removed on 2026-06-29. sportsMarketType replaces marketType and sportsMarketTypeV2,"
            " marketSides replaces outcomes and outcomePrices, teams replaces participants."
        ),
    ),
    Release(
        number=63,
        date="2026-06-26",
        effective="2026-07-03",
        title="lastPriceSample is no longer supported",
        tags=("Breaking Change", "Upcoming", RETAIL),
        text="Market data frames leave lastPriceSample out from 2026-07-03.",
    ),
    Release(
        number=64,
        date="2026-06-29",
        effective="2026-07-01",
        title="Taker fee coefficient 0.06",
        tags=("Upcoming", INSTITUTIONAL, RETAIL),
        text=(
            "The fee coefficient of takers is 0.06 instead of 0.05 from 2026-07-01. Markets show it"
            " as feeCoefficient; no endpoint serves a fee schedule."
        ),
    ),
    Release(
        number=66,
        date="2026-07-03",
        effective="2026-07-05",
        unconfirmed=False,
        title="Single two-sided instruments",
        tags=("New Feature", INSTITUTIONAL, RETAIL),
        text=(
            "soccer_game_to_advance is one two-sided instrument from the quarter-finals of"
            " 2026-07-05 on; esports map and game winners and tennis set winners since the night of"
            " 2026-07-03. Older instruments keep one per team."
        ),
    ),
    Release(
        number=67,
        date="2026-07-06",
        effective="2026-07-09",
        title="Maintenance is longer and earlier",
        tags=("Maintenance", INSTITUTIONAL, RETAIL),
        text="Weekly maintenance is every Thursday, 2:00am to 6:00am ET, from 2026-07-09.",
    ),
    Release(
        number=69,
        date="2026-07-13",
        effective="2026-07-16",
        title="Retention",
        tags=("Breaking Change", "Upcoming", INSTITUTIONAL),
        text=(
            "From the maintenance window of 2026-07-16 orders are kept 90 days, market data 45"
            " days, executions 7 days. Trades and positions are unaffected."
        ),
    ),
    Release(
        number=71,
        date="2026-07-20",
        unconfirmed=False,
        title="Metadata of sports instruments",
        tags=("New Feature", INSTITUTIONAL),
        text=(
            "Sports instruments created from now on carry home_team_name, away_team_name and"
            " tournament_name. Futures without a matchup carry tournament_name only."
        ),
    ),
    Release(
        number=80,
        date="2026-09-18",
        effective="2026-09-25",
        title="Taker fee coefficient 0.0695",
        tags=("Upcoming", INSTITUTIONAL, RETAIL),
        text="The fee coefficient of takers is 0.0695 instead of 0.06 from 2026-09-25.",
    ),
)


def published(now: Instant) -> list[Release]:
    """What had been published by an instant, newest first."""
    return [release for release in reversed(RELEASES) if release.published <= now]


def _body(release: Release) -> str:
    effective = f" Takes effect on {release.effective}." if release.effective else ""
    note = " (Number and date of this entry are the sandbox's own.)" if release.unconfirmed else ""
    return f"{release.text}{effective}{note}"


def rss(now: Instant, base: str) -> bytes:
    """The feed, RSS 2.0. `base` is the address of the docs listener."""
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    for tag, text in (
        ("title", "Changelog"),
        ("link", f"{base}/changelog"),
        ("description", "What the simulated interface does, and since when."),
        ("lastBuildDate", _date(now)),
    ):
        ElementTree.SubElement(channel, tag).text = text
    for release in published(now):
        item = ElementTree.SubElement(channel, "item")
        ElementTree.SubElement(item, "title").text = f"{release.name}: {release.title}"
        ElementTree.SubElement(item, "link").text = f"{base}/changelog#{release.name}"
        ElementTree.SubElement(item, "guid", isPermaLink="false").text = release.name
        ElementTree.SubElement(item, "pubDate").text = _date(release.published)
        for tag in release.tags:
            ElementTree.SubElement(item, "category").text = tag
        ElementTree.SubElement(item, "description").text = _body(release)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def page(now: Instant) -> str:
    """The same for a browser: the inside of a page."""
    found = ['<h1>Changelog</h1>\n<p><a href="/changelog/rss.xml">RSS</a>']
    for release in published(now):
        tags = "".join(f"<span class=tag>{escape(tag)}</span> " for tag in release.tags)
        found.append(
            f'<h2 id="{release.name}">{release.name}:'
            f" {escape(release.title)}</h2>\n<p>{release.date} {tags}\n<p>{escape(_body(release))}"
        )
    return "\n".join(found)


def _date(at: Instant) -> str:
    """RFC 822, as RSS has it."""
    return format_datetime(to_datetime(at), usegmt=True)
