"""What is shown of an address has no part of its password."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchkeeper.settings.applied import SHARED, applied, taken
from torchkeeper.settings.masks import has_password, shown

URL = "TORCHINDUCTOR_REDIS_URL"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("redis://u:pw@h/0", "redis://u:…@h/0"),
        ("redis://:p@w:/x#?://y@h/0", "redis://:…@h/0"),
        ("rediss://token@h", "rediss://…@h"),
        ("u:pw@h:6379", "…@h:6379"),
        ("redis://h/0?db=1&password=pw&x=y", "redis://h/0?db=1&password=…&x=y"),
        ("unix://u:pw@/run/redis.sock", "unix://u:…@/run/redis.sock"),
    ],
)
def test_addresses(text: str, expected: str) -> None:
    assert shown(URL, text) == expected
    assert has_password(URL, text) == (text != expected)
    assert shown("TORCHINDUCTOR_CACHE_DIR", text) == text


@given(st.text(st.characters(exclude_characters="@\n"), min_size=1))
def test_no_password_is_shown(password: str) -> None:
    secret = f"<{password}>"
    for text in (f"redis://u:{secret}@h/0", f"redis://:{secret}@h/0", f"{secret}@h"):
        assert secret not in shown(URL, text)


def test_a_process_gets_the_settings_and_what_is_not_ours_stays() -> None:
    env = {"PATH": "/bin", "TMPDIR": "/scratch", "OMP_NUM_THREADS": "4", URL: "redis://h",
           "TORCH_LOGS": "all"}  # fmt: skip
    values = {"TORCHINDUCTOR_CACHE_DIR": "/c", "OMP_NUM_THREADS": "2"}
    made = applied(values, env)
    assert made == {"PATH": "/bin", "TMPDIR": "/scratch", "OMP_NUM_THREADS": "2",
                    "TORCH_LOGS": "all", "TORCHINDUCTOR_CACHE_DIR": "/c"}  # fmt: skip
    assert taken(made) == {**values, "TMPDIR": "/scratch"}
    assert "TMPDIR" in SHARED
