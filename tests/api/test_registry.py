"""Handlers and the contract: a name that does not fit is an error when the module loads."""

from __future__ import annotations

from types import ModuleType

import pytest

from sim.api.pipeline.handler import collect, handles
from sim.api.registry import handlers
from sim.contract.contract import UnknownOperation, load_contract


def test_a_misspelt_operation_is_an_error_that_names_the_nearest_one() -> None:
    with pytest.raises(UnknownOperation, match=r"did you mean OrderBookAPI\.GetOrderBook\?"):
        handles("OrderBookAPI.GetOrderbok")


def test_a_name_like_none_points_to_the_catalogue() -> None:
    with pytest.raises(UnknownOperation, match="sim catalogue operations"):
        handles("zzz")


def test_a_second_handler_of_one_operation_is_an_error_that_names_both() -> None:
    first, second = ModuleType("first"), ModuleType("second")
    operation = "OrderBookAPI.GetOrderBook"
    for module in (first, second):

        def serve(*_: object) -> None: ...

        serve.__module__ = module.__name__
        module.serve = handles(operation)(serve)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"two handlers for .*: first\.serve and second\.serve"):
        collect((first, second))


def test_a_handler_that_another_module_imports_counts_once() -> None:
    module = ModuleType("one")
    module.a = module.b = handles("OrderBookAPI.GetOrderBook")(lambda *_: None)  # type: ignore[attr-defined]
    assert list(collect((module, module))) == ["OrderBookAPI.GetOrderBook"]


def test_every_handler_serves_an_operation_of_the_contract() -> None:
    names = {operation.name for operation in load_contract().operations}
    assert handlers().keys() <= names
