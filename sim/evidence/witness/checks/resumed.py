"""The check of streams that resume from a token."""

from __future__ import annotations

from collections import defaultdict

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.facts import ReportedExecution
from sim.evidence.witness.observation import ClientObservation, ObservedStream


class Resumed(WitnessCheck):
    """A stream that resumes from a token reports nothing that came before the token.

    What came after the token it must not miss: see "nothing missed". An execution that was reported
    both before and after the token is not judged: its frame came twice.
    """

    name = "resumed"
    depends_on = "§6.2: resume_token replays what came after it"

    def __init__(self) -> None:
        super().__init__()
        self._tokens: dict[str, tuple[ObservedStream, int]] = {}
        self._reported: dict[ObservedStream, list[tuple[str, int]]] = defaultdict(list)

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        stream = observed.stream
        if stream is not None and stream.operation.rpc == "CreateDropCopySubscription":
            self._reported[stream].append((fact.id, observed.n))

    def observation(self, observed: ClientObservation) -> None:
        """Note the token of a frame; its executions have been noted already."""
        stream = observed.stream
        if stream is not None and stream.operation.rpc == "CreateDropCopySubscription":
            reported = self._reported[stream]
            token = observed.body.get("resumeToken") if isinstance(observed.body, dict) else None
            if token:
                self._tokens.setdefault(token, (stream, len(reported)))

    def finish(self) -> None:
        super().finish()
        for stream, reported in self._reported.items():
            token = stream.request.get("resumeToken", "")
            before, count = self._tokens.get(token, (stream, 0))
            if before is stream or before.disturbed or stream.disturbed:
                self.cannot_tell += bool(token)
                continue
            names = [name for name, _ in self._reported[before]]
            older = {*names[:count]} - {*names[count:]}
            for name, line in reported:
                self.applied += 1
                if name in older:
                    text = f"execution {name} came before the token, but again after resuming"
                    self.contradict(text, [line])
