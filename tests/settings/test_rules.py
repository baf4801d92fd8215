"""All rules together: what each would change mends it, none raises, all are quick."""

from __future__ import annotations

import ast
import statistics
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import torchkeeper
from tests.settings.ruling import mended
from torchkeeper.client.words.findingwords import said
from torchkeeper.settings.finding import SEVERITIES, About, Finding, worst
from torchkeeper.settings.known import BY_NAME, SETTINGS
from torchkeeper.settings.rules import check

RULES = [Path(torchkeeper.__file__).parent / "settings" / name for name in ("rules.py", "texts.py")]
#: Texts that rules are about, and others.
TEXTS = (
    "",
    "0",
    "1",
    "true",
    "false",
    "2",
    "mast:x",
    "mast:",
    "~/x",
    "$X",
    "x y",
    '"/x"',
    "rel",
    "/data",
    "redis://h/0",
    "redis://:geheim@h/0",
    "http://h",
    "h:1",
    "[",
    "redis://[/0",
    "x:y",
    "triton.runtime.cache:RemoteCacheManager",
    "{",
    "{key}",
    "{key}{filename}",
    "triton.runtime.cache:RedisRemoteCacheBackend",
    "9" * 5000,
    "²",
    "-1",
    "\0",
    "\ud800",
    "job",
    "99999",
    "_1",
    "1_0",
    "::1",
    "unix:///s",
    "redis://h:x",
    "{0}",
    "{a!z}",
    "{key:{x}}",
)
NAMES = (*BY_NAME, "TORCHINDUCTOR_FXGRAPH_CACHE", "PATH", "", "TORCHINDUCTOR_REDIS_PASSWORD")
ABOUTS = st.builds(
    About,
    torch=st.sampled_from([None, "2.9.1+cpu", "2.13.0", "x", ""]),
    triton=st.sampled_from([None, "3.3.1", "3.7.1", "?"]),
    gpu=st.sampled_from([None, True, False]),
    redis=st.sampled_from([None, True, False]),
    variables=st.none() | st.frozensets(st.sampled_from(NAMES) | st.text(max_size=30), max_size=4),
)
VALUES = st.dictionaries(
    st.sampled_from(NAMES) | st.text(max_size=30), st.sampled_from(TEXTS) | st.text(max_size=40),
    max_size=8,
)  # fmt: skip


def same(a: Finding, b: Finding) -> bool:
    return (a.code, a.settings[:1]) == (b.code, b.settings[:1])


@given(VALUES, ABOUTS)
def test_no_text_makes_a_rule_raise_and_each_change_mends(
    values: dict[str, str], about: About
) -> None:
    findings = check(values, about)
    ranks = [SEVERITIES.index(one.severity) for one in findings]
    assert ranks == sorted(ranks)
    for one in findings:
        assert Finding.from_json(one.to_json()) == one
        words = said(one)
        assert "{" not in words.what + words.remedy.replace("{key}", "").replace("{filename}", "") \
            or "{" in str(one.params)  # fmt: skip
        assert "geheim" not in str(one.to_json())
        if one.change:
            others = frozenset(about.variables or ()) - set(values)
            after = check(mended(values, one), about._replace(variables=others))
            assert not any(same(one, other) for other in after), one


@pytest.mark.parametrize("name", BY_NAME)
def test_each_setting_alone(name: str) -> None:
    for text in TEXTS:
        for one in check({name: text}):
            assert one.settings, text
            assert set(one.settings) <= set(BY_NAME), text


def test_nothing_is_said_of_nothing_and_of_all_defaults() -> None:
    assert check({}) == []
    defaults = {one.name: one.defaults[-1][1] for one in SETTINGS if one.group != "triton"}
    values = {name: text for name, text in defaults.items() if text}
    codes = {one.code for one in check(values)}
    # That they are named at all is what is left to say.
    assert codes == {"setting-idle", "server-unused", "profile-without-job"}


def test_sixty_variables_take_less_than_two_milliseconds() -> None:
    values = dict.fromkeys(BY_NAME, "1") | {f"TORCHINDUCTOR_NUMBER_{n}": "1" for n in range(20)}
    assert len(values) > 60
    taken = []
    for _ in range(50):
        begun = time.perf_counter()
        check(values, About(variables=frozenset({"TORCHINDUCTOR_FXGRAPH_CACHE", "HOME"})))
        taken.append(time.perf_counter() - begun)
    assert statistics.median(taken) < 0.002


def test_each_rule_is_shown_by_what_torch_does() -> None:
    """Every code of a rule is in a test with real torch, or the code of a rule would be a claim."""
    codes = {
        str(node.args[0].value)
        for path in RULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Finding"
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(codes) > 40
    shown = set()
    for path in Path(__file__).parent.glob("test_rules_*.py"):
        for test in ast.parse(path.read_text(encoding="utf-8")).body:
            asks = isinstance(test, ast.FunctionDef) and {x.arg for x in test.args.args}
            if asks and asks & {"torch", "torch_python"}:
                quoted = (x.value for x in ast.walk(test) if isinstance(x, ast.Constant))
                shown |= {x for x in quoted if isinstance(x, str)}
    assert codes - shown == set()


def test_the_worst_of_some() -> None:
    assert worst(check({"TORCHINDUCTOR_REDIS_URL": "redis://h/0"})) == "warning"
    assert worst([]) is None
