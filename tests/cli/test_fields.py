"""What commands print as JSON is what is documented, field by field, and all of that is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Ran
from torchkeeper.cli import contract
from torchkeeper.cli.fields import ERROR, PRINTED, Line
from torchkeeper.engine.protocol import misfit


def unfit(line: Line, body: dict[str, Any]) -> list[str]:
    """What of a line of JSON is not as it is documented."""
    kinds = line.fields()
    wrong = [f"{name} is not documented" for name in body if name not in kinds]
    wrong += [f"{name} is missing" for name in line.always() - body.keys()]
    return wrong + [said for name, kind in kinds.items()
                    if name in body and (said := misfit(kind, body[name], name))]  # fmt: skip


def told(command: str, ran: Ran) -> Iterator[tuple[Line, dict[str, Any]]]:
    """Each line that was printed, as the documented one that it fits."""
    for row in map(json.loads, ran.out.splitlines()):
        assert row.pop("schema") == contract.schema_of(command)
        wrong = []
        for line in (*PRINTED[command], ERROR):
            if (body := row if not line.inside else row.get(line.inside)) is not None:
                if not (why := unfit(line, body)):
                    yield line, body
                    break
                wrong.append((line.what, why))
        else:
            pytest.fail(f"{command}: {wrong}")
