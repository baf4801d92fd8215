"""The process of ``doctor.toolchain``: it tries what torch needs, and tells each part at once."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from typing import Any

from torchkeeper.doctor.shapes import Built, Cxx, Gpu, Header, Package, Triton
from torchkeeper.verdict.commands import instead
from torchkeeper.warm import header
from torchkeeper.warm.child import Tell, serve
from torchkeeper.warm.child import said as said_of
from torchkeeper.warm.options import PRECOMPILE

#: What is compiled where not all of it works at once, from the least that torch needs to the most:
#: what fails first is what is missing.
STAGES = ("run", "plain", "openmp", "python", "torch")
_SOURCES = {
    "plain": 'extern "C" long answer() { return 42; }\n',
    "openmp": '#include <omp.h>\nextern "C" long answer() { long n = 0;\n'
    "#pragma omp parallel for reduction(+ : n)\n"
    "for (int i = 0; i < 42; i++) n++;\nreturn omp_get_max_threads() > 0 ? n : 0; }\n",
    "python": '#include <Python.h>\nextern "C" long answer() { return PY_MAJOR_VERSION ? 42 : 0; }'
    "\n",
    "torch": '#include <torch/headeronly/macros/Macros.h>\nextern "C" long answer() { return 42; }'
    "\n",
}
_LINES, _LENGTH = 4, 600
#: Where a GPU shows without torch being asked.
_DEVICES = ("/dev/nvidiactl", "/dev/kfd")


def main() -> None:
    serve(lambda _, tell: run(tell))


def run(tell: Tell) -> dict[str, object]:
    try:
        import torch  # noqa: TID251

        tell(torch={"version": str(torch.__version__), "error": None})
    except Exception as e:  # noqa: BLE001  # a broken install may raise anything
        tell(torch={"version": None, "error": said_of(e)})
        return {}
    # torch makes its cache folder as soon as it is asked for one. All that it writes, but for the
    # header, goes to this process's folder.
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        os.environ[name] = os.path.join(os.getcwd(), "cache")
    with contextlib.suppress(Exception):
        importlib.import_module("torch._inductor.codecache")
    tempfile.tempdir = os.environ["TMPDIR"] = os.getcwd()
    tell(redis=_package("redis"))
    tell(gpu=_gpu(torch))
    tell(triton=_triton(torch))
    tell(threads={"threads": int(torch.get_num_threads()), "cpus": len(os.sched_getaffinity(0))})
    cxx = _cxx()
    tell(cxx=cxx)
    if cxx["state"] == "works":
        tell(header=_header())
    return {}


def _package(name: str) -> Package:
    try:
        module = importlib.import_module(name)
    except Exception as e:  # noqa: BLE001
        missing = isinstance(e, ModuleNotFoundError) and e.name == name
        return {"version": None, "error": "" if missing else said_of(e)}
    return {"version": str(getattr(module, "__version__", "")), "error": None}


def _gpu(torch: Any) -> Gpu:
    built = "hip" if torch.version.hip else "cuda" if torch.version.cuda else None
    version = torch.version.hip or torch.version.cuda
    error, seen = None, 0
    if built:
        try:
            torch.cuda.init()
            seen = int(torch.cuda.device_count())
        except Exception as e:  # noqa: BLE001
            error = said_of(e)
    devices = any(map(os.path.exists, _DEVICES))
    return {"built": built, "version": version, "seen": seen, "error": error, "devices": devices}


def _triton(torch: Any) -> Triton:
    found = Triton(**_package("triton"), cc=None, cc_said=None, ptxas=None, ptxas_said=None)
    if found["version"] is None:
        return found
    # As _build in triton/runtime/build.py.
    found["cc"] = cc = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if cc:
        include = sysconfig.get_paths()["include"]
        source = "#include <Python.h>\nlong answer(void) { return 42; }\n"
        found["cc_said"] = _built([cc], ["-O3", "-shared", "-fPIC", f"-I{include}"], source, "c")[1]
    if torch.version.cuda:
        try:
            from triton import knobs  # noqa: TID251

            tool = knobs.nvidia.ptxas
            found["ptxas"] = str(tool.path)
            found["ptxas_said"] = _ran([str(tool.path), "--version"])
        except Exception as e:  # noqa: BLE001
            found["ptxas_said"] = said_of(e)
    return found


def _ran(command: list[str]) -> str:
    """Why a command cannot be run, "" where it can."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, check=False)  # fmt: skip
    except OSError as e:
        return f"{command[0]}: {e.strerror or e}"
    return "" if done.returncode == 0 else _last(done) or f"It ended with {done.returncode}"


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """What a compiler said that matters: its errors, and otherwise its last words."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or "cannot find" in line]
    return "; ".join((errors or lines[-_LINES:])[:_LINES])[:_LENGTH]


def _cxx() -> Cxx:
    from torch._inductor.cpp_builder import get_cpp_compiler  # noqa: TID251

    asked = os.environ.get("CXX") or "g++"
    found = Cxx(command=asked, version=None, state="missing", stage="run", said="")
    try:
        compiler = get_cpp_compiler()
    except Exception:  # noqa: BLE001
        found["said"] = _ran([asked, "--version"])
        if shutil.which(asked):
            found["state"] = "fails"
        return found
    found["command"] = compiler
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.check_output([compiler, "--version"], text=True, errors="replace")
        found["version"] = said.partition("\n")[0][:200]
    return {**found, **tried(compiler)}


def tried(compiler: str) -> Built:
    """The first stage at which a compiler fails, with torch's flags from the second on."""
    flags = _flags(compiler)
    stages = [*STAGES[1:]]
    folders = [flag[2:] for flag in flags if flag.startswith("-I")]
    if not any(os.path.isfile(f"{one}/torch/headeronly/macros/Macros.h") for one in folders):
        stages.remove("torch")  # an older torch has it elsewhere
    includes = [_SOURCES[stage].partition("\n")[0] for stage in stages[2:]]
    whole = "\n".join([*includes, _SOURCES["openmp"]])
    for stage in stages if _failed(compiler, flags, whole) else ():
        wanted = ["-shared", "-fPIC"] if stage == "plain" else flags
        if failed := _failed(compiler, wanted, _SOURCES[stage]):
            state, said = failed
            return {"state": state, "stage": stage, "said": said}
    return {"state": "works", "stage": "", "said": ""}


def _failed(compiler: str, flags: list[str], source: str) -> tuple[str, str] | None:
    """How a source fails to be built, loaded and called, and what was said; else None."""
    path, said = _built([compiler], flags, source, "cpp")
    if said:
        return "fails", said
    try:
        answer = ctypes.CDLL(path).answer()
    except (OSError, AttributeError) as e:
        return "unloadable", str(e)[:_LENGTH]
    return None if answer == 42 else ("unloadable", f"It answers {answer}, not 42")


def _flags(compiler: str) -> list[str]:
    """All that torch puts into its command for a C++ kernel, but for the files."""
    from torch._inductor.cpp_builder import CppBuilder, CppTorchOptions  # noqa: TID251

    source = os.path.join(os.getcwd(), "nothing.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n")
    options = CppTorchOptions()
    words = shlex.split(CppBuilder("nothing", source, options, os.getcwd()).get_command_line())
    left, kept = iter(words[len(shlex.split(compiler)) :]), []
    for word in left:
        if word == "-o":
            next(left, None)
        elif word != source:
            kept.append(word)
    return kept


def _built(compiler: list[str], flags: list[str], source: str, ending: str) -> tuple[str, str]:
    """Where a library was built, and what the compiler said against it, "" where it did not."""
    stem = os.path.join(os.getcwd(), f"tried{len(os.listdir())}")
    file, target = f"{stem}.{ending}", f"{stem}.so"
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(source)
    words = [word for one in compiler for word in shlex.split(one)]
    before = [flag for flag in flags if not flag.startswith(("-l", "-L"))]
    after = [flag for flag in flags if flag.startswith(("-l", "-L"))]
    return target, _ran([*words, file, *before, "-o", target, *after])


def _header() -> Header:
    """Whether the header is there that programs would wait for, without building it."""
    from torch._inductor import codecache, config  # noqa: TID251

    found: Header = {"state": "unknown", "path": None, "variable": PRECOMPILE}
    folder = getattr(codecache, "_HEADER_DIR", None)
    original = getattr(codecache, "_precompile_header", None)
    if folder is None or original is None or not hasattr(codecache, "_worker_compile_cpp"):
        return found
    if not config.cpp_cache_precompile_headers:
        return {**found, "state": "off"}
    seen: list[tuple[str, str]] = []
    build = getattr(original, "__wrapped__", original)

    def named(wanted: str, command: str, **options: Any) -> str:
        path: str = build(wanted, command, **dict(options))
        seen.append((os.path.join(folder, os.path.basename(path)), command))
        return path

    here = os.path.join(os.getcwd(), "headers")
    os.makedirs(here, exist_ok=True)
    with (
        instead(codecache, "_HEADER_DIR", here),
        instead(codecache, "_HEADER_LOCK_DIR", here),
        instead(codecache, "_worker_compile_cpp", lambda *_: None),
        instead(codecache, "_precompile_header", named),
        config.patch({"cpp.vec_isa_ok": True}),
    ):
        try:
            header.look_for_headers(codecache, config)
        except Exception as e:  # noqa: BLE001  # of another torch, or without openssl
            return {**found, "said": said_of(e)}
    states = []
    for path, command in seen:
        there = header.built(path)
        fits = there is None or header.usable(path, command)
        states.append("missing" if there is None else "there" if fits else "refused")
        found["path"] = there or path
    worst = [one for one in ("refused", "missing", "there") if one in states]
    return {**found, "state": worst[0] if worst else "unknown"}
