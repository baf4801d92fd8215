"""Temporary folders that a command or the window makes for one use."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator

from torchkeeper.link.words import user_error
from torchkeeper.stores.temporary import remove


def make(use: str, beside: str | None = None) -> str:
    """The path of a new one, named by its use. beside: a file that what is made in it is to become
    by a mere change of its name; the folder is hidden then. Raises UserError("place-unwritable").
    """
    where = tempfile.gettempdir() if beside is None else os.path.dirname(beside)
    try:
        return tempfile.mkdtemp(prefix=f"{'.' if beside else ''}torchkeeper-{use}-", dir=where)
    except OSError as e:
        about = {"place": where, "why": e.strerror}
        raise user_error("place-unwritable", about) from e


@contextlib.contextmanager
def folder(use: str) -> Iterator[str]:
    """One of which nothing is left afterwards. Raises UserError("place-unwritable")."""
    made = make(use)
    try:
        yield made
    finally:
        remove(made)
