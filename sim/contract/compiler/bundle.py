"""The passes that write no source code: notes for OpenAPI, and the proto bundle for partners."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import google.api

from sim.contract.compiler.schema import Schema

# the oldest date a zip entry can carry; a real one would make every build differ
_EPOCH = (1980, 1, 1, 0, 0, 0)


def notes(schema: Schema) -> bytes:
    """JSON object: full name of a message, field, enumeration or member → its comment on one line;
    those without one are left out.
    """
    notes_by_name = {}
    for entry in schema.by_name.values():
        notes_by_name[entry.full_name] = entry.comment
        for name, text in entry.part_comments.items():
            notes_by_name[f"{entry.full_name}.{name}"] = text
    lines = {name: " ".join(text.split()) for name, text in sorted(notes_by_name.items()) if text}
    return (json.dumps(lines, indent=0, ensure_ascii=False) + "\n").encode()


def bundle(schema: Schema, proto: Path) -> bytes:
    """Zip every proto file that gRPC needs, those of google/api too, with a module file for buf;
    protoc brings google/protobuf.

    The files are sorted, uncompressed and undated, so the bytes are the same on every machine.
    """
    needed = [name for name in _files_over_grpc(schema) if not name.startswith("google/protobuf/")]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted((*needed, "buf.yaml")):
            folder = google_api() if name.startswith("google/api/") else proto
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, (folder / name).read_bytes())
    return out.getvalue()


def google_api() -> Path:
    """The folder that holds google/api/*.proto, of the installed googleapis-common-protos."""
    return Path(next(iter(google.api.__path__))).parents[1]


def _files_over_grpc(schema: Schema) -> set[str]:
    """Return the files that declare an rpc served over gRPC, and everything they import."""
    files = {file.name: file for file in schema.files}
    waiting = [
        file.name
        for file in schema.files
        for service in file.service
        if any(
            schema.option(method, "sandbox_exchange.operation").grpc for method in service.method
        )
    ]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        waiting += files[name].dependency if name in files else _imports_of_foreign(name)
    return reached


def _imports_of_foreign(name: str) -> list[str]:
    """The files below google/api that one of them imports: the schema holds our own files only."""
    if not name.startswith("google/api/"):
        return []
    text = (google_api() / name).read_text()
    return re.findall(r'^import "(google/api/[^"]+)";', text, re.MULTILINE)
