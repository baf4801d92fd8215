"""Copies from one machine to another for a script, as ``torchkeeper copy`` makes them: by way of a
bundle, which goes over the connection.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from torchkeeper.api.asking import Answer, Asker
from torchkeeper.client import signers, temporary
from torchkeeper.client.engines import ferry
from torchkeeper.engine.protocol import COPY, TARGET
from torchkeeper.stores.names import SUFFIX

if TYPE_CHECKING:
    from torchkeeper.api.told import Error
    from torchkeeper.artifacts.shapes import Secrets
    from torchkeeper.engine.messages import Select
    from torchkeeper.engine.messages.bundles import Builders, SignatureResult
    from torchkeeper.stores.names import Scheme


class Side(Protocol):
    """What a place can do for a copy that it gives or takes."""

    name: str
    _machine: str
    _scheme: Scheme
    _asker: Asker

    def _sent(self, file: str) -> str: ...
    def _signature(self, file: str) -> SignatureResult: ...
    def _tell_names(self, files: list[str], python: Any) -> str | None: ...


def cross(
    source: Side, target: Side, select: Select, python: object, secrets: Secrets | None,
    builders: Builders | None, about: Mapping[str, Any],
) -> tuple[Answer, list[Error]]:  # fmt: skip
    """What came of it, and what was left before; about: more of what ``copy`` is asked. Raises
    Error.
    """
    left: list[Error] = []
    folder_here = not target._machine and target._scheme.becomes(target.name) == "folder"
    with temporary.folder("crossing") as folder:
        file, env = source.name, None
        if os.path.isfile(file):
            signers.check_policy(file, source._signature(file))
        if select["filter"] or not os.path.isfile(file):
            file = os.path.join(folder, f"bundle{SUFFIX}")
            made = ferry.name(source._machine) if source._machine else file
            left = source._asker.ask(
                COPY, place=source.name, into=made, select=select, alone=about["alone"],
                secrets="allow" if folder_here else secrets,  # nobody else reads it
                builders=builders,
            ).left  # fmt: skip
            if source._machine:
                size = source._asker.ask(TARGET, path=made).result["size"]
                ferry.fetch(made, file, size)
        sent = target._sent(file)
        with target._asker.lock:
            if folder_here:
                env = target._tell_names([file], python)
            answer = target._asker.ask(
                COPY, place=sent, into=target.name, env=env, secrets=secrets, **about
            )
        if target._machine:
            ferry.drop([sent])
        return answer, left
