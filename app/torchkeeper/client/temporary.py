"""Temporary folders that a command or the window makes for one use."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator

from torchkeeper.client.words.problems import user_error
from torchkeeper.stores.temporary import remove


def make(use: str) -> str:
    """The path of a new one, named by its use. Raises UserError("place-unwritable")."""
    try:
        return tempfile.mkdtemp(prefix=f"torchkeeper-{use}-")
    except OSError as e:
        about = {"place": tempfile.gettempdir(), "why": e.strerror}
        raise user_error("place-unwritable", about) from e


@contextlib.contextmanager
def folder(use: str) -> Iterator[str]:
    """One of which nothing is left afterwards. Raises UserError("place-unwritable")."""
    made = make(use)
    try:
        yield made
    finally:
        remove(made)
