"""Paths and verbs → operations: precedence, 404 and 405, percent-encoding."""

from __future__ import annotations

import pytest

from sim.api.pipeline.routing import Match, NoSuchPath, Router, WrongVerb
from sim.contract.contract import PLANES, Operation, Plane, Route, RpcService, load_contract
from sim.contract.operation import body_of

_TABLE = (
    ("GET", "/v1/orders/open", "open"),
    ("POST", "/v1/orders/{id}", "modify"),
    ("GET", "/v1/orders/{id}/fills", "fills"),
    ("GET", "/v1/orderbook/{symbol}", "book"),
    ("GET", "/v1/orderbook/{symbol}/bbo", "bbo"),
    ("PATCH", "/v1/funding/accounts/{account.id}", "account"),
    ("GET", "/v1/{name=firms/*/users/*}/keys", "keys"),
    ("GET", "/v1/files/{path=**}", "file"),
    ("DELETE", "/v1/orders/open", "cancel"),
)


def _route(verb: str, template: str, name: str) -> Route:
    operation = Operation(RpcService("probe.v1", "A"), name)
    return Route(verb, template, body_of(verb), operation)


@pytest.fixture(scope="module")
def router() -> Router:
    return Router(_route(*row) for row in _TABLE)


@pytest.mark.parametrize(
    ("verb", "path", "rpc", "params"),
    [
        ("GET", "/v1/orders/open", "open", {}),
        ("POST", "/v1/orders/open", "modify", {"id": "open"}),
        ("DELETE", "/v1/orders/open", "cancel", {}),
        ("GET", "/v1/orders/open/fills", "fills", {"id": "open"}),
        ("GET", "/v1/orderbook/aec-nba", "book", {"symbol": "aec-nba"}),
        ("GET", "/v1/orderbook/a%2Fb/bbo", "bbo", {"symbol": "a/b"}),
        ("GET", "/v1/orderbook/100%2525", "book", {"symbol": "100%25"}),
        ("GET", "/v1/orderbook/a+b", "book", {"symbol": "a+b"}),
        ("GET", "/v1/orderbook/%C3%A9", "book", {"symbol": "é"}),
        ("GET", "/v1/orderbook/%FF", "book", {"symbol": "\N{REPLACEMENT CHARACTER}"}),
        ("GET", "/v1/orderbook/%zz", "book", {"symbol": "%zz"}),
        ("GET", "/v1/%6frders/open", "open", {}),
        ("PATCH", "/v1/funding/accounts/7", "account", {"account.id": "7"}),
        ("GET", "/v1/firms/a/users/b/keys", "keys", {"name": "firms/a/users/b"}),
        ("GET", "/v1/files/a/b.csv", "file", {"path": "a/b.csv"}),
    ],
)
def test_a_path_leads_to_its_operation(
    router: Router, verb: str, path: str, rpc: str, params: dict[str, str]
) -> None:
    for _ in range(2):  # the second time from memory, where there is one
        result = router.match(verb, path)
        assert isinstance(result, Match)
        assert (result.operation.rpc, dict(result.path_params)) == (rpc, params)
        assert result.body == body_of(verb)


@pytest.mark.parametrize(
    "path",
    ["", "/", "v1/orders/open", "*", "/v1", "/v1/orders/open/", "/v1/orderbook/", "/v1/orderbook//bbo",
     "//v1/orders/open", "/v1%2Forders%2Fopen", "/v1/files/", "/V1/orders/open"],
)  # fmt: skip
def test_other_paths_are_not_found(router: Router, path: str) -> None:
    assert isinstance(router.match("GET", path), NoSuchPath)


@pytest.mark.parametrize(
    ("verb", "path", "allowed"),
    [
        ("PUT", "/v1/orders/open", ("DELETE", "GET", "POST")),
        ("GET", "/v1/orders/5", ("POST",)),
        ("HEAD", "/v1/orderbook/a", ("GET",)),
        ("OPTIONS", "/v1/files/x", ("GET",)),
        ("get", "/v1/orderbook/a", ("GET",)),
    ],
)
def test_another_verb_is_refused_with_those_that_work(
    router: Router, verb: str, path: str, allowed: tuple[str, ...]
) -> None:
    match = router.match(verb, path)
    assert isinstance(match, WrongVerb)
    assert tuple(match.operations) == allowed


def test_what_is_remembered_stays_bounded(router: Router) -> None:
    fresh = Router([_route("GET", "/v1/" + "a" * 14, "long")])
    for number in range(5_000):
        spelling = "".join("%61" if number >> bit & 1 else "a" for bit in range(14))
        assert isinstance(fresh.match("GET", f"/v1/{spelling}"), Match)
    assert len(fresh._known) <= 4_096


@pytest.mark.parametrize("template", ["v1/a", "/v1/{a}:cancel", "/v1/{}", "/v1//a", "/v1/{a", ""])
def test_a_template_that_is_none_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="not a path template"):
        Router([_route("GET", template, "odd")])


@pytest.mark.parametrize("plane", PLANES)
def test_every_route_of_the_contract_leads_to_its_own_operation(plane: Plane) -> None:
    routes = load_contract().routes(plane)
    router = Router(routes)
    for route in routes:
        path = "/".join(
            "some.value" if part.startswith("{") else part for part in route.template.split("/")
        )
        result = router.match(route.verb, path)
        assert isinstance(result, Match)
        assert result.operation is route.operation
