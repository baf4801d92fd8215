"""Every operation stands in one table, with what it is like."""

from __future__ import annotations

import importlib
import inspect
import typing

import pytest

from torchkeeper.engine.protocol import TABLE, Ends, Operation, ends, traits


@pytest.mark.parametrize("operation", TABLE.values(), ids=TABLE)
def test_every_operation_has_a_handler(operation: Operation) -> None:
    module, name = operation.handler.split(".")
    handler = getattr(importlib.import_module(f"torchkeeper.{operation.package}.{module}"), name)
    assert len(inspect.signature(handler).parameters) == 3


@pytest.mark.parametrize("operation", TABLE.values(), ids=TABLE)
def test_parameters_and_results_are_types_that_the_handler_names(operation: Operation) -> None:
    module, name = operation.handler.split(".")
    handler = getattr(importlib.import_module(f"torchkeeper.{operation.package}.{module}"), name)
    messages = importlib.import_module(f"torchkeeper.engine.messages.{operation.messages}")
    said = inspect.signature(handler)
    params = [one.annotation for one in said.parameters.values()][1]
    for kind, named in ((operation.params, params), (operation.result, said.return_annotation)):
        assert typing.is_typeddict(kind)
        assert getattr(messages, named.rpartition(".")[2]) is kind


def test_each_stands_there_once() -> None:
    assert len({one.handler for one in TABLE.values()}) == len(TABLE)
    assert all(name == one.name for name, one in TABLE.items())


def test_what_changes_a_place_is_not_killed_as_what_looks() -> None:
    for one in TABLE.values():
        assert not one.changes or one.ends is not Ends.LOOKS, one.name
        assert one.changes or not (one.removes or one.fills or one.brings_code), one.name


def test_what_is_foretold_only_looks_and_a_server_takes_nothing_back() -> None:
    assert ends("copy", {"into": "/cache"}) is Ends.BACK
    assert ends("copy", {"into": "redis://host"}) is Ends.STAYS
    assert ends("copy", {"into": "/cache", "dry": True}) is Ends.LOOKS
    assert ends("nonsense", {}) is Ends.LOOKS
    assert traits("nonsense") == Operation("", "")
