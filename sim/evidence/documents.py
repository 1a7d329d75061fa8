"""Published documents of the service held against the contract: what moved since.

A folder has what anybody can download without keys: OpenAPI documents (JSON or YAML), `.proto`
files or a bundle of them (`.zip`), and the changelog feed (RSS or Atom). Each says things that the
contract says too; what only one of both says is listed. Nothing is fetched here.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml
from msgspec import DecodeError, json

from sim.contract.changelog import releases
from sim.contract.contract import load_contract
from sim.contract.messages import PACKAGES, Message
from sim.contract.wire_fields import fields_of
from sim.read.errors import UsageError

Row = dict[str, Any]
_VERBS = ("get", "post", "put", "patch", "delete")
_RPC = re.compile(r"\brpc\s+(\w+)\s*\(")
_SERVICE = re.compile(r"\bservice\s+(\w+)")
_MESSAGE = re.compile(r"\bmessage\s+(\w+)\s*\{")
_FIELD = re.compile(r"^\s*(?:repeated |optional )?[\w.<>, ]+\s(\w+)\s*=\s*(\d+)\s*[\[;]")
_VARIABLE = re.compile(r"\{[^}]*\}")
_DESCRIPTORS = Path(__file__).resolve().parents[1] / "contract" / "pb" / "contract.binpb"
_FEEDS = (".xml", ".rss", ".atom")


def moved(folder: Path) -> dict[str, list[Row]]:
    """Return what published documents and the contract say differently, by document.

    UsageError for a folder without documents, or for one that cannot be read.
    """
    rows: dict[str, list[Row]] = {}
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        read = _reader(path)
        if read is not None:
            try:
                rows[str(path.relative_to(folder))] = list(read(path))
            except (ValueError, DecodeError, yaml.YAMLError, zipfile.BadZipFile) as error:
                raise UsageError(f"{path}: {str(error).splitlines()[0]}") from None
            except ElementTree.ParseError as error:
                raise UsageError(f"{path} is no feed: {error}") from None
    if not rows:
        raise UsageError(f"{folder} has no OpenAPI document, protobuf file or changelog feed")
    return rows


def _reader(path: Path) -> Any:
    suffix = path.suffix.lower()
    if suffix in _FEEDS:
        return _changelog
    if suffix in (".proto", ".zip"):
        return _protobuf
    return _openapi if suffix in (".json", ".yaml", ".yml") else None


def _row(subject: str, published: str, ours: str) -> Row:
    return {"subject": subject, "published": published, "contract": ours}


# ---- OpenAPI


def _openapi(path: Path) -> Iterator[Row]:
    """Yield operations, and properties of schemas, that only the document or the contract has."""
    text = path.read_text("utf-8")
    document = json.decode(text) if path.suffix == ".json" else yaml.safe_load(text)
    if not isinstance(document, dict) or "paths" not in document:
        raise ValueError("this is no OpenAPI document")
    bound = {
        (verb.lower(), _VARIABLE.sub("{}", address))
        for operation in load_contract().operations
        for verb, address, _ in operation.bindings
    }
    for address, entry in document["paths"].items():
        for verb in _VERBS:
            if verb in entry and (verb, _VARIABLE.sub("{}", address)) not in bound:
                yield _row(f"{verb.upper()} {address}", "an operation", "no such operation")
    fields = _fields()
    for name, schema in (document.get("components") or {}).get("schemas", {}).items():
        own = fields.get(name.removesuffix(".input").rpartition(".")[2])
        for extra in sorted(set(schema.get("properties") or ()) - (own or set())):
            if own is not None:
                yield _row(f"{name}.{extra}", "a property", "no such field")


def _fields() -> dict[str, set[str]]:
    """Return the JSON names of fields by the name of their message, in whatever package it is."""
    names: dict[str, set[str]] = {}
    for cls in (cls for module in PACKAGES.values() for cls in _classes(module)):
        for field in fields_of(cls):
            names.setdefault(cls.__name__, set()).update({field.json_name, field.vendor_json})
    return names


def _classes(module: str) -> Iterator[type[Message]]:
    for each in vars(import_module(module)).values():
        if isinstance(each, type) and issubclass(each, Message) and each is not Message:
            yield each


# ---- protobuf


def _protobuf(path: Path) -> Iterator[Row]:
    """Yield rpcs, messages and numbers of fields that differ from the contract's."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as bundle:
            names = [name for name in bundle.namelist() if name.endswith(".proto")]
            texts = [bundle.read(name).decode("utf-8") for name in names]
    else:
        texts = [path.read_text("utf-8")]
    rpcs = {operation.rpc for operation in load_contract().operations}
    messages, numbers = _fields(), field_numbers()
    for text in texts:
        for rpc in _RPC.findall(text):
            if rpc not in rpcs:
                yield _row(f"rpc {rpc}", "an rpc", "no such rpc")
        for name, body in _blocks(text):
            if name not in messages:
                continue
            for line in body.splitlines():
                if match := _FIELD.match(line):
                    field, number = match[1], int(match[2])
                    own = numbers.get((name, field), set())
                    if not own:
                        yield _row(f"{name}.{field}", f"field {number}", "no such field")
                    elif number not in own and min(own) < 1000:  # above, ours are placeholders
                        yield _row(f"{name}.{field}", f"field {number}", f"field {min(own)}")


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the messages of a file with what stands directly in them."""
    for match in _MESSAGE.finditer(text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield match[1], re.sub(r"(message|enum)\s+\w+\s*\{[^}]*\}", "", text[match.end() : end - 1])


def field_numbers() -> dict[tuple[str, str], set[int]]:
    """Return the numbers of each field of the contract, by message and name."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    numbers: dict[tuple[str, str], set[int]] = {}
    for file in FileDescriptorSet.FromString(_DESCRIPTORS.read_bytes()).file:
        for message in file.message_type:
            for field in message.field:
                numbers.setdefault((message.name, field.name), set()).add(field.number)
    return numbers


# ---- the changelog


def _changelog(path: Path) -> Iterator[Row]:
    """Yield entries of the feed that the contract's changelog does not have."""
    known = {_words(entry.title) for entry in releases()}
    for element in ElementTree.parse(path).iter():
        if element.tag.rpartition("}")[2] in ("item", "entry"):
            title = next((part.text or "" for part in element if part.tag.endswith("title")), "")
            if not any(_words(title).endswith(each) for each in known):
                yield _row(f"changelog: {title}", "an entry", "no such entry")


def _words(title: str) -> str:
    return re.sub(r"\W+", " ", title).strip().lower()
