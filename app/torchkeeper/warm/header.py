"""The process that has PyTorch precompile its C++ headers, before a program waits for it. Also what
there is to compile for, and with.

PyTorch builds such a header when it first compiles, or loads, a kernel for the CPU, also where
all that it loads is built: ``_precompile_header`` in torch/_inductor/codecache.py, in a folder
that it chooses when it is imported (``_HEADER_DIR``). The name holds the compiler, its command
with the instruction set, and the header's text. So PyTorch itself is asked, by loading an empty
kernel up to the point where it would be built.

``prepare`` starts this process, which also tells ``folder``, ``swept``, ``header``, ``progress``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import shlex
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, TypedDict

from torchkeeper.artifacts.entry import Problem
from torchkeeper.settings.texts import UNQUOTED
from torchkeeper.stores.folders.locks import take
from torchkeeper.verdict.commands import forget, instead
from torchkeeper.warm import sweep
from torchkeeper.warm.child import Tell, importing_torch, serve
from torchkeeper.warm.options import PRECOMPILE
from torchkeeper.warm.processes import After
from torchkeeper.warm.shapes import Device, Header


def choose_device(torch: Any, wanted: str | None) -> tuple[str, Device]:
    """The device to compile for, and what to say of it: type, name, and why as a code. why:
    "asked", "accelerator", "no-accelerator", or "no-triton" where there is a GPU but no Triton that
    can compile for it. Raises Problem("device-missing").
    """
    seen = [kind for kind in ("cuda", "xpu", "mps") if _available(torch, kind)]
    if wanted:
        try:
            asked = torch.device(wanted)
        except RuntimeError as e:
            raise Problem("device-missing", device=wanted) from e
        count = getattr(getattr(torch, asked.type, None), "device_count", lambda: 1)
        if asked.type not in (*seen, "cpu") or (asked.index or 0) >= int(count()):
            raise Problem("device-missing", device=wanted)
        return wanted, {"type": asked.type, "name": _device_name(torch, wanted), "why": "asked"}
    device = next((kind for kind in seen if kind == "mps" or _has_triton(kind)), "cpu")
    why = "accelerator" if device != "cpu" else "no-triton" if seen else "no-accelerator"
    return device, {"type": device, "name": _device_name(torch, device), "why": why}


def _available(torch: Any, kind: str) -> bool:
    module = getattr(torch.backends if kind == "mps" else torch, kind, None)
    with contextlib.suppress(Exception):
        return bool(module and module.is_available())
    return False


def _has_triton(kind: str) -> bool:
    try:
        from torch.utils._triton import has_triton  # noqa: TID251
    except ImportError:
        return importlib.util.find_spec("triton") is not None
    try:
        return bool(has_triton(kind))
    except TypeError:  # before it took a device
        return bool(has_triton())


def _device_name(torch: Any, device: str) -> str:
    if device == "cpu":
        return "CPU"
    with contextlib.suppress(Exception):
        return str(getattr(torch, torch.device(device).type).get_device_name(device))
    return device


def check_place(place: str) -> None:
    """Raises Problem("place-blank") where nothing can be built for the CPU in a folder. PyTorch
    writes the paths of what is built into a command and splits that as a shell would.
    """
    if UNQUOTED.search(place):
        raise Problem("place-blank", place=place)


def check_compiler() -> None:
    """Raises Problem("compiler-missing") where torch would find no C++ compiler."""
    try:
        from torch._inductor.cpp_builder import get_cpp_compiler  # noqa: TID251
    except ImportError:
        return  # moved: the compile will say so itself
    try:
        get_cpp_compiler()
    except Exception as e:
        raise Problem("compiler-missing", cxx=os.environ.get("CXX")) from e


#: What a compiler's precompiled header ends with (``CppBuilder`` in cpp_builder.py).
SUFFIXES = (".gch", ".pch")


class Request(TypedDict):
    """What is asked for. into: the folder that headers belong in, None: whichever."""

    into: str | None
    after: After


def main() -> None:
    """Run and exit: 0 done, 1 told why not."""
    serve(run)


def run(job: Request, tell: Tell) -> dict[str, object]:
    """Build the headers that are not there; returns the folder and those in it. Raises Problem."""
    into = job["into"]
    with importing_torch():
        import torch  # noqa: TID251
        from torch._inductor import codecache, config, cpu_vec_isa, exc  # noqa: TID251
    folder = getattr(codecache, "_HEADER_DIR", None)
    if folder is None or not hasattr(codecache, "_precompile_header"):
        raise Problem("headers-unknown", torch=str(torch.__version__), python=sys.executable)
    if not config.cpp_cache_precompile_headers:
        raise Problem("headers-off", variable=PRECOMPILE)
    if into is not None and os.path.realpath(folder) != os.path.realpath(into):
        raise Problem("headers-elsewhere", wanted=into, folder=folder)
    # PyTorch has chosen its folder: what else is temporary goes where it is removed afterwards.
    tempfile.tempdir = os.environ["TMPDIR"] = os.getcwd()
    check_compiler()
    swept = [asdict(one) for one in sweep.mend(folder)] if os.path.isdir(folder) else []
    before = sweep.snapshot(folder)
    tell(folder={"path": folder, "marks": before, "swept": swept})

    headers: list[Header] = []

    def look() -> None:
        headers.clear()
        tell(progress=[0, 1])
        look_for_headers(codecache, config)

    with _watched(codecache, tell, headers), _failures(folder):
        try:
            # Otherwise PyTorch tries out each instruction set first, which takes as long again.
            with config.patch({"cpp.vec_isa_ok": True}):
                look()
        except exc.CppCompileError:
            # An old compiler does not know the newest, and PyTorch then takes one that it knows.
            traceback.print_exc()
            sweep.sweep(folder, before, {os.getpid()})
            forget(cpu_vec_isa)
            look()
    tell(progress=[1, 1])
    return {"folder": folder, "headers": headers}


def look_for_headers(codecache: Any, config: Any) -> None:
    """Have PyTorch look for each header that programs with these settings look for. Loading a
    kernel asynchronously precompiles headers at once, and hands the kernel's own build to a
    function, which here leaves it. Kernels of the usual wrapper in Python look for one header;
    those of autotuned templates (``CppCodeCache``) for none; where the wrapper is in C++ they are
    part of it (``CppWrapperCpu.generate`` in codegen/cpp_wrapper_cpu.py), and that looks for its
    own, or for two if it is built separately.
    """
    more: dict[str, object] = {}
    if getattr(config, "cpp_wrapper", False):
        load = codecache.CppWrapperCodeCache.load_async
        separate = bool(getattr(config, "cpp_wrapper_build_separate", False))
        wanted = {
            "optimized_code": "// nothing\n" if separate else None,
            "needs_vec_isa": not separate,
            "kernel_needs_vec_isa": True if separate else None,
        }
        known = inspect.signature(load).parameters
        more = {name: value for name, value in wanted.items() if name in known}
    else:
        load = codecache.CppPythonBindingsCodeCache.load_async
    load("// nothing\n", submit_fn=lambda _: None, **more)


@contextlib.contextmanager
def _watched(codecache: Any, tell: Tell, headers: list[Header]) -> Iterator[None]:
    """Adds each header that is looked for to ``headers``, once PyTorch has it."""
    original = codecache._precompile_header
    # Without what it remembers of this process, which a second try must not be told.
    build = getattr(original, "__wrapped__", original)

    building = codecache.CppBuilder.build
    #: What this process builds: a header that has appeared may be another's, who was at work on it.
    mine: set[str] = set()

    def noted(builder: Any) -> Any:
        done = building(builder)
        mine.add(str(builder.get_target_file_path()))
        return done

    def once(header: str, command: str, options: Any) -> tuple[str, str | None, bool]:
        path = build(header, command, **options)
        return path, built(path), usable(path, command)

    def watched(header: str, command: str, **options: Any) -> Any:
        begun = time.monotonic()
        path, there, fits = once(header, command, options)
        if there is not None and not fits and there not in mine:
            # For another CPU or compiler, or cut short: kernels take as long with it as without.
            _remove(there, codecache._HEADER_LOCK_DIR)
            path, there, fits = once(header, command, options)
        if there is not None and not fits:
            _remove(there, codecache._HEADER_LOCK_DIR)
            raise Problem("header-refused", path=there)
        if there is None:
            raise Problem("prepare-failed", why="PyTorch made no precompiled header")
        told: Header = {"path": there, "built": there in mine, "bytes": os.path.getsize(there),
                "seconds": time.monotonic() - begun}  # fmt: skip
        headers.append(told)
        tell(header=told)
        return path

    with (
        instead(codecache, "_precompile_header", watched),
        instead(codecache.CppBuilder, "build", noted),
    ):
        yield


def built(path: str) -> str | None:
    return next((path + end for end in SUFFIXES if os.path.isfile(path + end)), None)


def usable(path: str, command: str) -> bool:
    """Whether the compiler takes the precompiled header, with the command that it is for. g++
    passes over one that does not fit it or this CPU, and is then slow; -H has it say which it
    takes. Of other compilers, and where g++ says nothing, it is not known: True.
    """
    if not path or not os.path.isfile(path + ".gch"):
        return True
    words = [word for word in shlex.split(command) if word != "i"]
    if "-o" in words:
        at = words.index("-o")
        del words[at : at + 2]
    words = [word for word in words if not word.startswith(("-l", "-L"))]
    source = os.path.join(os.getcwd(), "nothing.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n")
    words += ["-include", path, "-H", "-fsyntax-only", source]
    nothing = subprocess.DEVNULL
    said = subprocess.run(words, stdin=nothing, stdout=nothing, stderr=subprocess.PIPE, check=False)
    lines = said.stderr.decode(errors="replace").splitlines()
    if f"! {path}.gch" in lines:
        return said.returncode == 0  # one that is cut short is taken, and then cannot be read
    return f"x {path}.gch" not in lines


def _remove(path: str, locks: str) -> None:
    """Take a useless header away; not while another process is at work on it."""
    stem = os.path.basename(path).partition(".")[0]
    handle, free = take(os.path.join(locks, f"{stem}.lock"))
    try:
        if free:
            os.unlink(path)
    finally:
        if handle is not None:
            os.close(handle)


@contextlib.contextmanager
def _failures(folder: str) -> Iterator[None]:
    """What goes wrong with a reason of its own, as a Problem; anything else as it is."""
    try:
        yield
    except OSError as e:
        traceback.print_exc()
        if e.filename == "openssl":
            raise Problem("openssl-missing") from e
        if isinstance(e.filename, str) and e.filename.startswith(folder):
            raise Problem("place-unwritable", place=folder, why=e.strerror) from e
        raise
    except IndexError as e:
        # PyTorch takes a checksum from what openssl printed, and that was nothing.
        names = [frame.name for frame in traceback.extract_tb(e.__traceback__)]
        if names[-1:] != ["_get_file_checksum"]:
            raise
        traceback.print_exc()
        raise Problem("openssl-missing") from e
