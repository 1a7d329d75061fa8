"""The first pass: run protoc over `proto/`, and index descriptors, comments and our own options."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import google.api
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

# Types with a form of their own in Structs and JSON: full name → kind.
WELL_KNOWN = {
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
    "google.protobuf.Struct": "struct",
    "google.protobuf.Value": "value",
    "google.protobuf.ListValue": "list_value",
}
# Foreign messages without such a form; they become Structs like our own.
PLAIN_FOREIGN = ("google.protobuf.Empty",)
_FOREIGN = ("google/", "sandbox_exchange/options.proto")

_REQUIRED = 2  # of google.api.FieldBehavior

Address: TypeAlias = tuple[int, ...]

# Numbers of descriptor.proto's fields, which address comments in SourceCodeInfo.
_FILE_MESSAGE, _FILE_ENUM, _FILE_SERVICE = 4, 5, 6
_MESSAGE_FIELD, _MESSAGE_NESTED, _MESSAGE_ENUM = 2, 3, 4
_ENUM_VALUE = _SERVICE_METHOD = 2


P = TypeVar("P", DescriptorProto, EnumDescriptorProto)


@dataclass(frozen=True)
class SchemaEntry(Generic[P]):
    """One message or enumeration: full name ("exchange.v1.Outer.Inner"), Python name
    ("Outer_Inner"), descriptor, and comments, those of its fields or members by name.
    """

    full_name: str
    name: str
    package: str
    proto: P
    comment: str
    part_comments: dict[str, str]

    @property
    def module(self) -> str:
        """Name of the generated module, inside sim.contract.messages."""
        return module_of(self.package)


MessageEntry: TypeAlias = SchemaEntry[DescriptorProto]
EnumEntry: TypeAlias = SchemaEntry[EnumDescriptorProto]


class Schema:
    """The compiled contract, in the order of sorted file names and, within a file, of writing."""

    def __init__(self, compiled: FileDescriptorSet) -> None:
        self._set = compiled
        self._pool = descriptor_pool.DescriptorPool()
        for file in compiled.file:
            self._pool.Add(file)
        own = (file for file in compiled.file if not file.name.startswith(_FOREIGN))
        self.files = sorted(own, key=lambda file: file.name)
        for file in self.files:
            if file.syntax != "proto3":
                raise ValueError(f"{file.name}: every file of the contract is proto3")
        # Comments of foreign files are left out: their text is not ours to republish.
        self._comments = {
            file.name: _comments(file) if file in self.files else {} for file in compiled.file
        }
        self._map_entries = {
            name: proto
            for file in self.files
            for name, _, proto, _ in _messages(file)
            if proto.options.map_entry
        }
        self.messages = list(self._walk_messages())
        self.enums = list(self._walk_enums())
        entries: list[MessageEntry | EnumEntry] = [*self.messages, *self.enums]
        self.by_name = {entry.full_name: entry for entry in entries}
        self.packages = sorted({entry.package for entry in self.by_name.values()})

    def stripped(self) -> bytes:
        """Return the descriptor set without source positions: comments do not change its bytes."""
        bare = FileDescriptorSet()
        bare.CopyFrom(self._set)
        for file in bare.file:
            file.ClearField("source_code_info")
        return bare.SerializeToString(deterministic=True)

    def option(self, holder: Any, extension: str) -> Any:
        """Return one extension of an options message; an empty message where it is not written."""
        options = self._pool.FindMessageTypeByName(holder.options.DESCRIPTOR.full_name)
        kind = message_factory.GetMessageClass(options)
        parsed: Any = kind.FromString(holder.options.SerializeToString())
        return parsed.Extensions[self._pool.FindExtensionByName(extension)]

    def required(self, field: FieldDescriptorProto) -> bool:
        """Whether a request without a field is refused: google.api.field_behavior says REQUIRED."""
        if not field.HasField("options"):
            return False
        try:
            return _REQUIRED in self.option(field, "google.api.field_behavior")
        except KeyError:
            return False  # no file of this schema knows the option

    def map_entry(self, field: FieldDescriptorProto) -> DescriptorProto | None:
        """Return the synthetic entry message (key 1, value 2) of a map field, else None."""
        return self._map_entries.get(field.type_name[1:])

    def method_comment(self, file: FileDescriptorProto, service: int, method: int) -> str:
        """Comment above one rpc, by position in its file."""
        return self._comments[file.name].get((_FILE_SERVICE, service, _SERVICE_METHOD, method), "")

    def service_comment(self, file: FileDescriptorProto, service: int) -> str:
        """Comment above one service, by position in its file."""
        return self._comments[file.name].get((_FILE_SERVICE, service), "")

    def _walk_messages(self) -> Iterator[MessageEntry]:
        for file in self._set.file:
            is_own = not file.name.startswith(_FOREIGN)
            for full_name, name, proto, path in _messages(file):
                if proto.options.map_entry or not (is_own or full_name in PLAIN_FOREIGN):
                    continue
                comments = self._comments[file.name]
                fields = {
                    field.name: comments.get((*path, _MESSAGE_FIELD, i), "")
                    for i, field in enumerate(proto.field)
                }
                comment = comments.get(path, "")
                yield MessageEntry(full_name, name, file.package, proto, comment, fields)

    def _walk_enums(self) -> Iterator[EnumEntry]:
        for file in self.files:
            comments = self._comments[file.name]
            for full_name, name, proto, where in _enums(file):
                values = {
                    value.name: comments.get((*where, _ENUM_VALUE, i), "")
                    for i, value in enumerate(proto.value)
                }
                comment = comments.get(where, "")
                yield EnumEntry(full_name, name, file.package, proto, comment, values)


def compile_schema(proto: Path) -> Schema:
    """Run protoc over every file below `proto`. ValueError with protoc's own words on failure."""
    names = sorted(path.relative_to(proto).as_posix() for path in proto.rglob("*.proto"))
    shared = Path(next(iter(google.api.__path__))).parents[1]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "set"
        flags = [f"-I{proto}", f"-I{shared}", "--include_imports", "--include_source_info"]
        protoc = [sys.executable, "-m", "grpc_tools.protoc", f"--descriptor_set_out={out}"]
        ran = subprocess.run([*protoc, *flags, *names], capture_output=True, text=True, check=False)
        if ran.returncode:
            raise ValueError(f"the proto files do not compile\n{ran.stderr}".strip())
        return Schema(FileDescriptorSet.FromString(out.read_bytes()))


def module_of(package: str) -> str:
    """Module of a package: "exchange.v1" → "exchange_v1"."""
    return package.replace(".", "_")


def _messages(file: FileDescriptorProto) -> Iterator[tuple[str, str, DescriptorProto, Address]]:
    """Yield (full name, Struct name, descriptor, comment path) of every message, outer first."""

    def walk(
        prefix: str, flat: str, protos: Any, path: Address, slot: int
    ) -> Iterator[tuple[str, str, DescriptorProto, Address]]:
        for i, proto in enumerate(protos):
            full_name, name, where = f"{prefix}.{proto.name}", flat + proto.name, (*path, slot, i)
            yield full_name, name, proto, where
            yield from walk(full_name, f"{name}_", proto.nested_type, where, _MESSAGE_NESTED)

    yield from walk(file.package, "", file.message_type, (), _FILE_MESSAGE)


def _enums(file: FileDescriptorProto) -> Iterator[tuple[str, str, EnumDescriptorProto, Address]]:
    """Yield the same of every enumeration: those of the file first, then those in messages."""
    for i, proto in enumerate(file.enum_type):
        yield f"{file.package}.{proto.name}", proto.name, proto, (_FILE_ENUM, i)
    for full_name, name, message, path in _messages(file):
        for i, proto in enumerate(message.enum_type):
            where = (*path, _MESSAGE_ENUM, i)
            yield f"{full_name}.{proto.name}", f"{name}_{proto.name}", proto, where


def _comments(file: FileDescriptorProto) -> dict[Address, str]:
    comments = {}
    for location in file.source_code_info.location:
        text = location.leading_comments or location.trailing_comments
        if text.strip():
            lines = map(str.strip, text.strip().splitlines())
            comments[tuple(location.path)] = "\n".join(lines)
    return comments
