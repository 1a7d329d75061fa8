"""A stand-in for `Simulation` that answers from a script and records what reached it: tests of
sockets need no exchange behind them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterator
from types import SimpleNamespace
from typing import Any

from sim.api.pipeline.inputs import Close, Effect, Fired, Outcome, Post, Reply, Send
from sim.api.pipeline.settings import Settings
from sim.core.catalogue.assumption_values import Assumptions
from sim.core.catalogue.quirks import Quirks
from sim.core.model.refusals import Conflict
from sim.kernel.entropy import Entropy
from sim.kernel.instants import parse_instant, seconds

START = parse_instant("2026-09-08T18:00:00Z")


class FakeSimulation:
    """`inputs` is what entered, in order. Timers are (due, name); a timer named "post …" makes a
    webhook attempt to the URL that follows.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.scenario = SimpleNamespace(name="fake")
        self.journal = SimpleNamespace(
            branch=None, set_end_listener=lambda listener: None, header=SimpleNamespace(start=START)
        )
        self.seed, self.branch = 7, "main"
        choices = SimpleNamespace(
            assumptions=Assumptions(), quirks=Quirks(Entropy(7), lambda quirk: None)
        )
        calendar = SimpleNamespace(announced=tuple)
        self.exchange = SimpleNamespace(
            ctx=choices,
            maintenance_calendar=calendar,
            listeners=SimpleNamespace(closed=frozenset()),
        )
        self.now = START
        self.inputs: list[tuple[Any, ...]] = []
        self.timers: list[tuple[int, str]] = []
        self.replies: dict[str, Callable[[], Reply]] = {}
        self.on_frame: Callable[[int, bytes], list[Effect]] = lambda stream, message: [
            Send(stream, b"echo:" + message)
        ]
        self.on_control: Callable[[str, str, dict[str, Any]], Outcome] = (
            lambda action, subject, arguments: Outcome(seq=1, value={"did": action})
        )
        self.effects: dict[str, list[Effect]] = {}
        self.refuse_streams: Reply | None = None
        self.first_frames: tuple[bytes, ...] = ()
        self.secrets: dict[str, bytes] = {}
        self.serving = True
        self.stream_buffer = 10_000
        self.head: list[bytes] | None = None
        self._streams = 0

    # ---- inputs

    @property
    def seq(self) -> int:
        return len(self.inputs)

    @property
    def digest(self) -> str:
        return "0" * 64

    def _enter(self, *value: Any) -> int:
        self.inputs.append(value)
        return len(self.inputs)

    def rest(self, plane, verb, path, query, headers, body, *, oversize=0, **_):
        seq = self._enter("rest", plane, verb, path, query, dict(headers), body, oversize)
        plain = Reply(status=413 if oversize else 200, body=b'{"path":"%b"}' % path.encode())
        reply = self._reply(path, plain)
        return Outcome(seq=seq, reply=reply, effects=self.effects.pop(path, []))

    def prepare(self, plane, verb, path, query):
        return 0
        yield

    def rpc(self, method, metadata, message, *, peer="", **_):
        seq = self._enter("rpc", method, dict(metadata), message, peer)
        existing = self.rpc_kind(method) is not None
        plain = (
            Reply(body=b"re:" + message) if existing else Reply(code=12, message="unknown service")
        )
        return Outcome(seq=seq, reply=self._reply(method, plain))

    def _reply(self, key: str, default: Reply) -> Reply:
        reply = self.replies[key]() if key in self.replies else default
        reply.request_id = f"req-{len(self.inputs)}"
        return reply

    def open(self, method, metadata, message, *, web_socket=False, **_):
        seq = self._enter("open", method, message, web_socket)
        if self.refuse_streams is not None:
            return Outcome(seq=seq, reply=self.refuse_streams)
        self._streams += 1
        sent = [Send(self._streams, frame) for frame in self.first_frames]
        return Outcome(seq=seq, stream=self._streams, effects=sent)

    def frame(self, stream: int, message: bytes) -> Outcome:
        seq = self._enter("frame", stream, message)
        return Outcome(seq=seq, effects=self.on_frame(stream, message))

    def hangup(self, stream: int, *, slow: bool = False) -> Outcome:
        return Outcome(seq=self._enter("slow" if slow else "hangup", stream))

    def advance_to(self, to: int) -> Outcome:
        if to < self.now:
            raise Conflict("time only moves forward")
        outcome = Outcome(seq=self._enter("advance", to - START))
        while self.timers and self.timers[0][0] <= to:
            due, name = heapq.heappop(self.timers)
            outcome.fired.append(Fired(due, name.split()[0], name))
            if name.startswith("post "):
                _, attempt, url = name.split()
                post = Post(attempt, url, f"evt-{attempt}", b'{"event_id":"1"}', "fingerprint")
                outcome.effects.append(post)
        self.now = to
        return outcome

    def control(self, action: str, subject: str, arguments: dict[str, Any]) -> Outcome:
        self._enter("control", action, subject, arguments)
        return self.on_control(action, subject, arguments)

    def answer(self, *value: Any) -> Outcome:
        return Outcome(seq=self._enter("answer", *value, self.now - START))

    # ---- the rest of what shells use

    def after(self, seconds_from_now: int, name: str) -> None:
        heapq.heappush(self.timers, (self.now + seconds(seconds_from_now), name))

    def next_due(self) -> int | None:
        return self.timers[0][0] if self.timers else None

    def rpc_kind(self, method: str) -> str | None:
        return {"/t.T/Unary": "unary", "/t.T/Server": "server", "/t.T/Bidi": "bidi"}.get(method)

    def rpc_serves(self, service: str) -> bool | None:
        return self.serving if service in ("", "t.T") else None

    def secret_for(self, fingerprint: str) -> bytes | None:
        return self.secrets.get(fingerprint)

    def reset(self, seed: int | None = None) -> list[Effect]:
        self.inputs.clear()
        self.timers.clear()
        self.now = START
        self.seed = self.seed if seed is None else seed
        self._streams = 0
        return [Close(1, 14, "reset", 1012)]

    def rewind(self, *, to: int | None = None, seq: int | None = None) -> tuple[str, list[Effect]]:
        raise Conflict("nothing to go back to")

    def snapshot(self, name: str) -> None:
        self._enter("snapshot", name)

    def restore(self, name: str) -> list[Effect]:
        return []

    def skip_to_head(self, stream: int, waiting: list[bytes]) -> list[bytes] | None:
        return self.head

    def journal_lines(self, since: int = 0) -> Iterator[bytes]:
        return (b'{"seq":%d}' % (number + 1) for number in range(since, len(self.inputs)))

    def requests_in_steps(self, **matching: Any) -> Generator[None, None, list[dict[str, Any]]]:
        yield
        return [{"seq": 1, "matching": {name: value for name, value in matching.items() if value}}]
