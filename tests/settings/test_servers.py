"""Which servers programs with some variables use."""

from __future__ import annotations

import pytest

from torchkeeper.client import diagnosing
from torchkeeper.settings.masks import taken
from torchkeeper.settings.servers import DEFAULT, places_of, remote, servers

GRAPHS = "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"
URL, HOST = "TORCHINDUCTOR_REDIS_URL", "TORCHINDUCTOR_REDIS_HOST"
TRITON = {
    "TRITON_CACHE_MANAGER": "triton.runtime.cache:RemoteCacheManager",
    "TRITON_REMOTE_CACHE_BACKEND": "triton.runtime.cache:RedisRemoteCacheBackend",
}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({}, []),
        ({URL: "redis://there/0"}, []),  # a server that nothing uses
        ({GRAPHS: "1"}, [DEFAULT]),
        ({GRAPHS: "1", URL: "redis://:secret@there:6380/2"}, ["redis://there:6380/2"]),
        ({GRAPHS: "1", HOST: "there"}, ["redis://there:6379/0"]),
        ({GRAPHS: "1", URL: "no address"}, []),  # of which the rules tell
        ({GRAPHS: "1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}, []),
        ({**TRITON}, [DEFAULT]),
        ({**TRITON, "TRITON_REDIS_HOST": "kernels"}, ["redis://kernels:6379/0"]),
        ({"TRITON_REDIS_HOST": "kernels"}, []),
        (
            {**TRITON, "TRITON_REDIS_HOST": "kernels", GRAPHS: "1", HOST: "graphs"},
            ["redis://graphs:6379/0", "redis://kernels:6379/0"],
        ),
    ],
)
def test_servers(values: dict[str, str], found: list[str]) -> None:
    assert servers(values) == found


def test_switches() -> None:
    assert remote({GRAPHS: "1", "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE": "0"}) == [GRAPHS]
    assert remote({GRAPHS: "yes"}) == []  # which PyTorch takes for not set


def test_what_an_environment_uses() -> None:
    env = {GRAPHS: "1", URL: "redis://:secret@there/0", "PATH": "/bin", "TRITON_CACHE_DIR": "/k"}
    values = taken(env)
    assert "PATH" not in values
    places = places_of({"cache_dir": "/c", "torch": "2.13.0"}, values)
    assert places == ["/c", "/k", "redis://there:6379/0"]
    asked = diagnosing.request(places, {"cache_dir": "/c"}, values, {}, ["/other"])
    assert asked["reads"] == ["/c", "/k", "/other"]
    # What the settings name has the password that they tell, and no other.
    assert diagnosing.passwords(asked) == []
