"""Files in which programs keep what torch compiled for them, besides caches and mega-caches.

A package of AOTInductor or of torch.export is a zip with one folder in it (``.pt2``; constants and
readers are in torch/export/pt2_archive, what is told of each model is from get_device_information
in torch/_inductor/codecache.py). ``torch.compiler.precompile`` of torch 2.15, a prototype, has a
Python file and a dictionary. What ``aot_compile`` saves is read in ``dynamo.model``.
"""

from __future__ import annotations

import json
import struct
from typing import Literal, NamedTuple

from torchkeeper.artifacts.patterns import regex

Form = Literal["aot-compile", "pt2", "exported", "precompile", "precompile-cache"]
What = Literal["object", "gpu", "source", "weights", "pickle", "text"]

#: Below the folder of a package: its mark, and what it holds (pt2_archive/constants.py).
MARK, MARKED = "archive_format", b"pt2"
_COMPILED = regex(r"data/aotinductor/([^/]{1,200})/[^/]+")
_EXPORTED = regex(r"models/[^/]{1,200}\.json")
_METADATA = "_metadata.json"
#: How the names of files end, and what they are to whoever loads them.
_ENDS: tuple[tuple[tuple[str, ...], What], ...] = (
    ((".so", ".o", ".a", ".dll", ".pyd", ".dylib"), "object"),
    ((".cubin", ".hsaco", ".spv", ".ptx", ".fatbin"), "gpu"),
    ((".cpp", ".cu", ".c", ".h", ".hip", ".py"), "source"),
    ((".pt", ".pkl"), "pickle"),
)
_WEIGHTS = regex(r"(?:.*/)?(?:weight_|tensor_|serialized_weights)[^/]*|.*\.(?:bin|blob)")
_OBJECTS = regex(r"(?:.*/)?(?:custom_obj_|opaque_obj_)[^/]*")

#: What stands in the Python file of a precompiled program, each on a line of its own.
_SAID = regex(r"^(BACKEND|TRACER|SERVING_MODE)\s*=\s*['\"]([\w .:+-]{1,100})['\"]", 8)
_ALL_SAID = 3
#: Bytes of a file of metadata, and of a source that is looked at.
MAX_TEXT = 1 << 20
_MAX_VALUE, _MAX_LIBRARIES = 200, 100


class Packed(NamedTuple):
    """What a package holds, by the paths below its folder. form: None for none."""

    form: Form | None
    models: dict[str, list[str]]


def what(path: str) -> What:
    """What a file of a package is."""
    for ends, one in _ENDS:
        if path.endswith(ends):
            return one
    if _OBJECTS.fullmatch(path):
        return "pickle"
    return "weights" if _WEIGHTS.fullmatch(path) else "text"


def package(paths: list[str]) -> Packed:
    """What the files of a package are, by their paths below its folder."""
    models: dict[str, list[str]] = {}
    for path in paths:
        if match := _COMPILED.fullmatch(path):
            models.setdefault(match[1], []).append(path)
    exported = any(map(_EXPORTED.fullmatch, paths))
    return Packed("pt2" if models else "exported" if exported else None, models)


def metadata_of(paths: list[str]) -> str | None:
    """The file that tells of a model, of its files: that of its wrapper, else any."""
    said = sorted(path for path in paths if path.endswith(_METADATA))
    return next((path for path in said if ".wrapper" in path), said[0] if said else None)


def metadata(data: bytes) -> dict[str, str]:
    """What a package tells of a model. Nothing of what is no such text."""
    try:
        said = json.loads(data[:MAX_TEXT])
    except (ValueError, RecursionError):
        return {}
    if not isinstance(said, dict):
        return {}
    texts = {name: one for name, one in said.items() if isinstance(one, str)}
    return {name[:100]: one[:_MAX_VALUE] for name, one in list(texts.items())[:100]}


def precompiled(text: str) -> dict[str, str] | None:
    """What the Python file of a precompiled program says of itself; None of any other."""
    said = {match[1]: match[2] for match in _SAID.finditer(text[:MAX_TEXT])}
    return said if len(said) == _ALL_SAID else None


def libraries(data: bytes) -> list[str] | None:
    """The libraries that an object for this sort of machine needs (elf(5), DT_NEEDED), in order;
    None of what is no such object, or is damaged.
    """
    try:
        return _libraries(data)
    except (struct.error, ValueError, OverflowError, StopIteration):
        return None


_LOAD, _DYNAMIC, _NEEDED, _NAMES = 1, 2, 1, 5


def _libraries(data: bytes) -> list[str] | None:
    if data[:6] != b"\x7fELF\x02\x01":
        return None
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    loads, dynamic = [], None
    for number in range(min(count, 128)):
        kind, _, offset, address, _, length = struct.unpack_from(
            "<IIQQQQ", data, start + number * size
        )
        if kind == _LOAD:
            loads.append((address, offset, length))
        elif kind == _DYNAMIC:
            dynamic = offset, length
    if dynamic is None:
        return []
    tags = []
    for at in range(dynamic[0], dynamic[0] + min(dynamic[1], 1 << 16), 16):
        tag, value = struct.unpack_from("<QQ", data, at)
        if not tag:
            break
        tags.append((tag, value))
    names = next(value for tag, value in tags if tag == _NAMES)
    table = next(o + names - a for a, o, length in loads if a <= names < a + length)
    found: list[str] = []
    for tag, value in tags:
        if tag == _NEEDED and len(found) < _MAX_LIBRARIES:
            end = data.index(b"\0", table + value, table + value + _MAX_VALUE)
            found.append(data[table + value : end].decode("utf-8", "replace"))
    return found
