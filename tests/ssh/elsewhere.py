"""What holds of a place holds of one on another machine: tests that are marked ANYWHERE run once
more with theirs there. They say what places are called here; this says what they are called then,
and takes it back from what is answered. Tests of the engine ask one there, those of scripts open
places there, and those of commands type their names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

import torchkeeper
from torchkeeper.client.engines import far
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import Message

MACHINE = "ssh://there"
_SERVERS = ("redis://", "unix://")
#: What is before a file that is of here, on the command line.
_FILES = frozenset({"-o", "--bundle", "--recipe", "--profile", "--env"})
#: Commands whose arguments are files of here, but for those of ``--into``.
_TAKE_FILES = frozenset({"import", "inspect", "sign"})


#: Runs a test twice.
ANYWHERE = pytest.mark.parametrize(
    "anywhere", ["here", pytest.param("there", marks=pytest.mark.slow)], indirect=True
)


@pytest.fixture(autouse=True)
def anywhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether places are there; has the engines and the places of the test be so."""
    if getattr(request, "param", "here") == "here":
        yield False
        return
    python: str = request.getfixturevalue("torch_python")
    # As here, the first Python has a torch.
    request.getfixturevalue("there").rc.write_text(f"PATH={os.path.dirname(python)}:$PATH\n")
    for module in (request.module, sys.modules.get("tests.engine.conftest")):
        if getattr(module, "Engine", None) is Engine:
            monkeypatch.setattr(module, "Engine", There)
    near = torchkeeper.open
    monkeypatch.setattr(torchkeeper, "open", lambda one, **how: near(named(one), **how))
    yield True


def named(place: str | os.PathLike[str]) -> str:
    """What a place is called that is there."""
    name = os.fspath(place)
    if name.startswith(_SERVERS):
        return f"{MACHINE}/{name}"
    return MACHINE + name if name.startswith("/") else name


def here(told: Any) -> Any:
    """What was told, with the names that places have on their own machine."""
    if isinstance(told, str):
        for one in _SERVERS:
            told = told.replace(f"{MACHINE}/{one}", one)
        return told.replace(f"{MACHINE}/", "/")
    if isinstance(told, dict):
        return {here(name): here(one) for name, one in told.items()}
    return [here(one) for one in told] if isinstance(told, list) else told


def _asked(op: str, value: Any, only: tuple[str, ...], name: str = "") -> Any:
    """Parameters with the names of places there, of those that begin so."""
    placed = name in far._PLACED or (name, op) == ("path", protocol.TARGET)
    if isinstance(value, dict):
        return {key: _asked(op, one, only, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_asked(op, one, only, name) for one in value]
    placed = placed and isinstance(value, str) and value.startswith(only)
    return named(value) if placed else value


class There(Engine):
    """An engine there; servers that are reached from there are asked of one here."""

    def __init__(self) -> None:
        super().__init__(MACHINE)
        self._near = Engine()

    def __exit__(self, *about: object) -> None:
        self._near.__exit__(*about)
        super().__exit__(*about)

    def send(self, op: str, params: Mapping[str, object] | None = None) -> int:
        return super().send(op, _asked(op, dict(params or {}), ("/",)))

    def receive(self) -> Iterator[Message]:
        for message in super().receive():
            yield message._replace(body=here(message.body))

    def call(
        self, op: str, params: Mapping[str, object] | None = None,
        on_message: Callable[[Message], None] | None = None,
        on_interrupt: Callable[[bool], None] | None = None,
    ) -> Any:  # fmt: skip
        # An environment may name a server, too, and is one of both.
        both = op in (protocol.KNOW, protocol.HOLD)
        near = not both and any(name in str(params) for name in _SERVERS)

        def heard(message: Message) -> None:
            if near and on_message:
                on_message(message._replace(body=here(message.body)))

        if near or both:
            told = self._near.call(op, _asked(op, dict(params or {}), _SERVERS), heard)
            if near:
                return here(told)
        return super().call(op, params, on_message, on_interrupt)


def typed(arguments: tuple[object, ...]) -> list[object]:
    """What is typed of a command line where its places are there."""
    found, before = list[object](), ""
    takes_files = arguments[0] in _TAKE_FILES
    for one in arguments:
        is_file = before in _FILES or (takes_files and before != "--into")
        found.append(named(one) if isinstance(one, os.PathLike) and not is_file else one)
        before = str(one)
    return found
