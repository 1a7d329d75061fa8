"""Rate limits (§8; behaviour rules R1-R5)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.model.context import Context
from sim.core.model.refusals import RateLimited
from sim.core.service.rate_limits import LIMITS, RateLimits, RateLimitsState, go_duration
from sim.kernel.instants import MINUTE, NS_PER_MS, NS_PER_S, Instant, parse_instant, seconds
from tests.wide_numbers import wide

START = parse_instant("2026-09-08T18:00:00Z")


class Caller(NamedTuple):
    firm: str | None = None
    api_key: str | None = None
    peer: str = "203.0.113.7"


class Operation(NamedTuple):
    rpc: str = "SearchTrades"
    limits: tuple[str, ...] = ()


def make() -> tuple[Context, RateLimits]:
    ctx = Context(seed=7, now=START)
    return ctx, RateLimits(ctx)


def allowed(limits: RateLimits, names: tuple[str, ...], tries: int, method: str = "M") -> int:
    """How many of so many calls at one instant pass."""
    passed = 0
    for _ in range(tries):
        try:
            limits.check(names, "firms/Acme", method)
        except RateLimited:
            continue
        passed += 1
    return passed


BURSTS = [
    ("retail", 20),
    ("public", 20),
    ("incentives", 5),
    ("search_reports", 12),
    ("trade_stats", 60),
    ("list_symbols", 6),
    ("ledger_download", 5),
]


@pytest.mark.parametrize(("name", "burst"), BURSTS)
def test_a_bucket_holds_its_period_at_once_and_refills_steadily(name: str, burst: int) -> None:
    """R2."""
    ctx, limits = make()
    assert allowed(limits, (name,), burst + 5) == burst
    ctx.now += LIMITS[name].period // burst
    assert allowed(limits, (name,), 5) == 1
    ctx.now += LIMITS[name].period
    assert allowed(limits, (name,), burst + 5) == burst


def test_with_the_published_pace_ledger_downloads_come_one_in_twelve_seconds() -> None:
    """R2; §8 alone says five a minute."""
    ctx, limits = make()
    names = ("ledger_download", "ledger_download_pace")
    assert allowed(limits, names, 7) == 5
    ctx.now += MINUTE
    ctx.assumptions.change("limits.extra", True)
    assert allowed(limits, names, 3) == 1
    ctx.now += seconds(12) - 1
    assert allowed(limits, names, 1) == 0
    ctx.now += 1
    assert allowed(limits, names, 1) == 1


def test_the_exchange_averages_100_a_second_over_a_minute() -> None:
    ctx, limits = make()
    assert allowed(limits, ("exchange_rest",), 6001) == 6000
    ctx.now += seconds(59)
    assert allowed(limits, ("exchange_rest",), 1) == 0
    ctx.now += seconds(1)
    assert allowed(limits, ("exchange_rest",), 6001) == 6000


@pytest.mark.parametrize("silence", [59, 60, 61, 120, 86_400])
def test_after_a_minute_of_silence_the_whole_count_is_there_again(silence: int) -> None:
    ctx, limits = make()
    limits.raise_limit("firms/Acme", "exchange_rest", 10)
    assert allowed(limits, ("exchange_rest",), 11) == 10
    ctx.now += seconds(silence)
    assert allowed(limits, ("exchange_rest",), 11) == (10 if silence >= 60 else 0)


@given(
    gaps=st.lists(
        wide(0, 61 * NS_PER_S, NS_PER_S, 6 * NS_PER_S, 59 * NS_PER_S, 60 * NS_PER_S),
        min_size=1,
        max_size=80,
    )
)
def test_the_sliding_window_never_passes_more_than_its_count_in_sixty_seconds(
    gaps: list[int],
) -> None:
    """R2."""
    ctx, limits = make()
    limits.raise_limit("firms/Acme", "exchange_rest", 10)
    passed: list[Instant] = []
    for gap in gaps:
        ctx.now += gap
        try:
            limits.check(("exchange_rest",), "firms/Acme")
        except RateLimited as refused:
            assert refused.retry_after is not None
            assert NS_PER_S <= refused.retry_after <= MINUTE
            recent = [at for at in passed if at // NS_PER_S > ctx.now // NS_PER_S - 60]
            assert len(recent) == 10
            continue
        passed.append(ctx.now)
        assert sum(at // NS_PER_S > ctx.now // NS_PER_S - 60 for at in passed) <= 10


@given(
    name=st.sampled_from(["exchange_rest", "retail"]),
    # edges by name: of a wide range hypothesis tries little besides small numbers
    gaps_ms=st.lists(
        st.sampled_from([0, 500, 1_000, 2_000, 29_500, 59_000, 60_000, 61_000]),
        min_size=1,
        max_size=20,
    ),
    silence_ms=st.sampled_from([0, 49, 50, 950, 57_000, 58_999, 59_000, 59_999, 60_000, 90_000]),
)
def test_what_is_used_is_what_passed_lately_also_after_silence(
    name: str, gaps_ms: list[int], silence_ms: int
) -> None:
    """R2: a sliding limit counts calls of sixty clock seconds, a bucket what is not refilled."""
    ctx, limits = make()
    passed: list[Instant] = []
    empty_at = 0
    for gap in gaps_ms:
        ctx.now += gap * NS_PER_MS
        limits.check((name,), "firms/Acme")
        passed.append(ctx.now)
        empty_at = max(empty_at, ctx.now) + NS_PER_S // 20
    ctx.now += silence_ms * NS_PER_MS
    if name == "retail":
        used = -(-max(0, empty_at - ctx.now) // (NS_PER_S // 20))
    else:
        used = sum(at // NS_PER_S > ctx.now // NS_PER_S - 60 for at in passed)
    assert [usage.used for usage in limits.usage()] == ([used] if used else [])


@given(
    tries=st.integers(1, 40),
    name=st.sampled_from(["exchange_rest", "retail", "search_reports", "ledger_download"]),
)
def test_after_retry_after_a_call_passes(tries: int, name: str) -> None:
    """R4."""
    ctx, limits = make()
    limits.raise_limit("firms/Acme", "exchange_rest", 10)
    for _ in range(tries):
        try:
            limits.check((name,), "firms/Acme")
        except RateLimited as refused:
            assert refused.retry_after is not None
            ctx.now += refused.retry_after
            limits.check((name,), "firms/Acme")


def test_a_refused_call_costs_nothing_on_either_rung() -> None:
    """R3."""
    _, limits = make()
    names = ("exchange_rest", "list_symbols")
    assert allowed(limits, names, 100) == 6
    exchange, symbols = limits.usage()
    assert (exchange.limit, exchange.used, exchange.allowed) == ("exchange_rest", 6, 6000)
    assert (symbols.limit, symbols.method, symbols.used) == ("list_symbols", "M", 6)


def test_the_global_rung_is_checked_first() -> None:
    """R3."""
    _, limits = make()
    limits.raise_limit("firms/Acme", "exchange_rest", 6)
    allowed(limits, ("list_symbols", "exchange_rest"), 6)
    with pytest.raises(RateLimited) as refused:
        limits.check(("list_symbols", "exchange_rest"), "firms/Acme", "M")
    assert (refused.value.rung, refused.value.message) == ("global", "rate limit exceeded")


def test_methods_have_endpoint_limits_of_their_own_and_share_the_global_one() -> None:
    _, limits = make()
    for method in ("SearchTrades", "SearchOrders", "SearchExecutions"):
        assert allowed(limits, ("exchange_rest", "search_reports"), 20, method) == 12
    assert [usage.used for usage in limits.usage() if usage.limit == "exchange_rest"] == [36]


def test_subjects_do_not_share() -> None:
    _, limits = make()
    assert allowed(limits, ("list_symbols",), 10) == 6
    limits.check(("list_symbols",), "firms/Other", "M")


def test_the_text_names_method_rung_and_wait_and_the_header_is_rounded_up() -> None:
    """R4, R5."""
    ctx, limits = make()
    allowed(limits, ("search_reports",), 12, "SearchTrades")
    ctx.now += 850 * NS_PER_MS
    with pytest.raises(RateLimited) as refused:
        limits.check(("search_reports",), "firms/Acme", "SearchTrades")
    assert (
        refused.value.message
        == "rate limit exceeded: method=SearchTrades rung=endpoint, retry after 4.2s"
    )
    assert refused.value.retry_after == seconds(5)
    assert refused.value.rung == "endpoint"


DURATIONS = [
    (7, "7ns"),
    (1_500, "1.5µs"),
    (100 * NS_PER_MS, "100ms"),
    (999, "999ns"),
    (1_000, "1µs"),
    (NS_PER_MS, "1ms"),
    (999 * NS_PER_MS, "999ms"),
    (NS_PER_S, "1s"),
    (4_200 * NS_PER_MS, "4.2s"),
    (3_600 * NS_PER_S, "1h0m0s"),
    (60 * NS_PER_S, "1m0s"),
    (90_500 * NS_PER_MS, "1m30.5s"),
    (3_661 * NS_PER_S, "1h1m1s"),
]


@pytest.mark.parametrize(("span", "text"), DURATIONS)
def test_durations_are_written_as_go_writes_them(span: int, text: str) -> None:
    assert go_duration(span) == text


PLANES = [
    ("exchange", Caller(firm="firms/Acme"), "exchange_rest", "firms/Acme"),
    ("retail", Caller(api_key="k1"), "retail", "k1"),
    ("retail", Caller(), "public", "203.0.113.7"),
    ("gateway", Caller(), "public", "203.0.113.7"),
]


@pytest.mark.parametrize(("plane", "caller", "limit", "subject"), PLANES)
def test_a_plane_counts_by_firm_key_or_address(
    plane: str, caller: Caller, limit: str, subject: str
) -> None:
    _, limits = make()
    limits.admit(plane, Operation(), caller)
    assert [(usage.limit, usage.subject, usage.used) for usage in limits.usage()] == [
        (limit, subject, 1)
    ]


def test_grpc_and_the_token_endpoint_have_endpoint_limits_only() -> None:
    _, limits = make()
    limits.admit(None, Operation(limits=("search_reports",)), Caller(firm="firms/Acme"))
    limits.admit("auth", Operation(), Caller())
    assert [usage.limit for usage in limits.usage()] == ["search_reports"]


def test_limits_beyond_the_specification_are_off_until_asked_for() -> None:
    """R1. They count while they are off, so they hold at once when they are switched on."""
    ctx, limits = make()
    assert allowed(limits, ("book",), 50) == 50
    assert [(row.limit, row.used) for row in limits.unenforced()] == [("book", 38)]
    ctx.assumptions.change("limits.extra", True)
    assert allowed(limits, ("book",), 50) == 0
    ctx.now += MINUTE
    assert allowed(limits, ("book",), 50) == 12


def test_a_limit_can_be_raised_for_one_firm_before_and_after_its_first_call() -> None:
    ctx = Context(seed=7, now=START)
    limits = RateLimits(ctx, {"firms/Acme": {"list_symbols": 60}})
    assert allowed(limits, ("list_symbols",), 100) == 60
    limits.raise_limit("firms/Acme", "list_symbols", 90)
    ctx.now += MINUTE
    assert allowed(limits, ("list_symbols",), 100) == 90
    with pytest.raises(ValueError, match="did you mean 'list_symbols'"):
        limits.raise_limit("firms/Acme", "list_symbol", 1)
    with pytest.raises(ValueError, match="at least one"):
        limits.raise_limit("firms/Acme", "list_symbols", 0)
    with pytest.raises(ValueError, match="1000000 calls"):
        limits.raise_limit("firms/Acme", "list_symbols", 1_000_001)


def test_idle_addresses_are_forgotten() -> None:
    ctx, limits = make()
    for number in range(5000):
        ctx.now += 10 * NS_PER_MS
        limits.check(("public",), f"10.0.{number // 256}.{number % 256}")
    assert len(limits.save().buckets["public"]) <= 1024


def test_a_saved_state_goes_on_where_it_stopped() -> None:
    ctx, limits = make()
    limits.raise_limit("firms/Acme", "list_symbols", 8)
    allowed(limits, ("exchange_rest", "list_symbols"), 5)
    other = RateLimits(ctx)
    other.load(msgspec.msgpack.decode(msgspec.msgpack.encode(limits.save()), type=RateLimitsState))
    assert other.usage() == limits.usage()
    assert allowed(other, ("exchange_rest", "list_symbols"), 10) == 3


def test_a_scenario_replaces_a_limit_for_everybody_or_switches_it_off() -> None:
    """Rule S8-9, for a whole scenario."""
    limits = RateLimits(Context(seed=1, now=0))
    limits.replace("retail", "2/m")
    limits.replace("public", "off")
    limits.check(("retail",), "key")
    limits.check(("retail",), "key")
    with pytest.raises(RateLimited):
        limits.check(("retail",), "key")
    for _ in range(1_000):
        limits.check(("public",), "127.0.0.1")
    for name, text in (("nosuch", "1/s"), ("retail", "fast"), ("retail", "0/s")):
        with pytest.raises(ValueError):
            limits.replace(name, text)


def test_a_call_that_a_limit_refuses_counts_for_no_limit_that_is_off_either() -> None:
    _, limits = make()
    limits.replace("trade_stats", "3/m")
    assert allowed(limits, ("trade_stats", "book"), 100) == 3
    assert limits.unenforced() == []
    limits.replace("trade_stats", "off")
    assert allowed(limits, ("trade_stats", "book"), 12) == 12
    assert [(row.limit, row.used) for row in limits.unenforced()] == [("book", 3)]
