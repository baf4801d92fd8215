"""The wheel holds the tree, whole and nothing else, and finds its resources like a clone does."""

from __future__ import annotations

import email
import importlib.resources
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import torchkeeper
from torchkeeper.client.manual import DOCUMENTS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "packaging/manpage.py"
MAPPED = {"torchkeeper": ROOT / "app/torchkeeper", "torchkeeper/resources": ROOT / "resources"}

LIST_ICONS = """
import importlib.resources, json, sys
sys.path.insert(0, sys.argv[1])
import torchkeeper
icons = importlib.resources.files("torchkeeper.resources") / "icons"
print(json.dumps([torchkeeper.__file__, {i.name: i.read_text() for i in icons.iterdir()}]))
"""


def tree() -> set[str]:
    return {
        f"{package}/{file.relative_to(folder).as_posix()}"
        for package, folder in MAPPED.items()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def icons() -> dict[str, str]:
    return {icon.name: icon.read_text() for icon in (ROOT / "resources/icons").iterdir()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory)


def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made as packaging/build does: of the sdist, which lies beside it."""
    # Built in a copy, because setuptools leaves build/ and *.egg-info beside pyproject.toml.
    copy = tmp_path_factory.mktemp("clone")
    for name in ("pyproject.toml", "setup.py", "LICENSE", *DOCUMENTS):
        shutil.copy(ROOT / name, copy)
    for name in ("app/torchkeeper", "resources"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "packaging").mkdir()
    page = subprocess.run([sys.executable, PAGE], capture_output=True, check=True)
    (copy / "packaging" / "torchkeeper.1").write_bytes(page.stdout)
    out = tmp_path_factory.mktemp("wheel")
    # Without isolation and index: a test has no network; packaging/setup.sh installs setuptools.
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, copy],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    (made,) = out.glob("*.whl")
    return made


def test_the_index_is_told_nothing_that_it_cannot_show(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        info = f"torchkeeper-{torchkeeper.__version__}.dist-info/METADATA"
        metadata = email.message_from_bytes(opened.read(info))
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    assert isinstance(text, str)
    assert text.startswith("# Torchkeeper\n") and "SECURITY.md" in text
    assert all("://" in link for link in re.findall(r"\]\(([^)]+)\)", text))
    # Only the window needs Qt and what it speaks to the desktop with.
    wanted = [one for one in metadata.get_all("Requires-Dist", []) if "extra ==" not in one]
    assert not [one for one in wanted if re.match(r"(?i)pyside|shiboken|keyring|jeepney", one)]


def test_wheel_holds_the_tree_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = {name for name in opened.namelist() if ".dist-info/" not in name}
        helper = opened.getinfo("torchkeeper/client/askpass")
        data = f"torchkeeper-{torchkeeper.__version__}.data/data/share"
        assert opened.read(page := f"{data}/man/man1/torchkeeper.1").startswith(b".TH TORCHKEEPER")
    assert names == tree() | {page} | {f"{data}/doc/torchkeeper/{name}" for name in DOCUMENTS}
    assert helper.external_attr >> 16 & 0o111 == 0o111, "what ssh-keygen is to run"


def test_wheel_says_version_license_and_command(wheel: Path) -> None:
    info = f"torchkeeper-{torchkeeper.__version__}.dist-info"
    assert wheel.name == f"torchkeeper-{torchkeeper.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as opened:
        metadata = email.message_from_bytes(opened.read(f"{info}/METADATA"))
        commands = opened.read(f"{info}/entry_points.txt").decode()
        assert opened.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert metadata["Version"] == torchkeeper.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "torchkeeper = torchkeeper.__main__:main" in commands


def test_resources_are_found_in_an_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path)
    # Without `site`, so that the editable install of this very tree cannot answer instead.
    asked = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LIST_ICONS, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    module, found = json.loads(asked.stdout)
    assert Path(module) == tmp_path / "torchkeeper/__init__.py"
    assert found == icons() != {}


def test_resources_are_found_in_the_clone() -> None:
    folder = importlib.resources.files("torchkeeper.resources") / "icons"
    assert {icon.name: icon.read_text() for icon in folder.iterdir()} == icons()
