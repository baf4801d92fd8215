"""Whether native code suits a CPU: how wide its vectors are, what it is built for and links."""

from __future__ import annotations

import pytest

from torchkeeper.verdict import native
from torchkeeper.verdict.native import Code
from torchkeeper.verdict.probed import Env


@pytest.mark.parametrize(
    ("widths", "asked", "here", "state"),
    [
        (None, None, 512, None),
        (None, None, None, None),
        ("512", None, 512, None),
        ("512", None, 256, "unsafe"),
        ("256", None, 512, "unsafe"),
        ("256 512", None, 512, "unknown"),
        ("256 512", None, 128, "unsafe"),
        ("", None, 512, "unknown"),
        ("512", None, None, "unknown"),
        # Without vector instructions, templates make do with arrays of 256 bits.
        ("512", None, 0, "unsafe"),
        ("256", None, 0, "unknown"),
        # A program that asks for narrower vectors gets them, and for wider ones nothing.
        ("256", "256", 512, None),
        ("512", "512", 256, "unsafe"),
        ("512", "None", 512, None),
        ("256", "much", 512, "unsafe"),
    ],
)
def test_loops_suit_vectors_of_their_width(
    widths: str | None, asked: str | None, here: int | None, state: str | None
) -> None:
    said = native.width(Code(widths), asked, {"vector_bits": here})
    assert (said[0] if said else None) == state


HERE = {"vector": ["avx", "avx2", "fma"]}


@pytest.mark.parametrize(
    ("objects", "env", "state"),
    [
        (["avx avx2"], HERE, None),
        ([""], HERE, None),
        (["avx avx512f"], HERE, "unsafe"),
        ([None], HERE, "unknown"),
        # One of them is taken, and nobody knows which.
        (["avx", "avx512f"], HERE, "unknown"),
        (["avx512f", "avx512bw"], HERE, "unsafe"),
        # A CPU may have what its system does not name yet.
        (["avx avx_ifma"], HERE, "unknown"),
        (["avx"], {"vector": []}, "unknown"),
        (["avx"], {}, "unknown"),
    ],
)
def test_objects_run_where_their_instructions_are(
    objects: list[str | None], env: Env, state: str | None
) -> None:
    said = native.objects(Code(objects=frozenset({frozenset(objects)})), env)
    assert [one for one, _ in said] == ([state] if state else [])


def test_what_triton_links_is_to_be_the_same() -> None:
    libs = Code(libs="libdevice-abc")
    assert native.libraries(Code(), {}) is None
    assert native.libraries(libs, {"triton_libs": "libdevice-abc"}) is None
    assert native.libraries(libs, {"triton_libs": "libdevice-def"}) == "stale"
    assert native.libraries(libs, {"triton_libs": None}) == "unknown"
    assert native.libraries(libs, {}) == "unknown"
