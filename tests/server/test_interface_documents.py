"""AsyncAPI, OpenAPI of the control plane, llms.txt and the protobuf module of the docs listener, as
their users read them: with the AsyncAPI parser, with buf, and against real frames and answers.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

import jsonschema_rs
import pytest
import yaml

from sim.cli.main import main
from sim.run.client.client import Connection
from sim.server.http.interface_documents import asyncapi_of
from tests.kit.bodies import APPLICATION, retail_order
from tests.kit.desk import begin
from tests.kit.http import call
from tests.node_tools import binary, needs, run

PARSE = """
const { Parser } = require("@asyncapi/parser");
const text = require("fs").readFileSync(0, "utf8");
new Parser().parse(text).then(({ document, diagnostics }) => {
  const bad = diagnostics.filter((one) => one.severity <= 1);
  const operations = document ? document.operations().all().map((one) => one.id()) : [];
  console.log(JSON.stringify({ bad, operations }));
});
"""


@pytest.fixture
def asyncapi(exchange):
    return call(f"{exchange.docs}/asyncapi.json").json()


@needs("@asyncapi/parser")
@pytest.mark.long
def test_the_asyncapi_parser_reads_the_served_document(asyncapi, tmp_path):
    program, document = tmp_path / "parse.cjs", tmp_path / "asyncapi.json"
    program.write_text(PARSE.replace("readFileSync(0", f"readFileSync({json.dumps(str(document))}"))
    document.write_text(json.dumps(asyncapi))
    done = run("node", program)
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert output["bad"] == []
    sockets = {f"{way}_{name}" for way in ("receive", "send") for name in ("private", "markets")}
    assert set(output["operations"]) == sockets | {"send_webhook"}


def test_asyncapi_names_the_server_that_it_comes_from(asyncapi, exchange):
    retail = asyncapi["servers"]["retail"]
    assert f"http://{retail['host']}" == exchange.retail
    assert retail["protocol"] == "ws"


# ---- what is sent fits what is described


def checker(document: Any, channel: str) -> Any:
    """A function that says which messages of a channel a frame or payload is."""
    registry = jsonschema_rs.Registry([("urn:contract", document)])
    messages = document["channels"][channel]["messages"]
    schemas = {
        name: jsonschema_rs.validator_for(
            json.loads(json.dumps(item["payload"]).replace('"#/', '"urn:contract#/')),
            registry=registry,
        )
        for name, item in messages.items()
    }
    return lambda frame: [name for name, schema in schemas.items() if schema.is_valid(frame)]


def sent_on(world: Connection, path: str, requests: list[dict[str, Any]]) -> list[Any]:
    """Frames of a socket, with an order and a trade after the subscriptions, and a heartbeat."""
    key, other = world.simulation.world.parties.api_keys[:2]
    socket = world.web_socket(key, path)
    for number, request in enumerate(requests):
        socket.send(json.dumps({"subscribe": {"requestId": str(number), **request}}).encode())
    symbol = next(
        instrument.symbol
        for instrument in world.simulation.exchange.instruments.listed()
        if world.gateway.get(f"/v1/markets/{instrument.symbol}/book").status == 200
    )
    for caller, intent in ((key, "BUY_LONG"), (other, "BUY_SHORT")):
        world.retail(caller).post("/v1/orders", json=retail_order(symbol, intent, 50))
    world.advance("1m")
    socket.send(json.dumps({"unsubscribe": {"requestId": "0"}}).encode())
    return socket.take()


SUBSCRIPTIONS = {
    "private": [
        {"subscriptionType": f"SUBSCRIPTION_TYPE_{kind}"}
        for kind in ("ORDER", "ORDER_SNAPSHOT", "POSITION", "ACCOUNT_BALANCE", "NO_SUCH")
    ],
    "markets": [
        {"subscriptionType": f"SUBSCRIPTION_TYPE_{kind}", "marketSlugs": []}
        for kind in ("MARKET_DATA", "MARKET_DATA_LITE", "TRADE")
    ],
}


@pytest.mark.parametrize("channel", list(SUBSCRIPTIONS))
@pytest.mark.parametrize(
    "reading",
    [
        pytest.param(name, marks=pytest.mark.scenario("quickstart", reading=name))
        for name in ("documented", "observed")
    ],
)
def test_every_frame_is_one_of_the_described_messages(channel, reading, asyncapi, world):
    requests = SUBSCRIPTIONS[channel]
    world.simulation.control("reading.set", "", {"name": reading})
    if channel == "markets":
        listed = [
            instrument.symbol for instrument in world.simulation.exchange.instruments.listed()
        ][:20]
        requests = [{**item, "marketSlugs": listed} for item in requests]
    kinds = checker(asyncapi, channel)
    observed = set()
    for frame in sent_on(world, f"/v1/ws/{channel}", requests):
        names = kinds(frame)
        assert len(names) == 1, (names, frame)
        observed.update(names)
    assert len(observed) >= 4, observed


@pytest.mark.parametrize("shape", ["spec", "docs", "both"])
def test_webhooks_are_as_described_in_every_shape(shape):
    assumed = f"{{webhook.shape: {shape}}}"
    world = begin("quickstart", f"world: {{games: 0}}\nassumptions: {assumed}\n")
    atlas = world.partner
    registered = atlas.post("/v1/kyc/webhook", json={"webhook_url": "https://127.0.0.1:9/hook"})
    assert registered.json()["validated"]
    for number, result in enumerate(("approve", "reject")):
        person = APPLICATION | {"external_id": f"person-{number}", "ssn": f"90011223{number}"}
        person |= {"email": f"{result}@example.com", "phone_number": f"+1212555012{number}"}
        assert atlas.post("/v1/kyc/start", json=person).status == 200
    world.advance("1h")
    document = asyncapi_of(world.simulation, world.simulation.settings, "")
    kinds = checker(json.loads(json.dumps(document)), "webhook")
    payloads = [json.loads(post.body) for post in world.webhooks]
    types = [payload.get("type") or payload["event_type"] for payload in payloads]
    assert set(types) == {"webhook.test", "kyc.approved", "kyc.rejected"}
    assert [kinds(payload) for payload in payloads] == [[item] for item in types]


# ---- the control plane


def test_the_control_plane_has_an_openapi_document_whose_examples_it_takes(exchange):
    document = call(f"{exchange.docs}/openapi/control.json").json()
    assert document["servers"] == [{"url": str(exchange.control)}]
    served = {row["call"] for row in exchange.control("GET", "/calls")["calls"]}
    described = {
        f"{verb.upper()} {path.removeprefix('/_sim/v1')}"
        for path, verbs in document["paths"].items()
        for verb in verbs
    }
    assert described == {re.sub(r"\*\}", "}", entry) for entry in served}
    registry = jsonschema_rs.Registry([("urn:control", document)])
    bodies = 0
    for path, verbs in document["paths"].items():
        for verb, item in verbs.items():
            media = item.get("requestBody", {}).get("content", {}).get("application/json")
            if media is None:
                continue
            bodies += "example" in media
            text = json.dumps(media["schema"]).replace('"#/', '"urn:control#/')
            schema = jsonschema_rs.validator_for(json.loads(text), registry=registry)
            messages = [error.message for error in schema.iter_errors(media.get("example", {}))]
            assert not messages or "example" not in media, (verb, path, messages)
            assert not schema.is_valid({"no_such_key": 1}), (verb, path)
    assert bodies > 20


# ---- for coding agents


def test_llms_txt_leads_to_documents_that_are_there(exchange):
    text = call(f"{exchange.docs}/llms.txt").body.decode()
    assert text.startswith("# Sandbox exchange\n\n> ")
    links = re.findall(r"\]\((http[^)]+)\)", text)
    assert len(links) >= 9
    for link in links:
        assert call(link).body
    assert str(exchange.control) in text and exchange.grpc in text
    assert len(text) < 4_000


def test_the_skill_is_served_and_has_the_head_that_agents_read(exchange):
    text = call(f"{exchange.docs}/skill.md").body.decode()
    _, head, body = text.split("---\n", 2)
    about = yaml.safe_load(head)
    assert about["name"] == "sandbox-exchange" and len(about["description"]) < 1_024
    routes = {
        re.sub(r"\{\w+\*?\}", "*", row["call"])
        for row in exchange.control("GET", "/calls")["calls"]
    }
    named = re.findall(r"`(GET|POST) /_sim/v1(/[^`?]+)`", body)
    assert len(named) >= 6
    for verb, path in named:
        pattern = re.sub(r"[A-Z][A-Z_]+", "*", path)
        existing = [route for route in routes if route == f"{verb} {pattern}"]
        existing = existing or [
            route for route in routes if route == f"{verb} {pattern.rpartition('/')[0]}/*"
        ]
        assert existing, (verb, path)


# ---- protobuf


@needs("@bufbuild/buf")
def test_buf_builds_and_lints_what_sim_proto_writes(tmp_path):
    assert main(["proto", str(tmp_path / "schemas")]) == 0
    for verb in ("build", "lint"):
        cache = {"BUF_CACHE_DIR": str(tmp_path / "cache")}
        done = run(binary("buf"), verb, cwd=tmp_path / "schemas", **cache)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("protoc") is None, reason="protoc is not installed")
def test_protoc_alone_compiles_it(tmp_path):
    assert main(["proto", str(tmp_path)]) == 0
    names = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.proto")]
    done = run("protoc", "-I.", "--descriptor_set_out=all.binpb", *names, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
