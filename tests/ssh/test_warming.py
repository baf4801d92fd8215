"""Recipes that are compiled by an environment on another machine, into a place there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.cli.test_warm import processes_under
from tests.redis_server import serving
from tests.ssh.conftest import Machine
from torchkeeper.client.engines import line
from torchkeeper.client.recipes import files, sending

RECIPE = """name = "double"
[callable]
function = "models.py:double"
inputs = [{ shape = [4, 8] }]
"""
KERNEL = (
    '[triton]\nkernel = "{}"\nsignature = {{ x = "*fp32", n = "i32" }}\ntargets = ["cuda:90"]\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Recipes, with what they need and what they do not."""
    made = tmp_path / "recipes"
    for name in (".git", "venv", "below", "scripts"):
        (made / name).mkdir(parents=True)
    (made / "double.toml").write_text(RECIPE)
    (made / "models.py").write_text("from below.more import twice\n\ndouble = twice\n")
    (made / "below/more.py").write_text("def twice(x):\n    return x * 2 + 1\n")
    (made / "run.toml").write_text(
        '[script]\nfolder = "scripts"\ncommand = ["python", "train.py", "--config", "c.json", '
        '"../data.bin", "/etc/hostname", ".."]\n'
    )
    for name in (".git/hidden.py", "venv/pyvenv.cfg", "venv/lib.py", "data.bin", "secret.env",
                 "scripts/train.py", "scripts/c.json", "scripts/other.json"):  # fmt: skip
        (made / name).write_text("")
    return made


def test_only_what_recipes_need_is_sent(there: Machine, folder: Path) -> None:
    wired = files.wire([str(folder)])
    heard: list[int] = []
    request = sending.send("ssh://there", [*wired, "builtin"], lambda done, _: heard.append(done))
    file = request["sent"].removeprefix("ssh://there")
    with zipfile.ZipFile(file) as zipped:
        assert sorted(zipped.namelist()) == [
            "0/", "0/below/more.py", "0/data.bin", "0/models.py", "0/scripts/c.json",
            "0/scripts/train.py",
        ]  # fmt: skip
    assert heard == [os.path.getsize(file)]
    *sent, last = request["recipes"] or ()
    assert last == "builtin"
    assert [one["folder"] for one in sent if not isinstance(one, str)] == ["/0", "/0"]
    assert sending.send("ssh://there", ["builtin"]) == {"recipes": ["builtin"]}
    line.close_all()


def test_no_link_brings_a_file_from_elsewhere_along(folder: Path, tmp_path: Path) -> None:
    """A folder of recipes may be somebody else's, and their links lead to what is ours."""
    (tmp_path / "id_ed25519").write_text("secret")
    for name in ("key.py", "data.bin", "scripts/train.py"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(tmp_path / "id_ed25519")
    (folder / "scripts/c.json").unlink()
    (folder / "up").symlink_to(tmp_path)
    (folder / "up.toml").write_text('[script]\ncommand = ["python", "up/id_ed25519"]\n')
    (folder / "more.py").symlink_to("below/more.py")
    os.mkfifo(folder / "pipe.py")
    wired = [one for one in files.wire([str(folder)]) if not isinstance(one, str)]
    modules, named = sending._modules(str(folder)), sending._named(str(folder), wired)
    assert sorted(modules) == ["below/more.py", "models.py", "more.py"]
    assert list(named) == []


def test_what_is_known_to_fail_there_is_told_before(tk: Tk, there: Machine, tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text("def add(x, n):\n    pass\n")
    for name, recipe in {"good": "kernels.py:add", "bad": "kernels.py:addd"}.items():
        (tmp_path / f"{name}.toml").write_text(KERNEL.format(recipe))
    into = "--into", there.place("cache"), "--dry-run", "--json"
    assert tk("warm", tmp_path / "good.toml", *into).code == 0
    ran = tk("warm", tmp_path / "bad.toml", *into)
    assert ran.code == 1 and ran.objects[0]["problem"]["code"] == "name-missing", ran
    assert not (there.home / "cache").exists()
    assert not list((there.folder / "tmp").glob("torchkeeper-engine-*"))


@pytest.mark.slow
def test_what_cannot_be_done_there_says_so(
    tk: Tk, there: Machine, folder: Path, fixture_cache: Path
) -> None:
    recipe, place = folder / "double.toml", there.place("cache")
    into = "--into", place, "--json"
    (folder / "secret.env").write_text("TORCHINDUCTOR_REDIS_URL=redis://:hunter2@host:6379/0\n")
    (folder / "relative.env").write_text("TRITON_CACHE_DIR=kernels\n")
    for more, code in {
        ("--profile", str(folder / "secret.env")): "profile-password",
        ("--profile", str(folder / "relative.env")): "path-not-absolute",
        ("--env", "ssh://other/usr/bin/python3"): "places-apart",
        ("--env", "bin/python"): "path-not-absolute",
    }.items():
        ran = tk("warm", recipe, *into, *more)
        assert ran.objects[-1]["error"]["code"] == code, ran
    away = tk(
        "warm", recipe, "--into", folder / "c", "--json", "--env", "ssh://there/usr/bin/python3"
    )
    assert away.objects[-1]["error"]["code"] == "places-apart"
    assert tk("copy", "--json", "--allow-secrets", fixture_cache, folder / "b.torchcache").code == 0
    for command, code in {
        ("verify", there.place("nothing")): "place-missing",
        ("verify", str(fixture_cache), "--env", f"ssh://there{sys.executable}"): "places-apart",
        ("verify", str(folder / "b.torchcache"), "--env", "ssh://there/x"): "wrong-usage",
        ("prepare", "--into", place, "--env", "ssh://other/x"): "places-apart",
    }.items():
        ran = tk(*command, "--json")
        assert ran.objects[-1]["error"]["code"] == code, ran
    large = folder / "large.py"
    with large.open("wb") as file:
        file.truncate(1 << 30)
    ran = tk("warm", recipe, *into)
    assert ran.objects[-1]["error"]["code"] == "recipe-folder-large"
    large.unlink()
    # The python3 there has no torch.
    ran = tk("warm", recipe, *into)
    assert ran.code != 0 and "torch" in ran.out


def said_until(process: subprocess.Popen[str], word: str) -> list[str]:
    """What a command says, up to a line with a word."""
    assert process.stderr
    said: list[str] = []
    for line_ in process.stderr:
        said.append(line_)
        if word in line_:
            break
    return said


def ssh_of(process: int) -> int:
    """The ssh that a process has started."""
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            if Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0].endswith(b"ssh"):
                return int(child)
    raise AssertionError("there is none")


@pytest.fixture
def env(there: Machine, header_folder: Path, torch_python: str) -> str:
    """An environment there that builds no header first."""
    there.rc.write_text(f"export TMPDIR={header_folder}\n")
    return f"ssh://there{torch_python}"


@pytest.mark.slow
@pytest.mark.torch
def test_a_recipe_is_warmed_there(tk: Tk, there: Machine, folder: Path, env: str) -> None:
    place = there.place("cache")
    bundle = folder / "double.torchcache"
    (folder / "p.env").write_text("TORCHINDUCTOR_COMPILE_THREADS=1\n")
    with serving(folder / "server") as server:
        onward = "--bundle", bundle, "--publish", server.url, "--allow-secrets", "--profile"
        ran = tk("warm", folder / "double.toml", "--into", place, "--env", env, "--json", *onward,
                 folder / "p.env")  # fmt: skip
    assert ran.code == 0, ran
    assert ran.result["done"] == 1 and ran.result["added"] > 1
    assert ran.result["published"]["entries"] > 0 and ran.result["bundle"]["size"] > 0
    assert ran.result["bundle"]["output"] == str(bundle)
    listed = tk("ls", "--json", place).objects
    assert {row["kind"] for row in listed} >= {"fxgraph", "aotautograd"}
    again = tk(
        "warm", folder / "double.toml", "--into", place, "--env", env.removeprefix("ssh://there")
    )
    assert again.code == 0 and "hit" in again.err
    usable = tk("check", place, "--env", env, "--json")
    assert usable.code == 0 and usable.result["verdicts"]["usable"] >= 1
    assert processes_under(there.home / "cache") == []

    # Every program there finds it, and one that is sent a bundle of it does, too.
    recipe = "--recipe", folder / "double.toml", "--quick", "--json"
    verified = tk("verify", place, "--env", env, *recipe)
    assert verified.code == 0 and verified.result["good"], verified
    assert (verified.result["place"], verified.result["python"]) == (place, env)
    sent = tk("verify", bundle, "--env", env, "--trust", *recipe)
    assert sent.code == 0 and sent.result["hits"] == verified.result["hits"] > 0, sent
    program = "import torch; from models import double; torch.compile(double)(torch.ones(4, 8))"
    project = f"ssh://there{folder}"  # the same folder, as that machine has it
    into = "--into", place, "--env", env, "--folder", project, "--json"
    run = tk("run", *into, "--", "-c", program)
    assert run.code == 0, run
    last = json.loads(run.out.splitlines()[-1])  # before it comes what torch warns of
    assert last["result"]["hits"] == 1, run
    prepared = tk("prepare", "--env", env, "--json")
    assert prepared.code == 0 and prepared.result["there"] >= 1, prepared
    assert not list((there.folder / "tmp").glob("torchkeeper-*"))


@pytest.mark.slow
@pytest.mark.torch
def test_a_warm_up_that_is_ended_leaves_nothing_running_and_nothing_half(
    tk: Tk, there: Machine, folder: Path, env: str
) -> None:
    place = there.home / "cache"
    (folder / "models.py").write_text(
        "import time\nfrom below.more import twice\n\n"
        "def double(x):\n    return twice(x)\n\n"
        "def slow(x):\n    time.sleep(600)\n    return x\n"
    )
    slow = '[[callable]]\nfunction = "models.py:{}"\ninputs = [{{ shape = [4, 8] }}]\n'
    (folder / "double.toml").write_text(slow.format("double") + slow.format("slow"))
    command = [sys.executable, "-m", "torchkeeper", "warm", str(folder / "double.toml")]
    command += ["--into", there.place("cache"), "--env", env]
    command = ["env", "--default-signal=INT", *command]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        before = said_until(process, "miss")
        while not any("slow" in one or "warm.job" in one for one in processes_under(place)):
            assert process.poll() is None, before
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()
        code = process.returncode
    assert code == 130 and "Cancelled" in rest
    assert not processes_under(place)
    rows = tk("ls", there.place("cache"), "--json").objects
    assert any(row["kind"] == "fxgraph" for row in rows)
    assert not any(row.get("problem") for row in rows)
