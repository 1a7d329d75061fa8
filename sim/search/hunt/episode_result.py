"""The result of an episode, and texts about its inputs."""

from __future__ import annotations

from msgspec import Struct, field

from sim.api.pipeline.inputs import (
    Advanced,
    Controlled,
    Input,
    Outcome,
    RestCall,
    RpcCall,
    StreamOpened,
)
from sim.kernel.instants import format_instant
from sim.search.hunt.oracles import Trouble

LONG = 4_096  # bytes of an answer that count as much as one effect


class EpisodeResult(Struct):
    """The result of an episode: features of each gene, and what is wrong.

    `inputs` counts handled inputs. `work` estimates their cost: four for each, more for effects and
    long answers. `over` says that the run has ended.
    """

    features: list[list[str]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    inputs: int = 0
    work: int = 0
    over: bool = False


def named(input_: Input) -> str:
    """Describe an input. An input at which the exchange fails is not in any journal."""
    match input_:
        case Controlled():
            return f"{input_.action} {input_.subject} {input_.arguments}".replace("  ", " ")
        case RestCall():
            return f"{input_.verb} {input_.path} {input_.body}".rstrip()
        case RpcCall() | StreamOpened():
            return input_.method
        case Advanced():
            return f"time to {format_instant(input_.to)}"
    return type(input_).__name__


def work_of(outcome: Outcome) -> int:
    """Estimate the cost of an input from its effects and the length of its answer."""
    length = len(outcome.reply.body) if outcome.reply is not None else 0
    return 4 + len(outcome.effects) + length // LONG
