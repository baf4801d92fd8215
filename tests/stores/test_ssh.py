"""The names of places on other machines: git's form, and nothing that ssh takes for an option."""

from __future__ import annotations

import pytest

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.ssh import parse


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ("ssh://gpu1/srv/cache", "ssh://gpu1/srv/cache", "/srv/cache"),
        ("SSH://gpu1/srv/", "ssh://gpu1/srv", "/srv"),
        ("ssh://gpu1", "ssh://gpu1", ""),
        ("ssh://gpu1/", "ssh://gpu1", ""),
        ("ssh://gpu1//srv/./x", "ssh://gpu1/srv/x", "/srv/x"),
        ("ssh://gpu1/~", "ssh://gpu1/~", "~"),
        ("ssh://gpu1/~/a/", "ssh://gpu1/~/a", "~/a"),
        ("ssh://me@gpu1:2222/x", "ssh://me@gpu1:2222/x", "/x"),
        ("ssh://me.2+x@g_pu.example.org/x", "ssh://me.2+x@g_pu.example.org/x", "/x"),
        ("ssh://[::1]:22/x", "ssh://[::1]:22/x", "/x"),
        ("ssh://[fe80::1%eth0]/x", "ssh://[fe80::1%eth0]/x", "/x"),
        ("ssh://gpu1/a%20b", "ssh://gpu1/a b", "/a b"),
        ("ssh://gpu1/100%25/ü", "ssh://gpu1/100%25/ü", "/100%/ü"),
        ("ssh://gpu1/x~/~", "ssh://gpu1/x~/~", "/x~/~"),
        ("ssh://gpu1/-x", "ssh://gpu1/-x", "/-x"),
    ],
)
def test_an_address_is_parted(text: str, name: str, path: str) -> None:
    address = parse(text)
    assert (str(address), address.path) == (name, path)
    assert parse(str(address)) == address
    scheme = scheme_of(text)
    assert scheme.parted(text) == (name, None)
    assert scheme.machine(text) == address.machine


@pytest.mark.parametrize(
    "text",
    [
        "ssh://", "ssh:///x", "ssh://-oProxyCommand=id/x", "ssh://-v@gpu1/x", "ssh://@gpu1/x",
        "ssh://gpu 1/x", "ssh://gpu1 /x", "ssh://me you@gpu1/x", "ssh://gpu1\n/x", "ssh://g\0/x",
        "ssh://gpu1/a\nb", "ssh://gpu1/a%00b", "ssh://gpu1/%1b[0m", "ssh://gpu1/a\x7f",
        "ssh://me:secret@gpu1/x", "ssh://gpu1:/x", "ssh://gpu1:0/x", "ssh://gpu1:65536/x",
        "ssh://gpu1:22x/x", "ssh://gpu1:-1/x", "ssh://gpu1:٣/x", "ssh://[::1/x", "ssh://[]/x",
        "ssh://[::1]x/x", "ssh://::1/x", "ssh://$(id)/x", "ssh://`id`@g/x", "ssh://g;id/x",
        "ssh://gpu1/~bob/x", "ssh://gpu1/a/../b", "ssh://gpu1/~/../b", "ssh://gpu1/%2e%2e/b",
        "ssh://" + "a" * 256 + "/x", "ssh://" + "a" * 65 + "@g/x", "ssh://g/" + "x" * 4096,
        "ssh://%67pu1/x", "ssh://gpü/x", "ssh://a@b@g/x", "sshx://g/x",
    ],
)  # fmt: skip
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(Problem) as raised:
        parse(text)
    assert raised.value.code == "ssh-address-wrong"
    assert "secret" not in str(raised.value.params)
