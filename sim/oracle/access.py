"""Who may call what: addresses, maintenance, credentials, scopes, participants, limits, dates.

Realises rules E1-E5, R1-R5, R16-R23, S15, W4, W6, W8; §5, §7.1, §8, §9.

A call passes these stages in order, and the first that refuses it decides. What an operation then
answers is for other parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from sim.kernel.instants import NS_PER_S
from sim.oracle import removals
from sim.oracle.hearing import Hearing
from sim.oracle.limits import EXTRA, PLANES, NaiveLimits, go_duration
from sim.oracle.state import Document
from sim.oracle.tokens import Issuer, Token
from sim.read.observed import ObservedInput

BODY_LIMIT = 1 << 20
# gRPC codes and the HTTP statuses that correspond (rule E1); 405, 413 and 422 have none.
STATUSES: dict[int, tuple[int, ...]] = {
    **dict.fromkeys((3, 11), (400,)),
    1: (499,),
    2: (500,),
    4: (504,),
    5: (404,),
    6: (409,),
    7: (403,),
    8: (429, 413),
    9: (400, 409, 422),
    10: (409,),
    12: (501, 405),
    13: (500,),
    14: (503, 502),
    16: (401,),
}
# What concerns a firm as a whole is closed to the token of a participant (rule E5).
_OF_THE_FIRM = ("ParticipantAPI.", "UsersAPI.CreateUser", "UsersAPI.UpdateUser", "OrderFunding")


# The rules by which only these stages refuse, where an operation does not judge callers itself.
_REFUSALS = frozenset(
    (
        *("S5.1-4", "S5.1-9", "S5.2-1", "W4", "W8", "R1", "R2", "R16", "R17", "R18", "R19"),
        *("R20", "R21", "R22", "R23"),
    )
)


class Refused(NamedTuple):
    """Why a call is refused, and how. `wait` is how long a limit asks a caller to wait (ns)."""

    rule: str
    status: int
    code: int
    wait: int = 0
    text: str = ""


@dataclass
class JudgedCall:
    """A call, and what the stages learn of it: `token` is what a caller of the exchange may do."""

    observed: ObservedInput
    plane: str  # of REST; "grpc"
    operation: Document
    token: Token | None = None
    api_key: str = ""

    @property
    def credential(self) -> Document:
        """What was verified of the caller."""
        credential: Document = self.observed.input.get("credential", {"kind": "none"})
        return credential

    @property
    def subject(self) -> str:
        """Whose calls count together: a firm, a key, else an address (§8)."""
        firm = self.token.firm if self.token else ""
        return firm or self.api_key or str(self.observed.input.get("peer", ""))


class Undecidable(Exception):
    """The law cannot tell whether a call is refused."""


class AccessRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._exchange = hearing.exchange
        beginning = hearing.exchange.beginning
        self._paused = beginning.access["paused"]
        self._firms = {row["name"]: row for row in beginning.firms}
        self._users = {
            user["name"]: row["name"] for row in beginning.firms for user in row["users"]
        }
        self._keys = {row["key_id"]: row for row in beginning.api_keys}
        self._environment = beginning.access["environment"]
        self._issuer = Issuer(hearing)
        self._streams: dict[int, str] = {}  # firms by the streams that they opened
        self._limits = NaiveLimits(hearing.exchange)
        self._methods = {method: row for row in beginning.operations for method in row["methods"]}
        self._services = {method.split("/")[1] for method in self._methods}
        self._routes: dict[tuple[str, int], list[tuple[str, list[str], Document]]] = {}
        for row in beginning.operations:
            for plane in row["planes"]:
                for verb, template in row["rest"]:
                    parts = template.split("/")
                    routes = self._routes.setdefault((plane, len(parts)), [])
                    routes.append((verb, parts, row))
        self._stages: tuple[Callable[[JudgedCall], Refused | None], ...] = (
            self._maintenance,
            self._route,
            self._size,
            self._authenticate,
            self._scope,
            self._participant,
            self._limit,
        )

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""
        if observed.input["type"] in ("rest", "rpc", "open"):
            self._called(observed)
        elif observed.input["type"] == "frame":
            self._frame(observed, self._streams.get(observed.input["stream"], ""))
        for closed in observed.closed:
            self._streams.pop(closed["stream"], None)
        for event in observed.events:
            if event["event"] == "MaintenanceChanged":
                self._paused = event["active"]
            elif event["event"] == "KycDecided" and event["approved"]:
                self._users[event["participant"]] = event["firm"]

    # ---- calls

    def _called(self, observed: ObservedInput) -> None:
        call = JudgedCall(observed, observed.input.get("plane", "grpc"), {})
        if observed.input.get("web_socket"):
            call.plane = "retail"
        try:
            refusal = next(filter(None, (stage(call) for stage in self._stages)), None)
            self._undisturbed(call)
        except Undecidable as unknown:
            self._hearing.undecided(str(unknown))
            for name in self._limits_of(call):
                self._limits.doubt(name, _method(call), call.subject)
            if observed.operation == "TokenIssuerAPI.IssueToken" and observed.status == 200:
                self._issuer.issued(observed)  # its answer may arrive all the same
            return
        if refusal is not None:
            self._refused(call, refusal)
        elif self._passed(call):
            self._count(call)
            self._learn(call)
        self._form(call)

    def _undisturbed(self, call: JudgedCall) -> None:
        """An injected fault may act before or after the call was counted, or instead of it (T2)."""
        for event in call.observed.events:
            struck = event["event"] == "FaultStruck" and not event.get("subject")
            if struck and event.get("facts", {}).get("kinds") != "delay":
                raise Undecidable("an injected fault")

    def _refused(self, call: JudgedCall, refusal: Refused) -> None:
        """Judge the answer to a call that had to be refused."""
        observed = call.observed
        status = 200 if call.plane == "grpc" else refusal.status
        expected, reported = (status, refusal.code), (observed.status, observed.code)
        if expected != reported:
            sentence = f"{_address(observed)} must be refused with {expected}, not {reported}"
            self._hearing.disagree(refusal.rule, str(expected), str(reported), sentence)
        elif observed.rule != refusal.rule:
            sentence = f"{_address(observed)} is refused by {observed.rule}, not {refusal.rule}"
            self._hearing.disagree(refusal.rule, refusal.rule, observed.rule, sentence)
        elif refusal.wait:
            self._told_to_wait(call, refusal)

    def _passed(self, call: JudgedCall) -> bool:
        """Judge the answer to a call that had to pass every stage; return whether it did."""
        observed = call.observed
        if observed.operation != call.operation["name"]:
            pair = call.operation["name"], observed.operation
            sentence = f"{_address(observed)} is {pair[0]} and answered as {pair[1] or 'nothing'}"
            self._hearing.disagree("S7.1-4", *pair, sentence)
            return False
        sockets = self._exchange.assumed("retail.sockets_per_key")
        if sockets and observed.rule == "R1" and _address(observed).startswith("/v1/ws/"):
            self._hearing.undecided("sockets of one key")
            return False
        issuing = observed.operation.startswith(("TokenIssuerAPI.IssueToken", "ParticipantAPI."))
        if not issuing and (observed.rule in _REFUSALS or observed.status in (401, 405, 413)):
            reported = f"{observed.status} {observed.code} by {observed.rule}"
            sentence = f"{_address(observed)} is refused, {reported}"
            self._hearing.disagree(observed.rule or "S7.1-2", "no refusal", reported, sentence)
            return False
        return True

    def _form(self, call: JudgedCall) -> None:
        """Judge what every answer has in common: a trace id, codes that correspond (E1, E2)."""
        observed = call.observed
        if observed.input["type"] == "open" and observed.opened:
            return
        if not observed.request_id:
            sentence = f"the answer to {_address(observed)} has no trace id"
            self._hearing.disagree("E2", "a trace id", "none", sentence)
        if call.plane in ("grpc", "auth") or observed.pending_on:
            return
        status, code = observed.status, observed.code
        corresponds = status in STATUSES.get(code, ()) if code else status < 400
        corresponds = corresponds or (self._at_edge(call) and (status, code) == (403, 5))
        if not corresponds:
            sentence = f"{_address(observed)} is answered {status} with code {code}"
            self._hearing.disagree("E1", str(STATUSES.get(code)), str(status), sentence)

    # ---- the stages

    def _maintenance(self, call: JudgedCall) -> Refused | None:
        """While maintenance lasts, exchange and retail refuse everything (W4, W6, W8)."""
        if self._paused and call.plane not in ("gateway", "auth"):
            path = call.observed.input.get("path") or call.observed.input["method"]
            checks_health = path.endswith(("/v1/health", "HealthAPI/HealthCheck"))
            return Refused("W8" if checks_health else "W4", 503, 14)
        return None

    def _route(self, call: JudgedCall) -> Refused | None:
        """Find the operation. The retail API asks for a key before it looks at the address, and
        counts a call without any for its address first.
        """
        refusal = self._method(call) if call.plane == "grpc" else self._address(call)
        if call.plane != "retail" or call.operation.get("credential") == "none":
            return refusal
        if call.credential["kind"] == "none":
            limited = self._limit(call)
            if limited is None:
                self._count(call)
            return limited or Refused("S5.2-1", 401, 16)
        return self._key(call) or refusal

    def _method(self, call: JudgedCall) -> Refused | None:
        """Unknown and removed methods of gRPC are UNIMPLEMENTED (K7, §9). Reflection needs a
        permission that nobody has (S7.2-5).
        """
        method = call.observed.input["method"]
        operation = self._methods.get(method)
        if operation is None and "reflection" in method.lower():
            return Refused("S7.2-5", 403, 7)
        if operation is None or self._is_absent(operation["name"]):
            return Refused("S4.3-22", 404, 12)
        if not removals.exists(operation["name"], self._exchange.now):
            return Refused("S9-3", 404, 12)
        call.operation = operation
        return None

    def _is_absent(self, operation: str) -> bool:
        """Return whether a call is a bulk export of reports, and none exists (§4.3)."""
        reports = {f"ReportAPI.Download{name}" for name in ("Orders", "Executions", "Trades")}
        return operation in reports and self._exchange.assumed("reports.bulk_export") == "none"

    def _address(self, call: JudgedCall) -> Refused | None:
        """Unknown paths, and those of operations that do not exist at this date, are 404; another
        verb of a path is 405 (S7.1-4, §9).
        """
        now = self._exchange.now
        address = call.observed.input
        path = address.get("path") or address["method"]
        parts = path.split("/")
        declared = [
            route
            for route in self._routes.get((call.plane, len(parts)), ())
            if _matches(route[1], parts) and not self._is_absent(route[2]["name"])
        ]
        matching = [route for route in declared if removals.exists(route[2]["name"], now)]
        if not matching:
            return Refused("S9-3" if declared else "S7.1-4", 403 if self._at_edge(call) else 404, 5)
        verb = address.get("verb", "GET")
        served = [each for each in matching if each[0] == verb]
        if not served:
            return Refused("S7.1-4", 405, 12)
        call.operation = max(served, key=lambda each: sum("{" not in part for part in each[1]))[2]
        return None

    def _at_edge(self, call: JudgedCall) -> bool:
        """Return whether the edge answers for the exchange, as recordings show (E1)."""
        edge = self._exchange.assumed("exchange.edge_errors") == "edge"
        return edge and call.plane == "exchange"

    def _size(self, call: JudgedCall) -> Refused | None:
        """A body of more than a mebibyte is too large (S7.1-6)."""
        address = call.observed.input
        size = max(len(address.get("body", "").encode()), len(address.get("binary", "")) * 3 // 4)
        if address.get("oversize") or (call.plane != "grpc" and size > BODY_LIMIT):
            return Refused("S7.1-6", 413, 8)
        return None

    def _authenticate(self, call: JudgedCall) -> Refused | None:
        """A firm has a token that is less than 180 seconds old, a retail customer a key and a fresh
        signature (S5.1-4, S5.2-1, S0-2).
        """
        needed = call.operation["credential"]
        if needed == "default":
            needed = {"grpc": "bearer", "exchange": "bearer", "retail": "api_key"}.get(
                call.plane, "none"
            )
        if needed == "none":
            return None
        return self._key(call) if needed == "api_key" else self._bearer(call)

    def _bearer(self, call: JudgedCall) -> Refused | None:
        credential = call.credential
        kind, key = credential["kind"], credential.get("key", "")
        if kind == "script" and key in self._firms:
            call.token = Token(key, tuple(self._firms[key]["scopes"]), 0)
            return None
        token = self._issuer.tokens.get(key) if kind == "bearer" else None
        if token is None or credential.get("problem") or token.expires <= self._exchange.now:
            return Refused("S5.1-4", 401, 16)
        call.token = token
        return None

    def _key(self, call: JudgedCall) -> Refused | None:
        credential = call.credential
        kind, key = credential["kind"], credential.get("key", "")
        row = self._keys.get(key) if kind in ("api_key", "script") else None
        if row is None or credential.get("problem"):
            return Refused("S5.2-1", 401, 16)
        if row["environment"] != self._environment:
            return Refused("S0-2", 401, 16)
        call.api_key = key
        return None

    def _scope(self, call: JudgedCall) -> Refused | None:
        """Each operation has a scope that the token must have (S5.1-9)."""
        if call.token is None:
            return None
        scope = call.operation["scope"]
        if scope and scope not in call.token.scopes:
            return Refused("S5.1-9", 403, 7)
        if call.token.participant and call.operation["name"].startswith(_OF_THE_FIRM):
            return Refused("E5", 403, 7)
        return None

    def _participant(self, call: JudgedCall) -> Refused | None:
        """The header names a participant of the firm where one is needed, and wherever it is sent
        unless it is ignored (S5.1-5, S5.1-6). A participant's token implies its own (E5).
        """
        if call.token is None:
            return None
        needed, rule = call.operation["participant"], "S5.1-5"
        if call.operation["name"] == "UsersAPI.ListUsers" and needed == "optional":
            needed, rule = self._needed(needed, "users.require_participant"), "S4.3-16"
        elif call.operation["name"] == "ReportAPI.GetTradeStats":
            needed, rule = self._needed(needed, "report.stats_requires_participant"), "R11"
        header = call.observed.input.get("participant")
        if needed == "not_needed":
            return None
        own = call.token.participant
        if header is None:
            return Refused(rule, 403, 7) if needed == "required" and not own else None
        if own and own != header:
            return Refused("E5", 403, 7)
        if self._users.get(header) != call.token.firm:
            return Refused("S5.1-5", 403, 7)
        return None

    def _needed(self, needed: str, assumption: str) -> str:
        return "required" if self._exchange.assumed(assumption) is True else needed

    # ---- limits

    def _limits_of(self, call: JudgedCall) -> list[str]:
        """Return the limits that count a call: that of its plane first (rule R3)."""
        plane = call.plane
        if plane == "retail" and not call.api_key:
            return ["public"]
        own = call.operation.get("limits", ())
        return [*([PLANES[plane]] if plane in PLANES else []), *own]

    def _limit(self, call: JudgedCall) -> Refused | None:
        """The first limit without room refuses (rules R1-R3)."""
        method = _method(call)
        waits = {
            name: self._limits.wait(name, method, call.subject)
            for name in self._limits_of(call)
            if self._limits.enforced(name)
        }
        for name, wait in waits.items():
            if wait is None:
                raise Undecidable("a limit whose counting began anew")
            if wait:
                text = "rate limit exceeded"
                if name not in PLANES.values() and name not in EXTRA:
                    text = self._text(method, wait)
                return Refused(self._limits.rule(name), 429, 8, wait, text)
        return None

    def _text(self, method: str, wait: int) -> str:
        text = str(self._exchange.assumed("limits.endpoint_text"))
        values = {"{method}": method, "{rung}": "endpoint", "{wait}": go_duration(wait)}
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    def _count(self, call: JudgedCall) -> None:
        """Count a call that passed, once for each limit (R3). Limits that do not hold count too,
        and the answer says which of them have no room (`limits.extra`).
        """
        method, over = _method(call), []
        for name in self._limits_of(call):
            wait = self._limits.wait(name, method, call.subject)
            if wait and not self._limits.enforced(name):
                over.append(name)
            else:
                self._limits.take(name, method, call.subject)
        reported = dict(call.observed.headers).get("x-sim-over-limit", "")
        if reported != ", ".join(over) and not call.observed.opened:
            sentence = f"{_address(call.observed)} is marked over the limits {reported or 'none'}"
            self._hearing.disagree("R1", ", ".join(over), reported, sentence)

    def _told_to_wait(self, call: JudgedCall, refusal: Refused) -> None:
        """A 429 says truly after how many seconds a call passes, in the plane's words (R4, R5)."""
        observed = call.observed
        body: Document = {"status": 429, "message": "Too Many Requests"}
        answer = observed.answer
        if call.plane == "exchange":
            body = {"code": 8, "message": refusal.text, "details": []}
        elif call.plane == "grpc":
            body = {"message": refusal.text}
            answer = {"message": observed.out.get("message")}
        if answer != body:
            sentence = f"{_address(observed)} is refused by a limit with {answer}"
            self._hearing.disagree("R5", str(body), str(answer), sentence)
        headers = {name.lower(): value for name, value in observed.headers}
        seconds = str(max(1, ceil(refusal.wait / NS_PER_S)))
        silent = call.plane == "grpc" or self._hearing.quirk("retry_after_missing")
        if not silent and headers.get("retry-after") != seconds:
            reported = headers.get("retry-after", "none")
            sentence = f"{_address(observed)} has Retry-After {reported}, and room in {seconds} s"
            self._hearing.disagree("R4", seconds, reported, sentence)

    def _frame(self, observed: ObservedInput, firm: str) -> None:
        """A firm may send so many frames over all of its gRPC streams (rule S15)."""
        if not firm:
            return
        wait = self._limits.wait("stream_frames", "", firm)
        refused = [each["code"] for each in observed.closed if each.get("rule") == "S15"]
        if not wait:
            self._limits.take("stream_frames", "", firm)
        if wait is not None and refused != ([8] if wait else []):
            sentence = f"a frame of {firm} with a wait of {wait} ns ends streams with {refused}"
            self._hearing.disagree("S15", str(wait), str(refused), sentence)

    # ---- what passed

    def _learn(self, call: JudgedCall) -> None:
        """Take over who may call from now on, and judge tokens and removed fields."""
        observed = call.observed
        name = observed.operation
        if observed.opened and call.token:
            self._streams[observed.opened] = call.token.firm
        if name == "TokenIssuerAPI.IssueToken":
            self._issuer.issued(observed)
        elif name.startswith("ParticipantAPI.") and call.token:
            self._issuer.participant_token(observed, call.token, self._users)
        elif name == "UsersAPI.CreateUser" and not observed.code and call.token:
            answer = observed.answer or {}
            participant = answer.get("participantId") or answer.get("participant_id")
            if participant:
                self._users[participant] = call.token.firm
        answer = None if observed.code else observed.answer
        for field, exists in removals.untimely(name, answer, observed.now, self._exchange.assumed):
            pair = (f"{field}", f"no {field}") if exists else (f"no {field}", field)
            sentence = f"{_address(observed)} shows {pair[1]} at this date"
            self._hearing.disagree("S9-3", *pair, sentence)


def _matches(template: list[str], parts: list[str]) -> bool:
    """Return whether a path is one of a template's, part by part."""
    return all(
        part != "" if "{" in variable else variable == part
        for variable, part in zip(template, parts, strict=True)
    )


def _method(call: JudgedCall) -> str:
    """Return the name of the method that an operation has in texts and counts."""
    return str(call.operation.get("name", "")).partition(".")[2]


def _address(observed: ObservedInput) -> str:
    address = observed.input
    return f"{address.get('verb', '')} {address.get('path') or address['method']}".strip()
