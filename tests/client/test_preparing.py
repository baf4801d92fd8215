"""What is said of an environment that was prepared, and of a portable cache."""

from __future__ import annotations

from typing import Any

from torchkeeper.client.words import preparing

FOLDER = "/tmp/torchinductor_me/precompiled_headers"


def test_what_was_done() -> None:
    answer: Any = {"built": 1, "there": 0, "bytes": 155_769_632, "seconds": 9.96, "folder": FOLDER}
    assert preparing.said(answer) == f"1 header built in 10.0 s: 156 MB in {FOLDER}."
    both: Any = {**answer, "there": 1}
    assert preparing.said(both) == f"1 header built in 10.0 s, 1 there already: 156 MB in {FOLDER}."
    there: Any = {**answer, "built": 0, "there": 1}
    assert preparing.said(there) == f"Prepared already: 1 header, 156 MB, in {FOLDER}."
    assert "user me whose temporary folder is /tmp find" in preparing.finds(answer)
    assert preparing.warning(answer | {"user": None}) == ""
    odd: Any = {**answer, "user": "a b", "folder": "/tmp/torchinductor_a b/precompiled_headers"}
    assert preparing.warning(odd).endswith("chown -R 'a b' '/tmp/torchinductor_a b'")


def test_what_a_portable_cache_asks_for() -> None:
    assert preparing.SNIPPET == "export TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS=0"
    assert preparing.portable_lines()[-1].strip() == preparing.SNIPPET
    assert "OMP_NUM_THREADS=4" in preparing.threads(4)
    assert preparing.threads(1).startswith("Compiled for 1 thread:")
