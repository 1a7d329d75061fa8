"""A webhook receiver that records deliveries and gives scripted answers.

It runs in a thread of its own, so that blocking tests can use it.

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
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

__tracebackhide__ = True  # a user's mistake is shown in the user's lines
_LARGEST = 1 << 20


class Answer(NamedTuple):
    """An answer to a delivery.

    With `hang` the receiver does not answer, and drops the connection after so many real seconds.
    """

    status: int = 200
    headers: Mapping[str, str] = {}
    hang: float = 0.0


class Received(NamedTuple):
    """A delivery as it arrived: `path`, `headers` with names in lower case, `body`."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def payload(self) -> dict[str, Any]:
        """The body decoded as JSON."""
        payload: dict[str, Any] = json.loads(self.body)
        return payload

    def verify(self, secret: str) -> bool:
        """Whether the `whsec_...` secret signed exactly these bytes (§6.1 item 6)."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        name, timestamp, signatures = (
            self.headers.get(f"webhook-{part}", "") for part in ("id", "timestamp", "signature")
        )
        digest = hmac.digest(key, f"{name}.{timestamp}.".encode() + self.body, "sha256")
        expected = "v1," + base64.b64encode(digest).decode()
        return any(hmac.compare_digest(expected, signature) for signature in signatures.split())


class WebhookReceiver:
    """Listens on a free loopback port from construction to `close`.

    `received` has every delivery in order of arrival.
    """

    def __init__(self) -> None:
        self.received: list[Received] = []
        self._arrived = threading.Condition()
        self._script: deque[Answer] = deque()
        self._default = Answer()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        serve, poll = self._server.serve_forever, {"poll_interval": 0.05}
        self._thread = threading.Thread(target=serve, kwargs=poll, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """URL to register with the exchange."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/webhooks"

    def answer_next(self, *answers: int | Answer) -> None:
        """Script the answers to the next deliveries, in order: a status or an `Answer` each."""
        with self._arrived:
            self._script.extend(_answer(answer) for answer in answers)

    def answer_always(self, answer: int | Answer) -> None:
        """Set the answer to deliveries beyond the script; it is 200 at first."""
        with self._arrived:
            self._default = _answer(answer)

    def wait(self, count: int, within_s: float = 5.0) -> list[Received]:
        """Wait for at least `count` deliveries in all, and return every delivery so far.

        Raises AssertionError when that takes longer than `within_s` real seconds.
        """
        with self._arrived:
            if self._arrived.wait_for(lambda: len(self.received) >= count, within_s):
                return list(self.received)
            arrived = f"{len(self.received)} of {count} webhook deliveries arrived"
            raise AssertionError(f"{arrived} within {within_s:g} s")

    def clear(self) -> None:
        """Forget the deliveries and all scripted answers."""
        with self._arrived:
            self.received.clear()
            self._script.clear()
            self._default = Answer()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> WebhookReceiver:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _take(self, delivery: Received) -> Answer:
        with self._arrived:
            self.received.append(delivery)
            self._arrived.notify_all()
            return self._script.popleft() if self._script else self._default


def _answer(answer: int | Answer) -> Answer:
    return answer if isinstance(answer, Answer) else Answer(answer)


def _handler(receiver: WebhookReceiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = min(int(self.headers.get("Content-Length") or 0), _LARGEST)
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = receiver._take(Received(self.path, headers, self.rfile.read(length)))
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


class Webhooks:
    """A webhook receiver, and the exchange's log of its attempts.

    Register `url` with the exchange; `received` then lists what arrived.
    """

    def __init__(self, control: Callable[[str, str], Any]) -> None:
        self._control = control
        self._receiver: WebhookReceiver | None = None

    @property
    def receiver(self) -> WebhookReceiver:
        """The receiver; it begins to listen when it is first used."""
        if self._receiver is None:
            self._receiver = WebhookReceiver()
        return self._receiver

    @property
    def url(self) -> str:
        """URL to register with the exchange."""
        return self.receiver.url

    @property
    def received(self) -> list[Received]:
        """Deliveries that arrived, in order."""
        return list(self.receiver.received)

    @property
    def deliveries(self) -> list[dict[str, Any]]:
        """Attempts to deliver, as the exchange logged them."""
        deliveries: list[dict[str, Any]] = self._control("GET", "/webhooks/deliveries")[
            "deliveries"
        ]
        return deliveries

    def close(self) -> None:
        """Stop listening."""
        if self._receiver is not None:
            self._receiver.close()
            self._receiver = None
