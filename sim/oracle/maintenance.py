"""Maintenance windows: when they begin and end, and what they end (rules W1, W2, W7, W9)."""

from __future__ import annotations

from msgspec import json

from sim.kernel.instants import Instant, parse_instant, parse_span
from sim.oracle.hearing import Hearing
from sim.oracle.schedules import MaintenanceHours, weekly
from sim.oracle.state import Document
from sim.read.observed import ObservedInput


class MaintenanceRules:
    """Knows every window. `active` is whether the run is in one, by its events."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        beginning = hearing.exchange.beginning
        self._announced = {
            row["name"]: MaintenanceHours(row["begins"], row["ends"], row["lead"])
            for row in beginning.windows
            if not row["until"]
        }
        self._count = len(beginning.windows)
        # Weekly ones that have begun, which changed assumptions leave alone
        self._under_way: list[MaintenanceHours] = []
        # When all was suspended, and in which input
        self._turns: list[tuple[Instant, int]] = []
        self._noted = -1
        self._checked = beginning.now
        self.active = self.covers(beginning.now)
        if self.suspends(beginning.now):
            self._turns.append((beginning.now, -1))

    # ---- windows

    def windows(self) -> list[MaintenanceHours]:
        """Return the announced windows, and the weekly ones around now (rule W1)."""
        exchange = self._hearing.exchange
        now = exchange.now
        lead = exchange.assumed("maintenance.cancel_lead")
        regular = weekly(now, exchange.assumed("maintenance.windows"), lead)
        kept = [each for each in self._under_way if now < each.ends]
        begun = {each.begins for each in kept}
        fresh = [each for each in regular if each.begins not in begun]
        self._under_way = kept + [each for each in fresh if each.leads <= now < each.ends]
        return [*self._announced.values(), *kept, *fresh]

    def covers(self, at: Instant) -> bool:
        """Return whether an instant is inside a window."""
        return any(window.begins <= at < window.ends for window in self.windows())

    def suspends(self, at: Instant) -> bool:
        """Return whether an instant is inside a window or its lead (rule W2)."""
        return any(window.leads <= at < window.ends for window in self.windows())

    def turned(self, at: Instant) -> tuple[Instant, int]:
        """Return when, up to an instant, a window or its lead last began, and in which input."""
        self.note()
        return next((turn for turn in reversed(self._turns) if turn[0] <= at), (0, 0))

    def held_since(self, at: Instant) -> Instant | None:
        """Return since when what is due waits for the end of windows; None if it does not (W7)."""
        since = at + 1
        while stops := [w.stops for w in self.windows() if w.stops < since <= w.ends]:
            since = min(stops)
        return since if since <= at else None

    def acts(self) -> bool:
        """Return whether a window, or a lead, begins or ends now (rule W2)."""
        self.note()
        now = self._hearing.exchange.now
        edges = [edge for w in self.windows() for edge in (w.leads, w.begins, w.ends)]
        return now in edges or self._asked()

    def _asked(self) -> bool:
        return str(self._hearing.observed.input.get("action")).startswith("maintenance.")

    # ---- events

    def note(self) -> None:
        """Take over what an operator announces or cancels, and which windows come (W1, W2, W9)."""
        observed = self._hearing.observed
        if self._noted == observed.seq:
            return
        self._noted = observed.seq
        if observed.input["type"] == "control" and "message" not in observed.out:
            self._take_over(observed)
        if observed.at != observed.now:
            passed = sorted(edge for edge in self._turning() if observed.at < edge <= observed.now)
            self._turns += [(edge, observed.seq) for edge in passed]

    def _turning(self) -> list[Instant]:
        """Return when leads begin, and windows that do not begin inside another (rule W2)."""
        windows = self.windows()
        first = [
            w.begins for w in windows if not any(o.begins < w.begins < o.ends for o in windows)
        ]
        return first + [window.leads for window in windows]

    def _take_over(self, observed: ObservedInput) -> None:
        if observed.input["action"] == "maintenance.cancel":
            self._announced.pop(observed.input["subject"], None)
        elif observed.input["action"] == "maintenance.add":
            arguments = json.decode(observed.input.get("arguments", "{}"))
            self._count += 1
            window = self._window(arguments, observed.at)
            self._announced[f"window-{self._count}"] = window
            if window.leads <= observed.at:
                self._turns.append((observed.at, observed.seq))

    def _window(self, arguments: Document, now: Instant) -> MaintenanceHours:
        """Return the window of an announcement; without a beginning it is a pause (rule W9)."""
        begins, lead = arguments.get("begins"), arguments.get("lead")
        if begins is None:
            at, lead = now, "0s"
        else:
            at = now + parse_span(begins[1:]) if begins[0] == "+" else parse_instant(begins)
        usual = self._hearing.exchange.assumed("maintenance.cancel_lead")
        span = usual if lead is None else parse_span(lead)
        return MaintenanceHours(at, at + parse_span(arguments["length"]), span, at <= now)

    def changed(self, event: Document) -> None:
        """Judge that maintenance begins or ends (rules W1, W9)."""
        self.note()
        now, active = event["at"], event["active"]
        begins, ends = ({getattr(w, edge) for w in self.windows()} for edge in ("begins", "ends"))
        on_time = now in (begins if active else ends) or self._asked()
        followed = not active and now in begins  # another window begins as this one ends
        if self.covers(now) != (active or followed) or self.active == active or not on_time:
            word = "begins" if active else "ends"
            self._hearing.disagree(
                "W1", "no window", word, f"maintenance {word} at {now} without a window that does"
            )
        self.active = active

    def after_input(self, observed: ObservedInput) -> bool:
        """Judge what windows had to do by now: begin, end, cancel all orders (rules W1, W2).

        Return whether the lead of one, or one itself, began or ended since the input before.
        """
        self.note()
        now, exchange = observed.now, self._hearing.exchange
        if now == self._checked:
            return False
        windows = self.windows()
        before, since = self._checked, now - 1
        self._checked = now
        if self.active != self.covers(now) == self.covers(since):
            sentence = f"maintenance is {self.active} at {now}"
            self._hearing.disagree("W1", str(not self.active), str(self.active), sentence)
            self.active = not self.active
        edges = self._turning() + [window.ends for window in windows]
        passed = [edge for edge in edges if before <= edge < now]
        for order in exchange.open_orders():
            if passed and order.admitted < max(passed):
                sentence = f"order {order.id} is open after maintenance canceled all"
                self._hearing.disagree("W2", "canceled", "open", sentence)
        return bool(passed)
