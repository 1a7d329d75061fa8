"""Makes calls on a served exchange like a client: over HTTP, signed (§5.1, §5.2)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from msgspec import DecodeError, json

from sim.agents.answers import ToolError, quoted
from sim.run.client.credentials import retail_headers, token_form
from sim.testing.exchange_fixture import ServedExchange

# An answer that takes longer than this waits for the clock, which only a command moves.
ANSWER_S = 5.0
TOKEN_LEFT_S = 30
Headers = dict[str, str]


class ClientAnswer(NamedTuple):
    """An answer. Its body is decoded JSON, or text."""

    status: int
    request_id: str
    body: Any


class ExchangeCaller:
    """Makes calls on one exchange. Tokens are reused until shortly before they expire."""

    def __init__(self, exchange: ServedExchange) -> None:
        self._exchange = exchange
        self._tokens: dict[str, tuple[str, float]] = {}
        self._assertions = 0

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
        keys = self._exchange.api_keys
        key = _chosen("API key", keys, caller, lambda key: (key["key_id"], key["account"]))
        return retail_headers(key, verb, path, int(self._exchange.now.timestamp() * 1000))

    def _bearer(self, caller: str) -> Headers:
        firm = _chosen(
            "firm or participant",
            self._exchange.firms,
            caller,
            lambda firm: (firm["firm"], firm["client_id"], *firm["users"]),
        )
        now = self._exchange.now.timestamp()
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
            host = urlsplit(self._exchange.ready[plane]).netloc
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
