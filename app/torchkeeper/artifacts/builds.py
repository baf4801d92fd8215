"""What a bundle says of how its built objects were made, to be doubted; and whether one is whole.

PyTorch names a built object after its source and the whole command that built it, paths of torch
and of Python among it. So that another environment can find the name that it will look for, a
bundle tells the commands with these paths replaced (``portable``), and of each object its source
and which command built it. What of this is nonsense is as if it were not there: the object is then
one whose making nobody recorded.

PyTorch finds the library of an eager kernel by its list alone, whatever its name. So no command is
told of it, only in which environment's cache it was.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, TypedDict

#: Characters of a version or a flag, and of a command; how many flags and commands there may be.
#: Real ones have 100, 4,000, 150 and 20.
_MAX_WORD, _MAX_COMMAND = 200, 20_000
_MAX_FLAGS, _MAX_COMMANDS = 2000, 500
_WORDS = ("torch", "torch_key", "python", "compiler")


class MadeIn(TypedDict):
    """Where something says it was made; None where it does not tell, or entries differ."""

    torch: str | None
    torch_git: str | None
    cuda: str | None
    gpus: list[str] | None
    threads: int | None


class Builder(TypedDict):
    """What built objects, as somebody says. python: the tag of its extension modules, as
    ``cpython-311-x86_64-linux-gnu``. compiler: the first line of its ``--version``. libc: None for
    another than the GNU one. cpu_flags: all that Linux says the CPU has, sorted.
    """

    torch: str
    torch_key: str
    python: str
    compiler: str
    libc: str | None
    cpu_flags: list[str]


class Native(Builder):
    """The same, with the commands: texts without the paths of torch, Python and the cache."""

    commands: list[str]


class Kernels(TypedDict):
    """How many kernels are for programs that precompile headers, and for those that do not."""

    unportable: int
    portable: int


class Claims(Kernels):
    """What a bundle says of its objects, unproven, and of kernels of which it is told how they were
    built. objects: how many entries hold something built; built: of how many it is told how.
    """

    native: Builder | None
    objects: int
    built: int


class Build(NamedTuple):
    """How one object was made. source, object: their paths in the zip. command: which of the
    manifest's commands, None of an eager kernel, whose source is the text of its item
    (artifacts.aoti_eager). elsewhere: whether it records more instruction sets than the manifest's
    CPU has, as where machines share a cache: of the CPU that built it nothing is said then.
    """

    source: str
    object: str
    command: int | None
    elsewhere: bool = False


def build_from(said: object) -> Build | None:
    """What an entry of a manifest says of its making; None where it says none, or nonsense."""
    if not isinstance(said, dict):
        return None
    source, made, command = (said.get(name) for name in ("source", "object", "command"))
    elsewhere = said.get("elsewhere", False)
    if not isinstance(source, str) or not isinstance(made, str) or source == made:
        return None
    if not isinstance(elsewhere, bool) or "command" not in said:
        return None
    if command is not None and not (type(command) is int and 0 <= command < _MAX_COMMANDS):
        return None
    return Build(source, made, command, elsewhere)


def origin_from(said: object) -> Native | None:
    """What a manifest says of where its objects were built; None for nothing, or nonsense."""
    if not isinstance(said, dict):
        return None
    torch, torch_key, python, compiler = (_text(said.get(name)) for name in _WORDS)
    libc = _text(said.get("libc"))
    flags = _texts(said.get("cpu_flags"), _MAX_FLAGS, _MAX_WORD)
    commands = _texts(said.get("commands"), _MAX_COMMANDS, _MAX_COMMAND)
    if torch is None or torch_key is None or python is None or compiler is None:
        return None
    if flags is None or commands is None or (libc is None and said.get("libc") is not None):
        return None
    return {
        "torch": torch,
        "torch_key": torch_key,
        "python": python,
        "compiler": compiler,
        "libc": libc,
        "cpu_flags": sorted(set(flags)),
        "commands": commands,
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _MAX_WORD else None


def _texts(values: object, most: int, longest: int) -> list[str] | None:
    if not isinstance(values, list) or len(values) > most:
        return None
    good = all(isinstance(value, str) and 0 < len(value) <= longest for value in values)
    return list(values) if good else None


# Whether a built object is whole: PyTorch loads any ``.so`` that exists, finished or not; and for
# which GPUs it is.

#: What stands in an object that launches kernels: the library that it needs or opens, and what it
#: calls of that (driver.c and driver.py of triton/backends, and of Intel's).
_RUNTIMES = {
    "hip": (b"libamdhip64.so", b"hipModuleLaunchKernel"),
    "cuda": (b"libcuda.so", b"cuLaunchKernel"),
    "xpu": (b"libze_loader.so", b"zeCommandListAppendLaunchKernel"),
}
#: Bytes from the start of a file that ``complete`` needs.
HEADER = 64


def complete(head: bytes, size: int) -> bool:
    """Whether a file of ``size`` bytes that starts with ``head`` is an ELF file to its end. The
    linker writes the section header table last and at the end, so a file that stops before that
    table ends was never finished, or was cut.
    """
    if len(head) < HEADER or head[:4] != b"\x7fELF" or head[4] not in (1, 2):
        return False
    order = "<" if head[5] == 1 else ">"
    of_offset, at, at_counts = ("Q", 40, 58) if head[4] == 2 else ("I", 32, 46)
    (offset,) = struct.unpack_from(order + of_offset, head, at)
    entry, count = struct.unpack_from(order + "HH", head, at_counts)
    return bool(offset and count and offset + entry * count <= size)


def backend(data: bytes) -> str | None:
    """For which sort of GPU an object is, as Triton names them; None where it does not tell."""
    if data[:4] != b"\x7fELF":
        return None
    told = [name for name, signs in _RUNTIMES.items() if any(sign in data for sign in signs)]
    return told[0] if len(told) == 1 else None
