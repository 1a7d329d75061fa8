"""A refused call beside an answered one of the same operation, in processor time.

Each pair goes through a listener of this process without a socket, from parsed request to bytes of
the answer: limits, signatures, journal and request log included. The ratio is the refused call's
cost to the answered one's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any, NamedTuple

from msgspec import yaml
from multidict import CIMultiDict, CIMultiDictProxy

from benchmarks.areas.http import SCENARIO, SYMBOL
from benchmarks.figures import Figure, Goal
from sim import Simulation, load_scenario
from sim.run.client.client import Connection, connect
from sim.server.host import Host
from sim.server.http.rest import RestListener
from sim.server.journal_file import spooled_journal

CALLS = 3_000
RETAIL_ORDER = (
    '{"marketSlug":"%s","intent":"ORDER_INTENT_BUY_LONG","type":"ORDER_TYPE_LIMIT",'
    '"price":{"value":"%s","currency":"USD"},"quantity":1,"tif":"TIME_IN_FORCE_GOOD_TILL_CANCEL"}'
)
ORDER = (
    '{"type":"ORDER_TYPE_LIMIT","side":"SIDE_BUY","symbol":"bench-orders","orderQty":"%d",'
    '"price":"%d","timeInForce":"TIME_IN_FORCE_GOOD_TILL_CANCEL"}'
)


class Request(NamedTuple):
    """What a listener of a plane is sent."""

    plane: str
    verb: str
    path: str
    body: bytes = b""


class Pair(NamedTuple):
    """An answered request and a refused one, with the status of the refusal."""

    work: str
    answered: Request
    refused: Request
    status: int
    limited: bool = False


class _Parsed(NamedTuple):
    """What a parser hands over for a request."""

    method: str
    path: str
    headers: CIMultiDictProxy[str]


def _get(plane: str, path: str) -> Request:
    return Request(plane, "GET", path)


def _post(plane: str, path: str, text: str) -> Request:
    return Request(plane, "POST", path, text.encode())


BOOK, ORDERS = f"/v1/markets/{SYMBOL}/book", "/v1/trading/orders"
EXCHANGE_BOOK = f"/v1/orderbook/{SYMBOL}?depth=10"
PAIRS = (
    Pair("gateway book, 404", _get("gateway", BOOK), _get("gateway", "/v1/markets/no/book"), 404),
    Pair("gateway book, 429", _get("gateway", BOOK), _get("gateway", BOOK), 429, limited=True),
    Pair(
        "exchange book, 404",
        _get("exchange", EXCHANGE_BOOK),
        _get("exchange", "/v1/orderbook/no?depth=10"),
        404,
    ),
    Pair(
        "exchange book, 429",
        _get("exchange", EXCHANGE_BOOK),
        _get("exchange", EXCHANGE_BOOK),
        429,
        limited=True,
    ),
    Pair(
        "exchange order, 422",
        _post("exchange", ORDERS, ORDER % (1, 1)),
        _post("exchange", ORDERS, ORDER % (1_000_000_000, 99)),
        422,
    ),
    Pair(
        "retail order, 404",
        _post("retail", "/v1/orders", RETAIL_ORDER % ("bench-orders", "0.01")),
        _post("retail", "/v1/orders", RETAIL_ORDER % ("no", "0.01")),
        404,
    ),
    Pair(
        "retail order, 400",
        _post("retail", "/v1/orders", RETAIL_ORDER % ("bench-orders", "0.01")),
        _post("retail", "/v1/orders", RETAIL_ORDER % ("bench-orders", "x")),
        400,
    ),
)


class Callers:
    """A served world, and credentials for its planes."""

    def __init__(self, *, limited: bool) -> None:
        scenario = load_scenario(SCENARIO)
        if limited:
            text: dict[str, Any] = yaml.decode(Path(SCENARIO).read_bytes())
            text["limits"] = {"public": "1/h", "exchange_rest": "1/h"}
            scenario = load_scenario(yaml.encode(text).decode())
        simulation = Simulation(scenario, journal=spooled_journal())
        self.connection: Connection = connect(simulation)
        self.host = Host(simulation)
        self.listeners = {
            plane: RestListener(self.host, plane) for plane in ("gateway", "retail", "exchange")
        }

    def headers(self, request: Request) -> dict[str, str]:
        """Headers of a caller who may make the request."""
        world = self.connection
        if request.plane == "exchange":
            firm = next(firm for firm in world.simulation.exchange.firms.all() if firm.client_id)
            return world.bearer(firm, firm.users[0].name)
        if request.plane == "retail":
            key = world.simulation.exchange.firms.api_keys()[0]
            return world.retail_headers(key, request.verb, request.path)
        return {}

    def once(self, request: Request, status: int) -> Callable[[], None]:
        """A function that makes the request and checks its status."""
        listener = self.listeners[request.plane]
        headers = {"Host": "127.0.0.1", **self.headers(request)}
        parsed = _Parsed(request.verb, request.path, CIMultiDictProxy(CIMultiDict(headers)))

        def call() -> None:
            answer = listener.immediate(parsed, request.body, "127.0.0.1")  # type: ignore[arg-type]
            if answer.status != status:  # type: ignore[union-attr]
                raise RuntimeError(f"{request.path} answers {answer}")
            answer.encode()  # type: ignore[union-attr]

        return call


def figures(rounds: int) -> list[Figure]:
    """One row for each pair: microseconds of the refused and of the answered call."""
    return [_figure(pair, rounds) for pair in PAIRS]


def _figure(pair: Pair, rounds: int) -> Figure:
    quiet, strict = Callers(limited=False), Callers(limited=pair.limited)
    answered = quiet.once(pair.answered, 200)
    refused = strict.once(pair.refused, pair.status)
    if pair.limited:
        strict.once(pair.refused, 200)()  # the one call that the limit lets pass
    costs: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, cost in ((refused, costs[0]), (answered, costs[1])):
            begin = thread_time()
            for _ in range(CALLS):
                call()
            cost.append((thread_time() - begin) / CALLS * 1e6)
    return Figure(f"refused: {pair.work}", "µs", *costs, "answered", Goal(1.0, lower=True))
