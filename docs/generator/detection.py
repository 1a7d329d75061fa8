"""Blocks of the page on detection power, from the kept results of `make detection`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from generator.links import ROOT
from sim.read.tables import as_markdown

sys.path.append(str(ROOT))  # the bugs and what became of them are kept among the tests
from tools.detection.planted import EXCHANGE, MISSED, PLANTED, Planted
from tools.detection.results import COLUMNS, Results

EXCHANGE_COLUMNS = ("scenarios", "invariants", "witness", "conformance", "explore", "machines")
CLIENT_COLUMNS = ("judge", "certify", "machines")
# By column: what the tool does, and its budget for each bug in seconds of processor time.
TOOLS = {
    "hunt": ("searches for bugs of the exchange: [`sim hunt`](the-hunt.md)", 10),
    "machines": (
        "[property tests](../how-to/write-property-tests.md), state machines and tables written"
        " from the specification",
        20,
    ),
    "scenarios": ("runs the bundled scenarios, without the long ones (`sim sweep`)", 6),
    "invariants": (
        "checks the [invariants](../reference/invariants.md) in these runs and in runs with random"
        " steps",
        6,
    ),
    "witness": (
        "looks for [contradictions](../how-to/find-contradictions.md) in what the clients of random"
        " episodes saw",
        6,
    ),
    "conformance": ("compares the answers of these episodes with the sandbox's own contract", 3),
    "explore": (
        "injects every [fault](../how-to/explore-faults.md) at every point of the bundled"
        " scenarios",
        3,
    ),
    "certify": ("[`sim certify`](../how-to/certify-a-client.md), until an item fails", 40),
    "judge": (
        "checks the [conformance rules](../how-to/check-client-conformance.md) in one run without"
        " faults",
        10,
    ),
}


@cache
def results() -> Results:
    """The kept results."""
    return Results.read()


def summary() -> str:
    """How many were found, and how many of those that were planted blindly."""
    planted = [bug for bug in PLANTED if results().finders(bug.name)]
    blind = [bug for bug in PLANTED if bug.blind]
    observed = sum(bug in planted for bug in blind)
    return (
        f"At least one tool finds **{len(planted)} of {len(PLANTED)}** bugs,"
        f" and {observed} of the {len(blind)} blind ones."
    )


def tools() -> str:
    """What each tool does, and how many of the bugs that it was tried on it finds."""
    rows = [
        {
            "tool": name,
            "what it does": text,
            "seconds": seconds,
            "exchange": _share(name, "exchange", (*EXCHANGE_COLUMNS, "hunt")),
            "clients": _share(name, "client", CLIENT_COLUMNS),
        }
        for name, (text, seconds) in TOOLS.items()
    ]
    return as_markdown(rows)


def of_exchange() -> str:
    """Bugs of the exchange by tool."""
    return as_markdown([_row(bug, (*EXCHANGE_COLUMNS, "hunt")) for bug in EXCHANGE])


def of_clients() -> str:
    """Bugs of clients by tool."""
    return as_markdown([_row(bug, CLIENT_COLUMNS) for bug in PLANTED if bug.side == "client"])


def sentences() -> str:
    """What the quickest tool said about each bug."""
    return as_markdown(list(_sentences()))


def misses() -> str:
    """The bugs that nothing found, which tools were asked in vain, and why."""
    missed = [bug for bug in PLANTED if not results().finders(bug.name)]
    rows = [
        {
            "bug": f"`{bug.name}`",
            "tools that were run": ", ".join(sorted(results().trials[bug.name])) or "none yet",
            "why": MISSED.get(bug.name, "not all tools have been run yet"),
        }
        for bug in missed
    ]
    return as_markdown(rows) if rows else "None."


def _share(column: str, side: str, columns: tuple[str, ...]) -> str:
    """How many of how many bugs a tool finds; "" where it was not tried."""
    if column not in columns:
        return ""
    trials = results().trials
    bugs = [bug.name for bug in PLANTED if bug.side == side]
    tried = [name for name in bugs if any(tool in trials[name] for tool in COLUMNS[column])]
    return f"{sum(column in results().finders(name) for name in tried)} of {len(tried)}"


def _row(bug: Planted, columns: tuple[str, ...]) -> dict[str, Any]:
    finders = results().finders(bug.name)
    tried = results().trials.get(bug.name, {})
    cells = {column: _cell(column, finders, tried) for column in columns}
    return {"bug": f"`{bug.name}`", "what it does": bug.effect, "blind": _yes(bug.blind), **cells}


def _cell(column: str, finders: dict[str, tuple[str, float]], tried: dict[str, Any]) -> str:
    if column in finders:
        return f"**{finders[column][1]:g} s**"
    return "silent" if any(tool in tried for tool in COLUMNS[column]) else ""


def _sentences() -> Iterator[dict[str, Any]]:
    for bug in PLANTED:
        finders = results().finders(bug.name)
        if finders:
            column = min(finders, key=lambda item: finders[item][1])
            text = finders[column][0].replace("|", "¦")
            yield {"bug": f"`{bug.name}`", "tool": column, "sentence": f"`{_cut(text)}`"}


def _cut(text: str) -> str:
    plain = " ".join(text.replace("`", "'").split())
    return plain if len(plain) <= 160 else plain[:159] + "…"


def _yes(value: bool) -> str:
    return "yes" if value else ""
