"""What is printed, apart from where it comes from."""

from __future__ import annotations

import json
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from torchkeeper.cli.contract import schema_of
from torchkeeper.cli.output import begin, json_lines

SCHEMA = schema_of("ls")

_texts = st.text('},{" :kind\\n\u2028é', max_size=20)
_objects = st.tuples(_texts, _texts, st.none() | st.floats())


@given(st.lists(_objects, max_size=6))
def test_many_objects_are_printed_as_each_alone(
    values: list[tuple[str, str, float | None]],
) -> None:
    begin("ls")
    objects = [dict(zip(("kind", "kin", "n"), some, strict=True)) for some in values]
    assert json_lines(objects) == [json.dumps({"schema": SCHEMA, **one}) for one in objects]


def test_a_text_that_looks_like_the_next_object_does_not_end_one() -> None:
    begin("ls")
    odd = [{"kind": '}, {"kind": "x"}'}, {"kind": "}, {"}, {"kind": '\\"}, {"kind": '}]
    assert json_lines(odd) == [json.dumps({"schema": SCHEMA, **one}) for one in odd]


def test_to_list_loads_nothing_of_signatures() -> None:
    code = (
        "import sys; import torchkeeper.cli.looking; "
        "late = ('torchkeeper.client.signers', 'torchkeeper.stores.folders.owners'); "
        "print([x for x in late if x in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
