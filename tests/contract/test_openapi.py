"""The OpenAPI documents: valid, complete, and true to what the codecs write."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.api.codecs.codecs import dialect_at, json_encoder
from sim.contract.contract import PLANES, Plane, load_contract
from sim.contract.messages import Message
from sim.contract.openapi import openapi_document
from sim.contract.openapi_schemas import Components
from sim.kernel.instants import EARLIEST, LATEST, parse_instant
from sim.server.control.openapi import control_openapi
from tests.contract.wire_values import message_types, messages

MESSAGES = message_types()
NOW = parse_instant("2026-09-08T18:00:00Z")


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    return {
        plane: json.loads(json.dumps(openapi_document(load_contract(), plane, NOW)))
        for plane in PLANES
    }


def _operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, verb, item)
        for path, verbs in document["paths"].items()
        for verb, item in verbs.items()
    ]


@pytest.mark.parametrize("plane", PLANES)
def test_every_reference_leads_somewhere_and_every_schema_is_one(
    documents: dict[str, Any], plane: str
) -> None:
    document = documents[plane]
    for reference in _references(document):
        result = document
        for step in reference.removeprefix("#/").split("/"):
            result = result[step]
        assert result
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(
            schema | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
        )


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        here = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return here + [reference for value in node.values() for reference in _references(value)]
    return (
        [reference for value in node for reference in _references(value)]
        if isinstance(node, list)
        else []
    )


@pytest.mark.parametrize("plane", [*PLANES, "control"])
def test_generators_find_no_name_twice(documents: dict[str, Any], plane: str) -> None:
    """A module or class for each schema, a constant for each word, whatever the case; and every
    operation says what it needs.
    """
    document = control_openapi() if plane == "control" else documents[plane]
    schemas = [*document["components"]["schemas"]]
    assert len({re.sub(r"\W|_", "", name.lower()) for name in schemas}) == len(schemas)
    assert not [each for name in schemas for each in schemas if each.startswith(f"{name}.")]
    for words in re.findall(r'"enum":(\[[^]]*\])', json.dumps(document, separators=(",", ":"))):
        spellings = [str(word).lower() for word in json.loads(words)]
        assert len({*spellings}) == len(spellings), words
    operations = [operation for _, _, operation in _operations(document)]
    assert operations and all("security" in {**document, **each} for each in operations)


@pytest.mark.parametrize("plane", PLANES)
def test_paths_and_their_variables_agree_and_identifiers_are_unique(
    documents: dict[str, Any], plane: str
) -> None:
    operations = _operations(documents[plane])
    assert len({item["operationId"] for _, _, item in operations}) == len(operations)
    assert len(
        {
            "/".join("{}" if part[:1] == "{" else part for part in path.split("/"))
            for path, _, _ in operations
        }
    ) == len(documents[plane]["paths"])
    for path, _, item in operations:
        declared = {
            parameter["name"] for parameter in item["parameters"] if parameter["in"] == "path"
        }
        assert declared == {part[1:-1] for part in path.split("/") if part.startswith("{")}
        assert len(
            {(parameter["name"], parameter["in"]) for parameter in item["parameters"]}
        ) == len(item["parameters"])


@pytest.mark.parametrize("plane", PLANES)
def test_a_document_holds_the_operations_that_exist_and_no_others(
    documents: dict[str, Any], plane: Plane
) -> None:
    assert len(_operations(documents[plane])) == sum(
        1 for route in load_contract().routes(plane) if route.operation.exists_at(NOW)
    )
    dated = [
        route
        for route in load_contract().routes(plane)
        if route.operation.since or route.operation.until
    ]
    early = openapi_document(load_contract(), plane, EARLIEST)
    late = openapi_document(load_contract(), plane, LATEST)
    for route in dated:
        name = f"{route.operation.service.name}_{route.operation.rpc}"
        assert (name in str(early["paths"])) is (route.operation.since is None)
        assert (name in str(late["paths"])) is (route.operation.until is None)


def test_retail_parameters_are_snake_case_and_exchange_parameters_camel_case(
    documents: dict[str, Any],
) -> None:
    retail = [
        p["name"]
        for _, _, item in _operations(documents["retail"])
        for p in item["parameters"]
        if p["in"] == "query"
    ]
    exchange = [
        p["name"]
        for _, _, item in _operations(documents["exchange"])
        for p in item["parameters"]
        if p["in"] == "query"
    ]
    assert retail
    assert all(name == name.lower() for name in retail)
    assert "pageSize" in exchange
    assert not [name for name in exchange if "_" in name]


def test_credentials_and_participant_headers_are_told(documents: dict[str, Any]) -> None:
    assert set(documents["retail"]["components"]["securitySchemes"]) == {
        "retailKey",
        "retailTimestamp",
        "retailSignature",
    }
    assert documents["gateway"]["components"]["securitySchemes"] == {}
    insert = documents["exchange"]["paths"]["/v1/trading/orders"]["post"]
    assert insert["security"] == [{"bearer": []}]
    assert {
        "name": "x-participant-id",
        "in": "header",
        "required": True,
        "schema": {"type": "string"},
    } in insert["parameters"]
    assert insert["x-sim"]["scope"] == "write:orders"
    token = documents["auth"]["paths"]["/oauth/token"]["post"]
    assert set(token["requestBody"]["content"]) == {
        "application/json",
        "application/x-www-form-urlencoded",
    }
    assert token["security"] == []


@pytest.fixture(scope="module")
def registry() -> jsonschema_rs.Registry:
    components = Components(NOW)
    for cls in MESSAGES:
        components.answer(cls)
    return jsonschema_rs.Registry(
        [("urn:contract", {"components": {"schemas": components.schemas}})]
    )


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__full_name__)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_the_codec_writes_fits_its_schema(
    registry: jsonschema_rs.Registry, cls: type[Message], data: st.DataObject
) -> None:
    message = data.draw(messages(cls, tame=True))
    written = json.loads(json_encoder(cls, dialect_at("exchange", NOW))(message))
    reference = Components(NOW).answer(cls)["$ref"]
    schema = jsonschema_rs.validator_for({"$ref": f"urn:contract{reference}"}, registry=registry)
    assert [error.message for error in schema.iter_errors(written)] == []


@pytest.mark.parametrize(
    "cls", [cls for cls in MESSAGES if cls.__struct_fields__], ids=lambda cls: cls.__full_name__
)
def test_an_answer_that_lacks_a_written_field_does_not_fit(
    registry: jsonschema_rs.Registry, cls: type[Message]
) -> None:
    written = json.loads(json_encoder(cls, dialect_at("exchange", NOW))(cls()))
    schema = jsonschema_rs.validator_for(
        {"$ref": f"urn:contract{Components(NOW).answer(cls)['$ref']}"}, registry=registry
    )
    assert schema.is_valid(written)
    for name in written:
        assert not schema.is_valid({key: value for key, value in written.items() if key != name})


@pytest.mark.parametrize("plane", PLANES)
def test_every_body_and_every_success_has_an_example_of_a_real_run(
    documents: dict[str, Any], plane: str
) -> None:
    missing = [
        f"{verb} {path}: {name}"
        for path, verb, item in _operations(documents[plane])
        for name, part in (
            ("body", item.get("requestBody", {})),
            ("answer", item["responses"].get("200", {})),
        )
        if not all("example" in media for media in part.get("content", {}).values())
    ]
    assert missing == []
