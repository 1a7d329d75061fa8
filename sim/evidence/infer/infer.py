"""`sim infer`: what a recording says about assumptions and quirks, as a document and as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from sim.evidence.infer.alternatives import best_swap
from sim.evidence.infer.combined import best_pair
from sim.evidence.infer.search import Search
from sim.evidence.infer.session import TrialSession
from sim.evidence.infer.verdict import InferenceVerdict, Kind
from sim.evidence.infer.verdicts import Verdicts
from sim.evidence.recording.files import Recording
from sim.evidence.recording.reading import naming_file
from sim.read.layout import put
from sim.read.progress import Progress
from sim.world.format.scenario import Scenario

_JOINT_STEPS = 4
_UNEXPLAINED_MAX = 100
_SHOWN_MAX = 8  # lines shown of a list
_KINDS: tuple[Kind, ...] = ("refuted", "undecided", "confirmed", "not observed")


class Inference:
    """What the evidence of one recording determines, and what it leaves open.

    `complete` is false if it was interrupted; everything not reached is then undecided.
    """

    def __init__(
        self, path: Path, recording: Recording, scenario: Scenario, seed: int | None
    ) -> None:
        self.path, self.scenario = path, scenario
        self.session = TrialSession(scenario, seed, list(recording.entries))
        self.warnings = [recording.warning] if recording.warning else []
        self._progress = Progress(0, "replays")
        self._search = Search(self.session, self._progress.step)
        self._verdicts = Verdicts(self._search)
        self.complete = False
        self.differed = 0  # lines that differ with our own values

    def run(self) -> None:
        """Search, until it is done or somebody interrupts it.

        Raises Unmatched if the scenario has no counterpart for somebody in the recording.
        """
        with self._progress:
            self._search.begin()
            self.differed = len(self._search.outcome.lines)
            self._search.improve()
            for _ in range(_JOINT_STEPS):
                taken = best_pair(self._search) or best_swap(self._search)
                if taken is not None:
                    self._search.take(*taken)
                elif not self._search.find_order():
                    break
                self._search.improve()
            self._verdicts.find()
            self.complete = True
        if not self.complete:
            self.warnings.append("interrupted: what was not reached is undecided")

    def _verdicts_by_name(self) -> list[tuple[str, InferenceVerdict]]:
        return [row for verdicts in self._verdicts.tables.values() for row in verdicts.items()]

    @property
    def explained(self) -> bool:
        """Whether our own values answer like the recording."""
        refuted = any(verdict.names_a_change for _, verdict in self._verdicts_by_name())
        return self.complete and not refuted and not self._search.outcome.lines

    def unexplained(self) -> list[dict[str, Any]]:
        """Return the places that differ under every value."""
        outcome, rows = self._search.outcome, list[dict[str, Any]]()
        for n in sorted(outcome.lines):
            for where, difference in outcome.lines[n].items():
                row = {"n": n, "operation": outcome.names[n]} | difference.document()
                del row["culprit"]  # both sides may break the contract in the same way
                rows.append(row | {"where": where})
        return rows

    def document(self) -> dict[str, Any]:
        """Return the inference for `--json`."""
        unexplained = self.unexplained()
        return {
            "recording": str(self.path),
            "scenario": self.scenario.name,
            "complete": self.complete,
            **{
                key: {name: verdict.document() for name, verdict in verdicts.items()}
                for key, verdicts in self._verdicts.tables.items()
            },
            "lines": {
                "compared": len(self.session.silent),
                "differed": self.differed,
                "unexplained": len(self._search.outcome.lines),
            },
            "unexplained": unexplained[:_UNEXPLAINED_MAX],
            "scenario_lines": self.scenario_lines(),
            "replays": self.session.trials,
            "warnings": self.warnings,
        }

    def scenario_lines(self) -> str:
        """Return the lines of a scenario with which we answer like the recording; "" if
        ours already do.
        """
        text = ""
        for key, verdicts in self._verdicts.tables.items():
            lines = [
                f"  {name}: {_yaml(verdict.consistent[0])}\n"
                for name, verdict in verdicts.items()
                if verdict.names_a_change
            ]
            text += f"{key}:\n{''.join(lines)}" if lines else ""
        return text

    def scenario_file(self, base: str) -> str:
        """Return a whole scenario with these lines, which extends `base`."""
        name = f"{self.scenario.name} as in {self.path.name}"
        return f"extends: {_yaml(base)}\nname: {_yaml(name)}\n{self.scenario_lines()}"

    # ---- text

    def write(self, out: TextIO) -> None:
        """Print the most important results, on one screen."""
        for line in self._lines():
            put(line, file=out)

    def _lines(self) -> Iterator[str]:
        yield from self.warnings
        yield (
            f"{self.path.name}: {len(self.session.silent):,} answers and frames, replayed"
            f" {self.session.trials:,} times into {self.scenario.name}"
        )
        left = len(self._search.outcome.lines)
        if not self.differed:
            yield "nothing differs with the values of the scenario"
        else:
            yield (
                f"{self.differed:,} lines differ with the values of the scenario, {left:,} with the"
                " values below"
            )
        for kind in _KINDS[:3]:
            yield from self._of_kind(kind)
        yield from self._not_observed()
        yield from self._unexplained_lines()
        if lines := self.scenario_lines():
            yield from ("", "with these lines, a scenario answers like the recording:")
            yield from (f"  {line}" for line in lines.splitlines())

    def _of_kind(self, kind: Kind) -> Iterator[str]:
        verdicts = [row for row in self._verdicts_by_name() if row[1].verdict == kind]
        if verdicts:
            yield from ("", f"{kind}:")
        for name, verdict in verdicts:
            yield f"  {name}: {_sentence(verdict)}"

    def _not_observed(self) -> Iterator[str]:
        count, hidden = 0, dict[str, list[str]]()
        for name, verdict in self._verdicts_by_name():
            count += verdict.verdict == "not observed" and not verdict.why
            if verdict.why:
                hidden.setdefault(verdict.why, []).append(name)
        if count:
            yield from ("", f"not observed: {count} (--json lists them)")
        if hidden:
            yield from ("", "cannot be seen in any recording:")
            for why, names in hidden.items():
                more = f" and {len(names) - 3} more" if names[3:] else ""
                yield f"  {', '.join(names[:3])}{more}:"
                yield f"    {why}"

    def _unexplained_lines(self) -> Iterator[str]:
        unexplained = self.unexplained()
        if unexplained:
            yield from ("", "not explained by any value:")
        for row in unexplained[:_SHOWN_MAX]:
            yield f"  line {row['n'] + 1} {row['operation']} {row['where']}"[:80]
            text = f"    {row['kind']}: recorded {row['recorded']!r}, ours {row['ours']!r}"
            yield text if len(text) <= 80 else f"{text[:79]}…"
        if len(unexplained) > _SHOWN_MAX:
            yield f"  … and {len(unexplained) - _SHOWN_MAX} more places: --json lists them"


def _sentence(verdict: InferenceVerdict) -> str:
    """Return a verdict in one line."""
    values = ", ".join(_yaml(value) for value in verdict.consistent[:4])
    values += ", …" if len(verdict.consistent) > 4 else ""
    if verdict.of is not None:
        values += f" ({verdict.occurred} of {verdict.of})"
    elif verdict.between is not None:
        low, high = (("…" if end is None else _yaml(end)) for end in verdict.between)
        values += f" ({low} to {high})"
    lines = ", ".join(str(n + 1) for n in verdict.evidence[:3]) + (
        ", …" if verdict.evidence[3:] else ""
    )
    if verdict.or_:
        others = ", ".join(f"{name}: {_yaml(value)}" for name, value in verdict.or_.items())
        return f"{values}; or {others}; lines {lines}"
    for value, quirks in verdict.only_with.items():
        needed = ", ".join(f"{name}: {odds}" for name, odds in quirks.items())
        values += f"; {value} only with {needed}"
    if verdict.verdict == "refuted":
        return f"not {_yaml(verdict.own)} but {values}; lines {lines}"
    return f"{values}; lines {lines}"


def _yaml(value: Any) -> str:
    """Return a value as a scenario writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    plain = text and all(mark.isalnum() or mark in "._/-" for mark in text)
    return text if plain else f'"{text}"'


def infer(path: Path, recording: Recording, scenario: Scenario, seed: int | None) -> Inference:
    """Return which values a recording allows. Raises UnreadableRecording or Unmatched."""
    with naming_file(path):
        inference = Inference(path, recording, scenario, seed)
        inference.run()
    return inference
