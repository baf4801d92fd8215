"""Files that PyTorch rewrites where they stand, written beside them and put there whole.

Of the list of an eager operator (aoti_compile_with_persistent_cache in torch/_inductor/
aoti_eager.py), a process that is killed meanwhile would else leave nothing, not even what was there
before.
"""

from __future__ import annotations

import contextlib
import io
import os
import threading
from collections.abc import Iterator
from typing import Any

from torchkeeper.stores.durable import sync_folder


class Whole(io.StringIO):
    """What is written to a file, which changes when this is left without an exception, if at all:
    without a text it stays as it is.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self._path = os.fspath(path)

    def __exit__(self, kind: Any, *rest: Any) -> None:
        text = self.getvalue()
        super().__exit__(kind, *rest)
        if kind is None and text:
            # As PyTorch's own, so that it is swept (write_atomic in torch/_inductor/codecache.py).
            name = f".{os.getpid()}.{threading.get_ident()}.tmp"
            folder = os.path.dirname(self._path)
            partial = os.path.join(folder, name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(partial)  # of another process that had these numbers
            with open(partial, "x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self._path)
            sync_folder(folder or ".")


@contextlib.contextmanager
def whole(module: Any) -> Iterator[None]:
    """What this module opens for writing meanwhile is written so."""

    def opened(path: Any, mode: str = "r", *more: Any, **how: Any) -> Any:
        return Whole(path) if mode == "w" else open(path, mode, *more, **how)

    # It stands before the built-in one.
    module.open = opened
    try:
        yield
    finally:
        del module.open
