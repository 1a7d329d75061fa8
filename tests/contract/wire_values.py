"""Arbitrary messages of every type of the contract, and the protobuf library's view of them. Shared
by the tests of both codecs.
"""

from __future__ import annotations

import inspect
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from hypothesis import strategies as st

import sim.contract.messages
from sim.api.codecs import protobuf
from sim.api.codecs.codecs import Field, fields_of
from sim.contract.compiler import compile_schema
from sim.contract.compiler.messages import module_source
from sim.contract.messages import PACKAGES, Message, find, find_message
from sim.contract.wire_fields import INTEGER_RANGES, LONG_INTEGERS, SPAN_MAX
from sim.kernel.instants import EARLIEST, LATEST, NS_PER_S
from tests.wide_numbers import wide

HERE = Path(__file__).resolve().parent

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
# -0.0 is 0.0 to JSON readers
doubles = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value or 0.0)
plain = st.recursive(
    st.none() | st.booleans() | doubles | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": texts,
    "bool": st.booleans(),
    "double": doubles,
    "bytes": st.binary(max_size=5),
    "timestamp": (
        wide(EARLIEST, LATEST, 0, NS_PER_S)
        | st.integers(0, 2**31).map(lambda second: second * NS_PER_S)
    ),
    "duration": (
        wide(-SPAN_MAX, SPAN_MAX, 0, NS_PER_S)
        | st.integers(-100, 100).map(lambda second: second * NS_PER_S)
    ),
    "struct": st.dictionaries(texts, plain, max_size=2),
    "value": plain.filter(lambda value: value is not None),
    "list_value": st.lists(plain, max_size=2),
    **{kind: wide(*limits, 0) for kind, limits in INTEGER_RANGES.items()},
}


def message_types(packages: dict[str, str] = PACKAGES) -> list[type[Message]]:
    """Every Struct of the contract, sorted by name."""
    result = {
        value.__full_name__: value
        for module in packages.values()
        for value in vars(import_module(module)).values()
        if inspect.isclass(value) and issubclass(value, Message) and value.__module__ == module
    }
    return [result[name] for name in sorted(result)]


@contextmanager
def probe_package(scratch: Path) -> Iterator[ModuleType]:
    """The module compiled from probe.proto, known to codecs like a package of the contract while
    the context lasts.
    """
    (scratch / "probe/v1").mkdir(parents=True)
    (scratch / "sandbox_exchange").mkdir()
    shutil.copy(HERE / "probe.proto", scratch / "probe/v1")
    shutil.copy(
        HERE.parents[1] / "proto/sandbox_exchange/options.proto", scratch / "sandbox_exchange"
    )
    schema = compile_schema(scratch)
    module = ModuleType("sim.contract.messages.probe_v1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sim.contract.messages, "_types", {})
        for name, source in (
            ("google_protobuf", module_source(schema, "google.protobuf")),
            ("probe_v1", module_source(schema, "probe.v1")),
        ):
            module = ModuleType(f"sim.contract.messages.{name}")
            patch.setitem(sys.modules, module.__name__, module)
            patch.setattr(sim.contract.messages, name, module, raising=False)
            patch.setitem(PACKAGES, name.replace("_", "."), module.__name__)
            exec(compile(source, name, "exec"), vars(module))
        pool = protobuf.descriptor_pool()
        for file in FileDescriptorSet.FromString(schema.stripped()).file:
            pool.Add(file)  # equal files may be added twice
        yield module


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The module compiled from probe.proto: every shape a contract can have."""
    with probe_package(tmp_path_factory.mktemp("probe")) as module:
        yield module


def messages(cls: type[Message], depth: int = 2, *, tame: bool = False) -> st.SearchStrategy[Any]:
    """Arbitrary messages of a type; below `depth` levels they hold no further ones. Tame ones hold
    what answers hold: named members, 18 digits.
    """

    @st.composite
    def build(draw: st.DrawFn) -> Message:
        values: dict[str, Any] = {}
        chosen: dict[str, str] = {}
        for field in fields_of(cls):
            if not draw(st.booleans()):
                continue
            if field.oneof and chosen.setdefault(field.oneof, field.name) != field.name:
                continue
            if field.kind == "message" and not depth:
                continue
            values[field.attribute] = draw(_value(field, depth, tame))
        return cls(**values)

    return build()


def _value(field: Field, depth: int, tame: bool) -> st.SearchStrategy[Any]:
    item = _element(field, depth, tame)
    if field.key_kind:
        keys = st.booleans() if field.key_kind == "bool" else _SCALARS[field.key_kind]
        return st.dictionaries(keys, item, max_size=2)
    return st.lists(item, max_size=2) if field.repeated else item


def _element(field: Field, depth: int, tame: bool) -> st.SearchStrategy[Any]:
    if field.kind == "message":
        return messages(find_message(field.type_name), depth - 1, tame=tame)
    if field.kind == "enum":
        members: Any = find(field.type_name)
        named = st.sampled_from([int(member) for member in members])
        return named if tame else named | st.integers(-5, 1000)
    if tame and field.kind in LONG_INTEGERS:
        return st.integers(0, 10**18 - 1)
    return _SCALARS[field.kind]


def library_message(message: Message) -> Any:
    """The same message as the protobuf library has it, built by reflection."""
    descriptor = protobuf.descriptor_pool().FindMessageTypeByName(message.__full_name__)
    target = message_factory.GetMessageClass(descriptor)()
    _fill_message(message, target)
    return target


def _fill_message(message: Message, target: Any) -> None:
    for field in fields_of(type(message)):
        value = getattr(message, field.attribute)
        fill = _FILL.get(field.kind)
        if value is None:
            continue
        if fill is None:
            if field.key_kind:
                getattr(target, field.name).update(value)
            elif field.repeated:
                getattr(target, field.name).extend(value)
            else:
                setattr(target, field.name, value)
        elif field.key_kind:
            for key, inner in value.items():
                fill(inner, getattr(target, field.name)[key])
        elif field.repeated:
            for inner in value:
                fill(inner, getattr(target, field.name).add())
        else:
            getattr(target, field.name).SetInParent()
            fill(value, getattr(target, field.name))


def _fill_parsed(value: Any, target: Any) -> None:
    json_format.ParseDict(value, target)


_FILL: dict[str, Callable[[Any, Any], Any]] = {
    "message": _fill_message,
    "timestamp": lambda at, target: target.FromNanoseconds(at),
    "duration": lambda span, target: target.FromNanoseconds(span),
    "struct": _fill_parsed,
    "value": _fill_parsed,
    "list_value": _fill_parsed,
}
