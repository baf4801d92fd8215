"""The types of JSON beside what makes and checks it."""

from __future__ import annotations

import typing

from torchkeeper.artifacts import entry
from torchkeeper.artifacts.shapes import EntryRow


def test_the_row_of_an_entry_has_its_fields_and_their_types() -> None:
    hints = typing.get_type_hints(EntryRow)
    assert list(hints) == list(entry._CHECKED)
    for name, kind in hints.items():
        of = set(typing.get_args(kind) or (kind,))
        # A whole number of seconds is one, too.
        assert of == set(entry._TYPES[name]) - ({int} if float in of else set()), name
