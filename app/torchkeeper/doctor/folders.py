"""Checks of cache folders: the file system, the path and the clock, who can write there, what was
left behind, what of the entries is of no use or unsafe, and what lies in several of them.

What PyTorch 2.13.0 does there: on a file system that is read-only or full every compile fails with
an OSError, extern kernels alone included, where it writes the generated module; from one mounted
noexec whatever has a C++ kernel fails when that is loaded ("failed to map segment from shared
object"), and nothing else does.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import COUNTED_APART, COUNTS, WITHOUT_VERDICT, Entry, Problem
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.doctor.check import FolderLook, MachineLook
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.texts import UNQUOTED
from torchkeeper.stores import places
from torchkeeper.stores.dead import Dead, Wanted
from torchkeeper.stores.folders import journal, owners
from torchkeeper.stores.folders.in_use import users
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.folders.locks import in_use, is_local, writers
from torchkeeper.stores.items import File, Item, OnDisk, files_of
from torchkeeper.stores.mounts import Mount
from torchkeeper.stores.needs import OLD
from torchkeeper.stores.preconditions import space, strange_in
from torchkeeper.stores.shapes import Owned

_FOLDER = ("TORCHINDUCTOR_CACHE_DIR",)
#: Bytes and files below which a compile hardly gets through: a graph takes some kernels of 100 kB.
_FULL_BYTES, _FULL_FILES = 16 << 20, 64
#: What a while of work takes; and of what the cache has already: by so much it may grow.
_LITTLE_BYTES, _LITTLE_FILES, _SHARE = 1 << 30, 2000, 0.1
#: The share of a machine's memory that a cache should not take.
_MUCH_MEMORY = 0.25


def file_system(look: FolderLook) -> Iterator[Finding]:
    """What kind it is, and how it is mounted."""
    mount = look.mount
    if mount is None:
        raise Problem("mounts-unknown")
    about = {"type": mount.type, "point": mount.point}
    if "ro" in mount.options:
        yield Finding("folder-read-only", "error", _FOLDER, look.place, about)
    if "noexec" in mount.options:
        yield Finding("folder-noexec", "error", _FOLDER, look.place, about)
    if mount.memory:
        size, memory = look.size.bytes, _memory()
        much = memory is not None and size > _MUCH_MEMORY * memory
        more = {**about, "size_bytes": size, "memory_bytes": memory}
        severity = "warning" if much else "advice"
        yield Finding("folder-in-memory", severity, _FOLDER, look.place, more)
    if mount.network:
        yield from _shared(look, mount, {**about, "source": mount.source})
    if mount.type == "overlay":
        yield Finding("folder-in-container", "advice", _FOLDER, look.place, about)


#: What PyTorch and others do with entries of a kind, on which it rests that machines share them:
#: they lock a file while they write, rename what they have written, or load files as they lie there
#: (codecache.py, cache.py and aoti_eager.py in torch/_inductor; triton/runtime/cache.py).
_LOCKED = frozenset({"code", "aoti_eager", "ondisk", "header", "jit"})
_RENAMED = frozenset({"fxgraph", "aotautograd", "autotune", "pgo", "precompile", "triton", "jit"})
_LOADED = frozenset({"code", "aoti_eager", "triton", "jit"})


def _shared(look: FolderLook, mount: Mount, about: dict[str, object]) -> Iterator[Finding]:
    """What is to be known of a folder that other machines may use, and of the kinds in it."""
    there = {item.kind for item in look.items}
    locked, renamed, loaded = (
        {**about, "kinds": ", ".join(sorted(there & some))} if there & some else None
        for some in (_LOCKED, _RENAMED, _LOADED)
    )
    if mount.objects:
        yield Finding("folder-of-objects", "warning", _FOLDER, look.place, about)
        if renamed:
            yield Finding("kinds-renamed", "advice", _FOLDER, look.place, renamed)
    elif option := mount.own_locks:
        # Two machines that build one object write over each other.
        more = {**about, "option": option}
        yield Finding("folder-locks-local", "warning", _FOLDER, look.place, more)
    else:
        yield Finding("folder-on-network", "advice", _FOLDER, look.place, about)
    if locked and (mount.objects or mount.own_locks):
        yield Finding("kinds-locked", "advice", _FOLDER, look.place, locked)
    if loaded:
        yield Finding("kinds-loaded", "advice", _FOLDER, look.place, loaded)
    if seconds := mount.late:
        yield Finding("folder-seen-late", "advice", _FOLDER, look.place,
                      {**about, "seconds": seconds})  # fmt: skip


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def room(look: FolderLook) -> Iterator[Finding]:
    """Bytes and files that may still be written there."""
    free, total = space(look.root)["free"], look.size.bytes
    writable = look.mount is None or "ro" not in look.mount.options
    if free is not None and writable:
        about = {"free_bytes": free, "size_bytes": total}
        if free < _FULL_BYTES:
            yield Finding("disk-is-full", "error", _FOLDER, look.place, about)
        elif free < max(_LITTLE_BYTES, int(_SHARE * total)):
            yield Finding("disk-nearly-full", "warning", _FOLDER, look.place, about)
    files = _files_free(look.root)
    if files is not None and writable:
        counts = {"free": files, "files": look.size.files}
        if files < _FULL_FILES:
            yield Finding("no-inodes", "error", _FOLDER, look.place, counts)
        elif files < max(_LITTLE_FILES, int(_SHARE * look.size.files)):
            yield Finding("few-inodes", "warning", _FOLDER, look.place, counts)


def _files_free(folder: str) -> int | None:
    """How many files may still be made; None where there is no limit, or it is not told."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    try:
        said = os.statvfs(folder)
    except OSError:
        return None
    return said.f_favail if said.f_files else None


# A blank in a folder's path has every C++ kernel fail: PyTorch writes paths into a command as is,
# and splits that as a shell would (_run_compile_cmd in torch/_inductor/cpp_builder.py, 2.13.0).
# Where a path gets too long to be opened, PyTorch compiles, logs a warning and keeps nothing.

#: Bytes that PyTorch adds to the path of a folder to name a graph's file while it writes it:
#: fxgraph/xx/<53 characters>/.<process>.<thread>.tmp, and more of Triton's.
_ADDED = 140
#: Linux's limits (limits.h), the first with the zero byte; Triton names files after kernels.
_PATH_MAX, _NAME_MAX = 4096, 255


def names(look: FolderLook) -> Iterator[Finding]:
    """What is in the path, how long it is, and how long names may be there."""
    if found := UNQUOTED.search(look.place):
        character = "blank" if found[0].isspace() else found[0]
        yield Finding("path-blank", "error", _FOLDER, look.place, {"character": character})
    above = len(os.fsencode(look.root)) + 1
    longest = max((len(os.fsencode(file.path)) for item in look.items for file in item.files),
                  default=0)  # fmt: skip
    if above + max(longest, _ADDED) >= _PATH_MAX:
        about = {"length": above - 1, "longest": above + longest, "most": _PATH_MAX - 1}
        yield Finding("path-long", "error", _FOLDER, look.place, about)
    try:
        most = os.pathconf(look.root, "PC_NAME_MAX") if look.exists else _NAME_MAX
    except (OSError, ValueError):
        return
    if most < _NAME_MAX:
        yield Finding("names-short", "warning", _FOLDER, look.place, {"most": most})


def owner(look: FolderLook) -> Iterator[Finding]:
    """Whether this user can write there, and who else can (``stores.folders.owners``)."""
    why = space(look.root)["why"]
    if why is not None and (look.mount is None or "ro" not in look.mount.options):
        code = {"why": why, "exists": look.exists}
        yield Finding("folder-unwritable", "error", _FOLDER, look.place, code)
    if look.problem is not None and look.problem.code == "place-unreadable":
        yield Finding("folder-closed", "error", _FOLDER, look.place,
                      {"why": look.problem.params.get("why")})  # fmt: skip
    seen = owners.findings(look.place, look.store.seen) if look.store else owners.glance(look.place)
    yield from (_owned(one, look.place) for one in seen)


def headers(look: MachineLook) -> Iterator[Finding]:
    """Who else can write to PyTorch's default folder, which always has the headers."""
    default = places.default_folder()
    if os.path.realpath(default) not in {one.root for one in look.folders}:
        for one in owners.glance(default):
            if one["grave"]:
                yield _owned(one, default)


def _owned(one: Owned, place: str) -> Finding:
    # A group may well share a folder: what is no danger is nobody's to take away unasked.
    mended = one["grave"] and one.get("mine") and one["what"] in ("writable", "above")
    severity, fix = "warning" if one["grave"] else "advice", "chmod" if mended else ""
    return Finding("folder-owned", severity, (), place, {"owned": one}, fix=fix)


#: Reasons of stores.places for which programs read a folder that no environment's variable names.
_READ_ANYWAY = frozenset({"vllm", "ondisk", *jits.REASONS})
#: Entries that two folders must have in common to be worth saying.
_SOME = 2


def unread(look: MachineLook) -> Iterator[Finding]:
    """Folders with entries that no known environment uses, and no running process."""
    if not look.facts:
        raise Problem("interpreter-not-tried")
    # Where Triton keeps what it compiles without PyTorch, also for environments not asked here.
    homes = {os.path.expanduser(one) for one in (look.values.get("TRITON_HOME") or "~", "~")}
    triton = (os.path.realpath(os.path.join(home, ".triton", "cache")) for home in homes)
    reads = {*look.reads, *triton}
    reads |= _read_anyway(look)
    for one in [*look.folders, *(look.others or ())]:
        entries = [item for item in one.items if item.kind not in COUNTED_APART]
        if not entries or any(_within(one.root, path) for path in reads):
            continue
        look.report.check()
        if users(one.root, look.report).processes:
            continue
        newest = max((file.mtime_ns or 0 for item in entries for file in item.files), default=0)
        about = {"count": len(entries), "size_bytes": one.size.bytes, "newest": newest / 1e9}
        yield Finding("folder-unread", "advice", _FOLDER, one.place, about)


def _read_anyway(look: MachineLook) -> set[str]:
    """Folders that programs read by rules of their own, whatever variables of PyTorch say; of those
    that lie elsewhere, what has keys of vLLM.
    """
    found = {one.path for one in places.find() if one.reason in _READ_ANYWAY}
    found |= {places.vllm_folder(env)[0] for env in (os.environ, {**os.environ, **look.values})}
    every = [*look.folders, *(look.others or ())]
    return {*map(os.path.realpath, found), *(one.root for one in every if _is_vllms(one))}


def _is_vllms(one: FolderLook) -> bool:
    files = (file.name for item in one.items for file in item.files)
    return layout.VLLM_KEYS in one.root.split("/") or layout.VLLM_FACTORS in files


def _within(root: str, path: str) -> bool:
    """Whether a folder is one that is read, or holds it, or is in it."""
    mine, theirs = root.rstrip("/") + "/", path.rstrip("/") + "/"
    return mine.startswith(theirs) or theirs.startswith(mine)


def duplicates(look: MachineLook) -> Iterator[Finding]:
    """Pairs of this user's folders that have the same entries, and that a variable can join."""
    folders, apart = [*look.folders, *(look.others or ())], _read_anyway(look)
    mine_ = [one for one in folders if one.items and _mine(one) and one.root not in apart]
    known = [(one, _contents(one, look)) for one in mine_] if len(mine_) > 1 else []
    for number, (one, mine) in enumerate(known):
        for other, theirs in known[number + 1 :]:
            look.report.check()
            both = mine.keys() & theirs.keys()
            if len(both) >= _SOME and not _within(one.root, other.root):
                about = {"other": other.place, "count": len(both),
                         "size_bytes": sum(theirs[name] for name in both)}  # fmt: skip
                yield Finding("caches-alike", "advice", (), one.place, about)


def _mine(one: FolderLook) -> bool:
    try:
        return os.stat(one.root).st_uid == os.geteuid()
    except OSError:
        return False


def _contents(one: FolderLook, look: MachineLook) -> dict[str, int]:
    """Bytes on the disk of each entry, by what is in it, as far as nothing is to be read."""
    with contextlib.closing(Index(one.root, look.index)) as index:
        named = ((_content(item, index), item) for item in one.items)
        return {name: OnDisk([item]).bytes for name, item in named if name}


def _content(item: Item, index: Index) -> str | None:
    name = item.path.rpartition("/")[2]
    if layout.is_named_by_content(item.kind, name):
        return name
    known = index.get(item) if item.kind not in COUNTED_APART else None
    return known.sha256 if known else None


# Torchkeeper tells by times what is unused, left behind or being written; PyTorch ignores them.

#: Seconds that a time may be ahead, and that two clocks may differ.
AHEAD, SKEW = 120.0, 5.0


def future(look: FolderLook) -> list[File]:
    """The files of the cache that are from the future."""
    limit = int((time.time() + AHEAD) * 1e9)
    known = (item for item in look.items if item.kind != "unknown")
    return [file for file in files_of(known) if file[2] is not None and file[2] > limit]


def clock(look: FolderLook) -> Iterator[Finding]:
    """Files from the future; of a file system of others, how far its clock is from ours."""
    if found := future(look):
        last = max(file.mtime_ns or 0 for file in found) / 1e9
        about = {"count": len(found), "path": min(found).path, "ahead_s": round(last - time.time())}
        yield Finding("files-from-future", "advice", (), look.place, about, fix="touch")
    if look.mount is not None and look.mount.network and look.exists:
        skew = skew_of(look.root)
        if abs(skew) > SKEW:
            about = {"skew_s": round(skew), "type": look.mount.type, "source": look.mount.source}
            yield Finding("clock-skew", "warning", (), look.place, about)


def skew_of(folder: str) -> float:
    """Seconds that a file system's clock is ahead, told by a new file. Raises OSError."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".torchkeeper-", suffix=".tmp") as file:
        before = time.time()
        file.write(b"\n")
        file.flush()
        os.fsync(file.fileno())
        after = time.time()
        there = os.stat(file.name).st_mtime
    return there - after if there > after else min(there - before, 0.0)


# A lock of PyTorch's is a file that stays (stores/folders/locks.py): one whose entry is there is no
# leftover. A temporary file may carry its writer's process; of others, and on a file system of
# several machines, only its age tells.

#: Locks that guard a folder, or a tool, and no entry.
_OF_NOBODY = frozenset({"g++", "dir", "memoizer_cache"})
#: Seconds for which what a process wrote that is gone stays.
_SOON = 60.0


def dead(look: FolderLook) -> tuple[list[Item], list[Item]]:
    """Locks and temporary files that nobody needs or writes any more."""
    scratch = [item for item in look.items if item.kind == "lock"]
    locks, temporary = list[Item](), list[Item]()
    if not scratch or strange_in(look.items).most:
        return locks, temporary  # nothing goes from a folder that is no cache
    others = [item for item in look.items if item.kind != "lock"]
    keys = {item.key for item in others} | {file.name for item in others for file in item.files}
    now, local = time.time(), False
    with contextlib.suppress(OSError):
        local = is_local(os.stat(look.root).st_dev)
    for item in scratch:
        look.report.check()
        newest = max((file.mtime_ns or 0 for file in item.files), default=0) / 1e9
        is_lock = all(file.name.endswith(".lock") for file in item.files)
        if is_lock and (item.key in _OF_NOBODY or _guards(item.key, keys)):
            continue
        # Of what names no writer, as a program's own temporary folder, nobody knows whose it is.
        known = not is_lock and writers(item.path) and local
        if now - newest < (_SOON if known else OLD):
            continue
        if not in_use(look.root, item.kind, item.key, item.path):
            (locks if is_lock else temporary).append(item)
    return locks, temporary


def _guards(key: str, keys: set[str]) -> bool:
    """Whether an entry is there that a lock is named after; of four characters, after its first."""
    return key in keys or (len(key) == 4 and any(name.startswith(key) for name in keys))


def leftovers(look: FolderLook) -> Iterator[Finding]:
    """Locks and temporary files of the dead, and journals of another user's Torchkeeper."""
    locks, temporary = dead(look)
    if items := [*locks, *temporary]:
        about = {
            "locks": len(locks), "files": sum(item.count for item in temporary),
            "size_bytes": OnDisk(items).bytes,
            "path": items[0].path,
        }  # fmt: skip
        severity = "warning" if temporary else "advice"
        yield Finding("left-over", severity, (), look.place, about, fix="trash-leftovers")
    if look.exists and (found := journal.in_folder(look.root, mine=False)):
        about = {"count": len(found), "path": found[0]}
        yield Finding("journal-of-others", "warning", (), look.place, about)


# PyTorch 2.13.0 compiles again what it cannot read, without a word but in its log.

#: Of what has a verdict, the share that is worth saying.
_MUCH_STALE = 0.1
#: Bytes of a trash that are worth saying by themselves, and beside a cache that has fewer.
_LARGE, _CONSIDERABLE = 5 << 30, 100 << 20
_THREADS = "cpp_runtime_thread_count"


def broken(look: FolderLook) -> Iterator[Finding]:
    """Entries that cannot be read, or lack what they need."""
    if about := _dead_entries(look, Wanted(broken=True)):
        yield Finding("entries-broken", "warning", (), look.place, about, fix="trash-broken")


def orphaned(look: FolderLook) -> Iterator[Finding]:
    if about := _dead_entries(look, Wanted(orphans=True)):
        yield Finding("entries-orphaned", "advice", (), look.place, about, fix="trash-orphans")


def _dead_entries(look: FolderLook, wanted: Wanted) -> dict[str, object] | None:
    if look.problem is not None:
        raise look.problem

    def may(entry: Entry) -> bool:
        # Locks are looked at by themselves (leftovers), and what is broken is told as that.
        told = wanted.orphans and (entry.broken or entry.verdict == "broken")
        return entry.kind != "lock" and not told

    if look.dead is None or not (going := look.dead.chosen(wanted, may)):
        return None
    counts = look.dead.told(going)
    first = min(look.dead.found[number].entry.path for number in going)
    number = sum(counts[name] for name in COUNTS)
    return {"count": number, "size_bytes": counts["bytes"], "path": first}


def _judged(look: FolderLook) -> Dead | None:
    """The entries, if there are any. Raises Problem where nothing is said of them."""
    if look.problem is not None:
        raise look.problem
    if look.dead is None or not look.dead.found:
        return None
    if not look.verdicts:
        raise Problem("no-verdicts")
    return look.dead


def stale(look: FolderLook) -> Iterator[Finding]:
    """Entries that the environment cannot use."""
    if (dead := _judged(look)) is None:
        return
    found = [one.entry for one in dead.found]
    entries = [entry for entry in found if entry.kind not in WITHOUT_VERDICT]
    bad = [entry for entry in entries if entry.verdict == "stale"]
    if not bad or len(bad) < _MUCH_STALE * len(entries):
        return
    made_by = sorted({str(entry.torch) for entry in bad if entry.torch})
    size = dead.told([n for n, one in enumerate(found) if one.verdict == "stale"])["bytes"]
    about = {"count": len(bad), "of": len(entries), "size_bytes": size,
             "made_by": ", ".join(made_by[:4])}  # fmt: skip
    if len(bad) == len(entries):
        yield Finding("all-stale", "warning", (), look.place, about, fix="trash-stale")
    else:
        yield Finding("some-stale", "advice", (), look.place, about, fix="trash-stale")


def unsafe(look: FolderLook) -> Iterator[Finding]:
    """Entries that PyTorch takes here, and that are for another machine."""
    if _judged(look) is None:
        return
    if bad := [said for said in look.verdicts if said.verdict == "unsafe"]:
        # The first reason is what PyTorch does not look at.
        why = min((str(one.reasons[0].entry), str(one.reasons[0].here)) for one in bad)
        about = {"count": len(bad), "theirs": why[0], "here": why[1]}
        yield Finding("some-unsafe", "warning", (), look.place, about)


def threads(look: FolderLook) -> Iterator[Finding]:
    """Graphs that were compiled for another number of threads than there are here."""
    conditions = [one for said in look.verdicts for one in said.conditions]
    found = Counter((one.entry, one.here) for one in conditions if one.factor == _THREADS)
    for (theirs, here), count in found.items():
        about = {"count": count, "threads": theirs, "here": here}
        change: dict[str, str | None] = {"OMP_NUM_THREADS": theirs}
        yield Finding("threads-differ", "advice", ("OMP_NUM_THREADS",), look.place, about, change)


def trash(look: FolderLook) -> Iterator[Finding]:
    """A trash that takes more than what is in use."""
    if look.trash > _LARGE or look.trash > max(look.size.bytes, _CONSIDERABLE):
        about = {"trash_bytes": look.trash, "size_bytes": look.size.bytes}
        yield Finding("trash-large", "advice", (), look.place, about)
