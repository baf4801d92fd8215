"""Recipes that came from another machine, with the files beside them: a zip, in which the folder of
each recipe has the name that the request gives instead of a path.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores import parts
from torchkeeper.warm.shapes import Compiling, SentRecipe


@contextlib.contextmanager
def placed(params: Compiling) -> Iterator[Sequence[str | SentRecipe] | None]:
    """The recipes of a request, whose folders are there meanwhile. Where nothing was sent they are
    here already. Raises Problem("place-unwritable").
    """
    recipes = params.get("recipes")
    if (file := params.get("sent")) is None:
        yield recipes
        return
    # In the engine's own folder, which goes with it whatever happens.
    folder = tempfile.mkdtemp(prefix="sent-", dir=os.getcwd())
    try:
        try:
            with zipfile.ZipFile(file) as zipped:
                zipped.extractall(folder)
            parts.forget(file)
        except (OSError, zipfile.BadZipFile) as e:
            raise Problem("place-unwritable", place=folder, why=str(e)) from e
        yield [
            one if isinstance(one, str) else {**one, "folder": folder + one["folder"]}
            for one in recipes or ()
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
