"""What probes found is kept, and asked for again when anything changes."""

from __future__ import annotations

import os
import sys
import time
import venv
from pathlib import Path

import pytest

from torchkeeper.client.engines import probes
from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import UserError


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    return Path(whole.cache_folder()) / "cache" / "interpreters"


@pytest.fixture
def python(tmp_path: Path) -> str:
    """An interpreter of a virtual environment with a torch that says its version."""
    venv.create(tmp_path / "venv", symlinks=True)
    package = packages(tmp_path / "venv") / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("from torch.version import __version__\n")
    install(tmp_path / "venv", "9.0.1")
    return str(tmp_path / "venv" / "bin" / "python")


def packages(environment: Path) -> Path:
    (found,) = environment.glob("lib/python3*/site-packages")
    return found


def install(environment: Path, version: str) -> None:
    file = packages(environment) / "torch" / "version.py"
    file.unlink(missing_ok=True)
    file.write_text(f"__version__ = {version!r}\n")


@pytest.mark.slow
@pytest.mark.torch
def test_asking_again_is_instant(torch_python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = probes.probe(torch_python)
    assert said["torch"] and said["torch"].count(".") >= 2
    # No interpreter is started any more.
    monkeypatch.setattr(probes, "Engine", None)
    before = time.thread_time()
    assert probes.probe(torch_python) == said
    assert time.thread_time() - before < 0.5


@pytest.mark.slow
def test_another_torch_is_asked_again(python: str, tmp_path: Path) -> None:
    assert probes.probe(python)["torch"] == "9.0.1"
    before = probes.identity(python)
    assert probes.kept(before) is not None
    install(tmp_path / "venv", "9.0.12")
    assert probes.kept(probes.identity(python)) is None
    assert probes.probe(python)["torch"] == "9.0.12"
    assert probes.identity(python) != before


def test_what_another_version_of_ours_kept_is_asked_again(
    python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have asked for less than is needed now."""
    said = probes.probe(python)
    assert probes.kept(probes.identity(python)) == said
    monkeypatch.setattr(probes, "archive", lambda: Path("engine-0123456789abcdef.zip"))
    assert probes.kept(probes.identity(python)) is None


@pytest.mark.parametrize(
    "variable",
    ["CUDA_VISIBLE_DEVICES", "TORCHINDUCTOR_CACHE_DIR", "PATH", "CI", "SOME_SETTING"],
)
def test_what_decides_is_part_of_it(
    python: str, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    before = probes.identity(python)
    assert probes.identity(python) == before
    for name in ("WINDOWID", "NO_COLOR"):
        monkeypatch.setenv(name, "7")
    assert probes.identity(python) == before
    monkeypatch.setenv(variable, "/elsewhere")
    assert probes.identity(python) != before


def test_other_interpreters_are_others(python: str) -> None:
    assert probes.identity(python) != probes.identity(sys.executable)


def test_one_that_does_not_answer_is_ended(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (packages(tmp_path / "venv") / "torch" / "__init__.py").write_text(
        "import time; time.sleep(99)"
    )
    monkeypatch.setattr(probes, "LIMIT", 1.0)
    with pytest.raises(UserError) as caught:
        probes.probe(python)
    assert caught.value.code == "probe-stuck"
    assert "within 1 seconds" in caught.value.why


def test_that_there_is_no_torch_is_kept_until_one_comes(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", symlinks=True)
    python, shared = str(tmp_path / "venv/bin/python"), tmp_path / "shared"
    shared.mkdir()
    said = probes.probe(python)
    assert said["torch"] is None
    assert probes.kept(before := probes.identity(python)) == said
    # It may come to a folder that a .pth file leads to, as of those that develop it.
    (packages(tmp_path / "venv") / "more.pth").write_text(f"# of ours\nimport sys\n{shared}\n")
    assert (led := probes.identity(python)) != before
    (shared / "torch").mkdir()
    (shared / "torch/version.py").write_text("__version__ = '9.0.1'\n")
    assert probes.kept(came := probes.identity(python)) is None and came != led
    (shared / "torch/version.py").write_text("__version__ = '9.0.12'\n")
    assert probes.identity(python) != came


def test_a_torch_that_is_broken_is_not_kept(python: str, tmp_path: Path, own_cache: Path) -> None:
    (packages(tmp_path / "venv") / "torch" / "__init__.py").write_text("raise OSError('no CUDA')")
    said = probes.probe(python)
    assert said["torch"] is None
    assert said["torch_error"] == "OSError: no CUDA"
    assert not [file for file in own_cache.glob("*") if file.is_file()]


@pytest.mark.slow
def test_what_is_damaged_is_asked_again(python: str, own_cache: Path) -> None:
    said = probes.probe(python)
    (file,) = (file for file in own_cache.iterdir() if file.is_file())
    good = file.read_bytes()
    for content in (good[:-10], good[:4] + b"cos\nsystem\n(Vtrue\ntR.", b"", b"more"):
        file.write_bytes(content)
        assert probes.kept(probes.identity(python)) is None
        assert probes.probe(python) == said
        assert file.read_bytes() == good


def test_old_facts_go(python: str, own_cache: Path) -> None:
    own_cache.mkdir(parents=True)
    old = own_cache / ("0" * 32)
    old.write_bytes(b"old")
    os.utime(old, (0, 0))
    probes.probe(python)
    assert not old.exists()
    assert sum(file.is_file() for file in own_cache.iterdir()) == 1


def test_a_folder_that_cannot_be_written_is_no_trouble(
    python: str, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    own_cache.parent.mkdir(parents=True)
    own_cache.write_text("a file is in the way")
    assert probes.probe(python)["torch"] == "9.0.1"
