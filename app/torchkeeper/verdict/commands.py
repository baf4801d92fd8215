"""How the installed torch builds C++: the commands whose text goes into the names of what is built.

PyTorch names a built object by its source and a text, which holds the whole command with the
folders of torch and of Python (CppCodeCache.load_async in torch/_inductor/codecache.py). That text
is asked of PyTorch itself: it is called up to where it would write the source, and no further. So
nothing is built. Its own choice of vector instructions (pick_vec_isa in cpu_vec_isa.py) is no
help, as it builds four to ten objects to be sure, even where ``cpp.vec_isa_ok`` says that it need
not: all sets that this CPU has are told instead, of which a program may ask for any.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import os
import re
import shlex
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torchkeeper.verdict.probed import Command, Env, Native

#: What stands for folders in a portable text.
TORCH, PYTHON, COMPILER = "{torch}", "{python}", "{cxx}"
#: Has torch install a compiler while it looks for one (torch/_inductor/cpp_builder.py).
_INSTALLS = "TORCH_INDUCTOR_INSTALL_GXX"
_HEADERS = "cpp_cache_precompile_headers"
#: Where a compiler says in its version, which is the text of a check, that it lies (GCC, clang).
_LIES = re.compile(r"((?:COLLECT_GCC|COLLECT_LTO_WRAPPER)=|InstalledDir: |GCC installation: )"
                   r".*?(?=_[A-Z]|_?=|_$)")  # fmt: skip


class _Told(BaseException):
    """What PyTorch would put into a name. No ``except Exception`` of its own shall catch it."""


def native(facts: Env) -> Native | None:
    """How native code is made here, and for what: None without a torch or a compiler, or where this
    torch cannot be asked. facts: of ``environment.probe``. Needs a ``constants.private_folder``.
    """
    cxx = facts.get("cxx")
    if cxx is None or not facts.get("torch_key") or not (told := commands()):
        return None
    return {
        "compiler": cxx["version"],
        "libc": facts["libc"],
        "python": sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag,
        "cpu_flags": facts["cpu_flags"],
        "threads": facts["threads"],
        "torch": facts["torch"],
        "torch_key": facts["torch_key"],
        "commands": told,
    }


def commands() -> list[Command] | None:
    """The commands by which torch may build, its own first; None where it cannot be asked."""
    if os.environ.get(_INSTALLS):
        return None
    try:
        from torch._inductor import cpu_vec_isa  # noqa: TID251

        return _commands(cpu_vec_isa)
    except Exception:  # noqa: BLE001  # another torch may be built otherwise
        return None


def key(source: str, extra: str) -> str:
    """The name of what is built of a source by a text of ``commands`` (write in
    torch/_inductor/codecache.py). To be called in a ``constants.private_folder``.
    """
    from torch._inductor.codecache import get_hash  # noqa: TID251

    return str(get_hash(source.strip(), extra, "code"))


def _commands(cpu_vec_isa: Any) -> list[Command]:
    # Whether the compiler takes what a check holds is only known once it was built.
    told: dict[tuple[str, str], Command] = {}
    checks: dict[str, None] = {}
    found = list(_supported(cpu_vec_isa, (), checks, told))
    codes = list(checks)
    for count in (1, 2):
        for refused in itertools.combinations(codes, count):
            found += _supported(cpu_vec_isa, refused, checks, told)
    seen = set()
    kernels: dict[tuple[str, str], Command] = {}
    for isa in (*found, cpu_vec_isa.invalid_vec_isa):
        flags = (str(isa), *isa.build_macro(), isa.build_arch_flags())
        if flags not in seen:
            seen.add(flags)
            name = str(isa) if isa is not cpu_vec_isa.invalid_vec_isa else "none"
            for extra in _kernels(isa):
                kernels["kernel", extra] = _command("kernel", name, extra)
    return [*kernels.values(), *told.values()]


def _supported(
    cpu_vec_isa: Any,
    refused: Iterable[str],
    checks: dict[str, None],
    told: dict[tuple[str, str], Command],
) -> Iterator[Any]:
    """What PyTorch takes for usable, the best first; its checks are told, not built."""
    really = cpu_vec_isa.VecISA.check_build

    def check(isa: Any, code: str) -> bool:
        extra = _asked(lambda: really(isa, code))
        checks[code] = None
        told["check", extra] = _command("check", str(isa), extra)
        return code not in refused

    # They keep what a check said, and so do the functions that ask them.
    fresh = [copy.copy(isa) for isa in cpu_vec_isa.supported_vec_isa_list]
    with (
        instead(cpu_vec_isa, "supported_vec_isa_list", fresh),
        instead(cpu_vec_isa.VecISA, "check_build", check),
    ):
        forget(cpu_vec_isa)
        try:
            yield from cpu_vec_isa.valid_vec_isa_list()
        finally:
            forget(cpu_vec_isa)


def forget(module: Any) -> None:
    """Have a module, and its classes, forget what their functions remember (functools.cache)."""
    classes = [thing for thing in vars(module).values() if isinstance(thing, type)]
    for one in (module, *classes):
        for function in list(vars(one).values()):
            if callable(clear := getattr(function, "cache_clear", None)):
                clear()


def _kernels(isa: Any) -> Iterator[str]:
    """The text for the code of graphs, with precompiled headers and without."""
    from torch._inductor import codecache, config  # noqa: TID251

    load = codecache.CppPythonBindingsCodeCache.load_async
    for headers in (True, False):
        with instead(codecache, "pick_vec_isa", lambda: isa), config.patch({_HEADERS: headers}):
            yield _asked(lambda: load("", device_type="cpu"))


def _asked(build: Callable[[], object]) -> str:
    """The text with which PyTorch, asked to build something, would begin by writing its source."""
    from torch._inductor import codecache  # noqa: TID251

    def write(_: str, __: str, extra: str = "", **___: object) -> None:
        raise _Told(extra)

    with instead(codecache, "write", write):
        try:
            build()
        except _Told as told:
            return str(told)
    raise RuntimeError("it wrote no source")


@contextlib.contextmanager
def instead(owner: Any, name: str, value: object) -> Iterator[None]:
    """Another value of an attribute meanwhile."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextlib.contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """Another value of a variable of the environment meanwhile."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def _command(what: str, isa: str, extra: str) -> Command:
    portable = _LIES.sub(rf"\1{COMPILER}", extra) if what == "check" else _of_kernel(extra)
    return {"what": what, "isa": isa, "extra": extra, "portable": portable}


def _of_kernel(extra: str) -> str:
    """The text of a command with words for the folders of torch and of Python."""
    import torch  # noqa: TID251
    from torch._inductor.cpp_builder import get_cpp_compiler  # noqa: TID251

    folders = {os.path.dirname(torch.__file__): TORCH}
    includes = [sysconfig.get_path("include"), sysconfig.get_path("include", "posix_prefix")]
    folders |= {folder: f"{PYTHON}/include" for folder in includes if folder}
    if libraries := sysconfig.get_config_var("LIBDIR"):
        folders[libraries] = f"{PYTHON}/lib"
    words: list[str] = []
    for word in shlex.split(extra):
        text = COMPILER if word == get_cpp_compiler() else _within(word, folders)
        # Debian's Python has two folders of headers, and others one.
        if text not in words or PYTHON not in text:
            words.append(text)
    return " ".join(words)


def _within(word: str, folders: Mapping[str, str]) -> str:
    """An option with a word for the folder that it names or that holds what it names."""
    option, path = (word[:2], word[2:]) if word[:2] in ("-I", "-L") else ("", word)
    for folder, name in folders.items():
        if path == folder or path.startswith(folder + os.sep):
            return f"{option}{name}{path[len(folder) :]}"
    return word
