"""What holds for every request, whoever makes it: read-only places stay as they are, a bundle is
taken only from whom the user requires, and servers hear the passwords that are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torchkeeper.client.kept import protected
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.stores.names import scheme_of

#: Problems of a server that another password may solve.
LOCKED = frozenset({"password-needed", "password-wrong"})

#: Has an engine do one operation.
Call = Callable[[str, Mapping[str, object]], Any]


def ask(
    call: Call,
    op: str,
    params: Mapping[str, object],
    unlock: Callable[[str], bool],
    only_signed: bool = False,
) -> Any:
    """The result of one operation, which is of its type. unlock: tells the engine another password
    for a server, or says that there is none. only_signed: bundles are taken only from the user's
    signers, whatever is required. Raises UserError.
    """
    protected.guard(op, params)
    if protocol.traits(op).brings_code:
        from torchkeeper.client import signers  # only here: it takes long to load

        params = {**params, **signers.vouched(op, only_signed)}
    if not (servers := _servers(params)):
        return call(op, params)
    from torchkeeper.client import secrets

    for place in servers:
        if password := secrets.own_password_of(place):
            call(protocol.SECRET, {"place": place, "password": password})
    while True:
        try:
            return call(op, params)
        except UserError as error:
            place = str(error.params.get("server"))
            if error.code not in LOCKED or place not in servers or not unlock(place):
                raise


def any_password(call: Call) -> Callable[[str], bool]:
    """As ``unlock`` of ``ask``: tells each server the password for any, once."""
    tried = set[str]()

    def unlock(place: str) -> bool:
        from torchkeeper.client import secrets

        password = None if place in tried else secrets.for_any()
        if password is not None:
            tried.add(place)
            call(protocol.SECRET, {"place": place, "password": password})
        return password is not None

    return unlock


def _servers(params: Mapping[str, object]) -> list[str]:
    """The servers among the places of a request that may want a password."""
    places = [str(params.get(name) or "") for name in ("place", "into")]
    for name in ("nearest", "places", "also"):
        several = params.get(name)
        places += map(str, several if isinstance(several, list) else ())
    return [one for one in dict.fromkeys(places) if scheme_of(one).may_want_password]
