"""The script for users: every step with its place in the file, its state and its result."""

from __future__ import annotations

from typing import Any

from sim.api.pipeline.inputs import StepResult
from sim.kernel.instants import format_instant
from sim.run.actors.script.runner import CLIENT_KEYS, STEP_ACTIONS, Script
from sim.run.actors.script.triggers import describe
from sim.world.format.steps import Step


def script_view(script: Script) -> dict[str, Any]:
    """Answer GET /_sim/v1/script: the steps in the order of the file, and the number of failed
    or refused ones.
    """
    ended = {result.step: result for result in script.results}
    rows = [step_row(step, n, ended.get(n)) for n, step in enumerate(script.steps, start=1)]
    return {"steps": rows, "failed": sum(row["state"] in ("failed", "refused") for row in rows)}


def step_row(step: Step, number: int, result: StepResult | None) -> dict[str, Any]:
    """A step as a row. `at` is when it ran, or when it will run, as in the scenario."""
    message, state = "", "pending"
    if result is not None:
        message = "; ".join(result.failures).removeprefix("refused: ")
        state = "refused" if result.refused else "failed" if message else "passed"
    kinds = (key for key in (*STEP_ACTIONS, *CLIENT_KEYS) if getattr(step, key))
    return {
        "n": number,
        "name": step.name,
        "at": format_instant(result.at) if result is not None else _moment(step),
        "where": step.where,
        "kind": next(kinds, "expect"),
        "state": state,
        "says": message,
    }


def verdict(row: dict[str, Any]) -> str:
    """A failed or refused step in one line: its place, its name, and the reason."""
    where = f"{row['where']}: " if row["where"] else ""
    name = f" {row['name']!r}" if row["name"] else ""
    return f"{where}step {row['n']}{name} {row['state']}: {row['says']}"


def _moment(step: Step) -> str:
    if step.when is not None:
        return f"when {describe(step.when)}"
    if isinstance(step.at, int):
        return format_instant(step.at)
    return step.at or "after the previous step"
