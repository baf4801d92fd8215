"""What is shown of an address has no part of its password."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.settings.secrets import FORMS, MARK, PARTS
from torchkeeper.client.profiles.profile import Profile, masked, with_password
from torchkeeper.client.words.findingwords import said
from torchkeeper.settings.masks import SHARED, applied, has_password, shown, taken
from torchkeeper.settings.rules import check

URL = "TORCHINDUCTOR_REDIS_URL"
HOSTS = ("TORCHINDUCTOR_REDIS_HOST", "TRITON_REDIS_HOST")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("REDIS://[::1]:6379/0", "REDIS://[::1]:6379/0"),
        ("redis://u:pw@h/0", "redis://u:…@h/0"),
        ("redis://:p%40w@h", "redis://:…@h"),
        ("rediss://token@h", "rediss://…@h"),
        ("redis://token:@h", "redis://…:@h"),
        ("redis://h/0?db=1&password=pw&timeout=3", "redis://h/0?db=1&password=…&timeout=3"),
        ("redis://h/0?pass%77ord=pw", "redis://h/0?pass%77ord=…"),
        ("redis://h/0?timeout=1;password=pw", "redis://h/0?timeout=…"),
        ("redis://h?username=token", "redis://h?username=…"),
        ("redis://me@h?password=pw", "redis://me@h?password=…"),
        ("rediss://h?ssl_ca_certs=/etc/ca.pem", "rediss://h?ssl_ca_certs=/etc/ca.pem"),
        ("unix://u:pw@/run/redis.sock?db=2", "unix://u:…@/run/redis.sock?db=2"),
        ("localhost:6379", "localhost:6379"),
        # What is no address that can be read.
        ("redis://:p@w:/x#?://y@h/0", "…"),
        ("u:pw@h:6379", "…"),
        ("name.redis.cache.windows.net:6380,password=KEY=,ssl=True", "…"),
        ("redis://name.redis.cache.windows.net,password=KEY=,ssl=True", "…"),
        ("unix:///run/redis.sock,password=KEY", "…"),
        ("redis://:hunter2", "…"),
        ("redis://user:hunter2:6379", "…"),
        ("redis://user:hun/ter2@h", "…"),
        ("redis-cli -a hunter2 -h host", "…"),
        ("redis://u:pw@h\n", "…"),
        ("redis://h/0?unknown=pw", "…"),
        ("hunter2", "…"),
    ],
)
def test_addresses(text: str, expected: str) -> None:
    assert shown(URL, text) == expected
    assert shown(URL, expected) == expected
    assert has_password(URL, text) == (text != expected)
    assert shown("TORCHINDUCTOR_CACHE_DIR", text) == text


@pytest.mark.parametrize(
    ("text", "good"),
    [("", True), ("redis.local", True), ("redis_1", True), ("::1", True), ("h:6379", True),
     ("user:pw@host", False), ("pw@host", False), ("redis://:pw@host", False),
     ("host:6380,password=KEY=", False), ("host -a pw", False), ("fe80::1%pw", False)],
)  # fmt: skip
def test_hosts(text: str, good: bool) -> None:
    for name in HOSTS:
        assert shown(name, text) == (text if good else "…")
        assert has_password(name, text) != good


beside = st.lists(st.sampled_from(PARTS), max_size=4).map("".join)
passwords = st.builds(
    "{}{}{}{}".format, beside, st.just(MARK), st.sampled_from(("", "A" * 500, "A" * 2000)), beside
)


@st.composite
def secrets(draw: st.DrawFn) -> str:
    """A text as people put into such a variable, with a password that has the mark in it."""
    return draw(st.sampled_from(FORMS)).replace("{}", draw(passwords))


@given(secrets())
@example("redis://u:@" + MARK)
@settings(max_examples=300)
def test_no_password_is_shown(text: str) -> None:
    """A password with an @ or a colon as it is ends there, to all who read it: what follows is the
    host then, or what is before the name of a user.
    """
    told = shown(URL, text)
    if MARK in told:
        read = urlsplit(text)
        user = read.username if read.password else ""
        assert MARK.lower() in f"{user} {read.hostname}".lower()
    for name in HOSTS:
        assert MARK not in shown(name, text)


@pytest.mark.slow
@given(secrets(), st.sampled_from((URL, *HOSTS)), st.booleans())
@settings(max_examples=150)
def test_no_password_is_in_a_finding_or_a_profile_as_it_is_shown(
    text: str, name: str, remote: bool
) -> None:
    values = {name: text, "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1" if remote else "0"}
    for one in check(values):
        words = said(one)
        assert MARK not in json.dumps(one.to_json()) + f"{words} {words.why} {words.remedy}"
    profile = Profile("one", values)
    if MARK not in shown(name, text):
        assert MARK not in str(masked(profile))
        assert with_password(profile) == [name]


def test_a_process_gets_the_settings_and_what_is_not_ours_stays() -> None:
    env = {"PATH": "/bin", "TMPDIR": "/scratch", "OMP_NUM_THREADS": "4", URL: "redis://h",
           "TORCH_LOGS": "all"}  # fmt: skip
    values = {"TORCHINDUCTOR_CACHE_DIR": "/c", "OMP_NUM_THREADS": "2"}
    made = applied(values, env)
    assert made == {"PATH": "/bin", "TMPDIR": "/scratch", "OMP_NUM_THREADS": "2",
                    "TORCH_LOGS": "all", "TORCHINDUCTOR_CACHE_DIR": "/c"}  # fmt: skip
    assert taken(made) == {**values, "TMPDIR": "/scratch"}
    assert "TMPDIR" in SHARED
