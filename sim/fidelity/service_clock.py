"""What the service's clock said at each line of a recording, and in which order a replay goes.

A `Date` header tells whole seconds, messages tell when something happened, and most lines tell
nothing. The recorder's clock tells each line to the microsecond. So a recording is divided into
*stretches* that one rule explains: within each, what the service told follows from the recorder's
clock. A stretch ends where that fails, because somebody moved the service's clock by hand. There
are two rules:

- The clock *runs* like the recorder's, at one distance from it. This is the real service, whose
  clock nobody moves, and a sandbox whose clock is paced.
- The clock *stands* still. This is a sandbox with a manual clock, which only its tester moves: by
  hand, so that what happens does so at a whole millisecond, again and again.

Between the last line that fits a stretch and the first that does not, lines may tell nothing. The
clock was moved before a heartbeat that is among them, which time has brought about, or else before
all of them. If an answer says that its caller waited, the clock went on after that call was sent.

A call whose answer the service held is two turns: it is sent when it was sent, and answered when it
was answered. Quicker calls stay where they were completed, for nobody knows in which order a
service took calls that it had at the same time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Literal, NamedTuple

from msgspec import Struct

from sim.fidelity.frames import is_heartbeat
from sim.kernel.instants import NS_PER_MS, NS_PER_S, Instant, Span, parse_instant
from sim.recording.files import Entry, UnreadableRecording
from sim.recording.recorded_events import latest_event, told_body, told_date

HELD = NS_PER_S  # an answer that took so long was held
_AT_ONCE = 5 * NS_PER_MS  # nobody moves a clock by hand so soon after an answer
_WHOLE = 0.9  # of the events of a clock that is moved by hand are at whole milliseconds
_LATENCY = ("x-server-latency", "x-pm-server-latency")
_ANY = 1 << 100


class Turn(NamedTuple):
    """A line, or half of a call that was held; `now` is what the service's clock said."""

    entry: Entry
    now: Instant
    half: Literal["", "sent", "answered"] = ""


class _Told(NamedTuple):
    """What a line tells of the service's clock between two instants of the recorder's: it was at
    least `least`, and less than `most`. At `event`, something had happened.
    """

    sent: Instant
    done: Instant
    least: Instant
    most: Instant
    event: Instant


class _Stretches(Struct):
    """Stretches in order: where each begins by the recorder's clock, and its value."""

    begins: list[Instant] = []
    shown: list[Instant] = []  # when a line first showed it
    values: list[Instant] = []
    low: int = -_ANY  # bounds of the value of the last one
    high: int = _ANY

    def begin(self, at: Instant, shown: Instant) -> None:
        """Begin a stretch; the first one began before everything."""
        self.begins.append(max(at, self.begins[-1]) if self.begins else -_ANY)
        self.shown.append(shown)
        self.values.append(0)
        self.low, self.high = -_ANY, _ANY

    def narrow(self, low: int, high: int) -> None:
        """Take bounds of the last stretch into account."""
        self.low, self.high = max(self.low, low), min(self.high, high)
        self.values[-1] = self.low

    def after(self, sent: Instant) -> None:
        """The stretches that were shown since an instant began after it."""
        for number in range(len(self.begins) - 1, 0, -1):
            if self.shown[number] < sent:
                return
            self.begins[number] = max(self.begins[number], sent + 1)

    def at(self, instant: Instant) -> int:
        """The number of the stretch of an instant of the recorder's clock."""
        return bisect_right(self.begins, instant) - 1


class _Running(_Stretches):
    """The value of a stretch is the distance from the recorder's clock to the service's."""

    def tell(self, told: _Told, moved_at: Instant) -> None:
        """Take a line into account, before which the clock was moved at `moved_at` if it was."""
        low, high = told.least - told.done, told.most - told.sent
        event = told.event - told.done
        # What has happened tells no end, and the parts of a service have clocks of their own.
        late = (self.low if self.high == _ANY else self.high) + HELD
        if low >= self.high or high <= self.low or event > late or not self.begins:
            self.begin(moved_at, told.done)
        self.narrow(low, high)
        self.narrow(min(event, self.high - 1), _ANY)

    def now(self, at: Instant) -> Instant:
        """What the service's clock said at an instant of the recorder's."""
        return at + (self.values[self.at(at)] if self.begins else 0)


class _Standing(_Stretches):
    """The value of a stretch is what the service's clock said."""

    last: Instant = -_ANY  # when the line before told something

    def tell(self, told: _Told, moved_at: Instant) -> None:
        """Take a line into account, before which the clock was moved at `moved_at` if it was."""
        least = max(told.least, min(told.event, told.most - 1))
        later = least >= self.high or told.most <= self.low
        # What happens a moment after a call that told the second tells the call's instant exactly.
        later |= told.most == _ANY and least > self.low and told.sent - self.last > _AT_ONCE
        if later or not self.begins:
            self.begin(moved_at, told.done)
        self.narrow(least, told.most)
        self.last = told.done

    def now(self, at: Instant) -> Instant:
        """What the service's clock said at an instant of the recorder's."""
        return self.values[self.at(at)]


class ServiceClock:
    """The service's clock over a recording. It reads the lines once, and keeps the stretches and
    the calls that were held.
    """

    def __init__(self, entries: Collection[Entry], moves: Mapping[int, int] | None = None) -> None:
        """`moves` says which lines take their turn after which call, by index. UnreadableRecording
        for a line whose instant cannot be read.
        """
        self._entries, self._moves = entries, moves or {}
        self._held: list[Entry] = []
        running, standing, whole, events = _Running(), _Standing(), 0, 0
        last_told, dated = 0, False  # the last line that tells a second, or else the last event
        quiet_since, heartbeat = -_ANY, _ANY  # since the last line that told something
        for entry in entries:
            sent, done = sent_at(entry), done_at(entry)
            if is_held := _is_held(entry, sent, done):
                self._held.append(entry)
            told = _told(entry, sent, done)
            if told is None or (told.most == _ANY and told.event < standing.low):
                if entry.frame is not None and is_heartbeat(entry.frame.body):
                    heartbeat = min(heartbeat, sent)
                continue
            moved_at = min(sent, quiet_since if heartbeat == _ANY else heartbeat)
            moved_at = done if is_held else moved_at
            for stretches in (running, standing):
                stretches.tell(told, moved_at)
                if _waited(entry):
                    stretches.after(sent)
            quiet_since, heartbeat = done + 1, _ANY
            events += told.event != -_ANY
            whole += told.event != -_ANY and told.event % NS_PER_MS == 0
            if told.most != _ANY or not dated:
                last_told, dated = entry.n, told.most != _ANY
        moved, steps = len(running.begins), len(standing.begins)
        stands = moved > 1 and (whole > events * _WHOLE if events else steps <= moved)
        self._stretches: _Running | _Standing = standing if stands else running
        self._last_told = last_told if stands else None
        self._held.sort(key=sent_at)

    @property
    def moved(self) -> bool:
        """Whether the service's clock was moved, or told us nothing."""
        return len(self._stretches.begins) != 1

    def tells_no_more(self, n: int) -> bool:
        """Whether a line is so late that nobody knows how far the clock was moved before it."""
        return self._last_told is not None and n > self._last_told

    def took(self, entry: Entry) -> Span | None:
        """How long the service took for a call; None where its clock was moved meanwhile."""
        sent, done = sent_at(entry), done_at(entry)
        stretches = self._stretches
        if isinstance(stretches, _Standing) and _waited(entry):
            return stretches.now(done) - stretches.now(sent)
        if stretches.begins and stretches.at(sent - 1) != stretches.at(done):
            return None
        return done - sent

    def turns(self) -> Iterator[Turn]:
        """Every line in the order of a replay."""
        held, now = iter(self._held), self._stretches.now
        following = next(held, None)
        moved = defaultdict[int, list[Turn]](list)
        for index, entry in enumerate(self._entries):
            sent, done = sent_at(entry), done_at(entry)
            whole = not _is_held(entry, sent, done)
            at = sent if whole else done
            while following is not None and sent_at(following) <= at:
                yield Turn(following, now(sent_at(following)), "sent")
                following = next(held, None)
            turn = Turn(entry, now(at), "" if whole else "answered")
            if index in self._moves:
                moved[self._moves[index]].append(turn)
            else:
                yield turn
                yield from moved.pop(index, ())


def _told(entry: Entry, sent: Instant, done: Instant) -> _Told | None:
    """What a line tells of the service's clock, if anything."""
    body = told_body(entry)
    event = -_ANY if body is None else latest_event(body, -_ANY)
    # A Date header tells the second that it is.
    date = told_date(entry)
    if date is None:
        return None if event == -_ANY else _Told(sent, done, -_ANY, _ANY, event)
    return _Told(sent, done, date, date + NS_PER_S, event)


def _waited(entry: Entry) -> bool:
    """Whether a sandbox says that its clock went on while the caller waited."""
    headers = entry.answer.headers if entry.answer is not None else {}
    return any(headers.get(name, "0") != "0" for name in _LATENCY)


def _is_held(entry: Entry, sent: Instant, done: Instant) -> bool:
    return done - sent >= HELD and entry.answer is not None and entry.request is not None


def sent_at(entry: Entry) -> Instant:
    """When a line began, by the recorder's clock."""
    return _read(entry, entry.at)


def done_at(entry: Entry) -> Instant:
    """When a call was answered; when any other line was."""
    at = entry.answer.at if entry.answer is not None else ""
    return max(_read(entry, at), sent_at(entry)) if at else sent_at(entry)


def _read(entry: Entry, text: str) -> Instant:
    try:
        return parse_instant(text)
    except ValueError:
        raise UnreadableRecording(f"line {entry.n + 1}: at is not an instant") from None
