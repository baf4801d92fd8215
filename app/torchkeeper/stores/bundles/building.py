"""Which command built each object that goes into a bundle.

An environment tells every command that its PyTorch builds CPU code with (verdict.commands). One of
them and a source give a name, and where that is the name of an object, it was this command: the
name is a hash of both (artifacts.code.key_of).

The library of an eager kernel is named after no command. Of it a bundle claims the environment that
exports, for PyTorch there would load it.

It proves nothing of the CPU: ``-march=native`` is the same text on every one. A bundle claims the
CPU of the machine that exports, as PyTorch there loads the object for being in its cache; that is
not claimed of one that itself records more than this CPU can, as where a cluster shares a cache.
One that records nothing may have been built elsewhere all the same, where somebody has copied or
shared it: such a claim is as good as the cache was for the machine that exported it, and no better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from torchkeeper.artifacts.builds import Build, Native, origin_from
from torchkeeper.artifacts.code import MAX_OBJECT, key_of
from torchkeeper.artifacts.vectors import instruction_sets
from torchkeeper.stores.items import File, Item, Source
from torchkeeper.stores.lists import MARK

if TYPE_CHECKING:
    from torchkeeper.artifacts.manifest import ListedFile

#: Bytes of the largest source whose name is looked for; real ones have some 100 KB.
MAX_SOURCE = 8 << 20

#: What PyTorch defines when it builds kernels, and only where it precompiles headers for them
#: (torch/_inductor/cpp_builder.py).
OF_KERNEL, HEADERS = "TORCH_INDUCTOR_CPP_WRAPPER", "TORCH_INDUCTOR_PRECOMPILE_HEADERS"


def is_pair(item: Item) -> bool:
    """Whether an item is a C++ source and the object built of it, and no more than that."""
    if item.kind != "code" or len(item.files) != 2:
        return False
    source, made = (file.name for file in item.files)
    return source.endswith(".cpp") and source[:-4] == made[:-3] and made.endswith(".so")


def has_object(item: Item) -> bool:
    """Whether an item holds something built."""
    return _object(item) is not None


def _object(item: Item) -> File | None:
    if item.kind not in ("code", "aoti_eager"):
        return None
    return next((file for file in item.files if file.name.endswith(".so")), None)


class Made(NamedTuple):
    """How an object was built: the portable text of the command, None of an eager kernel's
    library; and ``elsewhere`` as of Build.
    """

    command: str | None
    elsewhere: bool


class Makers(Protocol):
    """Tells how objects were built. ``origin``: as ``builds.origin_from``, commands left out."""

    @property
    def origin(self) -> Native | None:
        """Where, for all objects of which ``made`` tells something."""

    def made(self, item: Item, source: Source) -> Made | None:
        """How an item's object was built, or None."""


class Environment:
    """The commands of an environment, against which names of objects are held."""

    def __init__(self, origin: Native, commands: Sequence[tuple[str, str]]) -> None:
        self.origin: Native | None = origin
        self._flags = set(origin["cpu_flags"])
        self._commands = list(commands)

    def made(self, item: Item, source: Source) -> Made | None:
        """As ``Makers``. What cannot be read is told by whoever copies it."""
        if item.kind == "aoti_eager":
            return Made(None, self._is_for_another(item, source)) if has_object(item) else None
        command = self._command(item, source)
        return None if command is None else Made(command, self._is_for_another(item, source))

    def _is_for_another(self, item: Item, source: Source) -> bool:
        """Whether an object records more than this CPU can."""
        made = _object(item)
        assert made
        try:
            with source.open(made) as stream:
                data = stream.read(MAX_OBJECT)
        except OSError:
            return False
        # What is behind a cut may say more.
        sets = instruction_sets(data) if len(data) < MAX_OBJECT else None
        return bool(sets and sets - self._flags)

    def _command(self, item: Item, source: Source) -> str | None:
        if not is_pair(item) or item.files[0].size > MAX_SOURCE:
            return None
        try:
            with source.open(item.files[0]) as stream:
                text = stream.read(MAX_SOURCE).decode()
        except (OSError, UnicodeDecodeError):
            return None
        for number, (extra, portable) in enumerate(self._commands):
            if key_of(text, extra) == item.key:
                # The next was built by the same, most likely.
                self._commands.insert(0, self._commands.pop(number))
                return portable
        return None


def environment(builders: object) -> Environment | None:
    """What an environment builds with, as its probe tells it (``native``: as ``origin_from``, but
    with commands ``[{extra, portable}]``); None where that tells nothing of use.
    """
    if not isinstance(builders, Mapping):
        return None
    said = builders.get("commands")
    commands = [
        (one["extra"], one["portable"])
        for one in (said if isinstance(said, list) else ())
        if isinstance(one, dict)
        and isinstance(one.get("extra"), str)
        and isinstance(one.get("portable"), str)
    ]
    origin = origin_from({**builders, "commands": [portable for _, portable in commands]})
    return Environment({**origin, "commands": []}, commands) if origin and commands else None


@dataclass
class Record:
    """What a manifest will say of the objects of a bundle.

    objects: how many entries hold one; described: of how many it is known how they were built.
    """

    makers: Makers | None = None
    objects: int = 0
    described: int = 0
    _commands: dict[str, int] = field(default_factory=dict)

    def add(self, item: Item, source: Source, files: Sequence[ListedFile]) -> Build | None:
        """Note an entry that goes into the bundle, and its files as the manifest lists them."""
        if not has_object(item):
            return None
        self.objects += 1
        made = self.makers.made(item, source) if self.makers else None
        if made is None:
            return None
        if made.command is None:
            text = next(file.path for file in files if MARK in file.path)
            library = next(file.path for file in files if file.path.endswith(".so"))
            self.described += 1
            return Build(text, library, None, made.elsewhere)
        if len(files) != 2:
            return None
        self.described += 1
        number = self._commands.setdefault(made.command, len(self._commands))
        return Build(files[0].path, files[1].path, number, made.elsewhere)

    @property
    def native(self) -> Native | None:
        """Where the objects were built, with the commands that are meant; None of none."""
        origin = self.makers.origin if self.makers else None
        if origin is None or not self.described:
            return None
        return {**origin, "commands": list(self._commands)}
