"""The exchanges of one session: started, forked, and ended with the session or when unused for the
duration of the lease.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from msgspec import DecodeError, json

from sim.agents.answers import ToolError, quoted
from sim.run.client.credentials import retail_headers, token_form
from sim.testing.control import ControlError
from sim.testing.exchange_fixture import ServedExchange

LEASE_S = 30 * 60.0
EXCHANGES_MAX = 8
# An answer that takes longer than this waits for the clock, which only a command moves.
ANSWER_S = 5.0
TOKEN_LEFT_S = 30
Headers = dict[str, str]
NOTHING_RUNS = "No exchange is running. Call `start` first."


class ClientAnswer(NamedTuple):
    """An answer. Its body is decoded JSON, or text."""

    status: int
    request_id: str
    body: Any


class RunningExchange:
    """An exchange of the session, called like a client does: over HTTP, signed (§5.1, §5.2).

    `origin` is the one from which it was forked. A token is reused until shortly before its end.
    """

    def __init__(self, name: str, served: ServedExchange, origin: str = "") -> None:
        self.name = name
        self.served = served
        self.used = time.monotonic()
        self.origin = origin
        self._tokens: dict[str, tuple[str, float]] = {}
        self._assertions = 0

    def control(self, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the answer of a control call. Raises ToolError with the reason of a refusal."""
        try:
            return self.served.control(verb, path, body)
        except ControlError as error:
            raise ToolError(f"{quoted(error)}.") from None

    def call(
        self, plane: str, verb: str, path: str, body: Any = None, caller: str = ""
    ) -> ClientAnswer:
        """Make a call on a plane as an API key, a firm or a participant, by default the first."""
        content = b"" if body is None else json.encode(body)
        headers = {"content-type": "application/json"}
        if plane == "retail":
            headers |= self._signature(verb, path, caller)
        if plane != "exchange":
            return self._send(plane, verb, path, headers, content)
        answer = self._send(plane, verb, path, headers | self._bearer(caller), content)
        if answer.status == 401:
            self._tokens.clear()  # a reset or time travel invalidates tokens
            answer = self._send(plane, verb, path, headers | self._bearer(caller), content)
        return answer

    def _signature(self, verb: str, path: str, caller: str) -> Headers:
        keys = self.served.api_keys
        key = _chosen("API key", keys, caller, lambda key: (key["key_id"], key["account"]))
        return retail_headers(key, verb, path, int(self.served.now.timestamp() * 1000))

    def _bearer(self, caller: str) -> Headers:
        firm = _chosen(
            "firm or participant",
            self.served.firms,
            caller,
            lambda firm: (firm["firm"], firm["client_id"], *firm["users"]),
        )
        now = self.served.now.timestamp()
        token, until = self._tokens.get(firm["client_id"], ("", 0.0))
        if until - TOKEN_LEFT_S <= now:
            token, lasts_s = self._token(firm, int(now))
            self._tokens[firm["client_id"]] = token, now + lasts_s
        participant = caller if caller in firm["users"] else next(iter(firm["users"]), "")
        headers = {"authorization": f"Bearer {token}"}
        return headers | ({"x-participant-id": participant} if participant else {})

    def _token(self, firm: dict[str, Any], now: int) -> tuple[str, float]:
        self._assertions += 1
        form = token_form(firm, now, f"agent-{firm['client_id']}-{self._assertions}")
        headers = {"content-type": "application/x-www-form-urlencoded"}
        answer = self._send("auth", "POST", "/oauth/token", headers, urlencode(form).encode())
        if answer.status != 200:
            raise ToolError(f"The issuer refused a token: {answer.status} {quoted(answer.body)}.")
        return answer.body["access_token"], float(answer.body["expires_in"])

    def _send(
        self, plane: str, verb: str, path: str, headers: Headers, body: bytes
    ) -> ClientAnswer:
        try:
            host = urlsplit(self.served.ready[plane]).netloc
            with closing(HTTPConnection(host, timeout=ANSWER_S)) as connection:
                connection.request(verb, path, body or None, headers)
                response = connection.getresponse()
                content = response.read()
        except TimeoutError:
            raise ToolError(
                f"No answer came within {ANSWER_S:g} s. The call is held until time moves, and was"
                " given up: use `advance`, then look at `history`."
            ) from None
        except (OSError, HTTPException, ValueError) as error:
            raise ToolError(f"The call failed: {quoted(error)}.") from None
        try:
            decoded: Any = json.decode(content) if content else None
        except (DecodeError, UnicodeDecodeError):
            decoded = content.decode("utf-8", "replace")
        return ClientAnswer(response.status, response.headers.get("x-request-id", ""), decoded)


def _chosen(
    kind: str, rows: list[Any], name: str, names_of: Callable[[Any], Collection[str]]
) -> Any:
    """Return the first row that has a name; the first of all without a name."""
    for row in rows:
        if not name or name in names_of(row):
            return row
    names = ", ".join(each for row in rows for each in names_of(row)) or "this scenario has none"
    raise ToolError(f"No {kind} is called {quoted(name)}. Known: {names}.")


class AgentSession:
    """At most `EXCHANGES_MAX` exchanges by name. Tools use the session one after the other.

    `confined` denies access to files. The users of a `shared` session are independent: names cannot
    be guessed, so only the client that started an exchange can refer to it.
    """

    def __init__(
        self, lease_s: float = LEASE_S, *, confined: bool = False, shared: bool = False
    ) -> None:
        self.confined = confined
        self.shared = shared
        self.folder = Path(tempfile.mkdtemp(prefix="sim-mcp-"))
        self._lease_s = lease_s
        self._running: dict[str, RunningExchange] = {}
        self._expired: set[str] = set()
        self._lock = threading.RLock()
        self._searches: dict[subprocess.Popen[str], bool] = {}  # and whether each was ended
        self._numbered = 0

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Run one tool at a time. Exchanges that were unused for a lease are ended first."""
        with self._lock:
            self.expire()
            yield

    @contextmanager
    def search(self, running: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
        """Know of a command for as long as it runs, and end it after that.

        Raises ToolError if `stop` ended it.
        """
        self._searches[running] = False
        try:
            yield running
        finally:
            ended = self._searches.pop(running)
            running.kill()
            running.wait()
        if ended:
            raise ToolError("The search was ended.")

    def end_searches(self) -> int:
        """End the commands that run, unless others may have asked for them; their tool, which has
        the lock, then answers.
        """
        searches = [] if self.shared else [*self._searches]
        for running in searches:
            self._searches[running] = True
            running.terminate()
        return len(searches)

    @property
    def names(self) -> list[str]:
        """Return the names of the exchanges that a user may know of, oldest first."""
        return [] if self.shared else list(self._running)

    def find(self, name: str = "") -> RunningExchange:
        """Return an exchange by name.

        Without a name, return the only one or the origin of all others.
        """
        if name in self._expired:
            raise ToolError(
                f"The exchange {quoted(name)} ended: nobody used it for"
                f" {self._lease_s / 60:g} minutes. Call `start` again: the same scenario, seed and"
                " calls give the same run."
            )
        if not name and self.shared:
            raise ToolError("Name the exchange: `start` answered what it is called.")
        matching = [
            running
            for running in self._running.values()
            if (running.name == name if name else not running.origin)
        ]
        listed = f" Running: {', '.join(self.names)}." if self.names else ""
        if name and not matching:
            raise ToolError(f"No exchange is called {quoted(name)}.{listed}")
        if not matching:
            raise ToolError(NOTHING_RUNS)
        if len(matching) > 1:
            raise ToolError(f"Several exchanges are running, so name one.{listed}")
        matching[0].used = time.monotonic()
        return matching[0]

    def new_name(self) -> str:
        """Return a name for the next exchange. Raises ToolError if there are too many."""
        if len(self._running) >= EXCHANGES_MAX * (4 if self.shared else 1):
            raise ToolError(
                f"{len(self._running)} exchanges are already running: `stop` one of them."
            )
        self._numbered += 1
        return f"x{self._numbered}-{secrets.token_hex(4)}"

    def add(self, running: RunningExchange) -> None:
        """Add an exchange, which the session will end."""
        self._running[running.name] = running

    def stop(self, name: str) -> list[str]:
        """End an exchange and its forks. Return the names of all that ended."""
        family = [running.name for running in self._family(self._running[name])]
        for member in reversed(family):
            self._running.pop(member).served.close()
        return family

    def expire(self) -> None:
        """End exchanges that were unused for a lease. Forks end with their origin."""
        with self._lock:
            oldest = time.monotonic() - self._lease_s
            for running in list(self._running.values()):
                idle = all(member.used < oldest for member in self._family(running))
                if idle and running.name in self._running:
                    self._expired.update(self.stop(running.name))

    def _family(self, running: RunningExchange) -> list[RunningExchange]:
        """Return an exchange and all forks of it, direct or indirect."""
        forks = [fork for fork in self._running.values() if fork.origin == running.name]
        return [running, *(member for fork in forks for member in self._family(fork))]

    def close(self) -> None:
        """End everything, and remove the journals."""
        self.end_searches()
        with self._lock:
            while self._running:
                self.stop(next(iter(self._running)))
            shutil.rmtree(self.folder, ignore_errors=True)
