"""Dialects: the JSON rules of a surface at an instant.

Fields appear and disappear on dates, so the JSON of one message differs between instants. A dialect
has the number of dates that have passed instead of the instant. So it changes only when a field
appears or disappears, and encoders can be cached by it.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from msgspec import Struct

from sim.contract.messages import FIELD_DATES
from sim.kernel.instants import EARLIEST, LATEST, Instant


class Dialect(Struct, frozen=True, kw_only=True):
    """The JSON rules of a surface. `epoch` is the number of field dates that have passed,
    `switches` the names in `kept_by` and `text_by` of the contract that are on.
    """

    name: str
    write_unset: bool = True
    vendor_prefix: bool = False
    epoch: int = 0
    switches: frozenset[str] = frozenset()

    @property
    def since(self) -> Instant:
        """The last field date that has passed. A dialect has the fields that exist on that date."""
        return FIELD_DATES[self.epoch - 1] if self.epoch else EARLIEST


def dialect_at(
    name: str,
    now: Instant,
    *,
    vendor_prefix: bool = False,
    write_unset: bool = True,
    switches: frozenset[str] = frozenset(),
) -> Dialect:
    """Return the dialect of a surface ("exchange", "retail", "gateway", "auth") at an instant.

    Equal arguments give the same object.
    """
    return _dialect(name, write_unset, vendor_prefix, bisect_right(FIELD_DATES, now), switches)


def epoch_at(now: Instant) -> tuple[Instant, Instant]:
    """Return the field dates between which dialects stay the same: from, until."""
    epoch = bisect_right(FIELD_DATES, now)
    until = FIELD_DATES[epoch] if epoch < len(FIELD_DATES) else LATEST + 1
    return FIELD_DATES[epoch - 1] if epoch else EARLIEST, until


@lru_cache(maxsize=256)
def _dialect(
    name: str, write_unset: bool, vendor_prefix: bool, epoch: int, switches: frozenset[str]
) -> Dialect:
    return Dialect(
        name=name,
        write_unset=write_unset,
        vendor_prefix=vendor_prefix,
        epoch=epoch,
        switches=switches,
    )
