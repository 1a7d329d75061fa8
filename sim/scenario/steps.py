"""The steps of a scenario: when something is done to the running exchange, and what.

Each key of `Step` is one of three: when and how the step runs (`at`, `when`, `save`, ...), what a
client does (`call`, `subscribe`, ...), or an operator action, whose row in `actors/operator/
actions.py` names it. The runner refuses to be imported when a key is none of them. What a step
expects is in `expectations_format.py`.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Struct
from msgspec.structs import force_setattr

from sim.core.catalogue.observations import READINGS
from sim.core.identity.kyc_outcomes import DECISIONS
from sim.core.model.enums import InstrumentState, OrderState
from sim.core.model.funding_records import FundingScript, FundingState, Purpose
from sim.core.service.fault_spec import FaultSpec
from sim.core.service.presets import PRESETS
from sim.kernel.instants import DAY, Instant, Span
from sim.scenario.expectations_format import ORDER_STATES, Expect
from sim.scenario.receiver_entries import ReceiverStep
from sim.scenario.scalar_types import (
    BOOLEAN,
    CHANCE,
    COUNT,
    DECIMAL,
    INDEX_PRICE_TEXT,
    INSTANT,
    MOMENT,
    ORDINAL,
    POSITIVE,
    SPAN,
    STRING,
)
from sim.scenario.struct_types import PLACE, Alias, AnyJson, ListOf, MappingOf, ScalarOr, record
from sim.scenario.value_types import INVALID, Choice, choice_of, report
from sim.scenario.world_entries import STATES, MaintenanceEntry, OrderEntry
from sim.scenario.yaml_tree import Node, Problem

FaultEntry: TypeAlias = FaultSpec  # the same thing in a scenario's words

DECISION_WORDS = Choice(DECISIONS.keys())
_DECIDED = (FundingState.COMPLETED, FundingState.CANCELLED, FundingState.REFUNDED)
FUNDING_DECISIONS = Choice({state.name.lower(): state for state in _DECIDED})
FUNDING_SCRIPTS = choice_of(FundingScript)
PURPOSES = choice_of(Purpose)
SIDE_OF_GAME = Choice(("home", "away"))
PRESET = Choice(PRESETS.keys())
READING = Choice(READINGS.keys())
PLANES = Choice(("gateway", "retail", "exchange", "auth", "grpc"))


class CancelStep(Struct, frozen=True, kw_only=True):
    """Cancel one order by its client order id, or all orders of a participant."""

    as_: Annotated[str, "whose orders", Alias("account", former=False)] = "maker"
    order: Annotated[str, "client order id, or the name of the step that placed it"] = ""
    symbol: Annotated[str, "with `all`: only on this instrument"] = ""
    all: Annotated[bool, BOOLEAN, "every open order"] = False


_STATES = (*(state.name for state in InstrumentState), "SCHEDULE")


class StateStep(Struct, frozen=True, kw_only=True):
    """Move an instrument to a state by hand, or let it follow its schedule again."""

    symbol: Annotated[str, "symbol of the instrument"]
    state: Annotated[
        str,
        Choice(_STATES, "INSTRUMENT_STATE_"),
        "the state, or SCHEDULE to follow its schedule again",
    ]


class SettleStep(Struct, frozen=True, kw_only=True):
    """Set a settlement price and pay; an open instrument is closed first."""

    symbol: Annotated[str, "symbol of the instrument"]
    price: Annotated[str, DECIMAL, "dollars, 0 to 1"]
    text: Annotated[str, "the outcome in words"] = ""


class PriceStep(Struct, frozen=True, kw_only=True):
    """Publish an index tick of an asset; an unknown asset is created."""

    asset: Annotated[str, "crypto:<symbol>"]
    price: Annotated[str, INDEX_PRICE_TEXT, "dollars"]
    at: Annotated[Instant | None, INSTANT, "instant of the tick: only now, as when left out"] = None


class FairPriceStep(Struct, frozen=True, kw_only=True):
    """Set what scripted participants think an instrument is worth."""

    symbol: Annotated[str, "symbol of the instrument"]
    price: Annotated[str, POSITIVE, "dollars, below 1"]


class ParticipantStep(Struct, frozen=True, kw_only=True):
    """Stop a scripted participant (it cancels its orders if it can), or let it go on."""

    name: Annotated[str, "its name in `participants`"]
    active: Annotated[bool, BOOLEAN, "false: it cancels its orders and stops; true: it goes on"]


class Score(Struct, frozen=True):
    """The score of a game."""

    home: Annotated[int, COUNT, "home's points"]
    away: Annotated[int, COUNT, "away's points"]


class HomeAndAway(ListOf):
    """Two of a shape: home's and away's."""

    def read(self, node: Node, problems: list[Problem]) -> Any:
        """As a list of any length is read, but two it must be."""
        value = super().read(node, problems)
        if value is INVALID or len(value) == 2:
            return value
        return report(node, "expected [home, away]", problems)


class GoalEntry(Struct, frozen=True, kw_only=True):
    """A goal; 45+2 is minute 45 with stoppage 2."""

    team: Annotated[str, SIDE_OF_GAME, "who scored"]
    minute: Annotated[int, ORDINAL, "minute of the game"]
    stoppage: Annotated[int, COUNT, "minute of stoppage time after it"] = 0


class EventStep(Struct, frozen=True, kw_only=True):
    """Report how a game stands; at its end its markets close and, if it decides them, settle."""

    slug: Annotated[str, "slug or number of the event"]
    score: Annotated[Score | None, "the same as home_score and away_score"] = None
    home_score: Annotated[int | None, COUNT, "home's score"] = None
    away_score: Annotated[int | None, COUNT, "away's score"] = None
    period: Annotated[str | None, "period of the game, such as Q1"] = None
    elapsed: Annotated[str | None, "time on the game clock, as the gateway shows it"] = None
    live: Annotated[bool | None, BOOLEAN, "whether it is being played"] = None
    ended: Annotated[bool | None, BOOLEAN, "true: it is over, and its markets close and settle"] = (
        None
    )
    periods: Annotated[
        dict[str, tuple[int, int]],
        MappingOf(HomeAndAway(COUNT)),
        "points by period: Q1-Q4, 1H, 2H, S1-S5 (sets), M1-M5 (maps), OT1, ET1",
    ] = {}
    goals: Annotated[
        tuple[GoalEntry, ...] | None,
        ListOf(record(GoalEntry)),
        "all goals of the game; an empty list: there was none",
    ] = None
    players: Annotated[
        dict[str, dict[str, int]],
        MappingOf(MappingOf(COUNT)),
        "statistics by player: points, rebounds, assists, threes, steals, blocks",
    ] = {}
    advances: Annotated[str, SIDE_OF_GAME, "the team that advances to the next round"] = ""
    result: Annotated[
        str, Choice(("no_result", "abandoned")), "no_result pays half, abandoned the last price"
    ] = ""

    def __post_init__(self) -> None:
        if self.score is not None:
            force_setattr(self, "home_score", self.score.home)
            force_setattr(self, "away_score", self.score.away)


class FundStep(Struct, frozen=True, kw_only=True):
    """Pay dollars into an account, or out of it with a minus sign."""

    account: Annotated[str, "account, or maker, taker, noise", Alias("as", former=False)]
    amount: Annotated[str, DECIMAL, "dollars, at most two decimals"]
    source: Annotated[
        str,
        "funding source of the account's firm; the money then moves state by state. At once when"
        " left out",
    ] = ""
    script: Annotated[
        FundingScript,
        FUNDING_SCRIPTS,
        Alias("course"),
        "with a source: how the transaction ends; hold waits for a decision",
    ] = FundingScript.COMPLETE
    purpose: Annotated[
        Purpose,
        PURPOSES,
        "without a source: the kind of money that retail activities show; a deposit when left out",
    ] = Purpose.DEPOSIT


class FundingStep(Struct, frozen=True, kw_only=True):
    """Decide a funding transaction by hand, or refund it: all of it without an amount."""

    transaction: str
    state: Annotated[FundingState, FUNDING_DECISIONS]
    amount: Annotated[str | None, POSITIVE, "dollars to refund, at most two decimals"] = None


class KycStep(Struct, frozen=True, kw_only=True):
    """Decide a verification, or report the upload of its document, by hand."""

    external_id: Annotated[str, "the partner's id of the verification"]
    decision: Annotated[str, DECISION_WORDS, "how it is decided"] = ""
    document: Annotated[
        str,
        Choice(("uploaded", "failed")),
        Alias("result"),
        "what became of the upload of the document",
    ] = ""


VERBS = ("get", "post", "put", "delete", "patch")
PARTICIPANT_HEADER = "x-participant-id"


class CallStep(Struct, frozen=True, kw_only=True):
    """Make a request on a public surface: exactly one verb with its path, or one rpc."""

    plane: Annotated[str, PLANES, "surface that is called"]
    get: Annotated[str, "path of a GET"] = ""
    post: Annotated[str, "path of a POST"] = ""
    put: Annotated[str, "path of a PUT"] = ""
    delete: Annotated[str, "path of a DELETE"] = ""
    patch: Annotated[str, "path of a PATCH"] = ""
    rpc: Annotated[str, "gRPC method, Service.Method"] = ""
    as_: Annotated[
        str,
        "participant, firm, API key id or account; nobody when left out",
        Alias("account", former=False),
    ] = ""
    query: Annotated[
        dict[str, str | tuple[str, ...]],
        MappingOf(ScalarOr(STRING, ListOf(STRING))),
        "a list repeats the parameter",
    ] = {}
    headers: Annotated[
        dict[str, str], "x-participant-id, where it is not the one of `as`; a call reads no other"
    ] = {}
    json: Annotated[Any, "body", Alias("body", former=False)] = UNSET

    @property
    def verb(self) -> str:
        """GET, POST, PUT, DELETE or PATCH; empty for an rpc."""
        return next((verb.upper() for verb in VERBS if getattr(self, verb)), "")

    @property
    def path(self) -> str:
        """Path of the request; empty for an rpc."""
        return next((getattr(self, verb) for verb in VERBS if getattr(self, verb)), "")

    @property
    def participant(self) -> str | None:
        """The header that says for whom the call is made; None where `as` says it."""
        named = (text for name, text in self.headers.items() if name.lower() == PARTICIPANT_HEADER)
        return next(named, None)


class SubscribeStep(Struct, frozen=True, kw_only=True):
    """Open a stream under a name: a gRPC subscription (rpc) or a retail WebSocket (path)."""

    name: Annotated[str, "what `expect.stream` calls it"]
    rpc: Annotated[str, "gRPC method, Service.Method"] = ""
    web_socket: Annotated[str, "path, such as /v1/ws/markets"] = ""
    as_: Annotated[
        str, "participant, firm, API key id or account", Alias("account", former=False)
    ] = ""
    json: Annotated[Any, "request of the subscription"] = UNSET
    send: Annotated[
        tuple[Any, ...],
        ListOf(AnyJson()),
        "frames to send, in order: on a WebSocket, or on a bidirectional rpc",
    ] = ()


class SendStep(Struct, frozen=True, kw_only=True):
    """Send frames on an open stream: a WebSocket, or a bidirectional rpc."""

    stream: Annotated[str, "its name in `subscribe`"]
    frames: Annotated[tuple[Any, ...], ListOf(AnyJson()), "frames, in order"]


class OrderWhen(Struct, frozen=True, kw_only=True):
    """An order comes to a state."""

    name: Annotated[str, "client order id, or the name of the step that placed it"]
    state: Annotated[OrderState, ORDER_STATES, "the state that it comes to"]


class InstrumentWhen(Struct, frozen=True, kw_only=True):
    """An instrument comes to a state."""

    symbol: Annotated[str, "symbol of the instrument"]
    state: Annotated[InstrumentState, STATES, "the state that it comes to"]


class TradeWhen(Struct, frozen=True, kw_only=True):
    """Somebody trades."""

    symbol: Annotated[str, "symbol of the instrument"]


class CallWhen(Struct, frozen=True, kw_only=True):
    """A client calls."""

    operation: Annotated[str, '"Rpc" or "Service.Rpc"']
    status: Annotated[int | None, ORDINAL, "only when it is answered with this HTTP status"] = None


class KycWhen(Struct, frozen=True, kw_only=True):
    """A verification becomes terminal."""

    external_id: Annotated[str, "the partner's id of the verification"]
    approved: Annotated[
        bool | None, BOOLEAN, "only when it is approved, or with false rejected"
    ] = None


class When(Struct, frozen=True, kw_only=True):
    """What a step waits for, once the step before it has run: exactly one thing."""

    order: OrderWhen | None = None
    instrument: InstrumentWhen | None = None
    trade: TradeWhen | None = None
    call: CallWhen | None = None
    kyc: KycWhen | None = None
    maintenance: Annotated[bool | None, BOOLEAN, "true: maintenance begins; false: it ends"] = None


class Step(Struct, frozen=True, kw_only=True):
    """One step: at most one thing done, then what is expected."""

    at: Annotated[
        Instant | str | None,
        MOMENT,
        'an instant, or "+30s" after the previous step; at once when left out',
    ] = None
    when: Annotated[
        When | None,
        "wait for this after the previous step; an offset in `at` counts from when it happened",
    ] = None
    within: Annotated[
        Span, SPAN, "how long to wait for `when`; then the step has failed and the script goes on"
    ] = DAY
    name: Annotated[str, "name in the report; also the client order id of its order"] = ""
    order: OrderEntry | None = None
    cancel: CancelStep | None = None
    state: StateStep | None = None
    settle: SettleStep | None = None
    bust: Annotated[str, "id of a trade to undo"] = ""
    price: PriceStep | None = None
    fair_price: FairPriceStep | None = None
    participant: ParticipantStep | None = None
    event: EventStep | None = None
    fund: FundStep | None = None
    kyc: KycStep | None = None
    receiver: ReceiverStep | None = None
    fault: FaultEntry | None = None
    clear_fault: Annotated[str, "id of a fault to remove: f1 is the first that was added"] = ""
    maintenance: MaintenanceEntry | None = None
    preset: Annotated[str, PRESET, "a preset of all quirks and faults"] = ""
    reading: Annotated[str, READING, "the reading of the service from now on"] = ""
    quirk: Annotated[dict[str, Annotated[str, CHANCE]], "odds by quirk"] = {}
    assumption: Annotated[dict[str, str], "value by assumption"] = {}
    advance: Annotated[Span | None, SPAN, "let this much time pass"] = None
    call: CallStep | None = None
    subscribe: SubscribeStep | None = None
    send: SendStep | None = None
    disconnect: Annotated[
        str, Alias("hang_up"), "disconnect the client from a stream: its name in `subscribe`"
    ] = ""
    save: Annotated[
        dict[str, str],
        "save parts of the call's answer for later steps: name to path, such as {order: id}, used"
        " as ${order}",
    ] = {}
    expect: Expect | None = None
    where: Annotated[str, PLACE] = ""
