"""What pickles name, and what of that PyTorch never does."""

from __future__ import annotations

import base64
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.stores.test_jits import serving
from torchkeeper.artifacts import facts as read
from torchkeeper.artifacts import named
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.leaks import lines, names, warning

__all__ = ["serving"]


class Calls:
    """Pickled as a call."""

    def __init__(self, *reduced: Any) -> None:
        self.reduced = reduced

    def __reduce__(self) -> tuple[Any, ...]:
        return self.reduced


def named_in(module: str, name: str) -> bytes:
    """A pickle that calls something by its name."""
    return (
        b"\x80\x04"
        + b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name))
        + b"\x93)R."
    )


def test_all_that_real_caches_name_is_pytorchs(
    kept_291: Path, kept_gpu: Path, filled: Path, other_kinds: Path
) -> None:
    others = (other_kinds / "cache", other_kinds / "temporary")
    with Engine() as engine:
        for place in (kept_291, kept_gpu / "cache", filled, *others):
            found = engine.call("runnable", {"place": str(place)})
            assert (found["strange"], names(found).count("never")) == (0, 0), found
            assert len(found["globals"]) > 30 or "temporary" in str(place)
            by_kind = {one["kind"]: one for one in found["kinds"]}
            if place == other_kinds / "cache":
                # The guards of each variant are a pickle of their own.
                assert by_kind["precompile"]["pickles"] == 3
                # Written by Python 3.11.2, which gets members of enums by getattr.
                assert any("OutputType.non_alias" in one["name"] for one in found["globals"])


def got(*looked_up: tuple[str, str, str]) -> bytes:
    """A pickle that gets something of a class, or of another module, and ends."""
    calls = b"".join(
        b"cbuiltins\ngetattr\n(c%s\n%s\nV%s\ntR" % tuple(text.encode() for text in one)
        for one in looked_up
    )
    return b"\x80\x04(" + calls + b"t."


SCHEMAS = "torch._functorch._aot_autograd.schemas"


@pytest.mark.parametrize(
    ("looked_up", "strange"),
    [
        ([(SCHEMAS, "OutputType", "non_alias"), (SCHEMAS, "MutationType", "NOT_MUTATED")], []),
        ([("inspect", "_ParameterKind", "KEYWORD_ONLY")], []),
        ([("os", "path", "join")], ["os.path", "os.path.join"]),
        ([("torch._inductor.codecache", "FxGraphCache", "clear")],
         ["torch._inductor.codecache.FxGraphCache.clear"]),
        ([(SCHEMAS, "OutputType", "__init__")], [f"{SCHEMAS}.OutputType.__init__"]),
        ([(SCHEMAS, "OutputType", "mro")], [f"{SCHEMAS}.OutputType.mro"]),
        ([("builtins", "dict", "update")], ["builtins.dict.update"]),
    ],
)  # fmt: skip
def test_what_is_got_of_a_class_is_what_is_named(
    looked_up: list[tuple[str, str, str]], strange: list[str]
) -> None:
    found = named.facts("aotautograd", {"data": got(*looked_up)})
    assert sorted(found["strange"]) == strange
    assert "builtins.getattr" not in found["globals"]


SAVE = "torch._inductor.runtime.autotune_cache.AutotuneCache.save"


@pytest.mark.parametrize(
    ("name", "strange"),
    [("save", []), ("_prepare", [f"{SAVE[:-4]}_prepare"]), ("__init__", [f"{SAVE[:-4]}__init__"])],
)
def test_a_method_that_a_kernel_holds_is_known_and_no_other(name: str, strange: list[str]) -> None:
    module, cls, _ = SAVE.rsplit(".", 2)
    made = f"c{module}\n{cls}\n)R".encode()
    got = b"\x80\x04cbuiltins\ngetattr\n(" + made + f"V{name}\ntR".encode()
    found = named.facts("fxgraph", {"data": got + b"."})
    assert (found["strange"], "builtins.getattr" in found["globals"]) == (strange, False)
    # To get it runs nothing; to call it would.
    called = named.facts("fxgraph", {"data": got + b")R."})
    assert sorted(called["strange"]) == [*strange, f"{SAVE[:-4]}{name}()"]


@pytest.mark.slow
@pytest.mark.torch
def test_what_torch_keeps_of_a_kernel_is_known(torch_python: str, tmp_path: Path) -> None:
    """No GPU is needed to compile for one."""
    env = {
        **os.environ,
        "TRITON_CACHE_DIR": str(tmp_path),
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [torch_python, str(DATA / "kept_kernels.py")], env=env, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = named.facts("fxgraph", {"data": base64.b64decode(done.stdout)})
    assert found["strange"] == []
    assert "triton.runtime.jit.JITFunction" in found["globals"]


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04cbuiltins\ngetattr\n(Vtext\nVjoin\ntR.",
        b"\x80\x04cbuiltins\ngetattr\n(ctorch\nSize\nVa\nVb\ntR.",
        b"\x80\x04cbuiltins\ngetattr\n(cbuiltins\ngetattr\n(ctorch\nSize\nVa\ntRVb\ntR.",
        b"\x80\x04cbuiltins\ngetattr\n.",
    ],
)
def test_what_is_got_of_anything_else_is_strange(data: bytes) -> None:
    assert "builtins.getattr" in named.facts("aotautograd", {"data": data})["strange"]


CONSTEXPR = b"ctriton.language.core\nconstexpr\n("
GETATTR = b"cbuiltins\ngetattr\n"
HELD = b"ctriton.runtime.jit\nJITFunction\nVcreate_binder\ntR"
INTERPRETER = b"ctorch.fx.interpreter\nInterpreter\n)\x81"


@pytest.mark.parametrize(
    ("data", "strange"),
    [
        # A method that is held is called by what calls what it is made of.
        (CONSTEXPR + GETATTR + b"(" + HELD + b"tR)R.", "triton.language.core.constexpr.__call__"),
        (b"cbuiltins\nstr\n(Nt\x85R.", "builtins.str()"),
        # Attributes that the next opcode calls.
        (INTERPRETER + b"}(Vappend\nNub.", "torch.fx.interpreter.Interpreter.append"),
        (
            INTERPRETER + b"N}(V__setstate__\nNu\x86b.",
            "torch.fx.interpreter.Interpreter.__setstate__",
        ),
        # Text that sympy evaluates, also within.
        (
            b"csympy.functions.elementary.complexes\nAbs\n(Vos\ntR.",
            "sympy.functions.elementary.complexes.Abs.sympify",
        ),
        (b"csympy.core.containers\nTuple\n(((Vos\ntltR.", "sympy.core.containers.Tuple.sympify"),
        # What modules of PyTorch have imported, and what makes classes.
        (b"ctorch.fx._symbolic_trace\nFunctionType\n.", "torch.fx._symbolic_trace.FunctionType"),
        (b"ctorch.fx._symbolic_trace\nCodeType\n.", "torch.fx._symbolic_trace.CodeType"),
        (b"csympy.core.function\nFunctionClass\n.", "sympy.core.function.FunctionClass"),
    ],
)
def test_what_would_run_something_is_strange(data: bytes, strange: str) -> None:
    found = named.facts("fxgraph", {"data": b"\x80\x04" + data})
    assert strange in found["strange"]


def test_what_stands_in_itself_a_thousand_times_is_looked_at_once() -> None:
    lists = b"".join(
        b"]q%c(" % level + b"h%c" % (level - 1) * 1000 + b"e0" for level in range(1, 10)
    )
    data = b"\x80\x04]q\x000" + lists + b"csympy.core.containers\nTuple\n(h\tVos\ntR."
    found = named.facts("fxgraph", {"data": data})
    assert found["strange"] == ["sympy.core.containers.Tuple.sympify"]


def test_symbols_are_no_text_that_is_evaluated() -> None:
    data = b"\x80\x04csympy.core.symbol\nSymbol\n(Vs0\ntR."
    assert named.facts("fxgraph", {"data": data})["strange"] == []


def test_a_pickle_that_fails_before_it_names_anything_is_not_all_looked_through() -> None:
    """As one does that asks for more memory than a reader has."""
    assert named.facts("fxgraph", {"data": b"\x80\x04N\x86cposix\nsystem\n."})["more"]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"), ("posix", "system"), ("subprocess", "Popen"), ("builtins", "eval"),
        ("builtins", "exec"), ("builtins", "getattr"), ("builtins", "__import__"),
        ("torch._inductor.codecache", "PyCodeCache"), ("torch._inductor.codecache", "os.system"),
        ("torch._inductor.codecache", "CppCodeCache.load"),
        ("torch._inductor.utils", "run_and_get"),
        ("torch._inductor.compile_worker.subproc_pool", "SubprocPool"),
        ("torch._dynamo.package", "Popen"), ("sympy.parsing.sympy_parser", "parse_expr"),
        ("sympy.core.sympify", "sympify"), ("torch", "load"), ("torch.serialization", "load"),
        ("torch._inductor.evil", "Path"), ("torch_inductor", "CompiledFxGraph"),
        ("functools", "partial"), ("pathlib", "Path"), ("torch.hub", "Load"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_what_pytorch_never_names_is_strange(module: str, name: str, depth: int) -> None:
    data = named_in(module, name)
    for _ in range(depth):
        data = pickle.dumps({"a": [data, 1]})
    told = read.read("fxgraph" + read.NAMED, ["x"], {"x": data}, False)
    assert told["strange"] == [f"{module}.{name}"]
    assert told["pickles"] == depth + 1


def test_what_comes_after_a_pickle_and_what_is_broken_is_looked_at_too() -> None:
    after = pickle.dumps(1) + named_in("os", "system")
    assert named.facts("pgo", {"x": after})["strange"] == ["os.system"]
    broken = named_in("os", "system")[:-1]
    told = named.facts("pgo", {"x": broken})
    assert (told["strange"], told["more"]) == (["os.system"], True)
    assert named.facts("ondisk", {"x": b"\0\0\0\0" + named_in("os", "system")})["strange"]
    assert named.facts("pgo", {"x": b""})["globals"] == []


def test_a_look_through_what_never_ends_is_ended() -> None:
    wide: Any = [b"\x80\x04."] * 10
    for _ in range(30):
        wide = [wide, wide]  # 2**30 ways, 30 objects
    assert not named.facts("pgo", {"x": pickle.dumps(wide)})["more"]
    many = named.facts("pgo", {"x": pickle.dumps([pickle.dumps(n) for n in range(2000)])})
    assert many["more"]
    long = named.facts("pgo", {"x": pickle.dumps(list(range(400_000)))})
    assert long["more"]


def test_a_listing_carries_what_is_strange_and_words_say_it(tmp_path: Path) -> None:
    (tmp_path / "dynamo").mkdir()
    hostile = pickle.dumps({"a": Calls(pickle.loads, (b"\x80\x04N.",))})
    (tmp_path / "dynamo" / "code_state_job_0_.pkl").write_bytes(hostile)
    told = read.read("pgo", ["x"], {"x": hostile}, False)
    assert told["strange"] == ["_pickle.loads"]
    with Engine() as engine:
        found = engine.call("runnable", {"place": str(tmp_path)})
    assert found["strange"] == 1
    assert dict(lines(found))["runs"] == "pgo: 2 pickles"
    assert "1 of which PyTorch never uses: _pickle.loads (pgo job_0_)" in names(found)
    assert "_pickle.loads" in warning(found)


def test_what_of_another_compilers_cache_could_run_is_told(serving: Path, tmp_path: Path) -> None:
    digest = "a" * 64
    tuned = tmp_path / "tilelang" / "0.1" / "linux-x86_64" / "autotuner" / digest
    tuned.mkdir(parents=True)
    (tuned / "latency.json").write_text('{"latency": 1}')
    (tuned / "function.pkl").write_bytes(named_in("posix", "system"))
    (tuned / "kernel.py").write_text("")
    with Engine() as engine:
        found = engine.call("runnable", {"place": str(tmp_path)})
        assert lines(found)[0][1] == "jit: 1 pickle and 1 source"
        assert "posix.system" in warning(found)
        real = engine.call("runnable", {"place": str(serving)})
    assert warning(real) == ""
    (jit,) = (one for one in real["kinds"] if one["kind"] == "jit")
    assert (jit["pickles"], jit["unread"]) == (1, 0)
    # The builds of FlashInfer and the like, of which ninja runs the commands, are some of them.
    paths = [path.name for path in serving.rglob("*")]
    builds = paths.count("build.ninja")
    assert 0 < builds < jit["sources"]
    assert jit["sources"] > sum(path.endswith((".cu", ".cpp", ".py")) for path in paths)
