"""Automated windows: markets of a product that recurs on the clock, "will the index end this
quarter of an hour no lower than it began" (rules L6, L7, W7).

A window is there because time says so. It is listed `lead` before it begins, trades to its end,
expires and terminates; one that would overlap maintenance is never listed. Nothing of that costs
anything: which windows there are, and in which states, is computed from now when somebody looks.
One that is traded leaves the shelf like any other instrument (`Lifecycle.own`), and those who
follow every instrument are told of the others (`window_news.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from sim.core.lifecycle.resolution import Resolution
from sim.core.lifecycle.states import Lifecycle
from sim.core.model.index_measures import Reading
from sim.core.model.instruments import Instrument
from sim.core.service.maintenance import Maintenance
from sim.kernel.instants import Instant, Span, format_instant, parse_instant

# 2020-01-01T00:00:00Z: windows are numbered from here
EPOCH: Instant = 1_577_836_800 * 1_000_000_000
# 2100-01-01T00:00:00Z: and there are none from here on
HORIZON: Instant = 4_102_444_800 * 1_000_000_000
_KEPT = 4096


class Product(Struct, frozen=True, kw_only=True):
    """A market that recurs: `every` divides a day and starts with it, in UTC. `lead` is how long
    before its beginning a window is listed, `expires` and `terminates` how long after its end and
    after its expiration it does. `name` begins the slugs of its events: btc-updown-15m.
    """

    name: str
    asset: str
    every: Span
    lead: Span
    expires: Span
    terminates: Span
    product_id: str = "cpc"

    @property
    def prefix(self) -> str:
        """How symbols begin."""
        return f"{self.product_id}-{self.name}"


class Place(NamedTuple):
    """One window: the number of its product and the instant at which it begins."""

    product: int
    begins: Instant


# the instrument of a window, with what its index says, and whether that has settled it
Make = Callable[[Place, Reading, bool], Instrument]


class Spelling:
    """Which window of some products a symbol or the slug of an event spells, whether there is such
    a window or not.
    """

    def __init__(self, products: tuple[Product, ...]) -> None:
        self._products = products
        self._by_prefix = {product.prefix: number for number, product in enumerate(products)}
        self._by_name = {product.name: number for number, product in enumerate(products)}

    def of_symbol(self, symbol: str) -> Place | None:
        """The window that a symbol spells."""
        prefix, begins = spelled(symbol)
        return self.place(self._by_prefix.get(prefix), begins)

    def of_event(self, slug: str) -> Place | None:
        """The window whose event a slug spells."""
        name, begins = spelled(slug)
        return self.place(self._by_name.get(name), begins)

    def place(self, product: int | None, begins: Instant | None) -> Place | None:
        """The window of a product that begins at an instant; None where no window of it does."""
        if (
            product is None
            or begins is None
            or not EPOCH <= begins < HORIZON
            or begins % self._products[product].every
        ):
            return None
        return Place(product, begins)


class RecurringMarkets:
    """The windows of every product, as they are now."""

    def __init__(
        self, maintenance: Maintenance, lifecycle: Lifecycle, resolution: Resolution
    ) -> None:
        self._maintenance = maintenance
        self._lifecycle = lifecycle
        self._resolution = resolution
        self._make: Make | None = None
        self.products: tuple[Product, ...] = ()
        self._spelling = Spelling(())
        self._made: dict[Place, tuple[tuple[bool, bool, bool, int], Instrument]] = {}
        self._opens: dict[Place, Instant | None] = {}
        self._planned = 0

    def begin(self, products: tuple[Product, ...], make: Make | None) -> None:
        """Have these products; `make` makes their instruments."""
        self.products, self._make = products, make
        self._spelling = Spelling(products)
        self._made.clear()
        self._opens.clear()

    def begin_as(self, other: RecurringMarkets) -> None:
        """Have the products of another's."""
        self.begin(other.products, other._make)

    # ---- which there are

    def __bool__(self) -> bool:
        return bool(self.products)

    def place(self, symbol: str) -> Place | None:
        """The window that a symbol spells, whether there is such a window or not."""
        return self._spelling.of_symbol(symbol) if self.products else None

    def place_of_event(self, slug: str) -> Place | None:
        """The window whose event a slug spells."""
        return self._spelling.of_event(slug) if self.products else None

    def symbol(self, place: Place) -> str:
        """The symbol of a window."""
        return f"{self.products[place.product].prefix}-{spell(place.begins)}"

    def opens(self, place: Place) -> Instant | None:
        """When a window is listed and opens; None for one that is not: it would overlap maintenance
        (rule W7), or begins before its asset has an index.
        """
        product = self.products[place.product]
        planned = place.begins - product.lead
        if place.begins < self._resolution.indexed_from(
            product.asset
        ) or self._maintenance.overlaps(place.begins, place.begins + product.every, planned):
            return None
        return self._maintenance.free_from(planned)

    def listed(self, place: Place) -> bool:
        """Whether a window is or was listed."""
        if self._lifecycle.owns(self.symbol(place)):
            return True
        followed = self._lifecycle.followed
        if place.begins - self.products[place.product].lead > followed:
            return False
        opens = self.known_opens(place)
        return opens is not None and opens <= followed

    def shown(self) -> Iterator[Place]:
        """The windows that lists show: listed and not terminated yet; by product, in order of time."""
        for number in range(len(self.products)):
            yield from (
                place
                for place in self._around(
                    number, self._lifecycle.followed, self._lifecycle.followed
                )
                if self.listed(place)
            )

    def most_shown(self) -> int:
        """More windows than this are never shown at once."""
        return sum(
            (product.lead + product.every + product.expires + product.terminates) // product.every
            + 2
            for product in self.products
        )

    def known_opens(self, place: Place) -> Instant | None:
        """The same, remembered as long as maintenance stays as it is."""
        if self._planned != self._maintenance.version or len(self._opens) >= _KEPT:
            self._planned = self._maintenance.version
            self._opens.clear()
        found = self._opens.get(place, -1)
        if found == -1:
            found = self._opens[place] = self.opens(place)
        return found

    def _around(self, number: int, since: Instant, until: Instant) -> Iterator[Place]:
        """Windows of a product that are listed before the one instant and terminate after the
        other, in order of time.
        """
        product = self.products[number]
        first = (since - product.every - product.expires - product.terminates) // product.every + 1
        last = (until + product.lead) // product.every
        return (Place(number, index * product.every) for index in range(first, last + 1))

    # ---- instruments

    def find(self, symbol: str) -> Instrument | None:
        """The instrument of a symbol, or None."""
        place = self.place(symbol)
        return None if place is None or not self.listed(place) else self.instrument(place)

    def instrument(self, place: Place) -> Instrument:
        """The instrument of a window that is listed, with what its index says by now."""
        known = self._made.get(place)
        if known is not None and known[0] == self._stage(known[1]):
            return known[1]
        if self._make is None:
            raise LookupError("there are no windows")
        if len(self._made) >= _KEPT:
            self._made.clear()
        terms = self._make(place, Reading(), False)
        stage = self._stage(terms)
        found = self._make(place, self._resolution.reading(terms), stage[2])
        self._made[place] = (stage, found)
        return found

    def _stage(self, terms: Instrument) -> tuple[bool, bool, bool, int]:
        """How far a window is, which decides what its metadata say: begun, over, settled; and how
        many prices were set by hand.
        """
        measure, now = terms.measures, self._lifecycle.followed
        if measure is None:
            return False, False, False, 0
        over = now >= measure.ends
        return (
            now >= measure.begins,
            over,
            over and now >= self._lifecycle.settles(terms)[0],
            self._resolution.set_by_hand(measure),
        )

    def edges(self, place: Place) -> tuple[Instant, ...]:
        """When the state or the settlement of a window changes after its listing, without making
        its instrument.
        """
        product = self.products[place.product]
        closes = place.begins + product.every
        expires = closes + product.expires
        terminates = expires + product.terminates
        return closes, expires, terminates, *self._lifecycle.settling(closes, terminates)

    def symbols(self) -> Iterator[str]:
        """Symbols of the windows that lists show."""
        return map(self.symbol, self.shown())

    def of_event(self, event: str) -> Iterable[Instrument]:
        """The instrument of a window's event."""
        place = self.place_of_event(event)
        return () if place is None or not self.listed(place) else (self.instrument(place),)

    def wake(self, symbol: str) -> None:
        """Somebody follows this one: a window gets a state and timers of its own, if it is one."""
        if self.place(symbol) is not None:
            self._lifecycle.own(symbol)

    def clear(self) -> None:
        """Forget what was remembered: time has gone elsewhere."""
        self._made.clear()
        self._opens.clear()


@lru_cache(maxsize=_KEPT)
def spell(begins: Instant) -> str:
    """How symbols spell the beginning of a window: minutes of UTC, 2026-09-08-1815z."""
    text = format_instant(begins)
    return f"{text[:10]}-{text[11:13]}{text[14:16]}z"


def spelled(symbol: str) -> tuple[str, Instant | None]:
    """What a symbol says: how it begins, and the beginning of a window; None where it spells none."""
    prefix, sign, date = symbol[:-17], symbol[-17:-16], symbol[-16:]
    return prefix, _beginning(date) if sign == "-" and date[-1:] == "z" else None


@lru_cache(maxsize=_KEPT)
def _beginning(date: str) -> Instant | None:
    try:
        found = parse_instant(f"{date[:10]}T{date[11:13]}:{date[13:15]}:00Z")
    except ValueError:
        return None
    return found if spell(found) == date else None
