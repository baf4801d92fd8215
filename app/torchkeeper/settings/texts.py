"""Rules on texts that do not mean what they look like, on folders, and on names nobody reads."""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Iterator

from torchkeeper.artifacts.masking import MOST, brief
from torchkeeper.settings.finding import About, Finding, Values
from torchkeeper.settings.known import BY_NAME, SETTINGS, URL, Setting, there, value

_OFF = frozenset({"0", "false", "f", "off", "no", "n", "none", "null", "disable", "disabled"})
_ON = frozenset({"1", "true", "t", "on", "yes", "y", "enable", "enabled"})
_SWITCHES = tuple(one for one in SETTINGS if one.type in ("switch", "tristate"))
_SAME = tuple(dict.fromkeys(one.same for one in SETTINGS if one.same))
#: What people expect and nobody reads.
_EXPECTED = {
    "TORCHINDUCTOR_REDIS_PASSWORD": URL,
    "TORCHINDUCTOR_REDIS_USERNAME": URL,
    "TORCHINDUCTOR_REDIS_DB": URL,
    "TORCHINDUCTOR_CACHE": "TORCHINDUCTOR_FX_GRAPH_CACHE",
    "TORCHINDUCTOR_REMOTE_CACHE": "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE",
    "TORCHINDUCTOR_DISABLE_CACHES": "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
    "INDUCTOR_CACHE_DIR": "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_CACHE_DIR": "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_COMPILE_CACHE_DIR": "TORCHINDUCTOR_CACHE_DIR",
}
#: How alike two names are that one may have been meant for the other, as difflib counts.
_ALIKE = 0.92
_OURS = ("TORCH", "TRITON", "INDUCTOR", "PYTORCH")


def looks(text: str) -> bool | None:
    """Whether a text looks like on or off, to people; None where it looks like neither."""
    word = text.strip(" \t\r\n'\"").lower()
    return True if word in _ON else False if word in _OFF else None


def switches(values: Values, about: About) -> Iterator[Finding]:
    """Each switch has its own idea of what is on."""
    for setting in _SWITCHES:
        text = values.get(setting.name)
        if text is None or text in ("0", "1"):
            continue
        is_on, default_on = (value(setting, x, about.torch) is True for x in (text, None))
        seen = looks(text)
        if not text:
            if is_on != default_on:
                yield Finding("text-empty", "error", (setting.name,), params={"name": setting.name},
                              change={setting.name: None})  # fmt: skip
        elif seen is None or seen != is_on:
            yield _misread(setting, text, seen)


def _misread(setting: Setting, text: str, seen: bool | None) -> Finding:
    severity, about = "warning" if seen is None else "error", (setting.name,)
    # Whoever puts a password here does not find it in a report.
    params = {"name": setting.name, "text": text if text.isalnum() and len(text) < 10 else "…"}
    change = {setting.name: None if seen is None else "1" if seen else "0"}
    if setting.reading == "config":
        return Finding("text-is-on", severity, about, params=params, change=change)
    if setting.reading == "tristate":
        return Finding("text-ignored", severity, about, params=params, change=change)
    return Finding("text-is-off", severity, about, params=params, change=change)


def numbers(values: Values, _: About) -> Iterator[Finding]:
    """PyTorch reads it while it is imported, and fails."""
    name = "TORCHINDUCTOR_FILE_LOCK_TIMEOUT"
    if name in values and not whole(values[name]):
        yield Finding("number-unreadable", "error", (name,), params={"name": name},
                      change={name: None})  # fmt: skip


def whole(text: str) -> bool:
    """Whether int() takes a text."""
    try:
        int(text)
    except ValueError:
        return False
    return True


def names_that_disagree(values: Values, about: About) -> Iterator[Finding]:
    """Of two names of one setting, the first that is set wins."""
    for same in _SAME:
        given = [x for x in same if x in values and there(BY_NAME[x], about.torch)]
        if len(given) < 2:
            continue
        winner, loser = given[:2]
        if value(BY_NAME[winner], values[winner]) != value(BY_NAME[loser], values[loser]):
            params = {"winner": winner, "loser": loser}
            yield Finding("names-disagree", "warning", (loser, winner), params=params,
                          change={loser: None})  # fmt: skip


def unknown(values: Values, about: About) -> Iterator[Finding]:
    """A variable that nobody reads, named much like one that is read."""
    for name in sorted({*values, *(about.variables or ())} - set(BY_NAME)):
        if (meant := meant_by(name)) is None:
            continue
        text = values.get(name)
        moves = text is not None and meant not in values and brief(text, MOST) == text
        moves = moves and not BY_NAME[meant].secret
        change = {name: None, meant: text} if moves else {}
        yield Finding("variable-unknown", "warning", (name, meant),
                      params={"name": name, "meant": meant}, change=change)  # fmt: skip


def of_another_torch(values: Values, about: About) -> Iterator[Finding]:
    """A variable that this torch does not read, and an older or a newer one does."""
    for name in sorted(BY_NAME.keys() & values.keys()):
        setting = BY_NAME[name]
        if setting.source.startswith("triton") or there(setting, about.torch):
            continue
        params = {"name": name, "torch": str(about.torch), "since": setting.since}
        yield Finding("variable-too-new", "warning", (name,), params=params, change={name: None})


@functools.lru_cache(4096)
def meant_by(name: str) -> str | None:
    """The setting that a name is mistaken for, None where there is none."""
    if name in _EXPECTED:
        return _EXPECTED[name]
    if not name.upper().startswith(_OURS) or len(name) > 80:
        return None
    alike = difflib.get_close_matches(name.upper(), BY_NAME, n=1, cutoff=_ALIKE)
    return alike[0] if alike else None


# Folders.

_CACHE, _TRITON, _HOME = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME"
_TEMPORARY = "TMPDIR"
#: Characters of a folder in a finding; an address may be there by mistake, with a password.
_LONG = 200
_FOLDERS = (_CACHE, _TRITON, _HOME, _TEMPORARY)
#: What PyTorch does not quote in a command to the C++ compiler, which it splits as a shell would
#: (_run_compile_cmd in torch/_inductor/cpp_builder.py).
UNQUOTED = re.compile(r"[\s'\"\\]")


def written(values: Values, _: About) -> Iterator[Finding]:
    """Nothing expands or completes what a variable holds."""
    for name in _FOLDERS:
        if (text := values.get(name)) is None:
            continue
        params = {"name": name, "folder": brief(text, _LONG)}
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


def _unquoted(text: str) -> str:
    bare = text.strip(" \t\r\n'\"")
    return bare if bare != text and os.path.isabs(bare) and len(bare) < MOST else ""


def blanks(values: Values, about: About) -> Iterator[Finding]:
    """The C++ compiler gets a broken path: kernels, and in the temporary folder headers."""
    for name in (_CACHE, _TEMPORARY):
        text = values.get(name, "")
        if UNQUOTED.search(text) and not _unquoted(text):
            yield Finding("folder-blank", "warning" if about.gpu else "error", (name,),
                          params={"name": name, "folder": brief(text, _LONG)})  # fmt: skip


def kernels_apart(values: Values, _: About) -> Iterator[Finding]:
    """Triton's folder is not in the cache folder then, and one for all GPUs."""
    folder, cache = values.get(_TRITON, ""), values.get(_CACHE, "")
    within, above = (os.path.join(os.path.normpath(path), "") for path in (folder, cache))
    if not folder or (cache and within.startswith(above)):
        return
    yield Finding("kernels-apart", "advice", (_TRITON, _CACHE),
                  params={"folder": brief(folder, _LONG)}, change={_TRITON: None})  # fmt: skip


def home_unused(values: Values, _: About) -> Iterator[Finding]:
    """The folder itself wins over the one that it would be in."""
    if values.get(_HOME) and values.get(_TRITON):
        yield Finding("triton-home-unused", "advice", (_HOME, _TRITON), change={_HOME: None})


TEXTS = (switches, numbers, names_that_disagree, unknown, of_another_torch)
FOLDERS = (written, blanks, kernels_apart, home_unused)
