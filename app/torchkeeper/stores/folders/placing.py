"""Where entries go in a cache folder, what is there already, and what placing them would come to.

Only reading: what is planned here, ``folders.importing`` writes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from torchkeeper.artifacts import aoti_eager, beside, builds, layout, proofs, triton, vllm
from torchkeeper.artifacts.entry import KINDS, Problem
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import merging
from torchkeeper.stores.folders.compilers import Homes
from torchkeeper.stores.items import (
    CHUNK,
    Offered,
    is_group,
    moved,
    payload_digest,
    portable_bytes,
)
from torchkeeper.stores.offering import Named
from torchkeeper.stores.pouring import Pouring, Progress, Take, drop, opened, unchanged
from torchkeeper.stores.preconditions import needed

if TYPE_CHECKING:
    from torchkeeper.stores.items import File, Item

#: Payloads that name others come last, so that torch never finds one whose needs are missing.
ORDER = (
    "triton", "code", "autotune", "pgo", "fxgraph", "aotautograd", "precompile", "aoti_eager",
    "jit",
)  # fmt: skip
#: Those whose files lie in folders in which there are no others: kernels, and these.
_LOWEST = frozenset({"code", "autotune", "fxgraph", "aotautograd"})
#: Folders that only Inductor's cache has.
_INDUCTOR = frozenset({"fxgraph", "aotautograd", "triton", "dynamo", "aoti_eager"})


@dataclass(frozen=True, slots=True)
class Plan:
    """What placing one entry comes to. home: its path in the folder. todo: the files to be written,
    in order, with their full paths. replaced: those paths that hold something broken, or the list
    of ``merged``. folder: that which files in it name, as the group files of a kernel do, else "".
    whole: the folder of the files, where that is not there, so that it can appear at once with all
    that comes into it, else "". there: the digests of the files that are there, by name. listed:
    the full path of a list, and what is put into it after the files; None for nothing. merged: the
    full path of a server's list, and it with what it lacks, which is written instead of what is
    offered; None for nothing.
    """

    home: str
    todo: tuple[tuple[File, str], ...] = ()
    replaced: frozenset[str] = frozenset()
    folder: str = ""
    whole: str = ""
    there: tuple[tuple[str, str], ...] = ()
    listed: tuple[str, merging.Listed] | None = None
    merged: tuple[str, bytes] | None = None

    @property
    def new(self) -> bool:
        """Whether something of the entry is not there."""
        return bool(self.todo or self.listed)

    @property
    def names(self) -> list[str]:
        """The paths that are taken when it has come; of a whole kernel that of its folder."""
        if self.whole and self.folder:
            return [self.folder]
        return [*(path for _, path in self.todo), *([self.listed[0]] if self.listed else ())]


def in_order(offered: Offered) -> list[tuple[Item, Problem | None]]:
    """The entries in the order in which they are placed, and why one is not."""
    items = sorted(offered.items(), key=lambda item: (tells(item), ORDER.index(item.kind)))
    last = {item.path: item for item in items if item.kind == "pgo"}
    return [(x, None if last.get(x.path, x) is x else Problem("superseded")) for x in items]


def tells(item: Item) -> bool:
    """Whether it tells vLLM of others, which it then takes for there: these have to be there."""
    return item.kind == "code" and any(file.name == layout.VLLM_INDEX for file in item.files)


class Target:
    """A cache folder that entries are to be placed in, which need not exist yet."""

    def __init__(self, root: str, items: Iterable[Item]) -> None:
        """items: all that are to be placed there."""
        self.root = root
        items = list(items)
        self._style = _style(root, [x for x in items if not layout.in_tree(x.path)])
        self._part = _part(root) if self._style == "vllm" else ""
        self._compilers = Homes(root, items)
        # What entries before would have placed, where they are not placed in fact.
        self._claimed: dict[str, str | None] = {}
        self._listed: dict[str, list[merging.Listed]] = {}

    def plan(self, item: Item, offered: Offered, pouring: Pouring) -> Plan:
        """What is to be done for an entry. Raises Problem("key-taken" | "link-in-place"), as
        ``deliver`` for what is offered, as ``aoti_eager.checked`` and ``merging.lacks`` for what
        goes into a list, and why it must not be placed (``Named.why_not``) where it is not there,
        and OSError for what cannot be read in the folder.
        """
        plan = self._plan(item, offered, pouring)
        why = offered.why_not(item) if plan.new and isinstance(offered, Named) else None
        if why is not None:
            raise why
        return plan

    def _plan(self, item: Item, offered: Offered, pouring: Pouring) -> Plan:
        if item.kind == "triton":
            return self._plan_kernel(item, offered, pouring)
        todo, replaced, there, new = [], [], [], set[str]()
        merged = None
        if item.kind == "jit":
            self._compilers.check(item, offered)
        tree = layout.in_tree(item.path) and item.kind != "aoti_eager"
        inner = f"{self._part}inductor_cache/" if self._style == "vllm" and not tree else ""
        inner = self._above(item.path) if tree else inner
        listed = None
        if item.kind == "aoti_eager":
            listed = self._plan_listed(item, inner, offered, pouring)
            text = next(file for file in item.files if file.path == item.path)
            there.append((text.name, text.sha256 or ""))
        for file in item.files:
            if file.path == item.path and item.kind == "aoti_eager":
                continue
            target = os.path.join(self.root, self._home(item, inner, file.path))
            folder = os.path.dirname(target)
            above = os.path.lexists(folder)
            looked = above or target in self._claimed
            known = self._digest(target, item.kind, pouring) if looked else None
            if known is not None:
                if known == _promised(offered, item, file, target, pouring):
                    there.append((file.name, known))
                    continue
                if known and item.kind == "code" and file.name in layout.LISTS:
                    digest, made = self._merged(item, file, target, offered, pouring)
                    if made is None:
                        there.append((file.name, digest))
                        continue
                    merged = target, made
                elif not _surely_broken(item, target):
                    raise Problem("key-taken", path=file.path)
                replaced.append(target)
            missing_folders(folder if above else os.path.dirname(folder), self.root)
            new.add("" if above else folder)
            todo.append((file, target))
        # Sources before objects: PyTorch takes an object that exists for finished.
        todo.sort(key=lambda pair: pair[1].endswith(".so"))
        # Where vLLM has a list it has the pieces, too.
        lowest = item.kind in _LOWEST or (item.kind == "jit" and not jits.is_alone(item.path))
        whole = new.pop() if len(new) == 1 and lowest and not tells(item) else ""
        folder = os.path.dirname(todo[0][1]) if todo and tells(item) else ""
        home = self._home(item, inner, item.path)
        files, gone = tuple(todo), frozenset(replaced)
        return Plan(home, files, gone, folder, whole, tuple(there), listed, merged)

    def _home(self, item: Item, inner: str, path: str) -> str:
        return self._compilers.path(path) if item.kind == "jit" else _joined(inner, path)

    def _merged(
        self, item: Item, file: File, target: str, offered: Offered, pouring: Pouring
    ) -> tuple[str, bytes | None]:
        """The digest of a server's list that is offered, and the one that is there with what it
        lacks of that; None where it lacks nothing. Raises Problem("key-taken") where one of them is
        none as the server writes it.
        """
        folder, text = os.path.dirname(target), bytearray()
        taken = Problem("key-taken", path=file.path)
        handle = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            own = stream.read(vllm.MAX_INDEX + 1)
        if max(file.size, len(own)) > vllm.MAX_INDEX:
            raise taken
        digest = deliver(offered, item, file, pouring, text.extend, folder)

        def exists(name: str) -> bool:
            path = os.path.join(folder, name)
            return path in self._claimed or os.path.exists(path)

        made = vllm.merged(own, bytes(text), exists)
        if made is None:
            raise taken
        return digest, None if made == own else made

    def _plan_listed(
        self, item: Item, inner: str, offered: Offered, pouring: Pouring
    ) -> tuple[str, merging.Listed] | None:
        """What is to be put into a list for an entry, as of Plan."""
        text: list[bytes] = []
        [file] = [file for file in item.files if file.path == item.path]
        if file.size > aoti_eager.MAX_LIST:
            raise Problem("kernel-unloadable", why="it is larger than any that PyTorch writes")
        deliver(offered, item, file, pouring, lambda data: text.append(bytes(data)))
        library = [one.path for one in item.files if one is not file]
        made = aoti_eager.checked(b"".join(text), item.path, library).item
        path = os.path.join(self.root, inner + item.list_path)
        missing_folders(os.path.dirname(path), self.root)
        there = merging.listed(path)
        for one in self._listed.get(path, ()):
            there = merging.merged(there, one)

        def exists(path: str) -> bool:
            return path in self._claimed or os.path.exists(path)

        return (path, made) if merging.lacks(path, there, made, exists) else None

    def _plan_kernel(self, item: Item, offered: Offered, pouring: Pouring) -> Plan:
        if layout.in_tree(item.path):
            home = _joined(self._above(item.path), item.path)
        elif self._style == "inductor":
            # Inductor has a cache of Triton's for each device (triton_cache_dir in
            # torch/_inductor/runtime/runtime_utils.py). Of most kernels nobody has said which.
            home = item.path if item.path != item.key else f"triton/0/{item.key}"
        else:
            home = item.key if self._style == "triton" else f"{self._part}triton_cache/{item.key}"
        folder = os.path.join(self.root, home)
        try:
            is_there = stat.S_ISDIR(os.lstat(folder).st_mode)
            if not is_there:
                raise Problem("key-taken", path=home)
        except OSError:
            is_there = False
        files = [(file, f"{folder}/{file.name}") for file in item.files]
        if folder not in self._claimed and not (is_there and os.listdir(folder)):
            missing_folders(os.path.dirname(folder), self.root)
            return Plan(home, tuple(files), folder=folder, whole=folder)
        missing, replaced, there = [], [], []
        for file, target in files:
            known = self._digest(target, item.kind, pouring)
            if known is None:
                missing.append((file, target))
            elif known != _promised(offered, item, file, target, pouring):
                raise Problem("key-taken", path=item.path)
            elif is_group(item.kind, file.name) and not _leads_to_files(target):
                missing.append((file, target))
                replaced.append(target)
            else:
                there.append((file.name, known))
        # The group files last: they say that the others are there.
        missing.sort(key=lambda pair: is_group(item.kind, pair[0].name))
        return Plan(home, tuple(missing), frozenset(replaced), folder=folder, there=tuple(there))

    def _above(self, path: str) -> str:
        """What a path of a tree of vLLM's gets before it in this folder, which may be that of all
        keys or the one above; what it loses, after a "-".
        """
        keys = f"{layout.VLLM_KEYS}/"
        named = os.path.basename(self.root)
        if path.startswith(keys):
            return f"-{keys}" if named == layout.VLLM_KEYS else ""
        above = named == "vllm" or os.path.isdir(os.path.join(self.root, keys))
        if above and path.startswith("torch_aot_compile/"):  # which older versions have there
            above = not os.path.isdir(os.path.join(self.root, "torch_aot_compile"))
        return keys if above else ""

    def claim(self, plan: Plan) -> None:
        """Take a plan for carried out, where it is not: what follows finds its files there."""
        if plan.folder:
            self._claimed[plan.folder] = None
        for file, target in plan.todo:
            self._claimed[target] = file.sha256
        if plan.listed:
            path, item = plan.listed
            self._listed.setdefault(path, []).append(item)

    def _digest(self, path: str, kind: str, pouring: Pouring) -> str | None:
        return self._claimed.get(path) or digest_at(path, kind, pouring)


def _joined(above: str, path: str) -> str:
    """A path below another, or without the one that is named after a "-"."""
    return path.removeprefix(above[1:]) if above.startswith("-") else above + path


def _style(root: str, items: Iterable[Item]) -> str:
    """Whose layout a folder has, or gets by what is placed there: "inductor", "triton" for Triton's
    own cache, "vllm" for a rank with a cache of each. What is empty becomes what the kernels come
    from, and Inductor's with anything that is not one: no other program looks for that.
    """
    try:
        with os.scandir(root) as entries:
            names = {entry.name for entry in entries}
    except FileNotFoundError:
        names = set()
    if names & _INDUCTOR:
        return "inductor"
    if names & {"inductor_cache", "triton_cache"} or layout.RANK.fullmatch(os.path.basename(root)):
        return "vllm"
    kinds, homes = {item.kind for item in items}, {item.path for item in items}
    if kinds - {"triton"} or any(map(beside.ANY_SHARD.fullmatch, names)):
        return "inductor"
    if any(map(triton.is_key, names)):
        return "triton"
    return "inductor" if any("/" in home for home in homes) else "triton"


def _part(root: str) -> str:
    """The one part of a model that has the caches of a rank, as SGLang has them, with a ``/``;
    nothing where the rank has them, or several parts.
    """
    if not layout.RANK.fullmatch(os.path.basename(root)) or not os.path.isdir(root):
        return ""
    names = sorted(os.listdir(root))
    parts = [x for x in names if os.path.isdir(os.path.join(root, x, "inductor_cache"))]
    return f"{parts[0]}/" if len(parts) == 1 and "inductor_cache" not in names else ""


def _surely_broken(item: Item, target: str) -> bool:
    """Whether what has an entry's place is of no use to anybody, so that it may be replaced. A
    payload is named after its content; an object that is not complete was never finished.
    """
    if not os.path.isfile(target) or os.path.islink(target):
        return False
    if layout.is_named_by_content(item.kind, os.path.basename(target)):
        return True
    if not target.endswith(".so"):
        return False
    with open(target, "rb") as stream:
        return not builds.complete(stream.read(builds.HEADER), os.fstat(stream.fileno()).st_size)


def _leads_to_files(path: str) -> bool:
    """Whether the files are there that a group file names. They are not where its folder was
    copied or moved as it is, and Triton then compiles the kernel anew.
    """
    try:
        with open(path, "rb") as stream:
            return all(map(os.path.lexists, triton.paths(stream.read(CHUNK))))
    except FileNotFoundError:
        return True  # it is not written yet: what comes before would do it


def digest_at(path: str, kind: str, pouring: Pouring) -> str | None:
    """The portable sha256 of what lies at a path; None if nothing does, "" if it is no file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as e:
        if e.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            return ""
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return ""
    with os.fdopen(handle, "rb", buffering=0) as stream:
        name = os.path.basename(path)
        size = os.fstat(handle).st_size
        if is_group(kind, name) and size <= CHUNK:
            return hashlib.sha256(portable_bytes(kind, name, stream.read(size))).hexdigest()
        try:
            return pouring.pour(stream, size, drop, counted=False)[0]
        except Problem as problem:
            raise problem.__cause__ or problem from None


def deliver(
    offered: Offered, item: Item, file: File, pouring: Pouring, take: Take, folder: str = ""
) -> str:
    """Give the bytes of a file to ``take`` as they are to be written; returns the sha256 that they
    have in every place. Raises Problem("size-wrong" | "payload-unreadable" | "entry-changed") and
    as ``pouring.unreadable``; "checksum-wrong" after the last byte, and "payload-unreadable" for
    what would be taken there for a file of the user's own.
    """
    head = bytearray()
    group = is_group(item.kind, file.name)
    if group and file.size > CHUNK:
        raise Problem("payload-unreadable")  # one that Triton writes has some hundred bytes

    def begun(data: bytes | memoryview) -> None:
        head.extend(data[: max(0, proofs.HEAD - len(head))])
        take(data)

    with opened(offered, file) as source:
        if later := group or file.size < CHUNK:  # is given when it is checked
            digest, data = pouring.read(source, file.size)
            size, head = len(data), bytearray(data[: proofs.HEAD])
        else:
            digest, size = pouring.pour(source, file.size, begun)
        kernel = group and item.kind == "triton"
        if not kernel and not proofs.fits(file.path, bytes(head)):
            raise Problem("payload-unreadable")
        if size > file.size:
            raise Problem("size-wrong", path=file.path)
        if file.sha256 is None and not (size == file.size and unchanged(file, source)):
            raise Problem("entry-changed")
    if file.sha256 not in (None, digest):
        # A bundle promises; a folder is listed, and may change afterwards.
        told = file.mtime_ns is None or file.at is not None
        raise Problem("checksum-wrong" if told else "entry-changed")
    if later:
        try:
            take(moved(item.kind, data, folder) if group else data)
        except (ValueError, TypeError, RecursionError) as e:
            raise Problem("payload-unreadable") from e
    return digest


def check_whole(plan: Plan, item: Item, digests: Sequence[str]) -> None:
    """Hold the digests of a ``todo`` against what is promised. Raises Problem("entry-changed")."""
    if plan.todo and item.sha256:
        parts = [(file.name, digest) for (file, _), digest in zip(plan.todo, digests, strict=True)]
        if payload_digest([*plan.there, *parts]) != item.sha256:
            raise Problem("entry-changed")


def _promised(offered: Offered, item: Item, file: File, target: str, pouring: Pouring) -> str:
    """The sha256 of a file that is offered, to be compared with that of what is at a path."""
    if file.sha256:
        return file.sha256
    if os.path.getsize(target) != file.size:
        return ""  # of no file
    return deliver(offered, item, file, pouring, drop)


def missing_folders(path: str, root: str | None = None) -> list[str]:
    """A folder and those above it that are not there, the lowest first. Below ``root``, links are
    refused: raises Problem("link-in-place").
    """
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    while root is not None and path != root and len(path) > len(root):
        if os.path.islink(path):
            raise Problem("link-in-place", path=path)
        path = os.path.dirname(path)
    return missing


#: What becomes of an entry: it is placed; it is there, the very same bytes; it came before, with
#: these; something else has its name and is kept; it is damaged, refused, or cannot be placed.
OUTCOMES = ("new", "there", "twice", "differs", "left")

Offer = TypeVar("Offer", bound=Offered)


@dataclass
class Counts:
    entries: int = 0
    files: int = 0
    bytes: int = 0


@dataclass
class Outcomes:
    """How much of each of OUTCOMES."""

    new: Counts = field(default_factory=Counts)
    there: Counts = field(default_factory=Counts)
    twice: Counts = field(default_factory=Counts)
    differs: Counts = field(default_factory=Counts)
    left: Counts = field(default_factory=Counts)

    def add(self, item: Item, outcome: str) -> None:
        counts: Counts = getattr(self, outcome)
        counts.entries += 1
        counts.files += len(item.files)
        counts.bytes += item.size


@dataclass
class Compared:
    """The entries of one bundle by outcome; ``needed``: bytes on the disk for the new."""

    whole: Outcomes = field(default_factory=Outcomes)
    by_kind: dict[str, Outcomes] = field(default_factory=dict)
    needed: int = 0

    @property
    def kinds(self) -> list[tuple[str, Outcomes]]:
        """Those that there are, in the order of KINDS."""
        return [(kind, self.by_kind[kind]) for kind in KINDS if kind in self.by_kind]

    def add(self, item: Item, outcome: str) -> None:
        self.whole.add(item, outcome)
        self.by_kind.setdefault(item.kind, Outcomes()).add(item, outcome)


def compare(
    bundles: Sequence[Offer],
    place: str,
    report: Report,
    mark: Callable[[Offer, Item, str, str, Problem | None], None],
) -> list[Compared]:
    """What ``import_bundles`` would do, entry by entry, by the same rules; nothing is written.

    ``mark`` hears of each entry its path in the folder, its outcome, and why it is left or
    differs. The folder need not exist.
    Raises Problem("place-not-folder" | "place-unreadable") and passes Cancelled on.
    """
    root = os.path.realpath(place)
    if os.path.lexists(root) and not os.path.isdir(root):
        raise Problem("place-not-folder", place=place)
    ordered = [in_order(bundle) for bundle in bundles]
    progress = Progress(report, sum(item.size for items in ordered for item, _ in items))
    found = []
    done, seen = 0, set[int]()
    try:
        every = [item for items in ordered for item, _ in items]
        target, pouring = Target(root, every), Pouring(progress)
        for bundle, items in zip(bundles, ordered, strict=True):
            found.append(Compared())
            for item, problem in items:
                progress.begin(item)
                plan = Plan(item.path)
                try:
                    if problem is None:
                        plan = target.plan(item, bundle, pouring)
                        todo = [file for file, _ in plan.todo]
                        sound = [deliver(bundle, item, x, pouring, drop, plan.folder) for x in todo]
                        check_whole(plan, item, sound)
                except Problem as e:
                    problem = e
                if problem is None:
                    home = hash((item.kind, plan.home))
                    outcome = "new" if plan.new else "twice" if home in seen else "there"
                    seen.add(home)
                else:
                    outcome = "differs" if problem.code == "key-taken" else "left"
                if outcome == "new":
                    target.claim(plan)
                    found[-1].needed += needed(file.size for file, _ in plan.todo)
                found[-1].add(item, outcome)
                mark(bundle, item, plan.home, outcome, problem)
                done += item.size
                progress.reach(done)
    except OSError as e:
        raise Problem("place-unreadable", place=place, why=e.strerror or str(e)) from e
    progress.end()
    return found
