"""Which interpreters are found, which is the default, and that finding one starts none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from torchkeeper.client.engines import interpreters, probes
from torchkeeper.client.words.problems import UserError

VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"


def environment(folder: Path, *holds: str, config: str | None = None) -> str:
    """The interpreter of an environment: its link, which writes down each start, and packages."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    real = folder.parent / f"{folder.name}-real" / "bin" / VERSION
    real.parent.mkdir(parents=True)
    real.write_text(f'#!/bin/sh\ntouch {folder}/started\nexec {sys.executable} "$@"\n')
    real.chmod(0o755)
    python.symlink_to(real)
    if config is not None:
        (folder / "pyvenv.cfg").write_text(config)
    for name in holds:
        file = folder / "lib" / VERSION / "site-packages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return str(python)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with a home of his own, and nothing in his environment; ours has no torch."""
    for name in (interpreters.VARIABLE, "VIRTUAL_ENV", "CONDA_PREFIX", "WORKON_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("MAMBA_ROOT_PREFIX", "PYENV_ROOT", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    ours = environment(tmp_path / "ours", config="include-system-site-packages = false\n")
    monkeypatch.setattr(sys, "executable", ours)
    monkeypatch.setattr(sys, "path", [])
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


def found() -> list[tuple[str, bool]]:
    return [(one.python, one.starts) for one in interpreters.with_torch()]


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
@pytest.mark.parametrize("holds", ["torch/version.py", "torch-9.0.dist-info", "torch.egg-link"])
def test_where_ours_has_no_torch_the_active_environment_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, holds: str
) -> None:
    python = environment(tmp_path / "active", holds)
    monkeypatch.setenv(variable, str(tmp_path / "active"))
    assert interpreters.chosen(None) == python
    assert not (tmp_path / "active" / "started").exists()
    # One without a torch is of no more use than ours, and ours comes first if it has one.
    (tmp_path / "active" / "lib").rename(tmp_path / "lib")
    assert interpreters.chosen(None) == sys.executable
    (tmp_path / "lib").rename(tmp_path / "active" / "lib")
    packages = tmp_path / "packages" / "torch"
    packages.mkdir(parents=True)
    (packages / "version.py").touch()
    monkeypatch.setattr(sys, "path", [str(packages.parent)])
    assert interpreters.chosen(None) == sys.executable


def test_what_the_variable_names_is_the_default_whatever_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(tmp_path / "active", "torch/version.py")
    named = environment(tmp_path / "named")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    monkeypatch.setenv(interpreters.VARIABLE, named)
    assert interpreters.chosen(None) == named


def test_an_active_environment_that_others_can_change_is_no_default(
    among: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = environment(among / "active", "torch/version.py")
    monkeypatch.setenv("VIRTUAL_ENV", str(among / "active"))
    assert interpreters.chosen(None) == python
    (among / "active" / "bin").chmod(0o777)
    assert interpreters.chosen(None) == sys.executable
    assert (python, False) in found()


def test_the_packages_of_the_system_count_where_an_environment_takes_them(tmp_path: Path) -> None:
    system = environment(tmp_path / "usr", "torch/version.py")
    home = os.path.dirname(system)
    for answer in ("true", "false"):
        config = f"home = {home}\ninclude-system-site-packages = {answer}\n"
        python = environment(tmp_path / answer, config=config)
        assert interpreters.holds_torch(python) is (answer == "true")


def test_the_environment_of_the_project_one_stands_in_is_found_and_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = environment(tmp_path / "work" / "app" / ".venv", "torch/version.py")
    above = environment(tmp_path / "work" / ".venv", "torch/version.py")
    deep = tmp_path / "work" / "app" / "src" / "deep"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert {(python, False), (above, False)} <= set(found())
    # A repository is where a project ends.
    (tmp_path / "work" / "app" / ".git").mkdir()
    assert (python, False) in found() and (above, False) not in found()
    monkeypatch.setattr(probes, "probe", lambda *_: {"torch": None})
    with pytest.raises(UserError) as caught:
        probes.environment(sys.executable)
    assert caught.value.code == "environment-torch-elsewhere"
    assert python in caught.value.why and f"--env {python}" in caught.value.remedy
    interpreters.add(python)
    assert (python, True) in found()
    assert not list(tmp_path.rglob("started"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives folders away")
def test_a_folder_of_somebody_else_above_is_not_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = environment(tmp_path / "shared" / ".venv", "torch/version.py")
    (tmp_path / "shared" / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "shared" / "mine")
    assert (planted, False) in found()
    os.chown(tmp_path / "shared", 4711, 4711)
    assert (planted, False) not in found()


def test_environments_that_conda_has_written_down_are_found(
    tmp_path: Path, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = environment(tmp_path / "far" / "llm", "torch-9.0.dist-info")
    without = environment(tmp_path / "far" / "plain")
    named = environment(tmp_path / "mamba" / "envs" / "train", "torch/version.py")
    monkeypatch.setenv("MAMBA_ROOT_PREFIX", str(tmp_path / "mamba"))
    (alone / ".conda").mkdir()
    lines = [tmp_path / "far" / "llm", tmp_path / "far" / "plain", tmp_path / "gone", "relative"]
    (alone / ".conda" / "environments.txt").write_text("".join(f"{line}\n" for line in lines))
    there = found()
    assert {(written, False), (named, False)} <= set(there)
    assert without not in [python for python, _ in there]
    assert not list(tmp_path.rglob("started"))
