"""Servers for the tests in this folder, started once for each test process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import once
from tests.redis_server import Server, certificates, serving


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("redis"), "--proto-max-bulk-len", "512mb") as server:
        yield server


@pytest.fixture(scope="session")
def tls(shared: Path) -> Path:
    """A folder of certificates."""
    return once(shared, "tls", lambda folder: void(certificates(folder)))


def void(_: object) -> None:
    return
