"""What is said of the cache of a just-in-time compiler: where it is, and what is in it."""

from __future__ import annotations

from typing import NamedTuple

HEX16, HEX32, HEX64 = (rf"[0-9a-f]{{{digits}}}" for digits in (16, 32, 64))
#: A version in a path.
VERSION = r"\d[\w.+]{0,60}"


class Form(NamedTuple):
    """Entries of one form. entry: the path of an entry's folder in the cache; its groups ``name``,
    ``key``, ``version`` and ``arch`` are told of it. files: what is in it, by name, also with such
    groups; anything else there is somebody's own. Each file is an entry for itself where the folder
    has many (``each``).

    proof: the file that must be there too, as a template of the match of ``entry``, and how that
    begins (``head``); "" is the file itself. A crash leaves nothing else: these writers move whole
    folders, or write that file first. lock: the one that the writer takes for it, as a template; of
    forms of one entry one has it.
    kind: "lock" for what a writer leaves while it writes. named: whether the compiler looks for it
    only in a folder that a variable names, or only in its default; None for wherever its cache is.
    In ``files`` and ``head``, ``{name}`` is that name, in ``head`` ``{file}`` that of the file, and
    ``{rest}`` whatever is between; there and in ``proof`` ``{stem}`` is the file's without its end.
    """

    entry: str
    files: str
    proof: str = ""
    head: str = ""
    lock: str = ""
    kind: str = "jit"
    each: bool = False
    named: bool | None = None


class Cache(NamedTuple):
    """The cache of one compiler. title: what it is called. homes: where it may be, the home folder
    as ``~``, a variable as ``$NAME``, the folder for temporary files and the user's name as
    ``{tmp}`` and ``{user}``. names: what the folder of it is called, by which it is known below any
    other. folder: one of these, which it has in a bundle. loaded: a path in a program that has it
    loaded. source: what a source that it compiles has in it, by which those of one form are told
    apart.
    """

    title: str
    homes: tuple[str, ...]
    names: str
    folder: str
    forms: tuple[Form, ...]
    loaded: str
    source: str = ""
