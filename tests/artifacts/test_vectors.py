"""Which vectors C++ code is for: by its text, and by what its compiler was told."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchkeeper.artifacts import code, inert
from torchkeeper.verdict.machine import cpu_flags, vector_instructions


def loads(*statements: str) -> str:
    return "\n".join(f"auto tmp{n} = at::vec::{text};" for n, text in enumerate(statements))


FLOATS_16 = "Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16))"
FLOATS_8 = FLOATS_16.replace("(16)", "(8)")
STEP = "for(int64_t x0=static_cast<int64_t>(0L); x0<99; x0+=static_cast<int64_t>({}L))"


@pytest.mark.parametrize(
    ("source", "widths"),
    [
        ("out_ptr0[x0] = tmp0 + tmp1;", None),
        (loads(FLOATS_16), "512"),
        # Half of a wider vector, unless a loop says that it is a whole one.
        (loads(FLOATS_8), "256 512"),
        (STEP.format(8) + loads(FLOATS_8), "256"),
        (STEP.format(4) + loads(FLOATS_8.replace("(8)", "(4)")), "128"),
        (STEP.format(1) + loads(FLOATS_8), "256 512"),
        (loads("VectorizedN<int64_t,2>::loadu(p, static_cast<int64_t>(16))"), "512"),
        (STEP.format(16) + loads("Vectorized<bfloat16>::loadu(p, static_cast<int64_t>(16))"),
         "256 512"),
        (loads("VecMask<float,1>::from(p, static_cast<int64_t>(16))"), "512"),
        ("#pragma omp simd simdlen(16) \n" + loads("Vectorized<float>(tmp1)"), "512"),
        (loads("Vectorized<float>(tmp1)"), "128 256 512"),
        # What contradicts itself was not understood.
        (STEP.format(8) + loads(FLOATS_16), ""),
        ("AMXState amx_state; at::vec::Vectorized<float> x;", ""),
    ],
)  # fmt: skip
def test_loops_tell_how_wide_vectors_are(source: str, widths: str | None) -> None:
    assert code.widths(source) == widths


def test_what_torch_wrote_tells(kept_291: Path) -> None:
    found = {
        code.widths(str(inert.fields(inert.load(path.read_bytes()))["source_code"]))
        for path in kept_291.glob("fxgraph/*/*/*")
    }
    assert found == {"512"}
    # Without debug information, nothing says what the objects were built for.
    objects = list(kept_291.glob("*/*.so"))
    assert objects
    assert {code.instructions(path.read_bytes()) for path in objects} == {None}


@pytest.mark.parametrize(
    ("options", "used"),
    [
        (["-g1", "-march=x86-64"], ""),
        (["-g1", "-march=x86-64-v3"], "avx avx2 bmi1 bmi2 f16c fma sse4_1 sse4_2"),
        (["-g1", "-march=x86-64", "-mavx512f", "-mavx512vnni"], "avx512_vnni avx512f"),
        (["-g1", "-march=x86-64-v3", "-mno-fma"], "avx avx2 bmi1 bmi2 f16c sse4_1 sse4_2"),
        # A CPU by its name is not a list of what it can do.
        (["-g1", "-march=skylake"], None),
        (["-march=x86-64-v3"], None),
    ],
)
def test_objects_tell_what_their_compiler_was_told(
    options: list[str], used: str | None, tmp_path: Path
) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("the options are those of another processor")
    assert code.instructions(built_with(tmp_path, *options)) == used


def built_with(folder: Path, *options: str) -> bytes:
    source, built = folder / "a.cpp", folder / "a.so"
    source.write_text("int f() { return 1; }\n")
    subprocess.run(["g++", "-shared", "-fPIC", *options, source, "-o", built], check=True)
    return built.read_bytes()


def test_native_is_what_this_machine_can(tmp_path: Path) -> None:
    data = built_with(tmp_path, "-g1", "-march=native")
    used = code.instructions(data)
    assert used is not None
    assert set(used.split()) <= set(vector_instructions(cpu_flags()))
    if platform.machine() == "x86_64":
        # All that the compiler found on this CPU has the name that Linux gives it.
        sets = code.instruction_sets(data)
        assert sets is not None
        assert {"cx16", "fxsr", "pni", "popcnt", "sse2", *used.split()} <= sets <= set(cpu_flags())


@pytest.mark.parametrize(
    ("options", "sets"),
    [
        (["-g1", "-march=x86-64"], {"fxsr", "mmx", "sse", "sse2"}),
        (["-g1", "-march=x86-64-v2", "-mno-sahf", "-mred-zone"],
         {"cx16", "fxsr", "mmx", "pni", "popcnt", "sse", "sse2", "sse4_1", "sse4_2", "ssse3"}),
        (["-g1", "-march=x86-64", "-mpclmul", "-mprfchw", "-mshstk", "-mrdrnd"],
         {"3dnowprefetch", "fxsr", "mmx", "pclmulqdq", "sse", "sse2"}),
        # Linux takes these away from CPUs that have them; only hand-written code would use them.
        (["-g1", "-march=x86-64", "-mxsave", "-mxsaveopt", "-mxsavec", "-mxsaves", "-mrdseed",
          "-mrdrnd", "-mfsgsbase", "-mclzero", "-mwbnoinvd", "-mmwait", "-mmwaitx", "-maes"],
         {"aes", "fxsr", "mmx", "sse", "sse2"}),
        # A set that is not known here has to be had, by its name.
        (["-g1", "-march=x86-64", "-mgeneral-regs-only"],
         {"fxsr", "general_regs_only", "mmx", "sse", "sse2"}),
        (["-g1", "-march=skylake"], None),
        (["-g1", "-march=skylake", "-mno-fma"], None),
        (["-march=x86-64-v3"], None),
    ],
)  # fmt: skip
def test_objects_tell_every_set_of_instructions(
    options: list[str], sets: set[str] | None, tmp_path: Path
) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("the options are those of another processor")
    assert code.instruction_sets(built_with(tmp_path, *options)) == sets


def test_sets_of_another_processor_are_not_told() -> None:
    arm = b"GNU C++17 12.2.0 -march=armv8.4-a+sve+bf16 -mlittle-endian -g1\0"
    assert code.instructions(arm) == "bf16 sve"
    assert code.instruction_sets(arm) is None
    both = b"GNU C17 -march=x86-64-v2\0 GNU C++17 -march=skylake\0"
    assert code.instruction_sets(both) is None
    assert code.instruction_sets(b"GNU C17 -march=x86-64-v3 cut off") is None


@given(st.binary(max_size=300), st.text(max_size=300))
def test_anything_is_read(data: bytes, text: str) -> None:
    code.instructions(b"GNU C++17 -march=x86-64 " + data)
    code.instruction_sets(b"GNU C++17 -march=x86-64 " + data + b"\0")
    code.widths("at::vec::" + text)


def test_long_texts_take_no_time() -> None:
    code.widths("at::vec::" + "Vectorized<float>::loadu(" * 100_000)
    code.widths("at::vec::" + "; x0 += " * 200_000)
    code.instructions(b"GNU C" * 500_000)
    code.instruction_sets(b"GNU C" * 500_000)


def test_of_several_objects_that_are_loaded_together_all_count() -> None:
    older = b"GNU C++17 -march=x86-64-v2\0"
    newer = b"GNU C++17 -march=x86-64-v3 -mavx512f\0"
    for texts in ({"a.so": newer, "b.so": older}, {"a.so": older, "b.so": newer}):
        found = code.facts(texts, full=False)
        assert {"avx512f", "popcnt"} <= set(found["requires"] or ())
        assert "avx512f" in str(found["instructions"]).split()
    for texts in ({"a.so": b"", "b.so": older}, {"a.so": older, "b.so": b""}):
        found = code.facts(texts, full=False)
        assert (found["requires"], found["instructions"]) == (None, None)
