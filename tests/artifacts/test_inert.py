"""The inert unpickler: nothing is imported or called, whatever the pickle says."""

from __future__ import annotations

import collections
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.artifacts import inert


class _Runs:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.path),))


def test_nothing_is_called(tmp_path: Path) -> None:
    trip = tmp_path / "tripped"
    loaded = inert.load(pickle.dumps(_Runs(trip)))
    assert not trip.exists()
    assert inert.class_name(loaded) == "mkdir"
    assert loaded.args == (str(trip),)


def test_nothing_is_imported() -> None:
    assert "wave" not in sys.modules
    inert.load(b"cwave\nopen\n(S'x'\ntR.")
    assert "wave" not in sys.modules


def test_extension_codes_resolve_to_nothing() -> None:
    with pytest.raises(ValueError, match="unregistered extension"):
        inert.load(b"\x80\x02\x82\x01.")


def test_fields_of_plain_and_slotted_classes() -> None:
    loaded = inert.load(pickle.dumps(collections.Counter(a=2)))
    assert inert.class_name(loaded) == "Counter"
    assert inert.fields(inert.load(b"\x80\x02cx\nY\n)\x81N}U\x01aK\x01s\x86b.")) == {"a": 1}


def test_endless_globals_are_refused() -> None:
    bomb = b"".join(b"cm\nC%d\n0" % n for n in range(inert.MAX_GLOBALS + 1)) + b"N."
    with pytest.raises(inert.TooManyGlobals):
        inert.load(bomb)


def test_setitem_and_append_of_stand_ins_are_bounded() -> None:
    many = b"\x80\x02cx\nY\n)\x81(" + b"K\x01" * (inert.MAX_ITEMS + 5) + b"e."
    assert len(inert.load(many).items) == inert.MAX_ITEMS


@pytest.mark.parametrize("value", [None, "3", True, -5, 0, float("inf"), 10**30, [1]])
def test_seconds_of_nonsense(value: object) -> None:
    assert inert.seconds(value) is None


def test_texts_take_only_strings() -> None:
    assert inert.texts(["a", 1, None, b"x"]) == ["a"]
    assert inert.texts("abc") == []
    assert inert.texts(inert.load(b"\x80\x02cx\nOrderedSet\n]U\x03cpua\x85\x81.")) == ["cpu"]
