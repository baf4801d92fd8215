"""The words for what the doctor finds, by the codes of its findings (``link.findingwords``)."""

from __future__ import annotations

from collections.abc import Callable

from torchkeeper.link.words import UserError, Words
from torchkeeper.settings.finding import Finding

_OWN_FOLDER = "Set TORCHINDUCTOR_CACHE_DIR to a folder on a disk of this machine."

WORDS: dict[str, Words] = {
    # The disk
    "folder-read-only": Words(
        "{place} is mounted read-only.",
        "PyTorch writes the code of each graph there first, so that every compile fails: OSError, "
        "Read-only file system.",
        "Mount {point} so that it can be written, or set TORCHINDUCTOR_CACHE_DIR to a folder that "
        "can.",
    ),
    "folder-noexec": Words(
        "Nothing in {place} can be loaded: {point} is mounted noexec.",
        "PyTorch builds its C++ kernels there and loads them; that fails with “failed to map "
        "segment from shared object”, and so does every compile that needs one.",
        "Mount {point} without noexec, in Docker --tmpfs {point}:exec, or set "
        "TORCHINDUCTOR_CACHE_DIR to another folder.",
    ),
    "folder-in-memory": Words(
        "{place} is in memory, on a {type}.",
        "It is gone when the machine starts again, and what is in it takes memory: {size_bytes}.",
        "To keep it, set TORCHINDUCTOR_CACHE_DIR to a folder on a disk, or export it before.",
    ),
    "folder-on-network": Words(
        "{place} may be shared with other machines: it is on {type}, from {source}.",
        "Every lookup waits for the network, locks between machines work only where the server "
        "supports them, and a CPU of another kind may load objects that it cannot run.",
        _OWN_FOLDER + " “torchkeeper copy” carries entries between them.",
    ),
    "folder-locks-local": Words(
        "Locks in {place} do not bind other machines: {point} is mounted with {option}.",
        "PyTorch locks a file while it builds an object; two machines that build the same one "
        "write over each other.",
        _OWN_FOLDER + " Or mount {point} without that option.",
    ),
    "folder-in-container": Words(
        "{place} is in the file system of a container.",
        "It is gone when the container is removed, so that every new one compiles again.",
        "Mount a volume there, or put a bundle into the image: “torchkeeper export”, then “import” "
        "where it is built.",
    ),
    "disk-is-full": Words(
        "The disk of {place} is full: {free_bytes} left.",
        "A compile that cannot write its code fails: OSError, No space left on device.",
        "Make room: “torchkeeper purge --suggest” says what is dead there, and “trash --empty” "
        "frees what was purged.",
    ),
    "disk-nearly-full": Words(
        "The disk of {place} is nearly full: {free_bytes} left, and the cache has {size_bytes}.",
        "When it is full, every compile fails.",
        "Make room: “torchkeeper purge --suggest” says what is dead there, and “trash --empty” "
        "frees what was purged.",
    ),
    "no-inodes": Words(
        "No more files can be made where {place} is: {free} left.",
        "A compile that cannot make a file fails, however many bytes are free.",
        "Remove small files there: “torchkeeper purge --suggest” says what is dead.",
    ),
    "few-inodes": Words(
        "Few more files can be made where {place} is: {free} left, and the cache has {files}.",
        "When none is left, every compile fails, however many bytes are free.",
        "Remove small files there: “torchkeeper purge --suggest” says what is dead.",
    ),
}

#: Findings whose words depend on more than their figures.
SPOKEN: dict[str, Callable[[Finding], UserError]] = {}

#: What each fix does, before it is done; {entries} and {size} are of its plan.
FIXES: dict[str, str] = {
    "trash-broken": "Move what is broken to the trash of {place}: {entries}, {size}.",
    "trash-orphans": "Move what nothing needs to the trash of {place}: {entries}, {size}.",
    "trash-stale": "Move what no known environment can use to the trash of {place}: {entries}, "
    "{size}.",
}
