"""Collections of requests for Postman and Bruno, with an environment of addresses and credentials.
A script of the collection signs the requests, with the libraries of the runners.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import json

from sim.kernel import resources
from sim.testing.collection_requests import FOLDERS, Request

NAME = "Sandbox exchange"
_POSTMAN = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_TOKEN_FORM = {
    "grant_type": "client_credentials",
    "client_id": "{{client_id}}",
    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    "client_assertion": "{{assertion}}",
    "audience": "{{audience}}",
}
_ABOUT = """Every REST operation of the gateway, the retail API and the exchange API.

Run it from its beginning against a fresh exchange. Each request expects the status that a fresh
exchange answers; where that is a refusal, the request needs something that does not exist yet.

A script signs: retail requests with the Ed25519 key of the environment, and the assertion for the
token of the exchange API with the firm's RSA key. `sim token` and `sim sign` print the same.
The services take 20 requests a second: give the runner a delay of 60 ms.
"""


def environment(facts: Mapping[str, Any]) -> dict[str, str]:
    """Addresses and credentials from a ready file, by variable."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    firm = next(firm for firm in facts["firms"] if firm["users"])
    key = facts["api_keys"][0]
    private = load_pem_private_key(Path(firm["private_key_path"]).read_bytes(), None)
    assert isinstance(private, RSAPrivateKey)  # the ready file has no other
    numbers = private.private_numbers()
    size = private.key_size // 8
    return {
        **{plane: facts[plane] for plane in (*FOLDERS, "auth")},
        "key_id": key["key_id"],
        "secret_key": key["secret_key"],
        "public_key": _public_key(key["secret_key"]),
        "client_id": firm["client_id"],
        "audience": firm["audience"],
        "participant": firm["users"][0],
        "modulus": numbers.public_numbers.n.to_bytes(size).hex(),
        "exponent": numbers.d.to_bytes(size).hex(),
    }


def _public_key(secret: str) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    seed = base64.b64decode(secret)[:32]
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw().hex()


def _signing(get: str) -> str:
    """The script that signs, for a runner that reads variables with `get`."""
    script = resources.path("fixtures", "collection-signing.js").read_text(encoding="utf-8")
    return f'const CryptoJS = require("crypto-js");\nconst get = (name) => {get};\n{script}'


def _scoped_script(script: str) -> str:
    """A script with its own scope, because runners put several scripts into one."""
    return f"(() => {{\n{script}\n}})();"


def _by_plane(requests: Iterable[Request]) -> dict[str, list[Request]]:
    by_plane: dict[str, list[Request]] = {plane: [] for plane in FOLDERS}
    for request in requests:
        by_plane[request.plane].append(request)
    return by_plane


def _description(request: Request) -> str:
    if not request.status:
        return request.summary
    return f"{request.summary}\n\nA fresh exchange answers {request.status}."


# ---- Postman


def postman_files(requests: Iterable[Request], variables: Mapping[str, str]) -> dict[str, str]:
    """The files of a Postman collection by name."""
    folders: list[dict[str, Any]] = []
    signing = _signing("pm.variables.get(name)")
    for plane, rows in _by_plane(requests).items():
        folder: dict[str, Any] = {"name": plane, "item": [_postman_item(row) for row in rows]}
        if plane == "retail":
            folder["event"] = [_event("prerequest", _scoped_script(signing + _POSTMAN_SIGN))]
        if plane == "exchange":
            folder["item"].insert(0, _postman_token(signing))
        folders.append(folder)
    collection = {
        "info": {"name": NAME, "description": _ABOUT, "schema": _POSTMAN},
        "item": folders,
    }
    values = [{"key": key, "value": value, "enabled": True} for key, value in variables.items()]
    return {
        "sandbox.postman_collection.json": _pretty(collection),
        "sandbox.postman_environment.json": _pretty({"name": NAME, "values": values}),
    }


_POSTMAN_SIGN = """
const path = pm.variables.replaceIn(pm.request.url.toString()).replace(/^\\w+:\\/\\/[^/]+/, "");
for (const [key, value] of Object.entries(retailHeaders(pm.request.method, path))) {
  pm.request.headers.upsert({ key, value });
}
"""


def _postman_token(signing: str) -> dict[str, Any]:
    body = [{"key": key, "value": value} for key, value in _TOKEN_FORM.items()]
    test = (
        'pm.test("a token", () => pm.response.to.have.status(200));\n'
        'pm.environment.set("access_token", pm.response.json().access_token);'
    )
    return {
        "name": "token",
        "event": [
            _event(
                "prerequest",
                _scoped_script(signing + '\npm.variables.set("assertion", assertion());'),
            ),
            _event("test", test),
        ],
        "request": {
            "method": "POST",
            "url": "{{auth}}/oauth/token",
            "header": [],
            "body": {"mode": "urlencoded", "urlencoded": body},
        },
    }


def _postman_item(request: Request) -> dict[str, Any]:
    expected = "pm.expect(pm.response.code).to.be.below(500)"
    if request.status:
        expected = f"pm.response.to.have.status({request.status})"
    test = f'pm.test("{request.status or "an answer"}", () => {expected});'
    if request.keeps is not None:
        name, key = request.keeps
        test += f'\npm.environment.set("{name}", pm.response.json().{key});'
    item: dict[str, Any] = {
        "method": request.verb,
        "url": f"{{{{{request.plane}}}}}{request.path}",
        "header": [{"key": key, "value": value} for key, value in _headers(request).items()],
        "description": _description(request),
    }
    if request.body:
        item["body"] = {"mode": "raw", "raw": request.body}
    return {"name": request.name, "event": [_event("test", test)], "request": item}


def _headers(request: Request) -> dict[str, str]:
    headers = {"Content-Type": "application/json"} if request.body else {}
    if request.plane == "exchange":
        headers |= {"Authorization": "Bearer {{access_token}}"}
        headers |= {"x-participant-id": "{{participant}}"}
    return headers


def _event(listen: str, script: str) -> dict[str, Any]:
    return {"listen": listen, "script": {"type": "text/javascript", "exec": script.splitlines()}}


def _pretty(value: Any) -> str:
    return json.format(json.encode(value), indent=2).decode() + "\n"


# ---- Bruno


def bruno_files(requests: Iterable[Request], variables: Mapping[str, str]) -> dict[str, str]:
    """The files of a Bruno collection by path."""
    described = {"version": "1", "name": NAME, "type": "collection"}
    # Bruno's parser of scripts does not know literals such as 2n.
    signing = re.sub(r"\b(\d+)n\b", r'BigInt("\1")', _signing("bru.getEnvVar(name)"))
    values = "".join(f"  {name}: {value}\n" for name, value in variables.items())
    files = {
        "bruno.json": _pretty(described),
        "collection.bru": _block("docs", _ABOUT),
        "environments/sandbox.bru": f"vars {{\n{values}}}\n",
    }
    for position, (plane, rows) in enumerate(_by_plane(requests).items(), 1):
        folder = _block("meta", f"name: {plane}\nseq: {position}")
        if plane == "retail":
            folder += _block("script:pre-request", _scoped_script(signing + _BRUNO_SIGN))
        files[f"{plane}/folder.bru"] = folder
        if plane == "exchange":
            files[f"{plane}/token.bru"] = _bruno_token(signing)
        for number, row in enumerate(rows, 2):
            files[f"{plane}/{row.name}.bru"] = _bruno_request(row, number)
    return files


_BRUNO_SIGN = """
const path = bru.interpolate(req.getUrl()).replace(/^\\w+:\\/\\/[^/]+/, "");
for (const [key, value] of Object.entries(retailHeaders(req.getMethod(), path))) {
  req.setHeader(key, value);
}
"""


def _block(name: str, text: str) -> str:
    lines = "\n".join(f"  {line}".rstrip() for line in text.strip().splitlines())
    return f"{name} {{\n{lines}\n}}\n\n"


def _pairs(pairs: Mapping[str, str]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in pairs.items())


def _bruno_token(signing: str) -> str:
    test = (
        'test("a token", () => expect(res.getStatus()).to.equal(200));\n'
        'bru.setVar("access_token", res.getBody().access_token);'
    )
    return (
        _block("meta", "name: token\ntype: http\nseq: 1")
        + _block("post", "url: {{auth}}/oauth/token\nbody: formUrlEncoded\nauth: none")
        + _block("body:form-urlencoded", _pairs(_TOKEN_FORM))
        + _block(
            "script:pre-request",
            _scoped_script(signing + '\nbru.setVar("assertion", assertion());'),
        )
        + _block("tests", test)
    )


def _bruno_request(request: Request, number: int) -> str:
    expected = f"to.equal({request.status})" if request.status else "to.be.below(500)"
    test = f'test("{request.status or "an answer"}", () => expect(res.getStatus()).{expected});'
    if request.keeps is not None:
        name, key = request.keeps
        test += f'\nbru.setVar("{name}", res.getBody().{key});'
    body = "json" if request.body else "none"
    url = f"{{{{{request.plane}}}}}{request.path}"
    parts = [
        _block("meta", f"name: {request.name}\ntype: http\nseq: {number}"),
        _block(request.verb.lower(), f"url: {url}\nbody: {body}\nauth: none"),
    ]
    if headers := _headers(request):
        parts.append(_block("headers", _pairs(headers)))
    if request.body:
        pretty = json.format(request.body.encode(), indent=2).decode()
        parts.append(_block("body:json", pretty))
    return "".join([*parts, _block("tests", test), _block("docs", _description(request))])
