"""Rules on folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from torchkeeper.artifacts.masking import MOST, brief
from torchkeeper.settings.checks.about import About, Values
from torchkeeper.settings.finding import Finding

_CACHE, _TRITON, _HOME = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME"
_TEMPORARY = "TMPDIR"
_FOLDERS = (_CACHE, _TRITON, _HOME, _TEMPORARY)
#: What PyTorch does not quote in a command to the C++ compiler, which it splits as a shell would
#: (_run_compile_cmd in torch/_inductor/cpp_builder.py).
UNQUOTED = re.compile(r"[\s'\"\\]")


def written(values: Values, _: About) -> Iterator[Finding]:
    """Nothing expands or completes what a variable holds."""
    for name in _FOLDERS:
        text = values.get(name)
        if text is None:
            continue
        params = {"name": name, "folder": _shown(text)}
        if not text:
            # An empty TMPDIR is as good as none (tempfile in Python).
            if name != _TEMPORARY:
                yield Finding("folder-empty", "error", (name,), params={"name": name},
                              change={name: None})  # fmt: skip
        elif text.startswith("~") or "$" in text:
            yield Finding("folder-unexpanded", "error", (name,), params=params)
        elif bare := _unquoted(text):
            yield Finding("folder-quoted", "error", (name,), params=params, change={name: bare})
        elif not os.path.isabs(text):
            yield Finding("folder-relative", "warning", (name,), params=params)


def _shown(folder: str) -> str:
    """A folder as a finding tells it: an address may be there by mistake, with a password."""
    return brief(folder, 200)


def _unquoted(text: str) -> str:
    bare = text.strip(" \t\r\n'\"")
    return bare if bare != text and os.path.isabs(bare) and len(bare) < MOST else ""


def blanks(values: Values, about: About) -> Iterator[Finding]:
    """The C++ compiler gets a broken path: kernels, and in the temporary folder headers."""
    for name in (_CACHE, _TEMPORARY):
        text = values.get(name, "")
        if UNQUOTED.search(text) and not _unquoted(text):
            yield Finding("folder-blank", "warning" if about.gpu else "error", (name,),
                          params={"name": name, "folder": _shown(text)})  # fmt: skip


def kernels_apart(values: Values, _: About) -> Iterator[Finding]:
    """Triton's folder is not in the cache folder then, and one for all GPUs."""
    folder, cache = values.get(_TRITON), values.get(_CACHE)
    if not folder:
        return
    if cache and os.path.join(os.path.normpath(folder), "").startswith(
        os.path.join(os.path.normpath(cache), "")
    ):
        return
    yield Finding("kernels-apart", "advice", (_TRITON, _CACHE), params={"folder": _shown(folder)},
                  change={_TRITON: None})  # fmt: skip


def home_unused(values: Values, _: About) -> Iterator[Finding]:
    """The folder itself wins over the one that it would be in."""
    if values.get(_HOME) and values.get(_TRITON):
        yield Finding("triton-home-unused", "advice", (_HOME, _TRITON), change={_HOME: None})


RULES = (written, blanks, kernels_apart, home_unused)
