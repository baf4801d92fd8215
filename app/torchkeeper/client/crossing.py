"""Entries that go from one machine to another: by way of a bundle, which is made where they are,
goes over the connection, and is placed where they are to be.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from torchkeeper.client import temporary
from torchkeeper.client.engines import far, ferry, line
from torchkeeper.client.signers import check_policy, sign, signers_file
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine.protocol import COPY, FACTS, HAND_OVER, RESUME, SIGNATURE, TARGET
from torchkeeper.stores.names import SUFFIX, scheme_of
from torchkeeper.stores.ssh import parse

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import CopyParams, CopyResult
    from torchkeeper.stores.parts import Stretch


def copy(
    asked: CopyParams, ask: ferry.Ask, ask_there: ferry.Ask, names: Callable[[str], str | None],
    told: ferry.Told = lambda *_: None, direct: bool = False,
) -> CopyResult:  # fmt: skip
    """What comes of a copy. ask, ask_there: of the source, and of the target. names: has the target
    name the objects in a bundle for an environment there, and tells that. direct: the machine of
    the source sends the bundle to that of the target, by its own ssh. Raises UserError.
    """
    source, target, select = asked["place"], asked["into"], asked.get("select", {})
    machine, to = far.machine_of(source), far.machine_of(target)
    named = scheme_of(target).becomes(target) == "folder"
    first: CopyResult | None = None
    if not scheme_of(target).is_files:  # whether it answers, and to whom, before all that is made
        ask_there(FACTS, {"place": target, "items": []})
    if os.path.isfile(source):
        check_policy(source, ask(SIGNATURE, {"file": source, "signers": signers_file()}))
    with ExitStack() as stack:
        made = sent = source
        if select.keys() - {"filter", "envs"} or select.get("filter") or not os.path.isfile(source):
            made = sent = file = os.path.join(
                stack.enter_context(temporary.folder("crossing")), f"bundle{SUFFIX}"
            )
            if machine:
                made = ferry.name(machine)
                stack.callback(ferry.drop, [made])
            # What comes to a folder of the user's is read by nobody else.
            secrets = "allow" if named and not to else asked.get("secrets")
            first = ask(
                COPY, {**asked, "into": made, "secrets": secrets, "dry": False, "env": None}
            )
            if machine and not direct:
                ferry.fetch(made, file, ask(TARGET, {"path": made})["size"], told=told)
        if direct:
            sent = _handed_over(ask, ask_there, made, to)
            stack.callback(ferry.drop, [sent])
        else:
            sent = stack.enter_context(ferry.sent(to, [sent], told))[sent]
        env = names(sent) if named else None
        whole = {**asked, "place": sent, "select": {}, "builders": None, "env": env}
        done: CopyResult = ask_there(COPY, whole)
    done["place"] = source
    if first:
        done["stays"], done["leaks"] = first["stays"], done["leaks"] or first["leaks"]
    return done


def fetch_signed(
    ask: Callable[..., Any], made: str, file: str, size: int, key: str, replace: bool = True,
    told: ferry.Told = lambda *_: None,
) -> None:  # fmt: skip
    """As ``ferry.fetch``, with what came signed by a key of here (``signers.sign``) before it has
    its name. ask: asks an engine of here. Raises UserError.
    """
    if not replace and os.path.lexists(file):
        raise user_error("output-exists", {"file": file})
    with temporary.folder("crossing") as folder:
        came = os.path.join(folder, f"bundle{SUFFIX}")
        ferry.fetch(made, came, size, told=told)
        try:
            sign(ask, came, key, file, replace)
        except UserError as e:
            if e.params.get("file") != came:
                raise
            raise user_error(e.code, {**e.params, "file": file}) from e  # as it is called


def _handed_over(ask: ferry.Ask, ask_there: ferry.Ask, made: str, machine: str) -> str:
    """The name on another machine of what a machine has sent there of its file."""
    source, to = parse(made).machine, parse(machine)
    elsewhere = tr("The name may be another machine’s there, or the key may start another program.")
    why = tr("Its ssh ended well, but the file is not there.") + f" {elsewhere}"

    def put(name: str, stretches: Sequence[Stretch]) -> None:
        mark = secrets.token_hex(16)
        ferry.write(name, [mark.encode()], keeps=True)
        ask(HAND_OVER, {"path": made, "stretches": stretches, "to": name, "mark": mark})

    try:
        pieces = ask(RESUME, {"path": made}).get("pieces", [])
        sent = ferry.made_of(ask_there, machine, pieces, put)
        if ask_there(RESUME, {"path": sent}).get("pieces", []) == pieces:
            return sent
        ferry.drop([sent])
    except UserError as e:
        if e.code not in ("ssh-direct", "output-unwritable"):
            raise
        if e.code == "ssh-direct":
            said = line.shown(str(e.params.get("why")))
            why = f"{elsewhere}\n{said}" if e.params.get("elsewhere") else said
    raise line.no_way("ssh-direct", why, source=source, target=to.machine, command=to.by_hand)
