"""How a step ends: what the exchange refused although the step does not expect it, and which
expectations do not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import NamedTuple, TypeGuard

from msgspec import UNSET
from msgspec.structs import replace

from sim.api.pipeline.inputs import Reply
from sim.core.model.refusals import Refusal
from sim.run.actors.script.expectations import answer_text, expects_answer, failures
from sim.run.actors.script.request_slips import ignored_names, misspelt_in_call
from sim.run.actors.script.step_order import StepUnderWay
from sim.run.engine.engine import Engine
from sim.world.format.expectations_format import Expect
from sim.world.format.steps import Step


class StepEnd(NamedTuple):
    """The end of a step: its failures, and whether it was refused.

    `unexpected` are the failures that are no failed expectation: what was refused, rejected or
    ignored, and what the step expects of a thing that does not exist.
    """

    failures: list[str]
    unexpected: list[str]
    refused: bool


def end_of(
    engine: Engine,
    step: Step,
    ended: StepUnderWay,
    reply: Reply | None,
    frames: list[str],
    missing: list[str],
) -> StepEnd:
    """The end of a step with the answer of its call. `frames` are failures of its streams,
    `missing` parts of the answer that it cannot save.
    """
    expected = step.expect.refused if step.expect is not None else "false"
    refusal = ended.refusal or refusal_of(step.expect, reply, _remedy(step, ended, reply))
    unexpected = list(_unexpected(engine, step, ended, refusal))
    problems = list(unexpected)
    if expected == "true" and not refusal and not ended.rejected:
        problems.append("it was not refused")
    problems += frames
    if step.expect is not None:
        unmet, refusals = _unmet(engine, step, reply)
        problems += unmet
        unexpected += refusals
    if expected != "maybe" and not problems:  # otherwise a message already contains the answer
        problems += missing
    return StepEnd(problems, unexpected, bool(refusal) and expected == "false")


def _unexpected(engine: Engine, step: Step, ended: StepUnderWay, refusal: str) -> Iterator[str]:
    """What the exchange refused, rejected or ignored of a step that does not expect it."""
    operation = engine.contract.by_name(ended.operation) if ended.operation else None
    if step.expect is None or step.expect.refused == "false":
        if refusal:
            meant = "" if step.call is None else misspelt_in_call(operation, step.call.json)
            yield f"{refusal}{meant}"
        elif step.order or step.call:
            yield from filter(None, [rejection_of(step, ended.rejected)])
    if not may_be_refused(step.expect):
        yield from ignored_names(operation, ended.ignored)


def _unmet(engine: Engine, step: Step, reply: Reply | None) -> tuple[list[str], list[str]]:
    """The expectations that do not hold, and which of these failures are refusals."""
    assert step.expect is not None
    own_order = with_order_id(step).order
    own = own_order.clord_id if own_order is not None else ""
    try:
        unmet = failures(engine, step.expect, reply, own or step.name)
    except Refusal as unknown:  # the expectation names something that does not exist
        return [unknown.message], [unknown.message]
    succeeds = expects_answer(step.expect) and not may_be_refused(step.expect)
    return unmet, unmet[:1] if succeeds and is_refusal(reply) else []


def is_refusal(reply: Reply | None) -> TypeGuard[Reply]:
    """Whether a call was refused."""
    return reply is not None and (reply.status >= 400 or reply.code != 0)


def may_be_refused(expect: Expect | None) -> bool:
    """Whether a step expects a refusal, or something that may be one."""
    if expect is None:
        return False
    if expect.status is not None:
        return not 200 <= expect.status < 300
    if expect.code is not None:
        return expect.code != 0
    return expect.refused != "false" or expect.json is not UNSET or bool(expect.header)


def refusal_of(expect: Expect | None, reply: Reply | None, remedy: str) -> str:
    """The refusal of a step's call, with what would have worked and the expectation that would
    accept it. Empty if it was not refused, or if the step states its answer.
    """
    if not is_refusal(reply) or (expect is not None and expects_answer(expect)):
        return ""
    right = f"{{code: {reply.code}}}" if reply.status < 400 else f"{{status: {reply.status}}}"
    advice = f" ({remedy})" if remedy else ""
    return f"refused: {answer_text(reply)}{advice}; if this is intended, add `expect: {right}`"


def _remedy(step: Step, ended: StepUnderWay, reply: Reply | None) -> str:
    """What would have worked, in the words of steps: their callers need no token or signature."""
    client = step.call or step.subscribe
    unknown = reply is not None and reply.status == HTTPStatus.UNAUTHORIZED
    if ended.remedy and unknown and client is not None and not client.as_:
        return "name the caller with `as`"
    return ended.remedy


def rejection_of(step: Step, rejected: Iterable[str]) -> str:
    """The rejection of what a step sent, with the expectation that would accept it. Empty if
    nothing was rejected, or if the step states the end of its order or the answer of its call.
    """
    expect = step.expect
    if expect is not None and (expect.order or expects_answer(expect)):
        return ""
    right = "{order: {state: REJECTED}}" if step.order is not None else "{refused: true}"
    rejections = "; ".join(rejected)
    return f"{rejections}; if this is intended, add `expect: {right}`" if rejections else ""


def with_order_id(step: Step) -> Step:
    """The step. Its order gets the name of the step as client order id if it has none."""
    if step.order is None or step.order.clord_id or not step.name:
        return step
    return replace(step, order=replace(step.order, clord_id=step.name))
