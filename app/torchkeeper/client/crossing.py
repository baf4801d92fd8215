"""Entries that go from one machine to another: by way of a bundle, which is made where they are,
goes over the connection, and is placed where they are to be.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from torchkeeper.client import temporary
from torchkeeper.client.engines import far, ferry, line
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine.protocol import HAND_OVER, RESUME
from torchkeeper.stores.names import SUFFIX, scheme_of
from torchkeeper.stores.ssh import parse

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Secrets

Given = TypeVar("Given")


def copy(
    source: str, target: str, filter: str | None, secrets: Secrets | None,
    make: Callable[[str, Secrets | None], int], give: Callable[[str, str, bool], Given],
    told: ferry.Told = lambda *_: None, hand: Callable[[str, str], None] | None = None,
) -> Given:  # fmt: skip
    """What ``give`` says of a copy. make: has an engine of the source write a bundle; its bytes.
    give: has one of the target copy a bundle, of which it hears the file here, what that is called
    there, and whether an environment here is to name the objects in it. hand: carries a bundle of
    one machine to another, to a new file there, instead of us. Raises UserError.
    """
    machine, to = far.machine_of(source), far.machine_of(target)
    if hand:
        made, there = ferry.name(machine), ferry.name(to)
        try:
            make(made, secrets)
            hand(made, there)
            return give(there, there, False)
        finally:
            ferry.drop([made, there])
    here = not to and scheme_of(target).becomes(target) == "folder"
    with temporary.folder("crossing") as folder:
        file = source
        if filter or not os.path.isfile(source):
            file = os.path.join(folder, f"bundle{SUFFIX}")
            made = ferry.name(machine) if machine else file
            # What comes to a folder of the user's is read by nobody else.
            size = make(made, "allow" if here else secrets)
            if machine:
                ferry.fetch(made, file, size, told=told)
        with ferry.sent(to, [file], told) if to else nullcontext({file: file}) as sent:
            return give(file, sent[file], here)


def hand_over(ask: Callable[..., Any], ask_there: Callable[..., Any], made: str, name: str) -> None:
    """Have a machine send a file to a new one on another, by its own ssh. ask, ask_there: asks an
    engine of each for an operation. Raises UserError.
    """
    source, to = parse(made).machine, parse(name)
    why = tr("Its ssh ended well, but the file is not there. The name may be another machine’s "
             "there, or the key may start another program.")  # fmt: skip
    try:
        sent = ask(HAND_OVER, path=made, to=name)["pieces"]
        if sent == ask_there(RESUME, path=name).get("pieces"):
            return
    except UserError as e:
        if e.code not in ("ssh-direct", "output-unwritable"):
            raise
        if e.code == "ssh-direct":
            why = line.shown(str(e.params.get("why")))
    about = {"source": source, "target": to.machine, "command": to.by_hand}
    error = user_error("ssh-direct", about)
    raise UserError(error.what, why, error.remedy, code=error.code, params={**about, "why": why})
