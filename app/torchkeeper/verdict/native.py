"""Whether the C++ code of an entry, and what was built of it, suits a CPU.

No key of PyTorch's holds what decides that: an entry for another CPU is found, and computes
nonsense or ends the program. It is unsafe, not stale.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchkeeper.verdict.probed import Env

#: Instructions that every Linux of these years names; others it may have and not name.
_NAMED = frozenset(
    {"sse4_1", "sse4_2", "avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "sve", "sve2", "i8mm"}
    | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512ifma", "avx512vbmi"}
    | {"avx512_vbmi2", "avx512_vnni", "avx512_bitalg", "avx512_vpopcntdq", "bf16"}
)
#: What stands for a CPU, from the best on.
_CLASSES = ("amx_tile", "avx512f", "avx2", "avx", "sse4_2", "sve2", "sve", "asimd")


@dataclass(frozen=True)
class Code:
    """The native code of an entry. widths: as of artifacts.code.widths, None where its C++ has
    no vectors. objects: what was built of it, each as of artifacts.code.instructions, None where
    that does not say; of one kernel there may be several, of which one is taken. libs: what is
    linked into its Triton kernels, None where that does not matter.
    """

    widths: str | None = None
    objects: frozenset[frozenset[str | None]] = frozenset()
    libs: str | None = None

    @property
    def compiled(self) -> bool:
        """Whether some of it is C++."""
        return self.widths is not None or bool(self.objects)


#: One of a difference: what the entry has and what is here.
Found = tuple[str | None, str | None]


def libraries(code: Code, env: Env) -> str | None:
    """What other libraries than Triton would link here make of an entry, "stale" or "unknown"; None
    for the same. Source: FxGraphCache._lookup_graph in torch/_inductor/codecache.py, which is then
    a miss.
    """
    if code.libs is None or code.libs == (here := env.get("triton_libs")):
        return None
    # Without a Triton, or where a probe could not tell, nothing is certain; a GPU that is missing
    # decides by itself.
    return "unknown" if here is None else "stale"


def width(code: Code, simdlen: str | None, env: Env) -> tuple[str, Found] | None:
    """("unsafe" | "unknown", what differs) for code of another width of vectors, else None.
    simdlen: the width that the program asked for, if so; which is then also asked for here.
    """
    if code.widths is None:
        return None
    here = env.get("vector_bits")
    if here is None:
        return "unknown", (_bits(code.widths), None)
    asked = int(simdlen) if simdlen and simdlen.isdecimal() and len(simdlen) < 6 else here
    own = [int(width) for width in code.widths.split()]
    if own == [asked] and asked <= here:
        return None
    # Without vector instructions, templates make do with arrays of 256 bits.
    other = min(own, default=0) > 256 if here == 0 else asked not in own or asked > here
    return "unsafe" if own and other else "unknown", (_bits(code.widths), _bits(str(here)))


def _bits(widths: str) -> str | None:
    return " or ".join(widths.split()) + " bits" if widths.strip() else None


def objects(code: Code, env: Env) -> list[tuple[str, Found]]:
    """("unsafe" | "unknown", what differs) for each kernel that this CPU may not run."""
    here = frozenset(env.get("vector", ()))
    found: dict[tuple[str, Found], None] = {}
    for kernel in code.objects:
        said = [_object(used, here) for used in kernel]
        bad = [one for one in said if one]
        if bad and len(bad) == len(said) and all(state == "unsafe" for state, _ in bad):
            found[bad[0]] = None
        elif bad:
            found["unknown", bad[0][1]] = None
    return list(found)


def _object(used: str | None, here: frozenset[str]) -> tuple[str, Found] | None:
    best = next((name for name in _CLASSES if name in here), None)
    if used is None:
        return "unknown", (None, best)
    lacking = set(used.split()) - here
    if not lacking:
        return None
    missing = sorted(lacking & _NAMED)
    if here and missing:
        return "unsafe", (" ".join(missing), best)
    return "unknown", (" ".join(sorted(lacking)), best)
