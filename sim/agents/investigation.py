"""The search tool: finds the smallest scenario that still fails, and what its failure depends on.

The search runs in processes of its own, so that it can be stopped when its time is up and does not
affect the exchanges of the session.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

from msgspec import json

from sim.agents.answers import ToolError, answer, block, quoted, whole_text
from sim.agents.session import AgentSession
from sim.agents.tools import ExchangeName, scenario_of

SHRINK_S, SWEEP_S = 90.0, 120.0
_TRIALS = 400
_NOTHING_FAILS = 2


def investigate(
    session: AgentSession,
    scenario: Annotated[str, "a scenario that fails: bundled name, file, or YAML text"] = "",
    expect: Annotated[
        str, "or: what should hold on the exchange, such as {open_orders: {as: maker, count: 1}}"
    ] = "",
    only: Annotated[str, "only assumptions that match, such as 'webhook.*'"] = "*",
    exchange: ExchangeName = "",
) -> str:
    """Search: the smallest scenario that still fails, and the assumptions its failure depends on.
    Takes minutes; changes no exchange.
    """
    small = session.folder / "smallest.yaml"
    small.unlink(missing_ok=True)
    if scenario:
        source, options = session.folder / "investigated.yaml", []
        source.write_text(_text_of(session, scenario))
    elif expect:
        source, options = session.find(exchange).served.journal, [f"--expect={expect}"]
    else:
        raise ToolError("Give a scenario that fails, or expect: what should hold on the exchange.")
    options += [f"--out={small}", f"--trials={_TRIALS}"]
    done = _sim(session, "shrink", str(source), *options, within=SHRINK_S)
    if done is not None and done.returncode == _NOTHING_FAILS:
        return answer(
            "There is nothing to shrink:",
            (done.stderr or done.stdout).strip().splitlines()[-5:],
            then="say in `expect` what should hold and does not, such as"
            ' {open_orders: {as: maker, count: 1}}; `docs` with "expectations" lists the forms.',
        )
    if not small.exists():
        raise ToolError(f"The search did not end within {SHRINK_S:g} s. Try a shorter run.")
    return "\n\n".join(
        [
            "The smallest that still fails the same way:",
            whole_text(small.read_text(), "yaml"),
            _causes(session, small, only),
            "Next: `start` with this scenario reproduces it; `catalogue` explains a name.",
        ]
    )


def _text_of(session: AgentSession, scenario: str) -> str:
    """Return the text of an existing scenario.

    A bundled name or a file becomes a scenario that extends it.
    """
    name = scenario_of(session, scenario).name
    if "\n" in scenario:
        return scenario
    if Path(scenario).is_file() and not session.confined:
        scenario = str(Path(scenario).resolve())
    return f"extends: {scenario}\nname: {name}\n"


def _causes(session: AgentSession, small: Path, only: str) -> str:
    """Describe what the failure depends on: alternatives under which the scenario passes."""
    table = small.with_suffix(".json")
    table.unlink(missing_ok=True)
    options = ["--vary=assumptions", "--vary=quirks", f"--only={only}", "--jobs=1"]
    done = _sim(session, "sweep", str(small), *options, f"--json={table}", within=SWEEP_S)
    if done is None:
        return "Its dependence on assumptions was not found in time: name some with only."
    if not table.exists():
        return f"Assumptions were not varied: {quoted(done.stderr.strip()[-300:])}."
    rows: list[dict[str, Any]] = json.decode(table.read_bytes())["rows"]
    passing = [row["change"] for row in rows if not row["failed"] and row["change"] != "as it is"]
    if not passing:
        return f"It fails under all {len(rows) - 1} alternatives: no assumption causes it."
    return "It passes, and so depends on these, with:\n\n" + block(passing)


def _sim(
    session: AgentSession, *arguments: str, within: float
) -> subprocess.CompletedProcess[str] | None:
    """Run a command, which `stop` can end; None if it took too long."""
    command = [sys.executable, "-P", "-m", "sim", *arguments]
    pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with session.search(subprocess.Popen(command, text=True, **pipes)) as running:
        try:
            out, err = running.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            return None
    return subprocess.CompletedProcess(command, running.returncode, out, err)
