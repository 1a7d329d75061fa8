"""Rate limits on virtual time (§8, rules R1-R5): the table of limits, the subjects that are
counted, and the text of a refusal.

A call counts against the limit of its plane and those of its operation. Either all of them admit
it, or it counts against none: a refused call costs nothing. The subject is the firm, else the API
key, else the address of the caller.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from msgspec import Struct, field, structs

from sim.core.catalogue.assumption_values import unknown_name
from sim.core.catalogue.assumptions import ENDPOINT_TEXT, EXTRA_LIMITS, MINUTE_LIMITS
from sim.core.catalogue.bounds import LIMIT_CALLS, LIMIT_PERIOD
from sim.core.model.context import Context
from sim.core.model.refusals import RateLimited
from sim.core.model.stateful import Stateful
from sim.core.model.why import Facts
from sim.core.service.rate_counters import (
    CallWindow,
    Counter,
    Limit,
    Sliding,
    TokenBuckets,
    pace_of,
)
from sim.kernel.instants import (
    MINUTE,
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    Instant,
    Span,
    format_seconds,
    format_span,
    parse_span,
)

_MINUTE_AVERAGE = "100 a second, one-minute average, per firm"
_RFQ = "public API reference, per firm and method"
_BY_TIER = "rule R1, per firm and method, by tier"
_ENTRY_TIERS = (30, 100, 200, 400)
TIER = "tier"  # stands for the limits of a tier where a firm's limits are raised
_TABLE = (
    Limit(
        "exchange_rest",
        6000,
        MINUTE,
        f"§8: {_MINUTE_AVERAGE}",
        sliding=True,
        rung="global",
        rule="R16",
    ),
    Limit("retail", 20, NS_PER_S, "§8, per API key", rung="global", rule="R17"),
    Limit("public", 20, NS_PER_S, "§8, per IP", rung="global", rule="R18"),
    Limit(
        "stream_frames",
        6000,
        MINUTE,
        f"rule S15: {_MINUTE_AVERAGE}",
        sliding=True,
        rung="global",
        rule="S15",
    ),
    Limit("incentives", 5, NS_PER_S, "§8", rule="R19"),
    Limit("incentive_earnings", 5, NS_PER_S, "§8", rule="R19"),
    Limit("search_reports", 12, MINUTE, "§8, per firm", rule="R20"),
    Limit("trade_stats", 60, MINUTE, "§8, per firm", rule="R21"),
    Limit("list_symbols", 6, MINUTE, "§8, per firm", rule="R22"),
    Limit("ledger_download", 5, MINUTE, "§8: about 5 a minute, per firm", rule="R23"),
    Limit("order_insert", 30, NS_PER_S, _BY_TIER, extra=True, tiers=_ENTRY_TIERS),
    Limit("order_replace", 30, NS_PER_S, _BY_TIER, extra=True, tiers=_ENTRY_TIERS),
    Limit("order_cancel", 90, NS_PER_S, _BY_TIER, extra=True, tiers=(90, 300, 600, 1200)),
    Limit("order_list", 50, NS_PER_S, "rule R1", extra=True),
    Limit("list_instruments", 6, MINUTE, "rule R1", extra=True),
    Limit("book", 12, MINUTE, "rule R1", extra=True),
    Limit("ledger_query", 30, MINUTE, "rule R1: 0.5 a second, burst 5", burst=5, extra=True),
    Limit(
        "ledger_download_pace",
        5,
        MINUTE,
        "rule R2: 0.0833 a second, burst 1",
        rule="R2",
        burst=1,
        extra=True,
    ),
    Limit("cash_movement", 5, NS_PER_S, "rule R1", extra=True),
    Limit(
        "rfq_create",
        10,
        10 * NS_PER_S,
        "public API reference: combos and requests for quotes, per key",
        extra=True,
    ),
    Limit("rfq_user_id", 1, NS_PER_S, _RFQ, extra=True),
    Limit("rfq_open", 1, NS_PER_S, _RFQ, extra=True),
    Limit("rfq_query", 10, NS_PER_S, _RFQ, extra=True),
    Limit("rfq_change", 100, NS_PER_S, _RFQ, extra=True),
    # Documents name the lowest and the highest tier of quotes only.
    Limit("rfq_quote", 400, NS_PER_S, _BY_TIER, extra=True, tiers=(400, 400, 400, 2000)),
    Limit("rfq_stream", 1, NS_PER_S, f"{_RFQ}: new streams", extra=True),
    Limit("combo_create", 1, NS_PER_S, _RFQ, extra=True),
    Limit("combo_query", 100, NS_PER_S, _RFQ, extra=True),
    Limit("instrument_settlement", 10, NS_PER_S, "public API reference", extra=True),
)
LIMITS: dict[str, Limit] = {limit.name: limit for limit in _TABLE}

# The limit of a plane, against which every call on it counts. A call on the retail API without a
# key counts against the public limit.
PLANE_LIMITS = {"exchange": "exchange_rest", "retail": "retail", "gateway": "public"}


_LIMIT = re.compile(r"([0-9]{1,20})/((?:[0-9]{1,20})?(?:ms|s|m|h))", re.ASCII)


def parse_limit(text: str) -> tuple[int, Span]:
    """Return calls and period of "20/s" or "5/10s"; (0, 0) for "off". Raises ValueError."""
    if text == "off":
        return 0, 0
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise ValueError(f'write "20/s", "12/m" or "off", not {text[:70]!r}')
    calls, period = int(match[1]), match[2]
    length = parse_span(period if period[0].isdigit() else f"1{period}")
    LIMIT_CALLS.check(calls)
    LIMIT_PERIOD.check(length, NS_PER_MS)
    return calls, length


class LimitedOperation(Protocol):
    """What the limiter needs to know about an operation: its method's name, and its limits beyond
    that of the plane.
    """

    @property
    def rpc(self) -> str: ...
    @property
    def limits(self) -> tuple[str, ...]: ...


class Subject(Protocol):
    """What the limiter needs to know about a caller."""

    @property
    def firm(self) -> str | None: ...
    @property
    def api_key(self) -> str | None: ...
    @property
    def peer(self) -> str: ...


class RateLimitsState(Struct):
    """The saved counters and limits.

    Counters are stored by "limit" or "limit method", then by subject; `raised` by subject, then
    by limit. `replaced` are limits that a scenario set for everybody, as (calls, period); 0 calls
    means off. `unenforced` are calls that extra limits would have refused, by "limit method",
    then by subject.
    """

    buckets: dict[str, dict[str, Instant]] = field(default_factory=dict)
    windows: dict[str, dict[str, CallWindow]] = field(default_factory=dict)
    raised: dict[str, dict[str, int]] = field(default_factory=dict)
    replaced: dict[str, tuple[int, Span]] = field(default_factory=dict)
    unenforced: dict[str, dict[str, int]] = field(default_factory=dict)


class Usage(NamedTuple):
    """How much of a limit a subject has used: `used` of `allowed` calls.

    `method` is empty for limits that all methods share.
    """

    limit: str
    method: str
    subject: str
    used: int
    allowed: int


class _Checks(NamedTuple):
    """The counters against which a call is checked, the global rung first.

    `extras` are enforced with `limits.extra` only.
    """

    always: tuple[Counter, ...]
    extras: tuple[Counter, ...]


class RateLimits(Stateful[RateLimitsState]):
    """Counts calls and refuses those beyond a limit."""

    def __init__(self, ctx: Context, raised: Mapping[str, Mapping[str, int]] | None = None) -> None:
        """Construct the limits.

        `raised` maps a subject (firm name or key id) and a limit to the calls in its period,
        instead of those in the table (S8-9).
        """
        self._ctx = ctx
        self._state = RateLimitsState()
        self._counters: dict[str, Counter] = {}
        self._checks: dict[tuple[str, tuple[str, ...]], _Checks] = {}
        for subject, counts in (raised or {}).items():
            for name, count in counts.items():
                self.raise_limit(subject, name, count)

    def raise_limit(self, subject: str, name: str, count: int) -> None:
        """Set another limit for one firm or key.

        Raises ValueError for an unknown limit or zero calls. TIER sets the limits of a tier.
        """
        if name == TIER:
            if not 1 <= count <= len(_ENTRY_TIERS):
                raise ValueError(f"{TIER} is 1 to {len(_ENTRY_TIERS)}")
            for limit in filter(lambda limit: limit.tiers, LIMITS.values()):
                self.raise_limit(subject, limit.name, limit.tiers[count - 1])
            return
        if name not in LIMITS:
            raise ValueError(unknown_name("limit", name, LIMITS))
        if count <= 0:
            raise ValueError(f"{name} must allow at least one call")
        LIMIT_CALLS.check(count)
        self._state.raised.setdefault(subject, {})[name] = count
        for counter in self._counters.values():
            if counter.limit.name == name:
                counter.special[subject] = pace_of(counter.limit, count)

    def replace(self, name: str, text: str) -> None:
        """Set another limit for every subject: "20/s", "12/m", or "off".

        Raises ValueError for an unknown limit or malformed text.
        """
        if name not in LIMITS:
            raise ValueError(unknown_name("limit", name, LIMITS))
        self._state.replaced[name] = parse_limit(text)
        self.reread()

    def _limit(self, name: str) -> Limit | None:
        """Return the current limit; None if it is off."""
        limit = LIMITS[name]
        replaced = self._state.replaced.get(name)
        if replaced is None:
            slides = self._ctx.assumptions.text(MINUTE_LIMITS) == "sliding"
            if limit.period == MINUTE and not limit.sliding and slides:
                return structs.replace(limit, burst=0, sliding=True)
            return limit
        calls, period = replaced
        if not calls:
            return None
        return Limit(limit.name, calls, period, limit.source, rung=limit.rung, rule=limit.rule)

    def reread(self) -> None:
        """Apply changed assumptions. Counters of another kind are dropped."""
        self._counters.clear()
        self._checks.clear()

    def admit(
        self, plane: str | None, operation: LimitedOperation, caller: Subject
    ) -> tuple[str, ...]:
        """Count a call on a plane, or refuse it as RateLimited.

        `plane` None means gRPC, which has endpoint limits only. Returns the published limits that
        the call exceeds but that are not enforced.
        """
        subject = caller.firm or caller.api_key
        own = PLANE_LIMITS.get(plane) if plane else None
        if own == "retail" and subject is None:
            own = "public"
        names = (own, *operation.limits) if own else operation.limits
        return self.check(names, subject or caller.peer, operation.rpc)

    def check(self, names: tuple[str, ...], subject: str, method: str = "") -> tuple[str, ...]:
        """Count one call of `subject` against the named limits, or raise RateLimited and count
        nothing.

        Extra limits are counted even while they are off. Returns those that would have
        refused the call.
        """
        checks = self._checks.get((method, names)) or self._checks_of(method, names)
        now = self._ctx.now
        counters, unenforced = checks.always, checks.extras
        if unenforced and self._ctx.assumptions.flag(EXTRA_LIMITS):
            counters, unenforced = counters + unenforced, ()
        for counter in counters:
            wait = counter.wait(subject, now)
            if wait:
                text = self._ctx.assumptions.text(ENDPOINT_TEXT)
                raise _refusal(counter.limit, method, wait, text)
        for counter in counters:
            counter.take(subject, now)
        return self._unenforced(unenforced, subject, method) if unenforced else ()

    def _unenforced(
        self, counters: tuple[Counter, ...], subject: str, method: str
    ) -> tuple[str, ...]:
        """Count a call against limits that are off. Return the names of the exceeded ones."""
        now = self._ctx.now
        over = [counter.limit.name for counter in counters if counter.wait(subject, now)]
        if not over:
            for counter in counters:
                counter.take(subject, now)
            return ()
        for name in over:
            counts = self._state.unenforced.setdefault(f"{name} {method}", {})
            counts[subject] = counts.get(subject, 0) + 1
        return tuple(over)

    def unenforced(self) -> list[Usage]:
        """Return the number of calls that disabled limits would have refused, sorted by subject."""
        rows = []
        for key, counts in self._state.unenforced.items():
            name, _, method = key.partition(" ")
            allowed = LIMITS[name].count
            rows += [
                Usage(name, method, subject, count, allowed) for subject, count in counts.items()
            ]
        return sorted(rows)

    def usage(self) -> list[Usage]:
        """Return the usage of each limit, sorted, without unused ones."""
        now = self._ctx.now
        usage = []
        for key, counter in self._counters.items():
            method = key.partition(" ")[2]
            for subject in counter.subjects():
                used = counter.used(subject, now)
                if used:
                    allowed = counter.special.get(subject, counter.pace).calls
                    usage.append(Usage(counter.limit.name, method, subject, used, allowed))
        return sorted(usage)

    def load(self, state: object) -> None:
        """Restore saved counters."""
        super().load(state)
        self.reread()
        for key in (*self._state.buckets, *self._state.windows):
            name, _, method = key.partition(" ")
            limit = self._limit(name)
            if limit is not None:
                self._counter(limit, method)

    def _checks_of(self, method: str, names: tuple[str, ...]) -> _Checks:
        in_force = [limit for name in names if (limit := self._limit(name)) is not None]
        limits = sorted(in_force, key=lambda limit: limit.rung != "global")
        counters = [self._counter(limit, method) for limit in limits]
        checks = _Checks(
            tuple(counter for counter in counters if not counter.limit.extra),
            tuple(counter for counter in counters if counter.limit.extra),
        )
        self._checks[method, names] = checks
        return checks

    def _counter(self, limit: Limit, method: str) -> Counter:
        """Return the only counter of a limit, or of a limit and method."""
        key = limit.name if limit.rung == "global" else f"{limit.name} {method}"
        counter = self._counters.get(key)
        if counter is None:
            if limit.sliding:
                counter = Sliding(limit, self._state.windows.setdefault(key, {}))
            else:
                counter = TokenBuckets(limit, self._state.buckets.setdefault(key, {}))
            for subject, counts in self._state.raised.items():
                if limit.name in counts:
                    counter.special[subject] = pace_of(limit, counts[limit.name])
            self._counters[key] = counter
        return counter


def go_duration(span: Span) -> str:
    """Return a positive span as Go prints durations: "4.2s", "1m0s", "850ms".

    Clients parse the wait from this text (§7.2).
    """
    for unit, length in (("ns", 1), ("µs", NS_PER_US), ("ms", NS_PER_MS)):
        if span < length * 1000:
            return format_seconds(span * NS_PER_S // length) + unit
    whole_minutes, rest = divmod(span, MINUTE)
    whole_hours, left = divmod(whole_minutes, 60)
    text = format_seconds(rest) + "s"
    if whole_minutes:
        text = f"{left}m{text}"
    return f"{whole_hours}h{text}" if whole_hours else text


def _refusal(limit: Limit, method: str, wait: Span, text: str) -> RateLimited:
    """Return the refusal of a call.

    Retry-After is in whole seconds, rounded up (rule R4). The text is finer, rounded up to tenths.
    """
    retry_after = -(-wait // NS_PER_S) * NS_PER_S
    if LIMITS[limit.name].extra or limit.name in ("exchange_rest", "stream_frames"):
        message = "rate limit exceeded"
    elif limit.rung == "global":
        message = "Too Many Requests"
    else:
        tenth = NS_PER_S // 10
        message = text.replace("{method}", method).replace("{rung}", limit.rung)
        message = message.replace("{wait}", go_duration(-(-wait // tenth) * tenth))
    facts: Facts = {
        "limit": limit.name,
        "calls": limit.count,
        "period": format_span(limit.period),
        "method": method,
    }
    return RateLimited(
        message, retry_after=retry_after, rung=limit.rung, rule=limit.rule, facts=facts
    )
