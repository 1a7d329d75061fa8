"""The format of the steps of a scenario.

A key of `Step` is of one of three kinds: when and how the step runs (`at`, `when`, `save`, ...),
what a client does (`call`, `subscribe`, ...), or an operator action, which a function in
`actors/operator` declares. The import of the runner fails if a key is of none of them.
`expectations_format.py` has the format of `expect`.
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
from sim.world.format.control_entries import DropEntry, ListenerEntry
from sim.world.format.expectations_format import ORDER_STATES, Expect
from sim.world.format.party_entries import ReceiverStep
from sim.world.format.scalar_types import (
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
from sim.world.format.struct_types import PLACE, Alias, AnyJson, ListOf, MappingOf, ScalarOr, record
from sim.world.format.value_types import INVALID, Choice, choice_of, report
from sim.world.format.world_entries import STATES, MaintenanceEntry, OrderEntry
from sim.world.format.yaml_tree import Node, Problem

FaultEntry: TypeAlias = FaultSpec  # the name follows those of the other entries of a scenario

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

    as_: Annotated[str, Alias("account")] = "maker"
    """participant whose orders are canceled; maker by default"""
    order: str = ""
    """the order: its client order id, or the name of the step that placed it"""
    symbol: str = ""
    """with `all`: cancel only the orders on this instrument"""
    all: bool = False
    """true: cancel every open order of the participant"""


_STATES = (*(state.name for state in InstrumentState), "SCHEDULE")


class StateStep(Struct, frozen=True, kw_only=True):
    """Change the state of an instrument, or return it to its schedule."""

    symbol: str
    """symbol of the instrument"""
    state: Annotated[str, Choice(_STATES, "INSTRUMENT_STATE_")]
    """the new state, or SCHEDULE to follow the schedule again"""


class SettleStep(Struct, frozen=True, kw_only=True):
    """Set the settlement price of an instrument and pay its positions. An open instrument
    is closed first.
    """

    symbol: str
    """symbol of the instrument"""
    price: Annotated[str, DECIMAL]
    """settlement price in dollars, from 0 to 1"""
    text: str = ""
    """description of the outcome"""


class PriceStep(Struct, frozen=True, kw_only=True):
    """Publish an index tick of an asset. An unknown asset is created."""

    asset: str
    """id of the asset, crypto:<symbol>"""
    price: Annotated[str, INDEX_PRICE_TEXT]
    """price of the index in dollars"""
    at: Annotated[Instant | None, INSTANT] = None
    """instant of the tick; only the present instant is accepted"""


class FairPriceStep(Struct, frozen=True, kw_only=True):
    """Set the fair price of an instrument: what simulated traders think that it is worth."""

    symbol: str
    """symbol of the instrument"""
    price: Annotated[str, POSITIVE]
    """fair price in dollars, below 1"""


class ParticipantStep(Struct, frozen=True, kw_only=True):
    """Stop or resume a simulated trader. A trader that stops cancels its orders."""

    name: str
    """name of the trader in `participants`"""
    active: bool
    """false: stop; true: resume"""


class Score(Struct, frozen=True):
    """The score of a game."""

    home: Annotated[int, COUNT]
    """points of the home team"""
    away: Annotated[int, COUNT]
    """points of the away team"""


class HomeAndAway(ListOf):
    """A list of two values: of the home team and of the away team."""

    def read(self, node: Node, problems: list[Problem]) -> Any:
        """The two values; another number of values is a problem."""
        value = super().read(node, problems)
        if value is INVALID or len(value) == 2:
            return value
        return report(node, "expected [home, away]", problems)


class GoalEntry(Struct, frozen=True, kw_only=True):
    """A goal. For a goal in minute 45+2 write minute 45 and stoppage 2."""

    team: Annotated[str, SIDE_OF_GAME]
    """team that scored"""
    minute: Annotated[int, ORDINAL]
    """minute of the game"""
    stoppage: Annotated[int, COUNT] = 0
    """minute of stoppage time"""


class EventStep(Struct, frozen=True, kw_only=True):
    """Report the state of a game. When the game ends, its markets close; those that its
    result decides settle.
    """

    slug: str
    """slug or number of the event"""
    score: Score | None = None
    """score, instead of `home_score` and `away_score`"""
    home_score: Annotated[int | None, COUNT] = None
    """score of the home team"""
    away_score: Annotated[int | None, COUNT] = None
    """score of the away team"""
    period: str | None = None
    """period of the game, such as Q1"""
    elapsed: str | None = None
    """time on the game clock, as the gateway shows it"""
    live: bool | None = None
    """whether the game is being played"""
    ended: bool | None = None
    """true: the game is over; its markets close and settle"""
    periods: Annotated[dict[str, tuple[int, int]], MappingOf(HomeAndAway(COUNT))] = {}
    """points of each period, [home, away], by period: Q1-Q4, 1H, 2H, S1-S5 (sets), M1-M5
    (maps), OT1, ET1"""
    goals: Annotated[tuple[GoalEntry, ...] | None, ListOf(record(GoalEntry))] = None
    """all goals of the game; an empty list means that there was none"""
    players: Annotated[dict[str, dict[str, int]], MappingOf(MappingOf(COUNT))] = {}
    """statistics by player: points, rebounds, assists, threes, steals, blocks"""
    advances: Annotated[str, SIDE_OF_GAME] = ""
    """the team that advances to the next round"""
    result: Annotated[str, Choice(("no_result", "abandoned"))] = ""
    """for a game without a result: no_result pays 0.50 for each contract, abandoned
    the last price"""

    def __post_init__(self) -> None:
        if self.score is not None:
            force_setattr(self, "home_score", self.score.home)
            force_setattr(self, "away_score", self.score.away)


class FundStep(Struct, frozen=True, kw_only=True):
    """Pay money into an account, or with a negative amount out of it."""

    account: Annotated[str, Alias("as")]
    """account, or maker, taker, noise"""
    amount: Annotated[str, DECIMAL]
    """dollars, with at most two decimals"""
    source: str = ""
    """funding source of the account's firm: the transaction then passes through its states. Without
    a source the money moves at once"""
    script: Annotated[FundingScript, FUNDING_SCRIPTS] = FundingScript.COMPLETE
    """with a source: how the transaction ends. HOLD keeps it pending until a decision;
    COMPLETE by default"""
    purpose: Annotated[Purpose, PURPOSES] = Purpose.DEPOSIT
    """without a source: the kind of payment in retail activities; DEPOSIT by default"""


class FundingStep(Struct, frozen=True, kw_only=True):
    """Decide a funding transaction, or refund it. Without an amount the whole sum is refunded."""

    transaction: str
    state: Annotated[FundingState, FUNDING_DECISIONS]
    amount: Annotated[str | None, POSITIVE] = None
    """dollars to refund, at most two decimals"""


class KycStep(Struct, frozen=True, kw_only=True):
    """Decide a verification, or report the result of a document upload."""

    external_id: str
    """id that the partner gave the verification"""
    decision: Annotated[str, DECISION_WORDS] = ""
    """the decision"""
    document: Annotated[str, Choice(("uploaded", "failed")), Alias("result")] = ""
    """result of the document upload"""


VERBS = ("get", "post", "put", "delete", "patch")
PARTICIPANT_HEADER = "x-participant-id"
_QUERY = MappingOf(ScalarOr(STRING, ListOf(STRING)))


class CallStep(Struct, frozen=True, kw_only=True):
    """Make a call as a client: a REST call with a verb and its path, or a gRPC call with `rpc`."""

    plane: Annotated[str, PLANES]
    """API that is called"""
    get: str = ""
    """path of a GET request"""
    post: str = ""
    """path of a POST request"""
    put: str = ""
    """path of a PUT request"""
    delete: str = ""
    """path of a DELETE request"""
    patch: str = ""
    """path of a PATCH request"""
    rpc: str = ""
    """gRPC method, Service.Method"""
    as_: Annotated[str, Alias("account")] = ""
    """caller: a participant, firm, API key id or account; without it the call
    is not authenticated"""
    query: Annotated[
        dict[str, str | tuple[str, ...]], MappingOf(ScalarOr(STRING, ListOf(STRING)))
    ] = {}
    """query parameters; a list repeats its parameter"""
    headers: dict[str, str] = {}
    """only x-participant-id, to act for a participant other than that of `as`"""
    json: Annotated[Any, Alias("body")] = UNSET
    """body of the request"""

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
    """Open a stream under a name: a gRPC subscription with `rpc`, or a retail WebSocket."""

    name: str
    """name of the stream, for `send`, `disconnect` and `expect.stream`"""
    rpc: str = ""
    """gRPC method, Service.Method"""
    web_socket: str = ""
    """path of a WebSocket, such as /v1/ws/markets"""
    as_: Annotated[str, Alias("account")] = ""
    """subscriber: a participant, firm, API key id or account"""
    json: Any = UNSET
    """request of the subscription"""
    send: Annotated[tuple[Any, ...], ListOf(AnyJson())] = ()
    """frames to send once the stream is open, in order: on a WebSocket or a bidirectional rpc"""


class SendStep(Struct, frozen=True, kw_only=True):
    """Send frames on an open stream: a WebSocket or a bidirectional rpc."""

    stream: str
    """name of the stream in `subscribe`"""
    frames: Annotated[tuple[Any, ...], ListOf(AnyJson())]
    """frames to send, in order"""


class OrderWhen(Struct, frozen=True, kw_only=True):
    """An order reaches a state."""

    name: str
    """the order: its client order id, or the name of the step that placed it"""
    state: Annotated[OrderState, ORDER_STATES]
    """the state"""


class InstrumentWhen(Struct, frozen=True, kw_only=True):
    """An instrument reaches a state."""

    symbol: str
    """symbol of the instrument"""
    state: Annotated[InstrumentState, STATES]
    """the state"""


class TradeWhen(Struct, frozen=True, kw_only=True):
    """Somebody trades an instrument."""

    symbol: str
    """symbol of the instrument"""


class CallWhen(Struct, frozen=True, kw_only=True):
    """A client makes a call."""

    operation: str
    """operation that is called: Rpc or Service.Rpc"""
    status: Annotated[int | None, ORDINAL] = None
    """HTTP status of the answer; any status by default"""


class KycWhen(Struct, frozen=True, kw_only=True):
    """A verification is decided."""

    external_id: str
    """id that the partner gave the verification"""
    approved: bool | None = None
    """true: it is approved; false: it is rejected; either by default"""


class When(Struct, frozen=True, kw_only=True):
    """The event that a step waits for after the previous step. Exactly one key is given."""

    order: OrderWhen | None = None
    instrument: InstrumentWhen | None = None
    trade: TradeWhen | None = None
    call: CallWhen | None = None
    kyc: KycWhen | None = None
    maintenance: bool | None = None
    """true: a maintenance window begins; false: it ends"""


class Step(Struct, frozen=True, kw_only=True):
    """One step: when it runs, at most one action, and what must be true afterwards."""

    at: Annotated[Instant | str | None, MOMENT] = None
    """when the step runs: an instant, or a duration after the previous step such as +30s; by
    default right after the previous step"""
    when: When | None = None
    """event to wait for after the previous step; a duration in `at` then counts from the event"""
    within: Annotated[Span, SPAN] = DAY
    """how long to wait for `when`; after that the step fails and the next step runs; a
    day by default"""
    name: str = ""
    """name of the step in reports, and client order id of an order that it places"""
    order: OrderEntry | None = None
    cancel: CancelStep | None = None
    state: StateStep | None = None
    settle: SettleStep | None = None
    bust: str = ""
    """id of a trade to bust"""
    price: PriceStep | None = None
    fair_price: FairPriceStep | None = None
    participant: ParticipantStep | None = None
    event: EventStep | None = None
    fund: FundStep | None = None
    kyc: KycStep | None = None
    receiver: ReceiverStep | None = None
    fault: FaultEntry | None = None
    clear_fault: str = ""
    """id of a fault to remove; f1 is the fault that was added first"""
    listener: ListenerEntry | None = None
    drop_connections: DropEntry | None = None
    maintenance: MaintenanceEntry | None = None
    preset: Annotated[str, PRESET] = ""
    """apply a preset of quirks and faults"""
    reading: Annotated[str, READING] = ""
    """switch to this reading of the service"""
    quirk: dict[str, Annotated[str, CHANCE]] = {}
    """set quirks: odds by name, such as always, never or 2/3"""
    assumption: dict[str, str] = {}
    """set assumptions: value by name"""
    advance: Annotated[Span | None, SPAN] = None
    """let this much virtual time pass"""
    call: CallStep | None = None
    subscribe: SubscribeStep | None = None
    send: SendStep | None = None
    disconnect: str = ""
    """name of a stream in `subscribe` that the client disconnects"""
    input: str = ""
    """an input as a journal records it, in JSON; for inputs that no other key can express"""
    save: dict[str, str] = {}
    """save parts of the answer to `call` for later steps: {order: id} saves the field `id`, which
    later steps use as ${order}"""
    expect: Expect | None = None
    where: Annotated[str, PLACE] = ""
