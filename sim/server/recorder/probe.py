"""A probe: a plan of calls that change nothing, made through a recorder.

A plan has reads, previews and calls that are refused. Each call is looked up in the contract before
anything is sent, and only operations that read are let through; so a plan with an order is refused
as a whole. Keys come from the environment, as for the drift alarm; a call without its key is left
out.

| Variable | Has |
|---|---|
| RETAIL_KEY_ID, RETAIL_SECRET | an API key |
| EXCHANGE_CLIENT_ID, EXCHANGE_PRIVATE_KEY | a firm's client id and private key (PEM) |
| EXCHANGE_PARTICIPANT | a participant, for reads that need one |
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener
from uuid import uuid4

import msgspec
import yaml
from msgspec import Meta, Struct, ValidationError, json

from sim.contract.contract import Plane
from sim.evidence.recording.recorded_events import routers
from sim.kernel import resources
from sim.read.errors import UsageError
from sim.read.layout import put
from sim.run.client.credentials import retail_headers, token_form

_READS = ("Get", "List", "Search", "Preview", "Check")
_TIMEOUT_S = 30
_SLUG = "{slug}"
Identity = Literal["none", "key", "token", "forged", "expired"]


class ProbeCall(Struct, frozen=True, forbid_unknown_fields=True, rename={"identity": "as"}):
    """One call: method and path, whose credentials it has, and how often it is made."""

    plane: Plane
    call: str
    identity: Identity = "none"
    body: dict[str, Any] | None = None
    times: Annotated[int, Meta(ge=1, le=40)] = 1


class ProbePlan(Struct, frozen=True, forbid_unknown_fields=True):
    """Calls in order, with a pause of seconds between two."""

    calls: tuple[ProbeCall, ...]
    pause: Annotated[float, Meta(ge=0, le=60)] = 1.0


def read_plan(name: str) -> ProbePlan:
    """Read a plan file, or the bundled plan `safe`. UsageError if it could change anything."""
    bundled = name == "safe"
    path = resources.path("fixtures", "probe.yaml") if bundled else Path(name)
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
        plan = msgspec.convert(document, ProbePlan)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise UsageError(f"{name} is not a plan of a probe: {error}") from None
    for call in plan.calls:
        if problem := _changes(call):
            raise UsageError(f"{name}: {call.call}: {problem}")
    return plan


def _changes(call: ProbeCall) -> str:
    """Say why a call could change something; "" if it only reads."""
    method, _, path = call.call.partition(" ")
    if call.plane not in routers():
        return f"a probe has no calls on {call.plane}"
    match = routers()[call.plane].match(method, path.partition("?")[0])
    operation = getattr(match, "operation", None)
    if operation is None:
        return "" if method == "GET" else "only a GET may go to an address that no document names"
    return "" if operation.rpc.startswith(_READS) else f"{operation.name} may change something"


def listed(plan: ProbePlan) -> Iterator[str]:
    """Yield a line for each call that would be made."""
    for call in plan.calls:
        body = f"  {json.encode(call.body).decode()}" if call.body else ""
        times = f"  ×{call.times}" if call.times > 1 else ""
        yield f"{call.plane:<9} {call.call}  as {call.identity}{times}{body}"


class Probe:
    """Makes the calls of a plan at the addresses of a recorder."""

    def __init__(self, plan: ProbePlan, addresses: Mapping[str, str], audience: str) -> None:
        self._plan, self._addresses, self._audience = plan, addresses, audience
        self._environ = os.environ
        self._opener: OpenerDirector = build_opener(ProxyHandler({}))  # loopback, never a proxy
        self._token = ""
        self._slug = ""

    def run(self) -> Iterator[str]:
        """Make every call; yield a line about each."""
        for call in self._plan.calls:
            if call.plane not in self._addresses:
                continue
            for _ in range(call.times):
                yield self._make(call)
                if call.times == 1:
                    time.sleep(self._plan.pause)

    def _make(self, call: ProbeCall) -> str:
        method, _, path = call.call.partition(" ")
        try:
            headers = self._headers(call, method, path)
        except KeyError as missing:
            return f"{call.plane:<9} {call.call}  left out: {missing.args[0]} is not set"
        text = json.encode(call.body).decode() if call.body is not None else ""
        if _SLUG in path + text and not self._slug:
            return f"{call.plane:<9} {call.call}  left out: no open market was listed"
        path, data = path.replace(_SLUG, self._slug), text.replace(_SLUG, self._slug).encode()
        status, body = self._send(self._addresses[call.plane] + path, method, headers, data)
        if not self._slug and path.startswith("/v1/markets?"):
            markets = body.get("markets", ()) if isinstance(body, dict) else ()
            self._slug = next((row["slug"] for row in markets if row.get("active")), "")
        return f"{call.plane:<9} {call.call}  {status or 'no answer'}"

    def _send(
        self, url: str, method: str, headers: Mapping[str, str], data: bytes
    ) -> tuple[int, Any]:
        content = {"Content-Type": "application/json"} if data else {}
        request = Request(url, data or None, {**content, **headers}, method=method)
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                status, text = answer.status, answer.read()
        except HTTPError as refused:
            status, text = refused.code, refused.read()
        except OSError:
            return 0, None
        try:
            return status, json.decode(text)
        except msgspec.DecodeError:
            return status, None

    def _headers(self, call: ProbeCall, method: str, path: str) -> dict[str, str]:
        """Return the credentials of a call. KeyError with the name of a missing variable."""
        bare = path.partition("?")[0]
        if call.identity == "none":
            return {}
        if call.plane == "retail":
            key = {"key_id": self._environ["RETAIL_KEY_ID"]}
            key["secret_key"] = self._environ["RETAIL_SECRET"]
            age = 3_600_000 if call.identity == "expired" else 0
            headers = retail_headers(key, method, bare, int(time.time() * 1000) - age)
            if call.identity == "forged":
                headers["X-PM-Signature"] = "A" * len(headers["X-PM-Signature"])
            return headers
        if call.identity == "token":
            headers = {"Authorization": f"Bearer {self._bearer()}"}
            participant = self._environ.get("EXCHANGE_PARTICIPANT")
            return headers | ({"x-participant-id": participant} if participant else {})
        return {"Authorization": "Bearer not-a-token"}

    def _bearer(self) -> str:
        if not self._token:
            firm = {"client_id": self._environ["EXCHANGE_CLIENT_ID"], "audience": self._audience}
            firm["private_key_pem"] = self._environ["EXCHANGE_PRIVATE_KEY"]
            data = urlencode(token_form(firm, int(time.time()), str(uuid4()))).encode()
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            url = f"{self._addresses['auth']}/oauth/token"
            _, body = self._send(url, "POST", kind, data)
            self._token = str(body.get("access_token", "")) if isinstance(body, dict) else ""
        return self._token

    def print_all(self) -> None:
        """Make every call and print a line about each."""
        for line in self.run():
            put(line, flush=True)
