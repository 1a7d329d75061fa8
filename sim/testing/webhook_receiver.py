"""A recording webhook receiver with scripted answers, in a thread of its own, so that blocking tests
can use it.

```python
with WebhookReceiver() as receiver:
    ...  # register receiver.url
    receiver.answer_next(500, 500)  # then 200 again
    delivery = receiver.wait(1)[0]
    assert delivery.verify("whsec_...")
```
"""

from __future__ import annotations

import base64
import hmac
import json
import threading
from collections import deque
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

_LARGEST = 1 << 20


class Answer(NamedTuple):
    """What the receiver says to a delivery. `hang`: it says nothing and drops the connection after
    that many real seconds.
    """

    status: int = 200
    headers: Mapping[str, str] = {}
    hang: float = 0.0


class Received(NamedTuple):
    """A delivery as it arrived. Header names are in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def payload(self) -> dict[str, Any]:
        """The body as JSON."""
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded

    def verify(self, secret: str) -> bool:
        """Whether a `whsec_...` secret signed exactly these bytes (§6.1 item 6)."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        content = (
            f"{self.headers.get('webhook-id', '')}.{self.headers.get('webhook-timestamp', '')}.".encode()
            + self.body
        )
        wanted = "v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode()
        return any(
            hmac.compare_digest(wanted, entry)
            for entry in self.headers.get("webhook-signature", "").split()
        )


class WebhookReceiver:
    """Listens on a free loopback port from construction to `close`. `received` holds every delivery
    in order of arrival.
    """

    def __init__(self) -> None:
        self.received: list[Received] = []
        self._arrived = threading.Condition()
        self._script: deque[Answer] = deque()
        self._always = Answer()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.05},
            name="webhook-receiver",
            daemon=True,
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Address to register."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/webhooks"

    def answer_next(self, *answers: int | Answer) -> None:
        """Script the answers to the next deliveries, in order."""
        with self._arrived:
            self._script.extend(_answer(answer) for answer in answers)

    def answer_always(self, answer: int | Answer) -> None:
        """Answer to every delivery that no script is left for; 200 at first."""
        with self._arrived:
            self._always = _answer(answer)

    def wait(self, count: int, within_s: float = 5.0) -> list[Received]:
        """The deliveries so far, once there are at least `count`; AssertionError when that takes
        longer in real time.
        """
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.received) >= count, within_s):
                raise AssertionError(
                    f"{len(self.received)} of {count} webhook deliveries arrived within"
                    f" {within_s:g} s"
                )
            return list(self.received)

    def clear(self) -> None:
        """Forget deliveries and the script."""
        with self._arrived:
            self.received.clear()
            self._script.clear()
            self._always = Answer()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> WebhookReceiver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _take(self, delivery: Received) -> Answer:
        with self._arrived:
            self.received.append(delivery)
            self._arrived.notify_all()
            return self._script.popleft() if self._script else self._always


def _answer(given: int | Answer) -> Answer:
    return given if isinstance(given, Answer) else Answer(given)


def _handler(receiver: WebhookReceiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = min(int(self.headers.get("Content-Length") or 0), _LARGEST)
            body = self.rfile.read(length)
            answer = receiver._take(
                Received(
                    self.path, {name.lower(): value for name, value in self.headers.items()}, body
                )
            )
            if answer.hang:
                threading.Event().wait(answer.hang)
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Deliveries are in `received`, not on the terminal."""

    return Handler
