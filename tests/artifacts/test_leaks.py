"""What is taken for a secret in the bytes of a payload, and what is not."""

from __future__ import annotations

import base64
import html
import json
import pickle
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchkeeper.artifacts.leakforms import Fact, Leak
from torchkeeper.artifacts.leaks import Echoes, Scanner, is_distinctive, texts_of_pickle
from torchkeeper.artifacts.masking import hidden

#: Made up, each as its issuer's are; joined here, so that nobody takes this file for a leak.
TOKENS = {
    "Hugging Face": "hf_" + "aB3dE6gH9jK2mN5pQ8sT1vW4",
    "OpenAI or Anthropic": "sk-" + "proj-aB3dE6gH9jK2mN5pQ8sT",
    "GitHub": "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3kL6",
    "GitLab": "glpat-" + "aB3dE6gH9jK2mN5pQ8sT",
    "Slack": "xoxb-" + "123456789012-aB3dE6gH9jK2",
    "AWS": "AKIA" + "Q3EGRIZ7LN5XH2VB",
    "Google": "AIza" + "SyaB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3",
    "NVIDIA": "nvapi-" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3kL6",
    "JSON web token": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3",
}
KEY = (
    "-----BEGIN RSA PRIVATE" + " KEY-----\n"
    + base64.encodebytes(bytes(range(7, 200))).decode()
    + "-----END RSA PRIVATE" + " KEY-----\n"
)  # fmt: skip


def found(
    data: bytes, piece: int = 1 << 20, own: dict[str, str] | None = None
) -> list[Leak | Fact]:
    scanner = Scanner(own)
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)] or [b""]
    return [
        one for n, some in enumerate(pieces) for one in scanner.feed(some, n == len(pieces) - 1)
    ]


def secrets(data: bytes | str, piece: int = 1 << 20) -> list[tuple[str, bytes]]:
    data = data.encode() if isinstance(data, str) else data
    leaks = {one for one in found(data, piece) if isinstance(one, Leak)}
    return sorted((one.what, data[one.start : one.end]) for one in leaks)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("os.environ['X'] = 'redis://:hunter2-x@cache:6379/0'", "hunter2-x"),
        ("rediss://ann:p%40ss%2Fw0rd@cache", "p%40ss%2Fw0rd"),
        ("redis://ann:pa/ss@cache", "pa/ss"),
        ("https://ann:s3cr3t@example.org/x.git", "s3cr3t"),
        ("postgresql+asyncpg://u:grün99@db/x", "grün99"),
        ("os.environ['TORCH_DB_PASSWORD'] = 'correct-horse'", "correct-horse"),
        ('{"api_key": "0123-abcd"}', "0123-abcd"),
        ('{\\"api_key\\": \\"0123-abcd\\"}', "0123-abcd"),
        ("client_secret='tr0ub4dor'", "tr0ub4dor"),
        ("TORCH_HUB_TOKEN=abcd1234efgh", "abcd1234efgh"),
        ("https://h/x?token=1&secret=zyxw9876", "zyxw9876"),
        ("--password=zyxw9876 x", "zyxw9876"),
        ("REDIS_PASS='zyxw-9876'", "zyxw-9876"),
        ("Authorization: Bearer abcdefgh12345678", "abcdefgh12345678"),
        ("https://hooks.slack.com/services/T0A/B0C/aB3dE6gH9jK2mN5p", "T0A/B0C/aB3dE6gH9jK2mN5p"),
        *((f"x = '{token}'", token) for token in TOKENS.values()),
    ],
)
def test_secrets_are_found_where_they_are_and_their_text_is_shown_nowhere(
    text: str, secret: str
) -> None:
    data = b"\x80\x04\x95 " + text.encode() + b"\x94."
    assert secret.encode() in [value for _, value in secrets(data)]
    for one in found(data):
        assert not isinstance(one, Leak) or secret not in one.excerpt


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_value_beside_a_name_in_a_pickle_is_found(protocol: int) -> None:
    values = {"WANDB_API_KEY": "q" + "1w2e3r4t", "n": 1, "password": "b" * 3 + "4" * 250}
    data = pickle.dumps([values, *TOKENS.values(), KEY], protocol)
    texts = {data[e.start : e.end] for e in texts_of_pickle(data, lambda: None)}
    there = [value for _, value in secrets(data)]
    for value in [values["WANDB_API_KEY"], values["password"], *TOKENS.values()]:
        assert isinstance(value, str)
        assert value.encode() in texts
        # Opcodes that come after a text may look like more of it.
        assert any(one.startswith(value.encode()) for one in there), value
    assert "private-key" in {what for what, _ in secrets(data)}


@pytest.mark.parametrize(
    "text",
    [
        "redis://cache:6379/0", "https://github.com:443/x@v1", "ssh://git@github.com/x",
        "redis://user:{password}@host", "redis://user:****@host", "redis://:xxxxxxxx@host",
        "redis://:$PASSWORD@host", "redis://:%s@host",
        "pad_token = '<pad>'", "eos_token: '</s>'", "mask_token='[MASK]'", "token = self.embed(x)",
        "tokens = 'abcdefgh12345678ijkl'", "num_tokens=128", "os.environ['PWD'] = '/srv/train'",
        "password = None", "password: str = ''", "secret_key = 'secret_key'",
        "post_grad_pass='x1y2'",
        "cache_key = 'fougy35tjtfzpifggivod73hf4nc2wyaukxvuegftabqaq2ca3lr'",
        "mask-token-1234567890-abcdefghijk", "desk-1234567890abcdefghijklmn",
        "sk-learn-something-here",
        "hf_hub_download_of_something", "-----BEGIN PRIVATE KEY-----", "PRIVATE_KEY=",
        "def authorization(x): return 'basic'", "TOKENIZERS_PARALLELISM='false'",
    ],
)  # fmt: skip
def test_what_is_no_secret_is_not_taken_for_one(text: str) -> None:
    assert secrets(text) == []


def test_only_the_planted_password_is_found_in_what_torch_wrote(
    kept_291: Path, filled: Path
) -> None:
    for cache, planted in ((kept_291, {("url-password", b"hunter2-not-a-real-password")}),
                           (filled, set())):  # fmt: skip
        there = {
            one
            for path in cache.rglob("*")
            if path.is_file()
            for one in secrets(path.read_bytes(), 5000)
        }
        assert there == planted


def test_among_bytes_that_are_no_text_secrets_are_found_all_the_same() -> None:
    noise = Random(8).randbytes(3 << 20)
    for text in (
        b"redis://:hunter2-x@h/0",
        pickle.dumps({"password": "hunter2-x", "a": noise[:99]}),
    ):
        for at in (0, 5000, (1 << 20) - 9, (1 << 20) + 3, len(noise)):
            data = noise[:at] + text + b"\0 some.module.name \0" + noise[at:]
            assert b"hunter2-x" in [value for _, value in secrets(data)]
    assert secrets(pickle.dumps({"password": "hunter2-x"})) == [("named", b"hunter2-x")]


def test_an_address_is_found_whatever_the_length_of_its_text_looks_like() -> None:
    """In a pickle a byte with the length stands before it, which may be a digit or a letter."""
    for more in range(200):
        data = pickle.dumps([f"redis://:hunter2-x@h/{'0' * more}"])
        assert ("url-password", b"hunter2-x") in secrets(data), more
    for before in range(256):
        data = bytes([before]) + b"redis://:hunter2-x@h/0"
        assert ("url-password", b"hunter2-x") in secrets(data), before


def test_private_facts_are_told_with_what_they_are() -> None:
    data = (
        b"# File: /home/ann/train.py:7 in forward, code: return self.secret_sauce(x)\n"
        b"/tmp/torchinductor_ann/x rediss://cache.corp.example:6379 redis://localhost\n"
        b"# File: /x/site-packages/torch/nn.py:7 in forward, code: y\nbuilt on MUON-7 by muon-71\n"
    )
    told = {(one.what, one.value) for one in found(data, own={"muon-7": "host"})
            if isinstance(one, Fact)}  # fmt: skip
    assert told == {
        ("home", "/home/ann"), ("source", "/home/ann/train.py"), ("user", "ann"),
        ("host", "cache.corp.example"), ("host", "MUON-7"),
    }  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.integers(40_000, 60_000), st.binary(max_size=300))
def test_where_a_stream_is_cut_makes_no_difference(head: bytes, piece: int, tail: bytes) -> None:
    text = b" redis://:hunter2-x@h/0 TORCH_TOKEN=abcd1234efgh /home/ann/ "
    data = head + text + bytes(piece - 30) + text + tail + KEY.encode()
    assert [*map(repr, found(data, piece))] == [*map(repr, found(data))]
    assert {value for _, value in secrets(data, piece)} >= {b"hunter2-x", b"abcd1234efgh"}


@pytest.mark.parametrize(
    "unit",
    [b"://", b"a://:b@", b"password", b"token='", b"sk-", b"eyJ.", b"-----BEGIN PRIVATE KEY-----",
     b"api_key\x8c\xff", b"/home/", b"# File: ", b"authorization: basic ", b"_pass" + b"_" * 40],
)  # fmt: skip
def test_hostile_bytes_take_time_by_their_size_alone(unit: bytes) -> None:
    takes = []
    for size in (1 << 13, 1 << 16):
        data = unit * (size // len(unit))
        begun = time.process_time()
        found(data)
        takes.append(time.process_time() - begun)
    # Eight times the bytes: by their square it would be 64 times the time.
    assert takes[1] < 24 * max(takes[0], 0.01)


@pytest.mark.parametrize("value", [b"hunter2-not-a-real-password", "pä%2Fss'w\"örd-9".encode()])
def test_a_known_secret_is_found_again_in_every_form_and_replaced_in_it(value: bytes) -> None:
    from urllib.parse import quote, unquote_to_bytes

    value = unquote_to_bytes(value)
    forms = [value, quote(value, safe="").encode(), quote(value, safe="").lower().encode(),
             repr(value.decode())[1:-1].encode(), value.hex().encode()]  # fmt: skip
    noise = Random(9)
    for before in range(7):
        for after in range(5):
            inner = noise.randbytes(before) + value + noise.randbytes(after)
            forms += [base64.b64encode(inner), base64.urlsafe_b64encode(inner)]
    data = b"|".join(forms)
    patched = bytearray(data)
    for echo in Echoes([value]).find(iter([data[:1000], data[1000:]])):
        patched[echo.start : echo.end] = echo.instead
    for form, old in zip(bytes(patched).split(b"|"), forms, strict=True):
        assert len(form) == len(old)
        assert form != old
    # All beside it is as it was.
    for form, old in zip(bytes(patched).split(b"|")[5::2], forms[5::2], strict=True):
        before_it, after_it = base64.b64decode(old).split(value)
        assert base64.b64decode(form) == before_it + b"x" * len(value) + after_it


def test_a_known_secret_is_found_in_whatever_way_it_was_escaped() -> None:
    text = "Zq9Xy7éwd_m8/K'v\"12\\34567x"
    value = text.encode()
    forms = [
        ascii(text), repr(text), repr(value), repr(repr(text)), json.dumps(text),
        json.dumps(text, ensure_ascii=False), json.dumps(text).replace("/", "\\/"),
        json.dumps(json.dumps(text)), html.escape(text), text.encode("unicode_escape").decode(),
    ]  # fmt: skip
    data = "\n".join(forms).encode() + b"\n" + text.encode("utf-16-le") + text.encode("utf-16-be")
    left = bytearray(data)
    for echo in Echoes([value]).find([data]):
        left[echo.start : echo.end] = echo.instead
    assert len(left) == len(data)
    assert b"Zq9" not in left
    assert b"34567" not in left
    assert "34567".encode("utf-16-le") not in left


def test_a_password_that_is_a_word_is_looked_for_nowhere_else() -> None:
    assert not any(map(is_distinctive, (b"inductor", b"cuda12", b"redis", b"aaaaaaaaaaaaaaaaaa")))
    assert not Echoes([b"inductor"])


def test_texts_of_pickles_within_pickles_are_told() -> None:
    inner = pickle.dumps({"a": "innermost"})
    data = pickle.dumps(["outer", pickle.dumps([inner, 10**40])])
    told = [data[e.start : e.end] for e in texts_of_pickle(data, lambda: None)]
    assert told[0] == b"outer"
    assert b"innermost" in told
    assert list(texts_of_pickle(b"no pickle", lambda: None)) == []


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400))
def test_texts_lie_within_the_bytes_whatever_they_are(data: bytes) -> None:
    for extent in texts_of_pickle(b"\x80\x04" + data, lambda: None):
        assert 0 <= extent.start <= extent.end <= len(data) + 2


def test_both_lists_are_one_what_is_found_in_a_payload_is_hidden_in_a_command() -> None:
    for token in TOKENS.values():
        assert token not in hidden([f"x {token} y"])[0]
