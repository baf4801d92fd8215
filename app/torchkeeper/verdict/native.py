"""Whether native code suits the CPU and the environment here: the C++ code of an entry, what was
built of it, and a built object of a bundle.

No key of PyTorch's holds what decides that: an entry for another CPU is found, and computes
nonsense or ends the program. It is unsafe, not stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from torchkeeper.artifacts.entry import Problem
from torchkeeper.verdict import machine
from torchkeeper.verdict.probed import Env, Native

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


#: One of a difference: what the entry has and what is here.
Found = tuple[str | None, str | None]


def libraries(code: Code, env: Env) -> str | None:
    """What other libraries than Triton would link here make of an entry, "stale" or "unknown"; None
    for the same. Others are a miss (FxGraphCache._lookup_graph in torch/_inductor/codecache.py).
    """
    if code.libs is None or code.libs == (here := env.get("triton_libs")):
        return None
    # Without a Triton, or an answer of a probe, nothing is certain; a missing GPU alone decides.
    return "unknown" if here is None else "stale"


def width(code: Code, simdlen: str | None, env: Env) -> tuple[str, Found] | None:
    """("unsafe" | "unknown", what differs) for code of another width of vectors, else None.
    simdlen: the width that the program asked for, if so; which is then also asked for here.
    """
    if code.widths is None:
        return None
    if (here := env.get("vector_bits")) is None:
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


# Whether a built object of a bundle may be placed where an environment finds it: by what is claimed
# of it, by what it records itself, and by what is here. Nothing is looked at.
#
# Its name tells less than what decides: the command says ``-march=native``, so that two CPUs share
# a name for different machine code, and the wrong one ends the program. Whatever is not certain to
# run here is left out; PyTorch then builds it anew, which takes time and harms nothing.

#: Words that are named of a command or a CPU, and characters of one: a manifest says what it likes.
_MAX_WORDS, _MAX_WORD = 6, 120
#: The name by which GCC was called, which it puts in front of its version.
_CALLED = re.compile(r"^\S+ (?=\()")
_LIBC = re.compile(r"(\w+) (\d{1,5})\.(\d{1,5})")
_UNKNOWN = "not known"


def why_not(
    claim: Mapping[str, object] | None, portable: str | None, own: frozenset[str] | None, here: Env
) -> Problem | None:
    """Why a built object must be left out, or None where it may be placed. claim: what a manifest
    says of where its objects were built (artifacts.builds.origin_from), None where it does not; its
    cpu_flags None where they are not those of the CPU that built this one (artifacts.builds.Build).
    portable: the text of the command that did (verdict.commands), None where that is not recorded.
    own: the instruction sets that it records itself (artifacts.code.instruction_sets), None
    where it does not. here: what a probe tells (verdict.environment), or of a machine alone
    ``{cpu_flags, libc}``: nothing gets another name then, and torch and commands do not matter.
    """
    if claim is not None:
        if problem := _other_maker(claim, portable, here.get("native")):
            return problem
        libc = here.get("libc")
        if _needs_newer_libc(claim.get("libc"), libc):
            there, now = (one or "another C library" for one in (claim.get("libc"), libc))
            return Problem("object-libc", there=str(there), here=str(now))
    said = claim.get("cpu_flags") if claim is not None and portable is not None else None
    return _other_cpu(said, own, here)


def _other_cpu(said: object, own: frozenset[str] | None, here: Env) -> Problem | None:
    """Why an object may not run on the CPU here. said: the flags of the CPU that it is said to be
    built on, None where nothing is said of that; own, here: as of ``why_not``.
    """
    flags = _set(here.get("cpu_flags"))
    if not flags:
        return Problem("object-unproven")
    claimed = None if said is None else _set(said)
    if own is None:
        return _same_cpu(claimed, flags)
    if own - flags:
        return Problem("object-cpu", differs=f"{_named(own - flags)} is missing here")
    if claimed is not None and own - claimed:
        return Problem("object-misclaimed", sets=_named(own - claimed))
    # A compiler records no more than it knows of a CPU; other flags differ between kernels of one.
    more = frozenset(machine.vector_instructions(sorted(claimed or ()))) - flags
    return Problem("object-cpu", differs=f"{_named(more)} is missing here") if more else None


def why_not_library(
    claim: Mapping[str, object] | None, own: frozenset[str] | None, here: Env
) -> Problem | None:
    """Why the library of an eager kernel must be left out, as ``why_not``: PyTorch itself looks at
    nothing but that it is there (load_aoti_eager_cache in torch/_inductor/aoti_eager.py). Its
    command does not matter, as it is found by a list, nor does Python, which it does not use.
    """
    if claim is not None:
        known = here.get("native") or {"torch": here.get("torch")}
        if known.get("torch") and claim.get("torch") != known["torch"]:
            return _differing("object-torch", claim.get("torch"), known["torch"])
        if known.get("torch_key") and claim.get("torch_key") != known["torch_key"]:
            return _differing("object-torch", _sources(claim), _sources(known))
        if _needs_newer_libc(claim.get("libc"), here.get("libc")):
            return _differing("object-libc", claim.get("libc"), here.get("libc"))
    return _other_cpu(None if claim is None else claim.get("cpu_flags"), own, here)


def _other_maker(
    claim: Mapping[str, object], portable: str | None, native: Native | None
) -> Problem | None:
    """Who made it in another way than this environment would, as far as both are told."""
    if portable is None or native is None:
        return None
    if claim.get("torch") != native.get("torch"):
        return _differing("object-torch", claim.get("torch"), native.get("torch"))
    if claim.get("torch_key") != native.get("torch_key"):
        return _differing("object-torch", _sources(claim), _sources(native))
    if claim.get("python") != native.get("python"):
        return _differing("object-python", claim.get("python"), native.get("python"))
    there, here = claim.get("compiler"), native.get("compiler")
    if _version(there) != _version(here):
        return _differing("object-compiler", there, here)
    commands = [one["portable"] for one in native.get("commands", ())]
    if portable not in commands:
        return Problem("object-command", differs=_difference(portable, commands))
    return None


def _differing(code: str, there: object, here: object) -> Problem:
    return Problem(code, there=str(there or _UNKNOWN), here=str(here or _UNKNOWN))


def _sources(native: Mapping[str, object]) -> str:
    return f"{native.get('torch')} (sources {str(native.get('torch_key'))[:12]})"


def _version(compiler: object) -> str:
    return _CALLED.sub("", str(compiler or _UNKNOWN))


def _difference(portable: str, commands: Iterable[str]) -> str:
    """The first words in which a command differs from the one here that is most like it."""
    words = portable.split()
    likeness = {text: set(text.split()) for text in commands}
    if not likeness:
        return _first(words)
    nearest = min(likeness, key=lambda text: len(likeness[text] ^ set(words)))
    there = [word for word in words if word not in likeness[nearest]]
    here = [word for word in nearest.split() if word not in set(words)]
    return f"{_first(there) or 'nothing'}, here {_first(here) or 'nothing'}"


def _first(words: Sequence[str]) -> str:
    return " ".join(word[:_MAX_WORD] for word in words[:_MAX_WORDS])


def _needs_newer_libc(there: object, here: object) -> bool:
    """Whether a C library (as of machine.libc) is newer than the one here or another one."""
    if there == here:
        return False
    found = [_LIBC.match(str(one or "")) for one in (there, here)]
    if not (found[0] and found[1]) or found[0][1] != found[1][1]:
        return True
    newer, older = ((int(one[2]), int(one[3])) for one in found if one)
    return newer > older


def _same_cpu(claimed: frozenset[str] | None, flags: frozenset[str]) -> Problem | None:
    """One that records nothing may use all that the CPU could that it was built on."""
    if not claimed:
        return Problem("object-unproven")
    if claimed == flags:
        return None
    lacking, more = claimed - flags, flags - claimed
    said = [f"{_named(lacking)} is missing here"] if lacking else []
    said += [f"{_named(more)} is only here"] if more else []
    return Problem("object-cpu", differs=" and ".join(said))


def _set(flags: object) -> frozenset[str]:
    return frozenset(map(str, flags)) if isinstance(flags, (list, tuple)) else frozenset()


def _named(flags: frozenset[str]) -> str:
    listed = sorted(flags)
    more = f" and {len(listed) - _MAX_WORDS:,} more" if len(listed) > _MAX_WORDS else ""
    return _first(listed) + more
