"""A call of the control plane: its route, its body and its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from sim.core.catalogue.assumption_values import unknown_name
from sim.core.model.refusals import InvalidRequest
from sim.run.actors.operator.action import Action, ControlRoute
from sim.server.control.live import LiveReader
from sim.server.host import Host
from sim.world.format.clock_mode import ClockMode
from sim.world.format.scenario import Scenario
from sim.world.format.struct_types import record


class InstanceControl(Protocol):
    """The interface of the instances of a process (`sim.server.instances`)."""

    def describe_all(self) -> list[dict[str, Any]]: ...

    def describe(self, name: str) -> dict[str, Any]: ...

    def name_of(self, host: Host) -> str: ...

    async def begin(
        self, origin: Host, scenario: Scenario, seed: int | None, name: str, clock: ClockMode | None
    ) -> str: ...

    async def fork(
        self, origin: Host, name: str, *, seq: int | None = None, branch: str = ""
    ) -> str: ...

    def forks_of(self, origin: Host) -> list[dict[str, Any]]: ...

    async def end(self, name: str) -> None: ...


class ControlCall(NamedTuple):
    """One call: the variables of the path, the query parameters, and the body. `many` has the
    values of parameters that may be repeated.

    `instances` are those of the process, if it serves several. The body of an action is its JSON
    object, which the simulation reads; any other body is an entry of the endpoint's type.
    """

    path: dict[str, str]
    query: dict[str, str]
    body: Any
    instances: InstanceControl | None = None
    many: dict[str, tuple[str, ...]] = {}
    headers: Mapping[str, str] = {}

    def number(self, parameter: str, default: int = 0) -> int:
        """A query parameter that counts from 0."""
        return _count(parameter, self.query.get(parameter) or str(default))

    def counted(self, variable: str) -> int:
        """A variable of the path that counts from 0."""
        return _count(variable, self.path[variable])


def _count(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise InvalidRequest(f"{name} must be an integer from 0")
    return int(text)


class LinesAnswer(NamedTuple):
    """An answer that is text line by line instead of one JSON value."""

    content_type: str
    lines: Iterable[bytes]  # without newlines


class Events(NamedTuple):
    """An answer that continues until its reader disconnects: Server-Sent Events."""

    reader: LiveReader


class NoBody(Struct, frozen=True):
    """A call that takes no body."""


# Calls that do not change the run of the instance.
_OF_OTHERS = ("POST /fork", "DELETE /worlds/{name}")


class Endpoint(NamedTuple):
    """A row of the table of calls: a `ControlRoute`, the function that answers, and its parameters.

    Parameters in `many` may be repeated, those in `query` may not. `body` is the type of an
    entry, or the action that reads it. A `large` body may contain a scenario; it is read outside
    the event loop.
    """

    call: str
    respond: Callable[[Host, ControlCall], Awaitable[object]]
    body: type[Struct] | Action = NoBody
    query: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    large: bool = False

    @property
    def route(self) -> ControlRoute:
        """Verb and path."""
        return ControlRoute(self.call)

    @property
    def changes(self) -> bool:
        """Whether it changes the run, or moves it to another moment."""
        return self.route.verb != "GET" and self.call not in _OF_OTHERS

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that the body may have."""
        body = self.body
        return body.body_keys if isinstance(body, Action) else tuple(record(body).keys)


def check_names(kind: str, names: Iterable[str], accepted: tuple[str, ...]) -> None:
    """Refuse an unknown name, and suggest the nearest known one."""
    for name in names:
        if name not in accepted:
            remedy = f"known: {', '.join(accepted)}" if accepted else f"this call accepts no {kind}"
            raise InvalidRequest(unknown_name(kind, name, accepted), remedy=remedy)
