"""What trading does about a maintenance window (rules W2, W3, W7).

Before the window, orders are canceled and open instruments suspended. Dates wait during the window,
and instruments reopen after it. `service/maintenance.py` schedules windows; the API and the streams
listen to it on their own.
"""

from __future__ import annotations

from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.lifecycle.listings import Listings
from sim.core.model.enums import InstrumentState
from sim.core.model.why import Why

_WINDOW = Why("W2")


class MaintenancePause:
    """Listens to maintenance on behalf of trading."""

    def __init__(self, lifecycle: Lifecycle, listings: Listings) -> None:
        self._lifecycle = lifecycle
        self._listings = listings

    def on_lead(self) -> None:
        """Cancel every order and suspend every open instrument."""
        self._clear_books()
        self._lifecycle.suspend_dormant()
        self._lifecycle.suspends_openings = True

    def on_begin(self, *, sudden: bool) -> None:
        """Stop following dates.

        Orders are canceled once more, because an operator may have opened an instrument since
        the lead, or a market took orders before its opening. Books are empty during the
        window (rule W2).
        """
        self._clear_books()
        self._lifecycle.stop_dates(sudden=sudden)

    def on_end(self, *, another_begins: bool, another_leads: bool) -> None:
        """Follow dates again, unless another window begins at this instant.

        Instruments that open now stay open unless the lead of another window has begun.
        """
        self._lifecycle.suspends_openings = another_leads
        if not another_begins:
            self._lifecycle.resume_dates()

    def on_reopen(self) -> None:
        """Reopen what was open before, unless its schedule wants something else by now."""
        self._lifecycle.suspends_openings = False
        for symbol in self._lifecycle.resume():
            if self._lifecycle.state(symbol) is InstrumentState.SUSPENDED:
                self._listings.reopen(symbol, _WINDOW)

    def _clear_books(self) -> None:
        self._listings.cancel_all()
        for symbol in self._lifecycle.symbols(InstrumentState.OPEN):
            self._listings.change_state(symbol, InstrumentState.SUSPENDED, pin=False, why=_WINDOW)
            self._lifecycle.open_after_maintenance(symbol)
