"""What tests ask an engine with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import Message
from torchkeeper.engine.session import Session

Ask = Callable[..., tuple[dict[str, Any], list[Message]]]


@pytest.fixture
def ask() -> Iterator[Ask]:
    with Engine() as engine:

        def run(op: str, **params: Any) -> tuple[dict[str, Any], list[Message]]:
            messages: list[Message] = []
            return engine.call(op, params, messages.append), messages

        yield run


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session()
    yield made
    made.close()
