"""What the command line does with a Redis, it does with one that another machine reaches: every
test of that once more, through ssh.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli import test_servers as near
from tests.redis_server import Server, dump
from tests.ssh.conftest import Machine

pytestmark = pytest.mark.slow
globals().update({name: one for name, one in vars(near).items() if name.startswith("test_")})


class Through(Server):
    """A server, by the name that it has through the machine."""

    @property
    def url(self) -> str:
        return f"ssh://there/{super().url}"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    one = Through(tmp_path_factory.mktemp("redis"))
    yield one
    one.close()


@pytest.fixture
def server(server: Server, there: Machine) -> Server:
    server.load(dump())
    server("SET", "sessions:ada", b"not ours")
    return server
