"""Posts the webhook attempts that the core has decided on; each receiver's answer becomes an input.

Attempts run concurrently, but their answers enter in the order of the attempts, so that a receiver
that answers consistently gives the same journal. Only loopback and the hosts that the settings name
are called (design D9), which is checked here again; redirects are not followed. Timestamps and
signatures are made when an attempt is sent, outside the digest.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, InvalidURL
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from sim.api.pipeline.inputs import Post
from sim.api.pipeline.settings import Settings
from sim.core.webhooks.payloads import signed_headers, stamp, url_problem
from sim.kernel.instants import NS_PER_S, Instant, Span, seconds
from sim.server.http.final_answers import FinalAnswers
from sim.server.logs import log_failure

# Real time; an attempt takes no virtual time.
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_TIMEOUT_MAX_S = 5.0


class ReceiverResponse(NamedTuple):
    """A receiver's answer. `status` is 0 where there was no HTTP answer; `error` says why."""

    status: int
    error: str = ""
    retry_after: Span | None = None


class WebhookSender:
    """Sends attempts and reports their answers in order."""

    def __init__(
        self,
        settings: Settings,
        *,
        now: Callable[[], Instant],
        secret_for: Callable[[str], bytes | None],
        answered: Callable[[Post, ReceiverResponse], None],
    ) -> None:
        self._settings = settings
        self._now = now
        self._secret_for = secret_for
        self._answered = answered
        self._sent: deque[tuple[Post, asyncio.Task[ReceiverResponse]]] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._session: ClientSession | None = None

    @property
    def busy(self) -> bool:
        """Whether an answer is outstanding."""
        return self._pump is not None and not self._pump.done()

    def post(self, attempt: Post) -> None:
        """Send an attempt now."""
        loop = asyncio.get_running_loop()
        self._sent.append((attempt, loop.create_task(self._attempt(attempt))))
        if not self.busy:
            self._pump = loop.create_task(self._report())

    async def idle(self, within_s: float) -> bool:
        """Wait, at most `within_s` real seconds, until no answer is outstanding;
        whether that happened.
        """
        deadline = asyncio.get_running_loop().time() + within_s
        while self.busy and self._pump is not None:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            await asyncio.wait((self._pump,), timeout=left)
        return True

    def abandon(self) -> None:
        """Forget outstanding attempts, after time travel or at the end of the process."""
        if self._pump is not None:
            self._pump.cancel()
        for _, task in self._sent:
            task.cancel()
        self._sent.clear()
        self._pump = None

    async def close(self) -> None:
        """Forget outstanding attempts and close the client."""
        self.abandon()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _report(self) -> None:
        while self._sent:
            attempt, task = self._sent[0]
            try:
                answer = await task
            except Exception as error:
                # A bug of ours must not keep later answers from arriving.
                log_failure(error, "a webhook attempt failed: %s", attempt.shown_url)
                answer = ReceiverResponse(0, "not sent")
            self._sent.popleft()
            try:
                self._answered(attempt, answer)
            except Exception as error:
                log_failure(error, "the answer of a receiver failed: %s", attempt.shown_url)
                return

    async def _attempt(self, attempt: Post) -> ReceiverResponse:
        if url_problem(attempt.url, allow_private=True, hosts=self._settings.webhook_hosts):
            return ReceiverResponse(0, "host not allowed")
        wait_s = min(attempt.timeout / NS_PER_S, _TIMEOUT_MAX_S)
        limit = ClientTimeout(total=wait_s)
        try:
            async with self._client().post(
                _as_registered(attempt.url),
                data=attempt.body,
                headers=self._headers(attempt),
                allow_redirects=False,
                timeout=limit,
            ) as response:
                return ReceiverResponse(
                    response.status,
                    retry_after=_retry_after(response.headers.get("Retry-After", "")),
                )
        except TimeoutError:
            return ReceiverResponse(0, "timeout")
        except InvalidURL:
            return ReceiverResponse(0, "invalid url")
        except (ClientError, OSError, ValueError) as problem:
            # Only the type: the text holds addresses and errno texts that differ between machines
            # and would make their journals differ.
            return ReceiverResponse(0, type(problem).__name__)

    def _client(self) -> ClientSession:
        if self._session is None:
            # A new connection per attempt: otherwise a receiver that drops idle connections would
            # look like a failed delivery.
            self._session = ClientSession(
                connector=FinalAnswers(limit=0, force_close=True, resolver=LoopbackByName()),
                cookie_jar=DummyCookieJar(),
                trust_env=False,
            )
        return self._session

    def _headers(self, attempt: Post) -> dict[str, str]:
        stamped = stamp(self._now(), time.time_ns(), self._settings.webhook_clock)
        stamped += attempt.skew // NS_PER_S
        key = self._secret_for(attempt.secret) if attempt.secret else None
        common = {"Content-Type": "application/json", "User-Agent": "sandbox-exchange"}
        return common | signed_headers(key, attempt.event_id, stamped, attempt.body)


def _as_registered(url: str) -> URL:
    """Return an address whose path and query are sent as they were registered.

    Everything behind the host stands as its path, because a URL decodes `%2F`, folds `/../` and
    drops an empty query. Letters beyond ASCII are percent-encoded.
    """
    scheme, _, rest = url.partition("://")
    authority = re.split(r"[/?]", rest, maxsplit=1)[0]
    target = quote(rest[len(authority) :], safe=_PRINTABLE)
    path = target if target.startswith("/") else f"/{target}"
    return URL.build(scheme=scheme.lower(), authority=authority, path=path, encoded=True)


def _retry_after(text: str) -> Span | None:
    return seconds(int(text)) if text.isascii() and text.isdigit() and len(text) < 8 else None


_LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


class LoopbackByName(AbstractResolver):
    """Resolves `localhost` and `*.localhost` to this machine (RFC 6761, section 6.3), whatever a
    name server says about them, and the rest with the system's resolver.
    """

    def __init__(self) -> None:
        self._others = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name."""
        if host != "localhost" and not host.endswith(".localhost"):
            return await self._others.resolve(host, port, family)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=kind,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, address in _LOOPBACK
            if family in (kind, socket.AF_UNSPEC)
        ]

    async def close(self) -> None:
        """Nothing to release."""
        await self._others.close()
