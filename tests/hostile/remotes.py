"""What may lie in a Redis that others write to: keys and values."""

from __future__ import annotations

import base64
import json
from random import Random

from tests.hostile import facts, mutations, pickles, values
from tests.hostile.listing import HEX, KEY

FORMATS = (
    "triton:{key}:{filename}", "{key}", "{key}{filename}", "{filename}:{key}", "{{{key}}}",
    "{key!r}", "{key.__class__}", "{0}", "{", "}", "{key:>1000000000}", "a" * 1000,
    "{key}" * 50 + "{filename}", "{key[0]}{filename}", "(.*)*{key}(x+x+)+{filename}",
    "\0{key}\n{filename}",
)  # fmt: skip


def key(chance: Random) -> bytes:
    """A key of PyTorch's or Triton's, or nearly so."""
    text = values.text(chance)
    made = chance.choice((
        f"pt2:fx-graph-v1::f{KEY}:c1", f"pt2:autograd-experimental::a{KEY}:c1",
        f"pt2:dynamo-pgo::{text}:c1", "pt2:dynamo-pgo::a:0:b:c1", "pt2:dynamo-pgo::a_0_b:c1",
        "pt2:dynamo-pgo::a/0/b:c1", f"pt2:{HEX}::{HEX}:c1", f"pt2:bundled-autotune-v1::{HEX}:c1",
        f"pt2:fx-graph-v1::{text}:c1", f"pt2:{text}", f"triton:{'A' * 52}:k.json",
        f"triton:{'A' * 52}:k.cubin", f"triton:{'A' * 52}:__grp__k.json",
        f"triton:{'A' * 52}:{text}", f"triton:{text}:k.json",
        f"triton:{'B' * 52}:{text}.json", text,
    ))  # fmt: skip
    return made.encode("utf-8", "surrogatepass")


def value(chance: Random, size: int, trip: str) -> bytes:
    """A value, seldom a good one."""
    how = chance.randrange(8)
    payload = chance.choice(pickles.gadgets(trip)) + b"."
    data = base64.b64encode(payload).decode()
    good = {"data": data, "time_taken_ms": 1}
    if how == 0:
        return chance.choice(values.ODD_JSON)
    if how == 1:
        return values.as_json(values.changed(good, chance, size))
    if how == 2:
        return mutations.mutated(json.dumps(good).encode(), chance, size, payload)
    if how == 3:
        return facts.json_of(chance.choice(("triton", "group", "autotune")), chance, size)
    if how == 4:
        names = [values.text(chance) for _ in range(size)]
        return values.as_json({"child_paths": chance.choice((names, dict.fromkeys(names, trip)))})
    if how == 5:
        return payload
    return json.dumps(good).encode()
