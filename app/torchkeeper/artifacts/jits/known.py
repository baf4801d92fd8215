"""Every cache of another just-in-time compiler that is known, and what can be asked of all."""

from __future__ import annotations

import functools
import getpass
import os
import re
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.jits import (
    cuda,
    cute_dsl,
    deep_ep,
    deep_gemm,
    flashinfer,
    flashinfer_tuned,
    helion,
    jiterator,
    quack,
    sglang,
    sglang_jit,
    tilelang,
    torch_extensions,
    torch_tensorrt,
    tvm_ffi,
)
from torchkeeper.artifacts.jits.form import Cache, Form

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

CACHES = (
    deep_gemm.CACHE, deep_ep.CACHE, flashinfer.CACHE, flashinfer_tuned.CACHE, tilelang.CACHE,
    tvm_ffi.CACHE, cute_dsl.CACHE, quack.CACHE, sglang.CACHE, sglang_jit.CACHE, helion.CACHE,
    torch_extensions.CACHE, jiterator.CACHE, torch_tensorrt.CACHE, cuda.CACHE,
)  # fmt: skip

#: The compilers whose entries can be told apart, by the word that filters have for each.
COMPILERS = {cache.title.lower().replace(" ", "-"): cache.title for cache in CACHES if cache.forms}
#: A variable of every program: that it is set says nothing of a cache.
COMMON = "XDG_CACHE_HOME"
#: What says why a folder is one of theirs (``Home.reason``).
REASONS = frozenset(
    home[1:].partition("/")[0] if home.startswith("$") else cache.title
    for cache in CACHES
    for home in cache.homes
)
#: What of these is a pickle: functions that TileLang has tuned, Torch-TensorRT's engines.
PICKLES = frozenset({"function.pkl", "blob.bin"})
#: Bytes of a file that tell something of an entry, by how its name ends.
_READ = {".cubin": 64, ".cu": 1 << 16}
_FUNCTION = re.compile(
    rb"__global__\s+void\s+(?:__launch_bounds__\([^)]{0,200}\)\s*)?(\w{1,200})\s*\("
)
#: For which GPU a binary of NVIDIA's is: how old its form is tells where that stands in its flags.
_FLAGS, _OLD_FORM = struct.Struct("<I"), 0x33


class Home(NamedTuple):
    """Where a cache may be. reason: the variable that names it, or the compiler's name."""

    path: str
    reason: str
    cache: Cache

    @property
    def named(self) -> bool:
        """Whether a variable names it, and not the folder of all programs' caches."""
        return self.reason.isupper() and self.reason != COMMON


class Own(NamedTuple):
    """Whose a file is: the cache, what leads to that in the place, with a ``/``, and the rest.
    named: as of ``Form``.
    """

    cache: Cache
    above: str
    path: str
    named: bool | None


class Proof(NamedTuple):
    """The path of the file that tells, "" for the one that is asked about, how it begins, and what
    follows in it, in this order.
    """

    path: str
    head: str
    rest: tuple[str, ...]


#: What no name of a file has in it.
_NAME = "\0"


class _Found(NamedTuple):
    """name: what ``{name}`` stands for in the form; files: what files are called; _NAME stands
    there for it, and the form is compiled once for all folders.
    """

    cache: Cache
    form: Form
    match: re.Match[str]
    name: str
    files: re.Pattern[str]

    def file(self, name: str) -> re.Match[str] | None:
        """The match of the name of a file."""
        if _NAME in name:
            return None
        if (match := self.files.fullmatch(name)) or not (self.name and name.startswith(self.name)):
            return match
        return self.files.fullmatch(_NAME + name[len(self.name) :])

    def path(self, template: str) -> str:
        """A template of a form with what was matched, in the place."""
        for name, text in self.match.groupdict().items():
            template = template.replace(rf"\g<{name}>", text or "")  # a tenth of what expand takes
        return (self.match["above"] or "") + template


@functools.lru_cache(maxsize=256)  # of all files in a folder it is asked
def _forms(folder: str) -> tuple[_Found, ...]:
    """The forms of entries that may be in a folder, a path with a ``/`` or nothing."""
    if not _any().fullmatch(folder):
        return ()
    return tuple(
        _Found(cache, form, match, match.groupdict().get("name") or "", _files(form.files))
        for cache in CACHES
        for form in cache.forms
        if (match := _pattern(cache.names, form.entry).fullmatch(folder))
    )


@functools.cache
def _any() -> re.Pattern[str]:
    """What every such folder is: nearly all folders are PyTorch's."""
    names = "|".join(cache.names for cache in CACHES)
    every = "|".join(form.entry for cache in CACHES for form in cache.forms)
    every = re.sub(r"\?P<\w+>", "?:", every)
    return re.compile(rf"(?:(?:.*/)?(?:{names})/)?(?:{every})/?", re.ASCII)


@functools.cache
def _pattern(names: str, entry: str) -> re.Pattern[str]:
    slash = "/" if entry else ""
    above = rf"(?P<above>(?:.*/)?(?:{names})/)?"
    return re.compile(rf"{above}(?P<entry>{entry}){slash}", re.ASCII)


@functools.cache
def _files(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("{name}", _NAME), re.ASCII)


@functools.lru_cache(maxsize=16)  # of each of many files several things are asked
def _found(path: str) -> _Found | None:
    folder, slash, name = path.rpartition("/")
    return next((x for x in _forms(folder + slash) if x.file(name)), None)


def locate(path: str) -> tuple[str, str, str] | None:
    """The kind, key and common path of what such a compiler has; else None."""
    found = _found(path)
    if found is None:
        return None
    told, name = found.match.groupdict(), path.rpartition("/")[2]
    if found.form.each or found.form.kind == "lock":
        return found.form.kind, name, path
    return found.form.kind, told.get("key") or told["name"], path[: -len(name) - 1]


def own(path: str) -> Own | None:
    """Whose a file of an entry is; None for one of none, and for what a writer leaves behind."""
    found = _found(path)
    if found is None or found.form.kind != "jit":
        return None
    above = found.match["above"] or ""
    return Own(found.cache, above, path[len(above) :], found.form.named)


def folder_of(cache: Cache, title: str) -> str:
    """The folder in a bundle of what is of this cache by its path, and of the one of this title by
    what is in it.
    """
    alike = (other for other in CACHES if other.title == title and other.forms == cache.forms)
    return next(alike, cache).folder


def _by_source(cache: Cache, sources: Sequence[bytes]) -> Cache:
    """Whose a kernel is that may be this cache's by its path."""
    alike = (other for other in CACHES if other.source and other.forms == cache.forms)
    told = (x for x in alike if any(re.search(x.source.encode(), text) for text in sources))
    return next(told, cache)


def of_folder(folder: str) -> Cache | None:
    """The cache that has a folder of this name in a bundle."""
    return next((cache for cache in CACHES if cache.folder == folder), None)


def is_called(cache: Cache, path: str) -> bool:
    """Whether a folder has a name by which it is a cache's own."""
    return re.fullmatch(rf"(?:.*/)?(?:{cache.names})", path) is not None


def undescribed(path: str) -> Cache | None:
    """Whose cache a folder is of whose files nobody has said what they are."""
    return next((cache for cache in CACHES if not cache.forms and _is_home(cache, path)), None)


def _is_home(cache: Cache, path: str) -> bool:
    real = os.path.realpath(path)
    return is_called(cache, real) or any(
        home.cache is cache and os.path.realpath(home.path) == real for home in homes(os.environ)
    )


def is_alone(path: str) -> bool:
    """Whether a file's folder has many entries: each is one file."""
    found = _found(path)
    return found is not None and found.form.each


def proof(path: str) -> Proof | None:
    """What must be seen before a file is taken for what its path says; None where that tells all,
    or says nothing.
    """
    found = _found(path)
    if found is None or not (found.form.proof or found.form.head):
        return None
    head, there, name = found.form.head, found.form.proof, path.rpartition("/")[2]
    stem = name.rpartition(".")[0]
    for what, text in (("{name}", found.name), ("{file}", name), ("{stem}", stem)):
        if what in head:
            head = head.replace(what, re.escape(text))
    head, *rest = head.split("{rest}")
    return Proof(found.path(there).replace("{stem}", stem) if there else "", head, tuple(rest))


@functools.cache
def edition() -> int:
    """A number that changes with what is known of any."""
    return zlib.crc32(repr(CACHES).encode())


def locks(entry: str) -> list[str]:
    """The locks that a compiler takes for an entry, by the path of its folder."""
    return [x.path(x.form.lock) for x in _forms(f"{entry}/") if x.form.lock]


def wanted(name: str) -> int:
    """How many bytes of a file ``facts`` should see."""
    return _READ.get(os.path.splitext(name)[1], 0)


def facts(paths: list[str], files: Mapping[str, bytes]) -> Facts:
    """name, device, and which compiler wrote it, of which version, for which GPUs. paths: those of
    all files in the place; files: contents of some, by name.
    """
    found = _found(paths[0])
    if found is None:
        return {}
    named = found.file(paths[0].rpartition("/")[2])
    told = found.match.groupdict() | (named.groupdict() if named else {})
    sources = [data for name, data in files.items() if name.endswith(".cu")]
    functions = (_FUNCTION.search(data) for data in sources)
    title = _by_source(found.cache, sources).title
    name = told.get("name") or next((x[1].decode() for x in functions if x), None)
    devices = {_gpu(data) for name, data in files.items() if name.endswith(".cubin")}
    if arch := told.get("arch"):
        single = re.fullmatch(r"(\d+)[a-z]?", arch.replace(".", ""))
        devices.add(f"cuda:{single[1]}" if single else None)
    return {
        "name": f"{title}: {name}" if name else title,
        "device": devices.pop() if len(devices) == 1 else None,
        "backend": title,
        "version": told.get("version"),
        "gpu": arch,
    }


@functools.lru_cache(maxsize=256)  # very many have the same few names
def compiler(name: str | None) -> str:
    """Which of COMPILERS wrote an entry with such a name (``facts``); "" where it tells none."""
    return _words().get((name or "").partition(": ")[0], "")


@functools.cache
def _words() -> dict[str, str]:
    return {title: word for word, title in COMPILERS.items()}


@functools.cache
def compiler_called(text: str) -> str:
    """Which of COMPILERS somebody means who types this; "" for none."""
    plain = str.maketrans("", "", "-_ ")
    every = {word.translate(plain): word for word in COMPILERS}
    return every.get(text.lower().translate(plain), "")


def _gpu(binary: bytes) -> str | None:
    if len(binary) < 52 or binary[:4] != b"\x7fELF":
        return None
    (flags,) = _FLAGS.unpack_from(binary, 48)
    return f"cuda:{flags & 0xFF if binary[7] == _OLD_FORM else flags >> 8 & 0xFF}"


def loaded(maps: bytes) -> list[Cache]:
    """The caches of compilers that a program has loaded, by its ``/proc/<pid>/maps``."""
    return [cache for cache in CACHES if re.search(cache.loaded.encode(), maps)]


def homes(env: Mapping[str, str], by_default: Sequence[Cache] = CACHES) -> Iterator[Home]:
    """Where such caches are for a program with these variables. by_default: those of which it may
    use what no variable names.
    """
    for cache in CACHES:
        for home in cache.homes:
            first, slash, rest = home.replace("{user}", _user(env)).partition("/")
            named = first.startswith("$")
            reason = first[1:] if named else cache.title
            value = env.get(reason, "") if named else _DEFAULTS[first](env)
            # DeepGEMM reads from several.
            for base in dict.fromkeys((value, *value.split(":"))):
                if os.path.isabs(base) and (named or cache in by_default):
                    yield Home(base + slash + rest, reason, cache)


_DEFAULTS: dict[str, Callable[[Mapping[str, str]], str]] = {
    "~": lambda env: env.get("HOME", ""),
    "{tmp}": lambda env: env.get("TMPDIR") or tempfile.gettempdir(),
}


def _user(env: Mapping[str, str]) -> str:
    """The user's name, as these compilers ask for it; a folder of none where nobody knows."""
    name = env.get("USER") or env.get("USERNAME")
    if not name:
        try:
            name = getpass.getuser()
        except (KeyError, ImportError, OSError):
            name = f"uid_{os.getuid()}"
    return name.replace("/", "_")
