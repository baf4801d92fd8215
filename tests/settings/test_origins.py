"""Where an interpreter's settings come from, as its own torch holds them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import settled
from torchkeeper.client.words.problems import UserError
from torchkeeper.client.words.settled import Settled
from torchkeeper.settings.known import BY_NAME, SETTINGS
from torchkeeper.settings.origins import Origin, Override
from torchkeeper.settings.processes import Process
from torchkeeper.settings.shapes import LookedTold

pytestmark = pytest.mark.torch

FX, AOT = "TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE"
REMOTE, AUTOTUNE = "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE"
FOLDER, URL, JOB = "TORCHINDUCTOR_CACHE_DIR", "TORCHINDUCTOR_REDIS_URL", "TORCH_COMPILE_JOB_ID"
KEYS = "{key}:{filename}:" + "x" * 1000
SITE = f"""import os
os.environ["{REMOTE}"] = "1"
os.environ.pop("TRITON_ALWAYS_COMPILE", None)
import torch
torch._inductor.config.fx_graph_cache = True
torch._functorch.config.enable_autograd_cache = False
torch._inductor.config.autotune_remote_cache = torch is not None
import triton
triton.knobs.redis.host = "elsewhere"
"""


@pytest.fixture(autouse=True, scope="module")
def no_settings() -> Iterator[None]:
    """Of the environment of the tests nothing shall come here."""
    found = {name: os.environ.pop(name) for name in BY_NAME if name in os.environ}
    yield
    os.environ.update(found)


@pytest.fixture(scope="module")
def changed(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Settled:
    """An environment with variables, and a sitecustomize that sets something else."""
    site = tmp_path_factory.mktemp("site")
    (site / "sitecustomize.py").write_text(SITE)
    env = {
        "PYTHONPATH": str(site), FX: "0", AOT: "",
        URL: f"redis://me:{'A' * 1000}s3cret{'A' * 1000}@host:1/0",
        "TORCHINDUCTOR_REDIS_HOST": "me:s3cret@host", "TRITON_REDIS_KEY_FORMAT": KEYS,
        "TORCH_COMPILE_STICKY_PGO_KEY": "1", "TRITON_REDIS_PORT": "many",
        "TRITON_ALWAYS_COMPILE": "1", FOLDER: str(site / "cache"),
    }  # fmt: skip
    with Engine(torch_python, env) as engine:
        told = engine.call("settings")
    assert "s3cret" not in json.dumps(told)
    return settled.environment_from(told)


def by_name(found: Settled) -> dict[str, Origin]:
    return {one.name: one for one in found.origins}


@pytest.mark.slow
def test_as_torch_has_them(torch_python: str) -> None:
    """Nothing set: all is by default, and what torch itself says when it is asked."""
    ask = (
        "import torch, torch._inductor.config as i, torch._functorch.config as f, triton, json\n"
        "from torch._inductor.runtime.cache_dir_utils import default_cache_dir\n"
        "print(json.dumps([torch.__version__, triton.__version__, i.fx_graph_cache,"
        "f.enable_autograd_cache, i.force_disable_caches, i.fx_graph_remote_cache,"
        "default_cache_dir(), i.file_lock_timeout]))"
    )
    asked = subprocess.Popen([torch_python, "-W", "ignore", "-c", ask], stdout=subprocess.PIPE)
    found = settled.of_environment(torch_python)
    torch, triton, *values = json.loads(asked.communicate()[0])
    assert [one.name for one in found.origins] == [one.name for one in SETTINGS]
    assert {one.by for one in found.origins} <= {"default", "absent"}
    assert found.findings == []
    assert (found.torch, found.triton) == (torch, triton)
    assert values[:4] == [True, True, False, None]
    here = by_name(found)
    names = (FX, AOT, "TORCHINDUCTOR_FORCE_DISABLE_CACHES", REMOTE, FOLDER,
             "TORCHINDUCTOR_FILE_LOCK_TIMEOUT")  # fmt: skip
    assert [here[name].value for name in names] == ["1", "1", "0", None, values[4], str(values[5])]
    assert settled.by_words(here[FX], found) == f"default of torch {torch}"
    assert settled.by_words(here["TRITON_REDIS_PORT"], found) == f"default of Triton {triton}"
    assert here["TRITON_CACHE_DIR"].value == f"{values[4]}/triton"


@pytest.mark.slow
def test_a_variable_that_forces_wins_over_code(changed: Settled) -> None:
    assert by_name(changed)[FX] == Origin(FX, "0", "variable", FX)
    # One that is empty is off, and forces as well.
    assert by_name(changed)[AOT] == Origin(AOT, "0", "variable", AOT)


@pytest.mark.slow
def test_another_variable_for_the_same(changed: Settled) -> None:
    one = by_name(changed)[JOB]
    assert (one.value, one.by, one.variable) == ("1", "variable", "TORCH_COMPILE_STICKY_PGO_KEY")
    assert settled.by_words(one, changed) == "variable TORCH_COMPILE_STICKY_PGO_KEY"


def test_code_that_runs_before_any_program(changed: Settled) -> None:
    here = by_name(changed)
    for name, value, line in (
        (REMOTE, "1", 2), (AUTOTUNE, "1", 7), ("TRITON_REDIS_HOST", "elsewhere", 9),
        ("TRITON_ALWAYS_COMPILE", "0", 3),
    ):  # fmt: skip
        one = here[name]
        assert (one.value, one.by) == (value, "code"), name
        assert one.where.endswith(f"/sitecustomize.py:{line}"), name
    assert here["TRITON_ALWAYS_COMPILE"].variable == "TRITON_ALWAYS_COMPILE"


def test_what_cannot_be_read_is_shown_as_it_is(changed: Settled) -> None:
    one = by_name(changed)["TRITON_REDIS_PORT"]
    assert (one.value, one.by) == ("many", "variable")


def test_folders_and_passwords(changed: Settled) -> None:
    here = by_name(changed)
    assert here[URL] == Origin(URL, "redis://me:…@host:1/0", "variable", URL)
    assert here["TORCHINDUCTOR_REDIS_HOST"].value == "…"
    # And what has none is told whole.
    assert here["TRITON_REDIS_KEY_FORMAT"].value == KEYS
    assert here[FOLDER].by == "variable"
    assert here["TRITON_CACHE_DIR"].value == f"{here[FOLDER].value}/triton"
    assert here["TORCHINDUCTOR_FORCE_DISABLE_CACHES"].by == "default"


def test_findings_are_of_what_it_comes_to(changed: Settled) -> None:
    """The sitecustomize has turned a remote cache on; a variable has turned the FX cache off."""
    assert changed.findings
    overridden = [one for one in changed.findings if one.code == "setting-overridden"]
    assert [one.settings for one in overridden] == [("TRITON_ALWAYS_COMPILE",)]


@pytest.mark.slow
def test_a_variable_that_breaks_the_import(torch_python: str) -> None:
    """No program gets further here than to its first compile; what is set is told all the same."""
    with Engine(torch_python, {"TORCHINDUCTOR_FILE_LOCK_TIMEOUT": "soon", FX: "0"}) as engine:
        found = settled.environment_from(engine.call("settings"))
    here = by_name(found)
    one = here["TORCHINDUCTOR_FILE_LOCK_TIMEOUT"]
    assert (one.value, one.by) == ("soon", "variable")
    assert (here[FX].value, here[FX].by) == ("0", "variable")
    assert (here[AUTOTUNE].value, here[AUTOTUNE].by) == (None, "unknown")
    assert here[AOT].by == "default"
    assert "TORCHINDUCTOR_FILE_LOCK_TIMEOUT" in {x for one in found.findings for x in one.settings}


def test_an_interpreter_without_torch(bare_python: str) -> None:
    with pytest.raises(UserError) as caught:
        settled.of_environment(bare_python)
    assert caught.value.code == "environment-no-torch"


def test_what_makes_no_sense_is_left_out(tmp_path: Path) -> None:
    override = Override("a.py:3", "assigned", None, False, None)
    told = [
        Origin("PATH", "/", "variable"), Origin(FX, "7", "magic"),
        Origin(AOT, None, "code", overrides=(override,)),
    ]  # fmt: skip
    process = Process(1, "p", [], None, "", "", True, None, None)
    looked: LookedTold = {
        "kind": "script", "main": "a.py", "files": 1, "unread": [("a", "b")], "changed": [],
        "stopped": "",
    }  # fmt: skip
    found = settled.process_from({
        "settings": [one.to_json() for one in told], "findings": [], "lost": False,
        "process": process.to_json(), "looked": looked,
    })  # fmt: skip
    assert [(one.name, one.by, one.value) for one in found.origins] == [
        (FX, "unknown", "7"), (AOT, "code", None),
    ]  # fmt: skip
    assert (found.origins[1].overrides, found.process) == ((override,), process)
    assert found.unread == [("a", "b")]
    rows = [None, {"pid": "x"}, {"pid": 3}, process.to_json()]
    running = settled.processes_from(rows, {"count": 4, "hidden": 2, "sees": "own"})
    assert (running.processes, running.hidden, running.sees) == ([process], 2, "own")
    assert settled.unseen(found)
    for one in found.origins:
        assert settled.by_words(one, found)
