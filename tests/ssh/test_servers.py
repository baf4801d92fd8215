"""A Redis that only another machine reaches: a place like any other Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.conftest import Tk
from tests.redis_server import Server, dump, serving
from tests.ssh.conftest import Machine
from torchkeeper.client.engines import line


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("redis")) as one:
        yield one


@pytest.fixture(autouse=True)
def ends(there: Machine) -> Iterator[None]:
    yield
    line.close_all()


def test_ls(tk: Tk, there: Machine, server: Server) -> None:
    server.load(dump())
    ran = tk("ls", "--json", f"ssh://there/{server.url}")
    print(ran)
    assert ran.objects == tk("ls", "--json", server.url).objects
