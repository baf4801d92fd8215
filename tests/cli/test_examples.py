"""The files of resources/examples do what the manual says of them: their commands are run as they
stand there, but for where the folders of containers and servers are, and who provides programs.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Ran, Tk

EXAMPLES = Path(__file__).parents[2] / "resources/examples"
#: Folders of containers and servers; each is one of the test's own here.
FOLDERS = re.compile(
    r"(?<![\w./])/(?:cache|bundles|signers|app|srv|opt/torchkeeper|usr/local)(?![\w-])"
)
SRUN = 'while case "$1" in -*) ;; *) false ;; esac; do shift; done; exec "$@"'
SERVE = """
import torch
from models import Small

with torch.no_grad():
    print(torch.compile(Small(32).eval(), dynamic=False)(torch.rand(4, 32)).sum())
"""


class Stage:
    """A machine of its own for the commands of an example, as far as folders go."""

    def __init__(self, root: Path, python: str) -> None:
        self.root = root
        self.programs = root / "opt/torchkeeper/bin"
        self.home = root / "home"
        self.home.mkdir()
        self.provide(self.programs / "torchkeeper", f'exec "{sys.executable}" -m torchkeeper "$@"')
        self.provide(self.programs / "srun", SRUN)
        for folder in (self.programs, root / "usr/local/bin"):
            self.provide(folder / "python", f'exec "{python}" "$@"')

    def provide(self, program: Path, script: str) -> None:
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def placed(self, text: str) -> str:
        """A text with the folders of this stage."""
        return FOLDERS.sub(lambda found: f"{self.root}{found[0]}", text)

    def run(
        self, command: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Ran:
        """What comes of a command in a shell."""
        whole = {
            **os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}", "HOME": str(self.home),
            **{name: self.placed(value) for name, value in (env or {}).items()},
        }  # fmt: skip
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
            whole.pop(name, None)
        done = subprocess.run(
            ["sh", "-c", self.placed(command)], cwd=cwd or self.root, env=whole, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def stage(tmp_path: Path, torch_python: str) -> Stage:
    return Stage(tmp_path, torch_python)


def bundle_of(tk: Tk, cache: Path, file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    made = tk("export", cache, "-o", file, "--allow-secrets", "--filter", "kind:fxgraph")
    assert made.code == 0, made.err
    return file


def env_of(container: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in container["env"]}


@pytest.mark.slow
def test_an_init_container_takes_what_is_signed_and_nothing_else(
    tk: Tk, stage: Stage, kept_291: Path, tmp_path: Path
) -> None:
    config, deployment = yaml.safe_load_all((EXAMPLES / "init-container.yaml").read_text())
    pod = deployment["spec"]["template"]["spec"]
    [first], [serving] = pod["initContainers"], pod["containers"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    mounted = {one["mountPath"]: one["name"] for one in first["volumeMounts"]}
    assert set(mounted.values()) == set(volumes)
    assert volumes["signers"]["configMap"]["name"] == config["metadata"]["name"]
    used = env_of(serving)["TORCHINDUCTOR_CACHE_DIR"]
    assert first["command"][first["command"].index("--into") + 1] == used
    assert {one["mountPath"]: one["name"] for one in serving["volumeMounts"]} == {
        used: mounted[used]
    }

    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    public = " ".join(key.with_suffix(".pub").read_text().split()[:2])
    env = {**env_of(first), "HOME": str(stage.home)}
    signers = Path(stage.placed(env["TORCHKEEPER_SIGNERS"]))
    signers.parent.mkdir()
    for name, text in config["data"].items():
        (signers.parent / name).write_text(re.sub(r"ssh-ed25519 \S+", public, text))
    assert signers.is_file()
    bundle = bundle_of(tk, kept_291, tmp_path / "bundles/serve.torchcache")
    command, cache = shlex.join(first["command"]), Path(stage.placed(used))
    refused = stage.run(command, env)
    assert (refused.code, cache.exists()) == (1, False), refused.err
    assert "signed by nobody" in refused.err
    assert tk("sign", bundle, "--key", key).code == 0
    taken = stage.run(command, env)
    assert (taken.code, taken.err) == (0, "")
    assert len(list(cache.glob("fxgraph/*/*/*"))) == len(list(kept_291.glob("fxgraph/*/*/*"))) > 0


@pytest.mark.slow
def test_cron_is_told_nothing_when_all_is_well(
    stage: Stage, kept_291: Path, tmp_path: Path
) -> None:
    """But for the line that compiles, which is below."""
    cache = tmp_path / "srv/torch-cache"
    shutil.copytree(kept_291, cache)
    env, jobs = crontab()
    assert [job.split()[1] for job in jobs] == ["warm", "purge", "trash"]
    assert all(re.search(r"(?<!\\)%", job) is None for job in jobs), "a new line, to cron"
    for job in jobs[1:]:
        ran = stage.run(job, env)
        assert (ran.code, ran.err) == (0, ""), (job, ran)
    assert list(cache.glob("fxgraph/*/*/*")) == [], "stale here"
    assert list(cache.glob(".torchkeeper-trash/*")) == []


def crontab() -> tuple[dict[str, str], list[str]]:
    """The variables and the commands; whatever else is in it is a comment."""
    env, jobs = dict[str, str](), list[str]()
    for line in (EXAMPLES / "crontab").read_text().splitlines():
        if line and not line.startswith("#"):
            if found := re.fullmatch(r"([A-Z]+)=(.*)", line):
                env[found[1]] = found[2]
                continue
            found = re.fullmatch(r"(?:(?:\*|[0-9]{1,2}) +){5}(.+)", line)
            assert found, line
            jobs.append(found[1])
    return env, jobs


def unit(name: str) -> list[tuple[str, str]]:
    text = (EXAMPLES / name).read_text()
    return re.findall(r"^([A-Za-z]+)=(.*)$", text, re.M)


def test_a_timer_keeps_a_folder_within_its_budget(
    stage: Stage, kept_291: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "srv/torch-cache"
    shutil.copytree(kept_291, cache)
    said = dict(unit("torchkeeper-budget.service"))
    before = len(list(cache.rglob("*")))
    ran = stage.run(said["ExecStart"])
    assert (ran.code, ran.err, len(list(cache.rglob("*")))) == (0, "", before)
    ran = stage.run(said["ExecStart"].replace("50G", "400k"))
    assert (ran.code, ran.err) == (0, "")
    left = sum(one.stat().st_blocks * 512 for one in cache.rglob("*") if one.is_file())
    assert 0 < left <= 400_000
    assert not (cache / ".torchkeeper-trash").exists(), "the room is free at once"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="it comes with systemd")
def test_systemd_takes_the_units(stage: Stage, tmp_path: Path) -> None:
    for name in ("torchkeeper-budget.service", "torchkeeper-budget.timer"):
        text = (EXAMPLES / name).read_text()
        (tmp_path / name).write_text(text.replace("/opt/torchkeeper/bin", str(stage.programs)))
        checked = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", tmp_path / name],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (checked.returncode, checked.stderr) == (0, ""), name
    [when] = [value for key, value in unit("torchkeeper-budget.timer") if key == "OnCalendar"]
    subprocess.run(["systemd-analyze", "calendar", when], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.slow
def test_each_node_of_slurm_has_the_cache_before_its_ranks_start(
    tk: Tk, stage: Stage, kept_291: Path, tmp_path: Path
) -> None:
    bundle_of(tk, kept_291, tmp_path / "train.torchcache")
    (tmp_path / "train.py").write_text(
        "import glob, os\nprint(len(glob.glob(os.environ['TORCHINDUCTOR_CACHE_DIR'] "
        "+ '/fxgraph/*/*/*')))\n"
    )
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "4", "SLURM_SUBMIT_DIR": str(tmp_path),
           "TMPDIR": str(tmp_path)}  # fmt: skip
    ran = stage.run(shlex.join(["sh", "-eu", str(EXAMPLES / "slurm.sbatch")]), job)
    assert (ran.code, ran.err) == (0, "")
    assert int(ran.out.splitlines()[-1]) == len(list(kept_291.glob("fxgraph/*/*/*"))) > 0
    assert (tmp_path / "cache-7").is_dir()


def dockerfile() -> list[list[tuple[str, str]]]:
    """The stages: each its instructions."""
    # It has no types.
    parser = importlib.import_module("dockerfile_parse").DockerfileParser(
        fileobj=BytesIO((EXAMPLES / "Dockerfile").read_bytes())
    )
    stages: list[list[tuple[str, str]]] = []
    for one in parser.structure:
        if one["instruction"] == "FROM":
            stages.append([])
        if one["instruction"] != "COMMENT":
            stages[-1].append((one["instruction"], one["value"]))
    return stages


def environment(stage: list[tuple[str, str]]) -> dict[str, str]:
    return dict(
        word.split("=", 1) for what, value in stage if what == "ENV" for word in shlex.split(value)
    )


@pytest.mark.slow
@pytest.mark.torch
def test_an_image_hits_from_its_first_request_on_and_its_bundle_passes_the_workflow(
    tk: Tk, stage: Stage, kept_291: Path, tmp_path: Path
) -> None:
    base, warm, last = dockerfile()
    for what, value in [*base, *warm]:
        if what == "RUN":
            subprocess.run(["sh", "-n", "-c", value], check=True)
    app = tmp_path / "app"
    assert tk("recipe", "new", "callable", app / "serve.toml").code == 0
    (app / "serve.py").write_text(SERVE)
    built = environment(base)
    [command] = [value for what, value in warm if what == "RUN" and " warm " in value]
    made = stage.run(command, built, app)
    assert made.code == 0, made.err
    # What is shipped is in another place there; here it is the same.
    [copied] = [value for what, value in last if what == "COPY"]
    assert copied.split() == ["--from=warm", "/cache", "/cache"]
    assert [value for what, value in last if what == "FROM"] == ["base"]
    env = {**built, **environment(last)}
    assert env["TORCHINDUCTOR_CACHE_DIR"] == "/cache"
    [start] = [json.loads(value) for what, value in last if what == "CMD"]
    ran = stage.run(f"torchkeeper run --json -- {shlex.join(start)}", env, app)
    assert ran.code == 0, ran.err
    told = json.loads(ran.out.splitlines()[-1])["result"]
    assert (told["graphs"], told["hits"], told["misses"]) == (1, 1, 0)

    bundle = app / "serve.torchcache"
    assert tk("export", tmp_path / "cache", "-o", bundle).code == 0
    [job] = yaml.safe_load((EXAMPLES / "github-workflow.yml").read_text())["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "torchkeeper " in step.get("run", "")]
    assert [step.split()[1] for step in steps] == ["check", "verify"]
    for step in steps:
        passed = stage.run(step, cwd=app)
        assert passed.code == 0, (step, passed)
    bundle_of(tk, kept_291, bundle)
    for step in steps:
        assert stage.run(step, cwd=app).code == 1, step

    env, jobs = crontab()
    (tmp_path / "srv").mkdir()
    shutil.copytree(app, tmp_path / "srv/recipes")
    filled = stage.run(jobs[0], env)
    assert (filled.code, filled.err) == (0, "")
    assert any((tmp_path / "srv/torch-cache/fxgraph").iterdir())
