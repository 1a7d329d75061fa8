"""Servers and examples of the OpenAPI documents: examples are answers of real runs."""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from sim.contract.contract import PLANES, load_contract
from sim.contract.openapi import openapi_document
from sim.kernel.instants import parse_instant
from sim.testing.exchange_fixture import ServedExchange

ROOT = Path(__file__).resolve().parents[2]
NOW = parse_instant("2026-09-08T18:00:00Z")


@pytest.mark.reading("documented")
def test_the_examples_are_those_of_the_runs_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import openapi_examples

    assert openapi_examples.TARGET.read_text() == openapi_examples.text(), "run `make docs`"
    sys.modules.pop("openapi_examples")


@pytest.mark.parametrize("plane", ["gateway", "retail", "exchange"])
def test_each_example_fits_the_schema_beside_it(plane: Any) -> None:
    document = json.loads(json.dumps(openapi_document(load_contract(), plane, NOW)))
    registry = jsonschema_rs.Registry([("urn:contract", document)])
    displayed = 0
    for verbs in document["paths"].values():
        for item in verbs.values():
            for holder in (item.get("requestBody", {}), item["responses"].get("200", {})):
                for media in holder.get("content", {}).values():
                    if "example" not in media:
                        continue
                    displayed += 1
                    text = json.dumps(media["schema"]).replace('"#/', '"urn:contract#/')
                    schema = jsonschema_rs.validator_for(json.loads(text), registry=registry)
                    messages = [error.message for error in schema.iter_errors(media["example"])]
                    assert messages == [], (item["operationId"], messages[:3])
    assert displayed >= 20


@pytest.mark.parametrize("plane", PLANES)
def test_a_document_names_the_server_that_it_comes_from(
    plane: str, exchange: ServedExchange
) -> None:
    with urllib.request.urlopen(f"{exchange.docs}/openapi/{plane}.json") as answer:
        document = json.load(answer)
    assert document["servers"] == [{"url": getattr(exchange, plane)}]
