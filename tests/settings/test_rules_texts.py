"""Rules on texts that do not mean what they look like, each with what real torch makes of it."""

from __future__ import annotations

import pytest

from tests.redis_server import Server
from tests.settings.conftest import Torch
from tests.settings.ruling import codes, found, mended
from tests.settings.test_known import named_in
from tests.settings.test_rules_remote import GRAPHS as REMOTE
from tests.settings.test_rules_remote import keys, named
from torchkeeper.settings.finding import About
from torchkeeper.settings.known import BY_NAME
from torchkeeper.settings.rules import check
from torchkeeper.settings.texts import looks, meant_by

#: What torch then does takes a second for each; the rules of caches and servers stand for these.
pytestmark = pytest.mark.slow

I = "TORCHINDUCTOR_"  # noqa: E741
GRAPHS, MASTER = I + "FX_GRAPH_CACHE", I + "FORCE_DISABLE_CACHES"
HEADERS = I + "CPP_CACHE_PRECOMPILE_HEADERS"
BUNDLE = I + "BUNDLE_TRITON_INTO_FX_GRAPH_CACHE"


def is_on(torch: Torch, values: dict[str, str], name: str) -> bool:
    """Whether PyTorch takes a switch for on."""
    config = BY_NAME[name].config
    return bool(torch(values, "configs", attributes=[config]).told["values"][config])


@pytest.mark.parametrize("text", ["false", "off", "No", "00", " 0", '"0"'])
def test_any_text_is_on(torch: Torch, text: str) -> None:
    """The master switch that is “false” turns all caches off."""
    values = {MASTER: text}
    finding = found(values, "text-is-on")
    assert is_on(torch, values, MASTER)
    if looks(text) is False:
        assert finding.severity == "error"
        assert mended(values, finding) == {MASTER: "0"}
    else:
        assert finding.severity == "warning", "nobody knows what was meant"
        assert mended(values, finding) == {}


def test_a_master_switch_that_is_false_turns_all_off(torch: Torch) -> None:
    values = {MASTER: "false"}
    assert codes(values) == {"text-is-on", "caches-off"}
    done = torch(values)
    assert (done.error, done.graphs, done.autograd) == ("", set(), set())
    assert torch(mended(values, found(values, "text-is-on"))).graphs


@pytest.mark.parametrize(("name", "severity"), [(GRAPHS, "error"), (HEADERS, "error")])
def test_an_empty_text_is_off(torch: Torch, name: str, severity: str) -> None:
    values = {name: ""}
    finding = found(values, "text-empty")
    assert finding.severity == severity
    assert not is_on(torch, values, name)
    assert is_on(torch, mended(values, finding), name)


def test_an_empty_cache_of_graphs_is_off(torch: Torch) -> None:
    assert codes({GRAPHS: ""}) == {"text-empty", "graphs-off"}
    assert torch({GRAPHS: ""}).graphs == set()
    for harmless in (MASTER, REMOTE, BUNDLE, "TRITON_ALWAYS_COMPILE"):
        assert codes({harmless: ""}) == set(), "as if it were not set"


@pytest.mark.parametrize("text", ["true", "1 ", "2"])
def test_a_cache_on_a_server_is_on_with_1_only(torch: Torch, server: Server, text: str) -> None:
    values = {REMOTE: text, **named(server)}
    finding = found(values, "text-ignored")
    assert finding.severity == ("warning" if text == "2" else "error")
    assert torch(values).error == ""
    assert keys(server) == []
    if text != "2":
        torch(mended(values, finding))
        assert keys(server) == ["fx-graph-v1"]


def test_what_is_on_is_not_turned_off_by_another_text_than_0(torch: Torch) -> None:
    finding = found({BUNDLE: "false"}, "text-ignored")
    assert (is_on(torch, {BUNDLE: "false"}, BUNDLE), is_on(torch, {}, BUNDLE)) == (True, True)
    assert not is_on(torch, mended({BUNDLE: "false"}, finding), BUNDLE)


@pytest.mark.parametrize("name", ["TORCH_COMPILE_DISABLE", "TORCH_CACHING_PRECOMPILE", HEADERS])
@pytest.mark.parametrize("text", ["true", "maybe"])
def test_some_are_on_with_1_only(torch: Torch, name: str, text: str) -> None:
    values = {name: text}
    finding = found(values, "text-is-off")
    assert not is_on(torch, values, name)
    if text == "true":
        assert is_on(torch, mended(values, finding), name)


def test_triton_takes_some_words_for_on_and_not_all(torch: Torch) -> None:
    name = "TRITON_CACHE_AUTOTUNING"
    assert "text-is-off" not in codes({name: "Yes"})
    assert torch({name: "Yes"}, "tuner").told["keeps"]
    finding = found({name: "enabled"}, "text-is-off")
    assert not torch({name: "enabled"}, "tuner").told["keeps"]
    assert torch(mended({name: "enabled"}, finding), "tuner").told["keeps"]


def test_what_is_typed_into_a_switch_by_mistake_is_not_told() -> None:
    finding = found({REMOTE: "redis://:hunter2@h"}, "text-ignored")
    assert finding.params["text"] == "…"


def test_a_time_to_wait_that_is_no_number(torch: Torch) -> None:
    values = {I + "FILE_LOCK_TIMEOUT": "5s"}
    finding = found(values, "number-unreadable")
    assert torch(values).error.startswith("ValueError: invalid literal for int()")
    assert torch(mended(values, finding)).error == ""


@pytest.mark.parametrize(("winner", "loser", "texts"), [
    (MASTER, "TORCH_COMPILE_FORCE_DISABLE_CACHES", ("0", "1")),
    (GRAPHS, GRAPHS + "_DEFAULT", ("0", "1")),
    (GRAPHS, GRAPHS + "_DEFAULT", ("1", "0")),
    ("TORCH_COMPILE_JOB_ID", "TORCH_COMPILE_STICKY_PGO_KEY", ("one", "other")),
])  # fmt: skip
def test_of_two_names_the_first_wins(
    torch: Torch, winner: str, loser: str, texts: tuple[str, str]
) -> None:
    values = {winner: texts[0], loser: texts[1]}
    finding = found(values, "names-disagree")
    assert finding.params == {"winner": winner, "loser": loser}
    config = BY_NAME[winner].config
    read = [torch(env, "configs", attributes=[config]).told["values"]
            for env in (values, mended(values, finding), {loser: texts[1]})]  # fmt: skip
    assert read[0] == read[1] != read[2]
    assert "names-disagree" not in codes({winner: texts[0], loser: texts[0]})


@pytest.mark.parametrize(("name", "meant"), [
    ("TORCHINDUCTOR_FXGRAPH_CACHE", GRAPHS),
    ("TORCH_INDUCTOR_CACHE_DIR", I + "CACHE_DIR"),
    ("torchinductor_cache_dir", I + "CACHE_DIR"),
    ("TORCHINDUCTOR_FORCE_DISABLE_CACHE", MASTER),
    ("TORCH_DYNAMO_DISABLE", "TORCHDYNAMO_DISABLE"),
    ("TORCHINDUCTOR_REDIS_PASSWORD", I + "REDIS_URL"),
    ("TRITON_CACHEDIR", "TRITON_CACHE_DIR"),
])  # fmt: skip
def test_a_name_that_nobody_reads(torch: Torch, name: str, meant: str) -> None:
    values = {name: "0"}
    finding = found(values, "variable-unknown")
    assert finding.params == {"name": name, "meant": meant}
    assert found({}, "variable-unknown", About(variables=frozenset({name, "PATH"}))).change == {}
    plain, done = torch({}), torch(values)
    assert (done.error, done.graphs, done.autograd) == ("", plain.graphs, plain.autograd)
    if meant.endswith("URL"):
        assert finding.change == {}, "a password is in no finding"
    else:
        assert mended(values, finding) == {meant: "0"}


@pytest.mark.parametrize(
    ("name", "text", "since"),
    [(I + "NUMERICS", "strict", "2.14"), (I + "LITE_MODE", "1", "2.15"),
     ("TORCH_COMPILE_ON_ONE_RANK", "1", "2.14")],
)  # fmt: skip
def test_a_variable_of_a_later_torch(torch: Torch, name: str, text: str, since: str) -> None:
    finding = found({name: text}, "variable-too-new", About(torch="2.13.0+cpu"))
    assert finding.params == {"name": name, "torch": "2.13.0+cpu", "since": since}
    assert "variable-too-new" not in codes({name: text}, About(torch=f"{since}.0"))
    read = "variable-too-new" not in codes({name: text}, About(torch=torch.version))
    plain, done = torch({}), torch({name: text})
    assert done.error == ""
    assert (done.graphs != plain.graphs) is read


def test_what_pytorch_and_triton_really_read_is_no_mistake(torch: Torch) -> None:
    read = named_in(torch.site)
    assert len(read) > 300
    assert [name for name in sorted(read - set(BY_NAME)) if meant_by(name)] == []
    assert check(dict.fromkeys(read - set(BY_NAME), "1")) == []
