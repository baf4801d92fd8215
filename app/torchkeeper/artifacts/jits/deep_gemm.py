"""DeepGEMM: csrc/jit/compiler.hpp (``Compiler::build``) and kernel_runtime.hpp of
github.com/deepseek-ai/DeepGEMM; since 2026 include/deep_jit/cache/disk.hpp of sgl-deep-gemm 0.2.5,
which marks an entry that is whole. The digest is over the compiler, its flags and the source; older
versions have the path of the installed headers among the flags. DeepEP has the same code.
"""

from __future__ import annotations

from torchkeeper.artifacts.jits.form import HEX32, Cache, Form

_FILES = r"kernel\.(?:cu|cubin|ptx|sass)"
_ELF = r"\x7fELF"
_WORD = r"[A-Za-z0-9_]{1,200}"

FORMS = (
    Form(rf"cache/kernel\.(?P<name>{_WORD})\.(?P<key>{HEX32})", _FILES,
         r"\g<entry>/kernel.cubin", _ELF),
    Form(rf"cache/(?!kernel\.{_WORD}\.)(?P<name>{_WORD})\.(?P<key>{HEX32})",
         rf"{_FILES}|\.committed", r"\g<entry>/.committed", r"\Z"),
    Form(r"tmp/\d{1,10}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}", rf"{_FILES}|\.committed",
         kind="lock"),
    # sglang/srt/layers/deep_gemm_wrapper/compile_utils.py
    Form("locks", r"[A-Z][A-Z0-9_]{1,80}_n\d+_k\d+_g\d+\.lock", kind="lock", each=True),
)  # fmt: skip

CACHE = Cache(
    "DeepGEMM",
    (
        "$DG_JIT_CACHE_DIR", "$DJ_JIT_CACHE_DIR", "$SGLANG_DG_CACHE_DIR",
        "$VLLM_CACHE_ROOT/deep_gemm", "$SGLANG_CACHE_DIR/deep_gemm", "~/.deep_gemm", "~/.dj",
        "$XDG_CACHE_HOME/vllm/deep_gemm", "~/.cache/vllm/deep_gemm", "~/.cache/sglang/deep_gemm",
    ),
    r"\.?deep_gemm|\.dj",
    "deep_gemm",
    FORMS,
    r"/deep_gemm[/_]",
    r"#include <deep_gemm/",
)  # fmt: skip
