"""Active faults: selects the one to inject into a call, a frame or a delivery, and counts.

Each fault counts its matches and draws from its own random stream, so adding one never changes
another. Every matching fault counts the match; the first one that triggers and can act is injected.
A patch counts once it has altered something. An ended fault stays listed with its counts until it
is removed or many newer ones have ended.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import ClassVar, NamedTuple, TypeAlias

from msgspec import Struct, field

from sim.core.catalogue.quirks import Chance, parse_chance
from sim.core.model.context import Context
from sim.core.model.events import FaultInjected
from sim.core.model.refusals import Code, Injected
from sim.core.model.stateful import Stateful
from sim.core.service.fault_spec import (
    FaultAction,
    FaultMatch,
    FaultSpec,
    attempts_of,
    can_answer,
    check,
    compile_act,
    moment,
    planes_of,
    selects_frames,
)
from sim.core.service.json_patch import patched_json
from sim.kernel.instants import Instant, Span, parse_span

# How many ended faults stay listed.
ENDED_FAULTS_KEPT = 100


class InjectedFault(Injected):
    """An injected error, or a broken connection."""

    section: ClassVar[str] = "7.1"

    def __init__(self, action: FaultAction) -> None:
        super().__init__(
            action.status or 503,
            action.code if action.status else Code.UNAVAILABLE,
            action.message or "service unavailable",
            rule="T2",
            facts={"fault": action.fault},
            retry_after=action.retry_after,
        )
        self.fault = action.fault
        self.retry_text = action.retry_text
        self.connection_fault = action.effect
        self.remedy = f"a tester injected this: DELETE /_sim/v1/faults/{action.fault} ends it"


class FaultTarget(NamedTuple):
    """What a fault affects: a call, a frame (`subject` names its stream), an attempt, a delivery
    (`attempt` 0), a command to the engine. `caller` has every name of the caller.
    """

    plane: str
    operation: str = ""
    caller: tuple[str, ...] = ()
    subject: str = ""
    attempt: int = 0


class FrameContent(NamedTuple):
    """What a frame holds: its kind (as in `FaultMatch.frame`), the instruments that it names, and
    the types of the executions that it reports.
    """

    kind: str
    symbols: frozenset[str]
    executions: frozenset[str]


Possible: TypeAlias = Callable[[FaultAction], bool]


class ActiveFault(Struct, kw_only=True):
    """An active fault: its specification, its action, how often it matched, how often it acted, and
    how often it could not.
    """

    id: str
    spec: FaultSpec
    action: FaultAction
    planes: tuple[str, ...]
    begins: Instant | None
    ends: Instant | None
    added: Instant
    matched: int = 0
    affected: int = 0
    impossible: int = 0


class FaultsState(Struct):
    """Active and ended faults, each in order, by id. `late` has the patches of answers that are not
    complete yet, by the id of the request.
    """

    faults: dict[str, ActiveFault] = field(default_factory=dict)
    over: dict[str, ActiveFault] = field(default_factory=dict)
    late: dict[str, tuple[FaultAction, FaultTarget]] = field(default_factory=dict)


class Faults(Stateful[FaultsState]):
    """The faults of an exchange.

    `by_symbol` says whether any fault matches by instrument, which is known only after a call is
    parsed. While `survey` is a dict, it counts the points at which a fault could be injected, by
    plane and operation, in order of first appearance.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._state = FaultsState()
        self._faults = self._state.faults
        self.by_symbol = False
        self.survey: dict[tuple[str, str], int] | None = None

    @property
    def armed(self) -> bool:
        """Whether any fault is active, or a survey counts points of injection."""
        return bool(self._faults) or self.survey is not None

    def add(self, spec: FaultSpec, name: str = "") -> str:
        """Activate a fault and return its id, f1, f2, … unless given.

        Raises ValueError as `check` does.
        """
        check(spec)
        now = self._ctx.now
        name = name or f"f{self._ctx.ids.count('fault')}"
        expires_at = now + parse_span(spec.ttl) if spec.ttl else None
        ends = [at for at in (moment(spec.match.until, now), expires_at) if at is not None]
        self._faults[name] = ActiveFault(
            id=name,
            spec=spec,
            action=compile_act(name, spec.act, alone=selects_frames(spec.match)),
            planes=planes_of(spec),
            begins=moment(spec.match.from_, now),
            ends=min(ends, default=None),
            added=now,
        )
        self._state.over.pop(name, None)
        self._index()
        return name

    def remove(self, name: str) -> bool:
        """Remove a fault. Return False if there is none with this id."""
        fault = self._faults.pop(name, None) or self._state.over.pop(name, None)
        self._index()
        return fault is not None

    def all(self) -> tuple[ActiveFault, ...]:
        """Return the active faults, oldest first."""
        return tuple(fault for fault in self._faults.values() if not self._has_ended(fault))

    def over(self) -> tuple[ActiveFault, ...]:
        """Return the latest ended faults: those that reached `times` or their end."""
        ended = [fault for fault in self._faults.values() if self._has_ended(fault)]
        return (*self._state.over.values(), *ended)

    def pick(
        self,
        plane: str,
        operation: str = "",
        caller: tuple[str, ...] = (),
        symbols: tuple[str, ...] | None = None,
        *,
        subject: str = "",
        attempt: int = 0,
        can: Possible = can_answer,
        content: Callable[[], FrameContent] | None = None,
    ) -> FaultAction | None:
        """Return the action for a call, a frame, an attempt or a delivery, or None.

        `can` says whether an act is possible here, `content` reads a frame. A patch is reported by
        `acted` once it is applied.

        `operation` is "Service.Rpc", `caller` has every name of the caller, `subject` names the
        target. A call is looked up twice: before its instruments are parsed (`symbols` None), and
        with them. So is a webhook: as a whole delivery (`attempt` 0), and for each attempt. Each
        fault takes part in one of the two.
        """
        if self.survey is not None and symbols is None and not attempt:
            self.survey[plane, operation] = self.survey.get((plane, operation), 0) + 1
        if not self._faults:
            return None
        chosen = None
        now = self._ctx.now
        for fault in tuple(self._faults.values()):
            if self._has_ended(fault):
                self._finish(fault)
            elif (
                plane in fault.planes
                and (fault.begins is None or now >= fault.begins)
                and (plane != "webhook" or _concerns_attempt(fault, attempt))
                and _matches(fault.spec.match, operation, caller, symbols, content)
            ):
                fault.matched += 1
                # Every matching fault draws, so that its draws do not depend on faults before it.
                if not self._is_injected(fault) or chosen is not None:
                    continue
                if not can(fault.action):
                    fault.impossible += 1
                    continue
                chosen = fault.action
                if not chosen.alters:
                    self.acted(chosen, FaultTarget(plane, operation, caller, subject, attempt))
        return chosen

    def acted(self, action: FaultAction, target: FaultTarget, possible: bool = True) -> None:
        """Count and report that a fault has acted, or count that it could not."""
        fault = self._faults.get(action.fault)
        if fault is None:
            fault = self._state.over.get(action.fault)
        if not possible:
            if fault is not None:
                fault.impossible += 1
            return
        if fault is not None:
            fault.affected += 1
        self._record_injection(action, target)
        if fault is not None and fault.affected == fault.spec.times:
            self._finish(fault)

    def patch_later(self, request_id: str, action: FaultAction, target: FaultTarget) -> None:
        """Remember the patch of an answer that is not complete yet."""
        self._state.late[request_id] = action, target

    def take_late(self, request_id: str) -> tuple[FaultAction, FaultTarget] | None:
        """Return the patch of an answer that is complete now."""
        return self._state.late.pop(request_id, None) if self._state.late else None

    def inject(
        self,
        plane: str,
        operation: str = "",
        caller: tuple[str, ...] = (),
        symbols: tuple[str, ...] | None = None,
        can: Possible = can_answer,
    ) -> FaultAction | None:
        """Inject the fault picked for a call: add its delay to the service time, and raise
        `InjectedFault` if it replaces the handling of the call.
        """
        action = self.pick(plane, operation, caller, symbols, can=can)
        if action is not None:
            self._ctx.service_time += action.delay
            if action.answers and not action.handled:
                raise InjectedFault(action)
        return action

    def engine_delay(self, kind: str, names: tuple[str, ...], symbol: str) -> Span:
        """Return the delay that a fault adds to a command on its way to the engine."""
        if not self.armed:
            return 0
        action = self.pick("engine", kind, names, subject=symbol) or self.pick(
            "engine", kind, names, (symbol,), subject=symbol
        )
        return action.delay if action else 0

    def of_webhook(self, kind: str, firm: str, event: str, attempt: int) -> FaultAction | None:
        """Return the action for an attempt to deliver an event (0: the whole delivery)."""
        return self.pick("webhook", kind, (firm,), subject=event, attempt=attempt)

    def alter_delivery(
        self, action: FaultAction, kind: str, firm: str, event: str, attempt: int, body: bytes
    ) -> bytes:
        """Return the body of an attempt after a patch. An empty body of an unsigned attempt, whose
        timestamp cannot be altered, is impossible.
        """
        altered = patched_json(action.patch, body) if action.patch else body or None
        target = FaultTarget("webhook", kind, (firm,), event, attempt)
        self.acted(action, target, altered is not None)
        return body if altered is None else altered

    def _record_injection(self, action: FaultAction, target: FaultTarget) -> None:
        injection = FaultInjected(
            fault=action.fault,
            plane=target.plane,
            operation=target.operation,
            caller=target.caller[0] if target.caller else "",
            subject=target.subject,
            attempt=target.attempt,
            act=str(action),
            at=self._ctx.now,
            rule="T2",
            facts=action.facts,
        )
        self._ctx.emit(injection)

    def _has_ended(self, fault: ActiveFault) -> bool:
        return fault.ends is not None and self._ctx.now >= fault.ends

    def _finish(self, fault: ActiveFault) -> None:
        if self._faults.pop(fault.id, None) is None:
            return
        over = self._state.over
        over[fault.id] = fault
        if len(over) > ENDED_FAULTS_KEPT:
            del over[next(iter(over))]
        self._index()

    def _index(self) -> None:
        self.by_symbol = any(
            fault.spec.match.symbol and fault.planes != ("stream",)
            for fault in self._faults.values()
        )

    def _is_injected(self, fault: ActiveFault) -> bool:
        match = fault.spec.match
        if match.nth and fault.matched != match.nth:
            return False
        if match.every and fault.matched % match.every:
            return False
        odds = _chance(match.probability)
        if odds.numerator in (0, odds.denominator):
            return odds.numerator > 0
        stream = self._ctx.entropy.stream(f"fault.{fault.id}")
        return stream.chance(odds.numerator, odds.denominator)

    def load(self, state: object) -> None:
        """Restore saved faults."""
        super().load(state)
        self._faults = self._state.faults
        self._index()


def _concerns_attempt(fault: ActiveFault, attempt: int) -> bool:
    """Return whether a fault concerns this attempt of a delivery, or the delivery as a whole."""
    if fault.action.of_delivery:
        return not attempt
    if not attempt or not fault.spec.match.attempts:
        return attempt > 0
    first, last = attempts_of(fault.spec.match.attempts)
    return first <= attempt and (not last or attempt <= last)


def _matches(
    match: FaultMatch,
    operation: str,
    caller: tuple[str, ...],
    symbols: tuple[str, ...] | None,
    content: Callable[[], FrameContent] | None,
) -> bool:
    if content is None and bool(match.symbol) is (symbols is None):
        return False
    names = (operation, operation.rpartition(".")[2])
    if match.operation and not any(_named(match.operation, name) for name in names):
        return False
    if match.caller and not any(_named(match.caller, name) for name in caller):
        return False
    if content is not None:
        return not selects_frames(match) or _holds(match, content())
    return symbols is None or any(_named(match.symbol, symbol) for symbol in symbols)


def _holds(match: FaultMatch, content: FrameContent) -> bool:
    """Whether a frame is of the kind that a fault matches and names what it matches."""
    patterns = ((match.symbol, content.symbols), (match.execution, content.executions))
    return match.frame in ("", content.kind) and all(
        not pattern or any(_named(pattern, name) for name in sorted(names))
        for pattern, names in patterns
    )


def _named(pattern: str, name: str) -> bool:
    return pattern == name or ("*" in pattern and fnmatchcase(name, pattern))


@lru_cache(maxsize=256)
def _chance(text: str) -> Chance:
    return parse_chance(text)
