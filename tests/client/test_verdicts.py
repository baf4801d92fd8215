"""Verdicts in words: what a condition is, and what a program does to meet it."""

from __future__ import annotations

import pytest

from torchkeeper.client.words import verdicts
from torchkeeper.verdict.probed import DifferenceTold, VerdictTold

HEADERS = "inductor_config[cpp_cache_precompile_headers]"


@pytest.mark.parametrize(
    ("factor", "entry", "here", "said"),
    [
        ("cpp_runtime_thread_count", "2", "4",
         "threads 2, here 4: set OMP_NUM_THREADS=2 or torch.set_num_threads(2)"),
        (HEADERS, "False", "True",
         "precompiled headers False, here True: "
         "set TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS=0 where the program runs"),
        (HEADERS, "True", "False",
         "precompiled headers True, here False: "
         "set TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS=1 where the program runs"),
        # What strangers say is repeated as a value, and not as what is to be done.
        ("cpp_runtime_thread_count", "2; rm -rf ~", "4", "threads 2; rm -rf ~, here 4"),
        ("inductor_config[max_autotune]", "True", "False", "max_autotune True, here False"),
    ],
)  # fmt: skip
def test_a_condition_says_what_to_do(factor: str, entry: str, here: str, said: str) -> None:
    one: DifferenceTold = {"factor": factor, "entry": entry, "here": here}
    row: VerdictTold = {"verdict": "conditional", "reasons": [], "conditions": [one]}
    verdict, why = verdicts.told(row)
    assert (verdict, why) == ("conditional", f"if the program has {said}")
    assert why.conditions == [said]
    assert verdicts.told({**row, "verdict": "stale", "reasons": [one]})[1].reasons == [
        said.partition(": set")[0]
    ]
