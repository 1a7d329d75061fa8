"""Which files belong to which area of business rules, and which tests may kill their mutants."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

# Patterns below `sim/`; a file belongs to the first area that names it.
AREAS = {
    "retail": ("api/retail/*", "api/rendering/retail_books.py", "core/rfq/*"),
    "streams": ("api/streams/*",),
    "money and risk": (
        "core/accounts/account_state.py",
        "core/accounts/ledger.py",
        "core/accounts/positions.py",
        "core/accounts/risk.py",
        "core/funding/funding.py",
        "core/model/quantities.py",
        "core/model/collateral.py",
        "core/model/funding_records.py",
        "api/exchange/funding*",
        "api/exchange/ledgers.py",
        "api/exchange/positions.py",
    ),
    "entry": (
        "core/trading/*",
        "core/model/orders.py",
        "core/model/instrument*.py",
        "api/exchange/order*",
    ),
    "limits": ("core/service/rate_*", "api/pipeline/limits*", "api/streams/limits.py"),
    "kernel": ("kernel/*", "kernel/indexes/*"),
    "fees": ("core/accounts/fee*", "core/incentives/*"),
    "settlement and lifecycle": (
        "core/lifecycle/*",
        "core/recurring/*",
        "core/service/maintenance*",
    ),
    "kyc and webhooks": (
        "core/identity/kyc*",
        "core/identity/prefill.py",
        "core/identity/referrals.py",
        "core/identity/isv_users.py",
        "core/webhooks/*",
        "core/funding/partners.py",
        "api/exchange/kyc*",
        "api/exchange/partners.py",
        "api/exchange/users.py",
    ),
    "matching": ("core/matching/*",),
    "statistics": ("core/market_data/*", "api/exchange/trade_stats.py"),
    "reference and gateway": (
        "world/reference/*",
        "api/gateway/*",
        "api/exchange/reference_data.py",
    ),
    "auth": (
        "api/auth/*",
        "api/pipeline/*",
        "core/identity/*",
        "api/exchange/participant_tokens.py",
    ),
    "time travel": ("run/engine/*", "core/history.py", "core/model/dormant.py"),
}

# Tests that show rules through a surface of the exchange. Those of sockets, tools, documentation
# and benchmarks cost much and show little of them; recorded digests and the tests marked `recorded`
# fail on every change of behaviour, wanted or not, so that they would hide what other tests miss.
TESTS = (
    *("tests/core", "tests/kernel", "tests/spec", "tests/surfaces", "tests/api", "tests/run"),
    *("tests/world", "tests/read", "tests/contract"),
)
LEFT_OUT = {
    "tests/run/test_digests.py",
    "tests/read/test_explain.py",
    "tests/read/test_figures.py",
    "tests/read/test_judge.py",
    "tests/read/test_replay.py",
    "tests/read/test_report.py",
    "tests/read/test_spoilt_scenarios.py",
}


def sources(area: str) -> list[str]:
    """Paths of an area's files from the root of the repository."""
    taken: set[str] = set()
    for name, patterns in AREAS.items():
        mine = {
            str(file.relative_to(ROOT))
            for pattern in patterns
            for file in (ROOT / "sim").glob(pattern)
            if file.suffix == ".py"
        }
        if name == area:
            return sorted(mine - taken)
        taken |= mine
    raise KeyError(area)


def test_files() -> list[str]:
    """Paths of the test files that may kill a mutant."""
    results = {
        str(file.relative_to(ROOT))
        for folder in TESTS
        for file in (ROOT / folder).glob("test_*.py")
    }
    return sorted(results - LEFT_OUT)
