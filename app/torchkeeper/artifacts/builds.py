"""What a bundle says of how its built objects were made, all of it to be doubted.

PyTorch names a built object after its source and the whole command that built it, paths of torch
and of Python among it. So that another environment can find the name that it will look for, a
bundle tells the commands with these paths replaced (``portable``), and of each object its source
and which command built it. What of this is nonsense is as if it were not there: the object is then
one whose making nobody recorded.

PyTorch finds the library of an eager kernel by its list alone, whatever its name. So no command is
told of it, only in which environment's cache it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

#: Characters of a version or a flag, and of a command; how many flags and commands there may be.
#: Real ones have 100, 4,000, 150 and 20.
_MAX_WORD, _MAX_COMMAND = 200, 20_000
_MAX_FLAGS, _MAX_COMMANDS = 2000, 500
_WORDS = ("torch", "torch_key", "python", "compiler", "libc")


class Build(NamedTuple):
    """How one object was made.

    source, object: their paths in the zip. command: which of the manifest's commands, None of an
    eager kernel, whose source is the text of its item (artifacts.alone). elsewhere:
    whether it records more instruction sets than the CPU has that the manifest speaks of, as where
    machines share a cache: of the CPU that it was built on, then, nothing is said.
    """

    source: str
    object: str
    command: int | None
    elsewhere: bool = False

    def to_json(self) -> dict[str, Any]:
        """As the manifest says it."""
        said = self._asdict()
        if not self.elsewhere:
            del said["elsewhere"]
        return said


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
    if command is None:
        return Build(source, made, None, elsewhere)
    if not isinstance(command, int) or isinstance(command, bool):
        return None
    if not 0 <= command < _MAX_COMMANDS:
        return None
    return Build(source, made, command, elsewhere)


def origin_from(said: object) -> dict[str, Any] | None:
    """What a manifest says of where its objects were built; None where it says nothing, or
    nonsense.

    ``{torch, torch_key, python, compiler, libc, cpu_flags, commands}``: python is the tag of its
    extension modules, as ``cpython-311-x86_64-linux-gnu``; compiler the first line of its
    ``--version``; libc, alone, may be None; cpu_flags: all that Linux says the CPU has, sorted;
    commands: texts without the paths of torch, Python and the cache.
    """
    if not isinstance(said, dict):
        return None
    found: dict[str, Any] = {}
    for name in _WORDS:
        value = said.get(name)
        if not (_is_text(value, _MAX_WORD) or (name == "libc" and value is None)):
            return None
        found[name] = value
    for name, most, longest in (
        ("cpu_flags", _MAX_FLAGS, _MAX_WORD),
        ("commands", _MAX_COMMANDS, _MAX_COMMAND),
    ):
        values = said.get(name)
        if not isinstance(values, list) or len(values) > most:
            return None
        if not all(_is_text(value, longest) for value in values):
            return None
        found[name] = list(values)
    found["cpu_flags"] = sorted(set(found["cpu_flags"]))
    return found


def _is_text(value: object, longest: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= longest
