"""Whose fault an exception of a cell is, and where in the user's own code it was raised."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.child import said
from torchkeeper.warm.recipes.cells import Cell

#: The user's frames in what Dynamo says (torch/_dynamo/exc.py: format_error_msg), innermost last.
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+), in ', re.M)
_FROM = "from user code:"
#: What Dynamo raises where a graph's inputs do not fit what is done with them, and what it quotes
#: (torch/_dynamo/exc.py).
_REFUSED = frozenset({"TorchRuntimeError", "FakeTensorMetaError", "UserError"})
_RAISED = re.compile(r"(?:got |raised )?(\w*(?:Error|Exception))\(['\"](.*?)['\"]\)", re.S)
#: What compilers and PyTorch raise about themselves.
_OURS = frozenset({
    "InductorError", "BackendCompilerFailed", "CppCompileError", "InternalTorchDynamoError",
})  # fmt: skip


@contextlib.contextmanager
def blamed(cell: Cell, code: str = "callable-raised") -> Iterator[None]:
    """What the user's code raises becomes a Problem that says what, and in which line.

    "inputs-refused" for what a model says of its inputs, ``code`` for anything else that it
    raises. What PyTorch says of itself, or of a full disk, passes through as it is.
    """
    try:
        yield
    except (Problem, MemoryError, ModuleNotFoundError, SyntaxError):
        raise
    except (Exception, SystemExit) as e:
        if isinstance(e, OSError) and e.errno == errno.ENOSPC:
            raise
        kinds = {type(one).__name__ for one in _chain(e)}
        where = _line_of(e, cell)
        if kinds & _OURS or where is None:
            raise
        traceback.print_exc()
        text = str(e)
        if kinds & _REFUSED or (type(e) in (RuntimeError, TypeError) and _in_torch(e)):
            raise Problem("inputs-refused", why=_short(text) or said(e), where=where) from e
        raise Problem(code, why=said(e), where=where) from e


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _short(text: str) -> str | None:
    found = _RAISED.search(text)
    return f"{found[1]}: {found[2]}"[:500] if found else None


def _line_of(error: BaseException, cell: Cell) -> str | None:
    """``file:line`` of the innermost frame that is the user's; None where there is none."""
    text = str(error)
    if _FROM in text:
        frames = [f for f in _FRAME.findall(text.split(_FROM, 1)[1]) if is_users(f[0], cell)]
        if frames:
            return f"{frames[-1][0]}:{frames[-1][1]}"
    for one in _chain(error):
        frames = [
            (frame.filename, frame.lineno)
            for frame in traceback.extract_tb(one.__traceback__)
            if is_users(frame.filename, cell)
        ]
        if frames:
            return f"{frames[-1][0]}:{frames[-1][1]}"
    return None


def _in_torch(error: BaseException) -> bool:
    """Whether PyTorch raised it, and not a line of the user's."""
    frames = traceback.extract_tb(error.__traceback__)
    # C++ has no frames: then the last line is one that calls it.
    last = frames[-1] if frames else None
    if last is None:
        return False
    return f"{os.sep}torch{os.sep}" in last.filename or not (last.line or "").lstrip().startswith(
        ("raise", "assert")
    )


def is_users(file: str, cell: Cell) -> bool:
    """Whether a file is the user's own: not of Python, of an installed package, or ours."""
    if cell.folder and _below(file, cell.folder):
        return "site-packages" not in file[len(cell.folder) :]
    if file.startswith("<") or "site-packages" in file or "dist-packages" in file:
        return False
    ours = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    others = [sysconfig.get_path("stdlib"), ours, os.path.dirname(torch) if torch else None]
    return not any(_below(file, folder) for folder in others if folder)


def _below(file: str, folder: str) -> bool:
    return os.path.abspath(file).startswith(folder.rstrip(os.sep) + os.sep)
