"""Makes calls on a served exchange like a client: over HTTP, signed (§5.1, §5.2)."""

from __future__ import annotations

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


class Answer(NamedTuple):
    """An answer. Its body is decoded JSON, or text."""

    status: int
    request_id: str
    body: Any


class Caller:
    """Makes calls on one exchange. Tokens are reused until shortly before they expire."""

    def __init__(self, exchange: ServedExchange) -> None:
        self._exchange = exchange
        self._tokens: dict[str, tuple[str, float]] = {}
        self._assertions = 0

    def call(self, plane: str, verb: str, path: str, body: Any = None, who: str = "") -> Answer:
        """Make a call on a plane as an API key, a firm or a participant.

        By default as the first one.
        """
        headers = {"content-type": "application/json"}
        if plane == "retail":
            headers |= self._signature(verb, path, who)
        elif plane == "exchange":
            headers |= self._bearer(who)
        address = {
            "gateway": self._exchange.gateway,
            "retail": self._exchange.retail,
            "exchange": self._exchange.exchange,
            "auth": self._exchange.auth,
            "control": str(self._exchange.control),
        }[plane]
        answer = _send(address, verb, path, headers, b"" if body is None else json.encode(body))
        if answer.status == 401 and plane == "exchange" and self._tokens:
            self._tokens.clear()  # a reset or time travel invalidates tokens
            again = {**headers, **self._bearer(who)}
            answer = _send(address, verb, path, again, b"" if body is None else json.encode(body))
        return answer

    def _signature(self, verb: str, path: str, who: str) -> dict[str, str]:
        keys = self._exchange.api_keys
        matching = [one for one in keys if not who or who in (one["key_id"], one["account"])]
        if not matching:
            names = ", ".join(one["key_id"] for one in keys) or "this scenario has none"
            raise ToolError(f"No API key is called {quoted(who)}. API keys: {names}.")
        now_ms = int(self._exchange.now.timestamp() * 1000)
        return retail_headers(matching[0], verb, path, now_ms)

    def _bearer(self, who: str) -> dict[str, str]:
        firm = self._firm(who)
        participant = who if who in firm["users"] else next(iter(firm["users"]), "")
        now = self._exchange.now.timestamp()
        token, until = self._tokens.get(firm["client_id"], ("", 0.0))
        if until - TOKEN_LEFT_S <= now:
            token, lasts = self._token(firm, int(now))
            self._tokens[firm["client_id"]] = token, now + lasts
        headers = {"authorization": f"Bearer {token}"}
        return headers | ({"x-participant-id": participant} if participant else {})

    def _firm(self, who: str) -> dict[str, Any]:
        for firm in self._exchange.firms:
            if not who or who in (firm["firm"], firm["client_id"], *firm["users"]):
                return firm
        names = [name for firm in self._exchange.firms for name in (firm["firm"], *firm["users"])]
        listed = ", ".join(names) or "this scenario has none"
        raise ToolError(f"No firm or participant is called {quoted(who)}. Known: {listed}.")

    def _token(self, firm: dict[str, Any], now: int) -> tuple[str, float]:
        self._assertions += 1
        form = token_form(firm, now, f"agent-{firm['client_id']}-{self._assertions}")
        headers = {"content-type": "application/x-www-form-urlencoded"}
        issuer = self._exchange.auth
        answer = _send(issuer, "POST", "/oauth/token", headers, urlencode(form).encode())
        if answer.status != 200:
            raise ToolError(f"The issuer refused a token: {answer.status} {quoted(answer.body)}.")
        return answer.body["access_token"], float(answer.body["expires_in"])


def _send(address: str, verb: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
    host = urlsplit(address).netloc
    try:
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
    return Answer(response.status, response.headers.get("x-request-id", ""), decoded)
