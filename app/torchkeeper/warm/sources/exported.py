"""An exported program (``torch.export.save``), compiled and run once.

It warms only programs that compile ``torch.export.load(file).module()`` as this does.
"""

from __future__ import annotations

import os
import traceback
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.child import said
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.sources import Work, running


def make(variant: Variant, device: str, _: Any) -> Work:
    """The program's module on the device, with its own example inputs where none are named. Loading
    runs what the file says, as every program does that uses it. Raises
    Problem("exported-unreadable") and Problem("inputs-refused").
    """
    import torch  # noqa: TID251

    file = os.path.join(variant.folder or os.getcwd(), variant.item["file"])
    try:
        program: Any = torch.export.load(file)
    except Exception as e:
        traceback.print_exc()
        raise Problem("exported-unreadable", file=file, why=said(e)) from e
    held = [*program.state_dict.values(), *program.constants.values()]
    if program.example_inputs is not None:
        held += running.tensors(program.example_inputs)
    kinds = {one.device.type for one in held if isinstance(one, torch.Tensor)}
    if kinds - {torch.device(device).type}:
        from torch.export import passes  # noqa: TID251

        program = passes.move_to_device_pass(program, device)
    what, item = program.module(), variant.item
    with running.blamed(variant):
        if "inputs" in item or item.get("keywords") or "calls" in item:
            calls = running.calls(variant, device, lambda _: what)
        else:
            if (example := program.example_inputs) is None:
                raise Problem("inputs-refused", why="The file has no example inputs", where=file)
            given = what, list(example[0]), dict(example[1])
            calls = [
                running.Call(*given, variant.backward, variant.grad, autocast=variant.autocast)
            ]
    return running.work(variant, device, calls)
