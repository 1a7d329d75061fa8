"""What clients saw, one thing after the other: answers, frames, streams that began or ended.

Observations come from recordings (`recorded.py`) and from journals (`journal.py`), and say nothing
about which of both it was.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from sim.contract.contract import Operation

# When something was seen: a number, or an instant as text that sorts as it counts. Of one kind in
# all observations of a run.
Seen: TypeAlias = Any
ObservationKind: TypeAlias = Literal["answer", "frame", "begun", "ended"]
_CASE = re.compile("_([a-z])")


class ObservedStream(Struct, eq=False):
    """A stream of a client.

    `request` is the message with which it began, empty for sockets; those have a request for each
    subscription, by its id. `disturbed` says that an injected fault lost, doubled, held or swapped
    frames, so that what is missing on it proves nothing.
    """

    number: int
    operation: Operation
    client: str
    began: Seen
    request: dict[str, Any] = field(default_factory=dict)
    subscriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    disturbed: bool = False

    def note_request(self, body: Any) -> None:
        """Note what the client requested."""
        if not isinstance(body, dict):
            return
        subscribe = body.get("subscribe")
        if self.operation.content == "web_socket":
            if isinstance(subscribe, dict):
                subscribe = in_json_names(subscribe)
                self.subscriptions[str(subscribe.get("requestId", ""))] = subscribe
        elif not self.request:
            self.request = body

    def observation(
        self, n: int, kind: ObservationKind, at: Seen, now: str = "", body: Any = None
    ) -> ClientObservation:
        """Return what the client received: a frame with the request that it belongs to, the begin
        or the end.
        """
        name = body.get("requestId", "") if isinstance(body, dict) else ""
        request = self.subscriptions.get(name, self.request)
        return ClientObservation(
            *(n, kind, self.operation, self.client, at, at, now, request, body), stream=self
        )


class ClientObservation(Struct, eq=False):
    """Something that a client saw.

    `n` is the number of its line, in a recording, or of its input, in a journal. One observation is
    known to come after another if it `began` after the other had `ended`; both are the same for a
    frame. `now` is the service's clock when it answered, as text without its Z, which sorts as it
    counts; over HTTP it has whole seconds. `ok` says that a call was answered, not refused.
    """

    n: int
    kind: ObservationKind
    operation: Operation
    client: str
    began: Seen
    ended: Seen
    now: str
    request: dict[str, Any]
    body: Any
    ok: bool = True
    stream: ObservedStream | None = None

    @property
    def source(self) -> str:
        """Where it was seen, in words."""
        return self.operation.rpc if self.stream is None else f"stream {self.operation.rpc}"


def in_json_names(request: dict[str, Any]) -> dict[str, Any]:
    """A request with names as in answers: clients may write `newest_first` for `newestFirst`."""
    return {_CASE.sub(lambda letter: letter[1].upper(), name): request[name] for name in request}


class WorldReset:
    """The world begins anew: what follows is another history."""
