"""The fast search finds all that a plain one does, wherever and however it stands."""

from __future__ import annotations

import base64
import pickle
import re
import time
from collections.abc import Iterator
from random import Random
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from torchkeeper.artifacts import leaks
from torchkeeper.artifacts.leakforms import FIXED, TRIED, Fact, Leak, shown
from torchkeeper.artifacts.leaks import Echoes, Scanner, Sieve

OWN = {"muon-7": "host", "ann.muster": "user", "monkey71": "user", "muon-71": "host"}
TOKEN = "hf_" + "aB3dE6gH9jK2mN5pQ8sT1vW4"
KEY = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + "aB3dE6gH9jK2mN5pQ8sT1vW4" * 4 + "\n-----END"
#: What is found by each way of trying, and in a pickle.
PLANTED = [
    b"redis://:hunter2-x@cache:6379/0", b"HTTPS://ann:s3cr3t@example.org",
    b"h://aB3dE6gH9jK2mN5p@x",
    b"TORCH_DB_PASSWORD='correct-horse'", b'"Api-Key": "0123-abcd"', b"myPwd: 'zyxw9876'",
    b"passphrase => 'zyxw9876'", b"Credentials='zyxw9876'", b"REDIS_PASS='zyxw-9876'",
    b"TORCH_HUB_TOKEN=abcd1234efgh", b"&secret=zyxw9876", b"AUTHORIZATION: bearer abcdefgh12345678",
    b"https://hooks.slack.com/services/T0A/B0C/aB3dE6gH9jK2mN5p", TOKEN.encode(), KEY.encode(),
    b"sk-" + b"proj-aB3dE6gH9jK2mN5pQ8sT", b"ghp_" + b"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3kL6",
    b"github_pat_" + b"aB3dE6gH9jK2mN5pQ8sT1v", b"glpat-" + b"aB3dE6gH9jK2mN5pQ8sT",
    b"xoxb-" + b"123456789012-aB3dE6gH9jK2", b"AKIA" + b"Q3EGRIZ7LN5XH2VB",
    b"ASIA" + b"Q3EGRIZ7LN5XH2VB", b"AIza" + b"SyaB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3",
    b"ya29." + b"aB3dE6gH9jK2mN5pQ8sT1", b"npm_" + b"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3",
    b"pypi-" + b"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3kL6aB3dE6",
    b"nvapi-" + b"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7c9",
    b"eyJ" + b"hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3",
    pickle.dumps({"WANDB_API_KEY": "q1w2e3r4t", "password": "b4" * 120}),
    b"/home/ann/x", b"/Users/ann/x", b"/root/", b"/torchinductor_ann/", b"on MUON-7.",
    b"Ann.Muster ",
    b"# File: /x/y.py:7 in forward, code: z", b'File "/x/y.py", line 7',
    b'File \\"/x/y.py\\", line 7',
]  # fmt: skip
#: What begins as a secret does.
NEARLY = [*FIXED, b"xoxox", b"a:/", b"kkk"]


@pytest.fixture(autouse=True, params=["with Hyperscan", "without"])
def _hyperscan(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where it is not installed, the same is found."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without":
            patch.setattr(leaks, "installed", lambda package: None)
        leaks._looked_for.cache_clear()
        assert (Sieve([b"text"])._database is not None) is (request.param == "with Hyperscan")
        yield
    leaks._looked_for.cache_clear()


def plain(data: bytes) -> list[Leak | Fact]:
    """All that is found, with one text after the other looked for at every place."""
    names = {name.encode(): what for name, what in OWN.items()}
    lower, at, found = data.lower(), 0, list[Leak | Fact]()
    places = [
        (match.start(), text)
        for text in [*FIXED, *names]
        for match in re.finditer(b"(?=%b)" % re.escape(text), lower)
    ]
    for start, text in sorted(places):
        if start < at:
            continue
        at, end = start + 1, start + len(text)
        if text in FIXED:
            for one in TRIED[FIXED[text]](data, start, end):
                found.append(one)
                if isinstance(one, Leak) and one.what == "token":
                    at = max(at, one.end)
        elif not (data[max(start - 1, 0) : start].isalnum() or data[end : end + 1].isalnum()):
            found.append(Fact(names[text], shown(data[start:end]), start))
    return found


def fast(data: bytes, pieces: list[int]) -> list[Leak | Fact]:
    """All that the scanner finds, given pieces of these sizes in turn."""
    scanner, found, at, number = Scanner(OWN), list[Leak | Fact](), 0, 0
    while True:
        size = pieces[number % len(pieces)]
        piece, last = data[at : at + size], at + size >= len(data)
        found += scanner.feed(piece, last)
        if last:
            return found
        at, number = at + size, number + 1


_CHANCE = st.integers(0, 1 << 20).map(Random)
_PARTS = st.one_of(
    st.sampled_from(PLANTED),
    st.sampled_from(NEARLY),
    st.sampled_from(NEARLY).map(bytes.upper),
    st.binary(max_size=40),
    st.integers(0, 70).map(lambda count: b" " * count),
)


@settings(max_examples=250, deadline=None)
@given(st.lists(_PARTS, max_size=30), st.binary(max_size=3))
def test_what_is_found_is_what_a_plain_search_finds(parts: list[bytes], between: bytes) -> None:
    data = between.join(parts)
    assert fast(data, [len(data) + 1]) == plain(data)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PLANTED), st.integers(0, 3000)), min_size=1, max_size=12),
    st.integers(0, 70), st.lists(st.integers(1, 40_000), min_size=1, max_size=4), _CHANCE,
)  # fmt: skip
def test_it_is_found_across_the_borders_of_pieces(
    parts: list[tuple[bytes, int]], before: int, pieces: list[int], random: Random
) -> None:
    data = random.randbytes(before)
    for text, gap in parts:
        data += text + b"\n" + random.randbytes(gap)
    # What a pattern sees of what is before and behind is bounded, and so is what is kept.
    assert set(fast(data, pieces)) == set(plain(data))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(_PARTS, max_size=5), max_size=12), st.binary(max_size=3))
def test_streams_searched_together_are_searched_as_if_each_was_alone(
    streams: list[list[bytes]], between: bytes
) -> None:
    whole = [between.join(parts) for parts in streams]
    found = {number: here for number, some in Scanner(OWN).each(whole) if (here := list(some))}
    assert found == {number: some for number, data in enumerate(whole) if (some := plain(data))}


def test_nothing_is_found_across_two_streams_wherever_it_is_cut() -> None:
    for text in PLANTED:
        for cut in range(len(text) + 1):
            pair = [b"= '" * 9 + text[:cut], text[cut:] + b"'\n" * 9]
            found = {number: list(some) for number, some in Scanner(OWN).each(pair)}
            for number, data in enumerate(pair):
                assert found.get(number, []) == plain(data), (text, cut)


@pytest.mark.parametrize("beside", [b"", b"a", b"_9", b"\0", b"='", b"hf_", b"\x8c\x08", b"\n"])
def test_what_is_beside_a_stream_makes_no_difference_to_it(beside: bytes) -> None:
    """A name before it, a letter behind it: in one stream they would."""
    streams = [one for text in PLANTED for one in (beside, text, beside[::-1], text[1:], b"")]
    found = {number: list(some) for number, some in Scanner(OWN).each(streams)}
    for number, data in enumerate(streams):
        assert found.get(number, []) == plain(data) == fast(data, [len(data) + 1]), data


def test_every_alignment_at_the_border_of_a_piece_is_as_good_as_any() -> None:
    for text in PLANTED:
        there = [one for one in plain(b" " * 3000 + text) if isinstance(one, Leak)]
        for cut in range(len(text) + 1):
            data = b" " * 3000 + text
            size = 3000 + cut
            assert [one for one in fast(data, [size]) if isinstance(one, Leak)] == there


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(PLANTED), st.integers(0, 400_000), st.integers(0, 70), _CHANCE)
@pytest.mark.slow
def test_it_is_found_in_what_is_hardly_text(
    text: bytes, at: int, short: int, random: Random
) -> None:
    """Near a run of letters, that is: of tensors and machine code not all is searched."""
    data = random.randbytes(at) + b" " * 12 + text + b"\n" + random.randbytes(400_000 - at + short)
    there = {one for one in plain(data) if at <= one.start <= at + 12 + len(text)}
    assert set(fast(data, [300_000 + short, 1 << 20])) >= there


@pytest.mark.parametrize("text", [pickle.dumps({"password": "hunter2-x"}), b"a://b:cd3@e"])
def test_what_is_short_and_far_from_any_text_is_found(text: bytes) -> None:
    data = bytes(400_000) + text + bytes(400_000)
    found = fast(data, [1 << 20])
    assert [one for one in found if isinstance(one, Leak)], found


def test_what_is_far_from_all_else_is_found_as_it_is_among_it() -> None:
    """Where little is found only what is near it is looked at."""
    chance = Random(5)
    for text in PLANTED:
        alone = b"\n" * 600 + text + b"\n"
        before = chance.randbytes(90_000).translate(bytes(byte & 0x8F for byte in range(256)))
        there = [one._replace(start=one.start + len(before)) for one in plain(alone)]
        found = [one._replace(end=0) if isinstance(one, Leak) else one
                 for one in fast(before + alone + before, [1 << 20, 1 << 17])]  # fmt: skip
        assert found == [one._replace(end=0) if isinstance(one, Leak) else one for one in there]


@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=0, max_size=7), st.binary(max_size=7), st.integers(1, 400),
       st.sampled_from([b"Tr0ub4dor&3=/+deep", b"hunter2-not-a-real-password"]))  # fmt: skip
def test_a_known_secret_is_found_in_each_form_wherever_it_is_cut(
    before: bytes, after: bytes, cut: int, value: bytes
) -> None:
    inner, text = before + value + after, value.hex().encode()
    forms = [value, quote(value, safe="").encode(), text, text.upper()]
    forms = [*forms, base64.b64encode(inner), base64.urlsafe_b64encode(inner)]
    data = b"\n".join(forms)
    there = list(Echoes([value]).find(data[at : at + cut] for at in range(0, len(data), cut)))
    lines = [data.count(b"\n", 0, one.start) for one in there]
    assert lines == list(range(len(forms)))
    assert there == list(Echoes([value]).find([data]))


@sampled("unit", [
    b"ass", b"key", b"a:/", b"kkkk", b"xox", b"://", b"File", b"eyJeyJ", b"-----BEGIN ",
    b"a" * 63 + b"@",
    b"hf_" + b"0" * 19 + b"-", b"token\x8c\xff", b"'token'" * 9 + b"=", b"a.b-c_d:", b"pass='\\\\",
    *(text * 2 for text in FIXED),
], most=10)  # fmt: skip
def test_whatever_the_bytes_a_megabyte_takes_seconds_at_most(unit: bytes) -> None:
    data = unit * ((1 << 18) // len(unit))
    begun = time.process_time()
    fast(data, [1 << 20])
    assert time.process_time() - begun < 4


def test_a_long_name_costs_no_more_than_a_short_one() -> None:
    begun = time.process_time()
    names = [f"{letter}uild-machine-of-somebody-far-away-in-the-north" for letter in "bgq"]
    sieve = Sieve(name.encode() for name in names)
    assert [at for at, _ in sieve.find(b"x".join(n.upper().encode() for n in names), 0, 200)] == [
        0, 48, 96
    ]  # fmt: skip
    assert time.process_time() - begun < 2


@settings(max_examples=100, deadline=None)
@given(
    st.sets(st.binary(min_size=1, max_size=6).map(bytes.lower), max_size=8),
    st.binary(max_size=200), st.integers(0, 50), st.integers(0, 200),
)  # fmt: skip
def test_a_sieve_finds_all(texts: set[bytes], data: bytes, start: int, end: int) -> None:
    data += b"".join(texts)
    there = [
        (at, text)
        for at in range(start, min(end, len(data)))
        for text in sorted(texts)
        if data[at : at + len(text)].lower() == text
    ]
    assert Sieve(texts).find(data, start, end) == there
