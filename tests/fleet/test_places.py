"""Places of other kinds than a folder of this machine: a fleet that is killed goes on, and each
holds the same in the end.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.conftest import Warm, keys
from tests.fleet.test_hosts import hosts, machines
from tests.redis_server import Server
from torchkeeper.client.words.problems import UserError

__all__ = ["hosts", "machines"]

SOME = list(range(10))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["server", "folder", "bundle"])
def test_what_is_killed_goes_on(
    warm: Warm, server: Server, hosts: list[str], tmp_path: Path, kind: str
) -> None:
    """Of a Redis server, and of a folder and a bundle on another machine."""
    path = f"{tmp_path}/there{'.torchcache' if kind == 'bundle' else ''}"
    place = server.url if kind == "server" else f"{hosts[0]}{path}"
    here = server.url if kind == "server" else path  # which that machine has, too

    def kill(message: Any, engine: Any) -> None:
        if "gathered" in message.body:
            os.kill(engine.pid, signal.SIGKILL)

    asked = {"only": SOME, "secrets": "allow"}
    with pytest.raises(UserError):
        warm(place, kill, slots=1, share=True, **asked)
    warm(place, share=True, **{**asked, "only": SOME[:-1]})
    again = warm(place, share=True, **asked)  # to what is there
    assert again.result["states"]["warm"] == len(SOME)
    assert again.result["there"] > 0, "what had been gathered is not compiled again"
    assert not os.listdir(tmp_path / "state/bundles")
    plain = tmp_path / "plain"
    warm(plain, state=str(tmp_path / "plain.state"), **asked)
    assert keys(here) == keys(plain)
    last = warm(place, share=True, **asked)
    assert (last.result["compiled"], last.result["there"]) == (0, len(SOME))
