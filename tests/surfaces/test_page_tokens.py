"""Page tokens and cursors of every list, over REST and gRPC: a token opens no door and breaks none.

The lists are taken from the contract. Whatever text a caller sends as a token, the answer is a
refusal that says so, or rows which that caller sees without one.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sim import Simulation, load_scenario
from sim.api.codecs.codecs import fields_of
from sim.api.pipeline.paging import write_cursor
from sim.contract.contract import Operation
from sim.contract.messages.exchange_v1 import UserFilter
from sim.run.client.client import Http, RpcError
from tests.kit import Desk, unlimited
from tests.surfaces.callers import SERVED, check_refusal

TOKENS = ("page_token", "cursor")
FOLLOWING = ("next_page_token", "next_cursor", "cursor")
INVALID_ARGUMENT = 3
QUICKSTART = load_scenario("quickstart")
# Lists that the world leaves empty.
EMPTY: set[str] = {"FundingAPI.ListTransactionRequirements"}


def _token_field(operation: Operation) -> str:
    names = {field.name for field in fields_of(operation.request)}
    return next((name for name in TOKENS if name in names), "")


PAGED = [operation for operation in SERVED if _token_field(operation) and operation.kind == "unary"]


class List(NamedTuple):
    """A list at one of its doors."""

    operation: Operation
    door: str

    def __str__(self) -> str:
        return f"{self.operation.name}-{self.door}"


LISTS = [
    List(operation, door)
    for operation in PAGED
    for door in (*operation.planes, *(("grpc",) if operation.grpc else ()))
]


class Page(NamedTuple):
    """What a caller got: rows in their order, the token of the next page, whether it is the end."""

    rows: list[str]
    following: str
    eof: bool


class World:
    """An exchange in which two callers of each kind have rows in (nearly) every list."""

    def __init__(self, reading: str) -> None:
        self.desk = Desk(Simulation(replace(QUICKSTART, reading=reading)))
        unlimited(self.desk.simulation)
        self.desk.preset("ideal")
        self._trade()
        self._quote()

    def _trade(self) -> None:
        desk, instrument = self.desk, self.desk.quiet()
        for number in range(6):
            desk.place(instrument, "sell", 50, 2, clordId=f"o{number}")
            if number % 3 == 0:
                desk.place(instrument, "buy", 50, user=1)
            else:
                desk.retail_place(instrument, "BUY_LONG", 50, index=number % 3 - 1)
            desk.advance("1s")
        for number in range(4):
            desk.fund(number % 2, f"{number + 1}")
            code = {"user_id": desk.user(number % 2).name, "referral_code": f"CODE-{number}"}
            assert desk.partner.post("/v1/kyc/referral-codes", json=code).status == 200
        others = (row for row in desk.core.instruments if row is not instrument)
        for other in islice(others, 40):
            for buyer in (0, 1):
                if desk.enter(other, "sell", 60).status == 200:
                    desk.retail_enter(other, "BUY_LONG", 60, index=buyer)

    def _quote(self) -> None:
        desk = self.desk
        ann, bob = desk.customer(0), desk.customer(1)
        legs = [{"symbol": row.symbol, "side": "SIDE_BUY"} for row in islice(desk.in_state(), 2)]
        created = ann.post("/v1/combos", json={"legs": legs})
        assert created.status == 200, created
        symbol = created.json()["combo"]["id"]
        first, second = ((desk.trader(n), {"account": desk.account(n)}) for n in (0, 1))
        pairs = (((ann, {}), (bob, {})), ((bob, {}), (ann, {})), (first, second), (second, first))
        for (asks, asker), (quotes, quoter) in 3 * pairs:
            asked = asks.post("/v1/rfqs", json={"symbol": symbol, **ASKED, **asker})
            assert asked.status == 200, asked
            rfq = asked.json()["rfqId"]
            quoted = quotes.post("/v1/rfqs/quotes", json={"rfqId": rfq, **QUOTED, **quoter})
            assert quoted.status == 200, quoted
            path = f"/v1/rfqs/{rfq}/quotes/{quoted.json()['quoteId']}"
            accepted = asks.put(f"{path}/accept", json={"acceptedSide": "SIDE_BUY"})
            assert accepted.status == 200, accepted
            assert quotes.put(f"{path}/confirm", json={}).status == 200
            desk.advance("2s")

    # ---- reading

    def read(self, listed: List, caller: int = 0, token: str = "", size: int = 0) -> Page | Any:
        """A page, or the refusal."""
        asked = self._asked(listed.operation, caller)
        if token:
            asked[_token_field(listed.operation)] = token
        if size:
            names = {field.name for field in fields_of(listed.operation.request)}
            asked["page_size" if "page_size" in names else "limit"] = size
        if listed.door == "grpc":
            return self._by_grpc(listed.operation, caller, asked)
        return self._by_rest(listed, caller, asked)

    def _asked(self, operation: Operation, caller: int) -> dict[str, Any]:
        if "Ledger" in operation.rpc:
            return {"account": self.desk.account(caller)}
        if operation.rpc == "ListAccountPositions":
            return {"name": self.desk.account(caller)}
        if operation.rpc in ("GetQuotes", "ListQuotes"):
            return {"user_filter": UserFilter.USER_FILTER_SELF}
        return {}

    def _by_rest(self, listed: List, caller: int, asked: dict[str, Any]) -> Page | Any:
        verb, path, body = listed.operation.bindings[0]
        client = self._http(listed.door, caller)
        asked = {name: getattr(value, "name", value) for name, value in asked.items()}
        how = {"json": asked} if body else {"params": asked}
        answer = client.request(verb, path, **how)
        if answer.status != 200:
            return answer
        result = answer.json()
        rows = next(value for value in result.values() if isinstance(value, list | dict))
        following = next((result[name] for name in CAMEL if result.get(name)), "")
        return Page(
            [msgspec.json.encode(row).decode() for row in _items(rows)],
            following,
            result.get("eof", not following),
        )

    def _http(self, door: str, caller: int) -> Http:
        return self.desk.customer(caller) if door == "retail" else self.desk.trader(caller)

    def _by_grpc(self, operation: Operation, caller: int, asked: dict[str, Any]) -> Page | Any:
        client = self.desk.rpc_trader(caller)
        try:
            result = client.call(operation.name, operation.request(**asked))
        except RpcError as refused:
            return refused
        rows = next(
            getattr(result, field.attribute)
            for field in fields_of(operation.response)
            if field.repeated or field.key_kind
        )
        following = next((getattr(result, name) for name in FOLLOWING if hasattr(result, name)), "")
        return Page(
            [repr(row) for row in _items(rows)], following, getattr(result, "eof", not following)
        )


ASKED = {"qtyDecimal": "10", "restRemainder": False}
QUOTED = {"buyPrice": "0.30", "sellPrice": "0.20", "restRemainder": False}
CAMEL = ("nextPageToken", "nextCursor", "cursor")


def _items(rows: Any) -> Iterator[Any]:
    return iter(rows.items() if isinstance(rows, dict) else rows)


@cache
def world(reading: str = "documented") -> World:
    return World(reading)


def offset(value: Any) -> str:
    return base64.b64encode(msgspec.json.encode({"offset": value})).decode()


FORGED = [
    *("nonsense", "!!!!", "%00", " ", "\n", "ä", "=", "====", "AAAA", "a" * 100_000, "-1", "0"),
    *(offset(value) for value in (-1, -(2**63), 2**53 + 1, 2**63, 10**400, 1.5, "1", True, None)),
    *(base64.b64encode(text).decode() for text in (b"{}", b"[]", b"1", b'{"offset":1,"x":2}')),
    base64.b64encode(b'{"offset":1}{').decode(),
]


def check_refused(listed: List, answer: Any) -> None:
    """The token, and nothing else, is what was wrong."""
    assert not isinstance(answer, Page), answer
    if listed.door == "grpc":
        assert answer.code == INVALID_ARGUMENT
        text = str(answer)
    else:
        check_refusal(listed.door, answer, 400)  # type: ignore[arg-type]
        text = answer.json()["message"]
    assert "token" in text or "cursor" in text, text


@cache
def walk(listed: List, caller: int = 0, reading: str = "documented") -> tuple[list[str], list[str]]:
    """All rows of a list in pages of two, and the tokens that led from page to page."""
    rows: list[str] = []
    tokens: list[str] = []
    token = ""
    while True:
        page = world(reading).read(listed, caller, token, 2)
        assert isinstance(page, Page), page
        assert page.eof is (page.following == "") and (page.eof or len(page.rows) == 2)
        rows += page.rows
        if page.eof or len(tokens) == 20:
            return rows, tokens
        token = page.following
        tokens.append(token)


def check_harmless(listed: List, token: str, caller: int, reading: str = "documented") -> None:
    """A refusal of the token, or rows that this caller sees without one, in their order."""
    answer = world(reading).read(listed, caller, token, 2)
    if isinstance(answer, Page):
        every = world(reading).read(listed, caller, size=100)
        places = [every.rows.index(row) for row in answer.rows]
        assert places == sorted(set(places))
    else:
        check_refused(listed, answer)


@pytest.mark.parametrize("listed", LISTS, ids=str)
def test_a_token_that_nobody_gave_out_is_refused(listed: List) -> None:
    for token in FORGED:
        check_refused(listed, world().read(listed, token=token))


@pytest.mark.parametrize("listed", LISTS, ids=str)
def test_the_pages_together_are_the_list(listed: List) -> None:
    rows, tokens = walk(listed)
    assert rows == world().read(listed, size=100).rows[: len(rows)]
    assert len(set(rows)) == len(rows) and len(set(tokens)) == len(tokens)
    assert rows or listed.operation.name in EMPTY


@pytest.mark.parametrize("listed", LISTS, ids=str)
def test_a_token_of_somebody_else_shows_nothing_of_theirs(listed: List) -> None:
    _, tokens = walk(listed, 1)
    for token in tokens:
        check_harmless(listed, token, 0)


@pytest.mark.parametrize("listed", LISTS, ids=str)
def test_a_token_of_another_list_or_of_the_other_reading_is_harmless(listed: List) -> None:
    of_other_lists = {token for other in LISTS for token in walk(other)[1][:2]}
    for token in sorted(of_other_lists):
        check_harmless(listed, token, 0)
        check_harmless(listed, token, 0, "observed")
    for token in walk(listed, reading="observed")[1]:
        check_harmless(listed, token, 0)


@pytest.mark.parametrize(
    "listed", [item for item in LISTS if _token_field(item.operation) == "page_token"], ids=str
)
def test_beyond_the_last_row_is_the_empty_end(listed: List) -> None:
    for beyond in (10_000_000, 2**31, 2**53):
        assert world().read(listed, token=offset(beyond)) == Page([], "", True)


WORDS = st.one_of(
    st.text(max_size=40),
    st.integers().map(offset),
    st.binary(max_size=40).map(lambda raw: base64.b64encode(raw).decode()),
    st.binary(max_size=40).map(lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("=")),
    st.lists(st.one_of(st.integers(), st.text(max_size=9)), min_size=1, max_size=3).map(
        lambda parts: write_cursor(*parts)
    ),
)


@given(st.sampled_from(LISTS), WORDS.filter(bool), st.integers(0, 1))
def test_whatever_is_sent_as_a_token_opens_no_door_and_breaks_none(
    listed: List, token: str, caller: int
) -> None:
    check_harmless(listed, token, caller)


def test_a_cursor_of_a_position_that_was_sold_goes_on_with_the_next() -> None:
    mine = World("documented")
    listed = next(row for row in LISTS if row.operation.name == "RetailPortfolioAPI.ListPositions")
    first = mine.read(listed, size=1)
    rest = mine.read(listed, token=first.following, size=50)
    page = mine.desk.customer().get("/v1/portfolio/positions", params={"limit": 1}).json()
    (held,) = page["positions"]
    terms = mine.desk.instrument(held)
    mine.desk.place(terms, "buy", 1)
    mine.desk.retail_place(terms, "SELL_LONG", 1)
    assert held not in str(mine.read(listed, size=100).rows)
    assert mine.read(listed, token=first.following, size=50).rows == rest.rows
