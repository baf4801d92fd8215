"""Kinds are called by their ids on the command line, and by their names in the window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from torchkeeper.artifacts.entry import KINDS
from torchkeeper.artifacts.shapes import Secret
from torchkeeper.client.words import leaks, say
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine.messages.entries import RunnableResult


@pytest.fixture
def named() -> Iterator[None]:
    """As in the window."""
    say.use_names(True)
    yield
    say.use_names(False)


def sentences() -> list[str]:
    """What is said with kinds in it."""
    found: RunnableResult = {
        "kinds": [{"kind": "fxgraph", "entries": 1, "pickles": 1, "sources": 0, "objects": 0,
                   "unread": 0}],
        "globals": [{"name": "os.system", "strange": True, "entries": 2, "kinds": ["pgo"],
                     "key": "k"}],
        "strange": 2, "more": False,
    }  # fmt: skip
    secret: Secret = {"what": "token", "name": "", "kind": "aoti_eager", "key": "k", "path": "p",
                      "file": "x", "offset": 3, "times": 1, "redactable": True,
                      "excerpt": ""}  # fmt: skip
    return [
        user_error("kinds-differ", {"kind": "fxgraph", "other_kind": "pgo"}).what,
        *leaks.kinds(found),
        leaks.names(found),
        leaks.line({**secret, "file": "key"}),
        leaks.line(secret),
    ]


def test_the_command_line_has_what_filters_take() -> None:
    assert sentences() == [
        "An entry of kind “fxgraph” cannot be compared with one of kind “pgo”.",
        "fxgraph: 1 pickle",
        "1 class or function, 1 of which PyTorch never uses: os.system (pgo k and 1 more)",
        "a token in the key k of kind aoti_eager",
        "a token in aoti_eager k, byte 3",
    ]


def test_the_window_has_names(named: None) -> None:
    assert sentences() == [
        "An entry of kind “FX graph” cannot be compared with one of kind “PGO profile”.",
        "FX graph: 1 pickle",
        "1 class or function, 1 of which PyTorch never uses: os.system (PGO profile k and 1 more)",
        "a token in the key k of kind AOTI eager",
        "a token in AOTI eager k, byte 3",
    ]


def test_each_kind_has_a_name(named: None) -> None:
    assert all(say.called(kind) != kind for kind in KINDS)
    assert len({say.called(kind) for kind in KINDS}) == len(KINDS)
    # What a stranger's file says is a kind may be anything.
    assert say.called("odd") == "odd"
