"""The command line installed where there is no Qt: in an environment, and in a clean Debian."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.pace import LONG
from tests.test_wheel import ROOT, built

pytestmark = pytest.mark.slow

#: Bytes that the command line, the engine and all that they need may take on the disk.
ROOM = 80_000_000
MIRROR = "http://deb.debian.org/debian"
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"

#: What is done in the Debian, by its own Python; what came of it goes to a file.
INSIDE = """
import json, subprocess
tk = "/opt/tk/bin/torchkeeper"
said = []
for words in (
    [], ["--version"], ["ls", "/opt/cache", "--json"], ["env", "--json"],
    ["check", "/opt/cache", "--json"],
    ["export", "/opt/cache", "-o", "/opt/all.torchcache", "--allow-secrets"],
    ["import", "/opt/all.torchcache", "--into", "/opt/new", "--trust"],
    ["ls", "/opt/new", "--json"], ["doctor", "--json"], ["/opt/cache"], ["shots", "/opt/pictures"],
):
    done = subprocess.run([tk, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said.append([done.returncode, done.stdout, done.stderr])
json.dump(said, open("/opt/said.json", "w"))
"""
#: In a mount namespace of its own. root: the Debian, in which only /opt is changed, which is
#: another folder; packages: files and folders of torch and what it needs.
OUTSIDE = f"""
set -eu
root=$1 opt=$2 packages=$3
mount --bind "$opt" "$root/opt"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
inside() {{ chroot "$root" env -i PATH=/usr/bin:/bin HOME=/opt/home LC_ALL=C.UTF-8 "$@"; }}
inside {VERSION} -m venv /opt/tk
du -sb "$opt/tk" | cut -f 1 >"$opt/empty"
inside /opt/tk/bin/pip install --quiet --no-index --find-links /opt/wheels torchkeeper
du -sb "$opt/tk" | cut -f 1 >"$opt/full"
inside {VERSION} -m venv --without-pip /opt/torch
while read -r one; do
    at=$root/opt/torch/lib/{VERSION}/site-packages/${{one##*/}}
    if [ -d "$one" ]; then mkdir "$at"; else touch "$at"; fi
    mount --bind -o ro "$one" "$at"
done <"$packages"
inside VIRTUAL_ENV=/opt/torch {VERSION} /opt/inside.py
"""


def needed(requirements: Iterable[str]) -> Iterator[importlib.metadata.Distribution]:
    """What is installed here of requirements, and of what these require."""
    seen = set[str]()
    todo = [Requirement(one) for one in requirements]
    while todo:
        one = todo.pop()
        if one.name in seen or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        seen.add(one.name)
        found = importlib.metadata.distribution(one.name)
        todo += map(Requirement, found.requires or [])
        yield found


def files_of(dist: importlib.metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """What an installation has put beside others, by its name there; no programs."""
    for file in dist.files or []:
        path = Path(str(file.locate()))
        if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
            yield str(file), path


def packed(dist: importlib.metadata.Distribution, into: Path) -> None:
    """The wheel of which something was installed: a test has no network to fetch it."""
    lines = (dist.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")]
    name = dist.name.replace("-", "_").replace(".", "_")
    with zipfile.ZipFile(into / f"{name}-{dist.version}-{tags[0]}.whl", "w") as wheel:
        for inside, path in files_of(dist):
            wheel.write(path, inside)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our wheel, and with those of what the command line needs."""
    made = built(tmp_path_factory)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for dist in needed(project["dependencies"]):
        packed(dist, made.parent)
    return made.parent


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd="/",
        env=os.environ | environment, timeout=LONG,
    )  # fmt: skip


def size(folder: Path) -> int:
    done = run("du", "-sb", folder)
    return int(done.stdout.split()[0])


def told(capsys: pytest.CaptureFixture[str], where: str, room: int) -> None:
    with capsys.disabled():
        print(f"\nthe command line and all that it needs, in {where}: {room / 1e6:.1f} MB")


def test_in_an_environment_of_its_own(
    wheels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = run(sys.executable, "-m", "venv", tmp_path / "tk")
    assert made.returncode == 0, made.stderr
    empty = size(tmp_path / "tk")
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index")
    done = run(tmp_path / "tk/bin/python", *pip, "--find-links", wheels, "torchkeeper")
    assert done.returncode == 0, done.stdout + done.stderr
    room = size(tmp_path / "tk") - empty
    told(capsys, "an environment", room)
    assert 5_000_000 < room < ROOM
    assert not list((tmp_path / "tk").rglob("*PySide6*"))
    program = tmp_path / "tk/bin/torchkeeper"
    alone = run(program, PYTHONPATH="", DISPLAY=":0")
    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone.stdout.endswith("pip install 'torchkeeper[gui]'\n")
    file = run(program, tmp_path, PYTHONPATH="")
    assert file.returncode == 3 and "torchkeeper[gui]" in file.stderr


@pytest.fixture
def debian(tmp_path: Path) -> Path:
    """A clean Debian with nothing but its Python: that of the environment, or a new one."""
    if os.geteuid() or run("unshare", "--mount", "true").returncode:
        pytest.skip("only root makes a Debian and gets into it")
    if given := os.environ.get("TORCHKEEPER_DEBIAN"):
        return Path(given)
    if not (tool := shutil.which("debootstrap")):
        pytest.skip("debootstrap is not installed, and TORCHKEEPER_DEBIAN names no Debian")
    options = ("--variant=minbase", "--include=python3,python3-venv")
    done = run(tool, *options, "bookworm", tmp_path / "debian", MIRROR)
    if "Failed getting release file" in done.stdout:
        pytest.skip(f"{MIRROR} does not answer")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return tmp_path / "debian"


def objects(lines: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def torchs() -> Sequence[Path]:
    """The folders and files of a torch, and of what it needs."""
    return sorted({
        Path(str(dist.locate_file(inside.partition("/")[0])))
        for dist in needed(["torch"]) for inside, _ in files_of(dist)
    })  # fmt: skip


def test_in_a_clean_debian(
    debian: Path, wheels: Path, fixture_cache: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if not (debian / "usr/bin" / VERSION).exists():
        pytest.skip(f"the wheels are for {VERSION}, which is not that of this Debian")
    found = [*debian.glob("**/libQt*"), *debian.glob("**/libEGL*"), *debian.glob("**/libX11.so*")]
    assert found == []
    opt = tmp_path / "opt"
    shutil.copytree(wheels, opt / "wheels")
    shutil.copytree(fixture_cache, opt / "cache")
    (opt / "inside.py").write_text(INSIDE)
    (tmp_path / "packages").write_text("".join(f"{path}\n" for path in torchs()))
    script = ("unshare", "--mount", "--pid", "--fork", "sh", "-c", OUTSIDE, "sh")
    done = run(*script, debian, opt, tmp_path / "packages")
    assert done.returncode == 0, done.stdout + done.stderr
    room = int((opt / "full").read_text()) - int((opt / "empty").read_text())
    told(capsys, "a clean Debian", room)
    assert 5_000_000 < room < ROOM

    said = json.loads((opt / "said.json").read_text())
    alone, version, ls, env, check, export, import_, again, doctor, file, shots = said
    assert not [one for one in said if "Traceback" in one[2]]
    assert alone[0] == 0 and alone[1].endswith("pip install 'torchkeeper[gui]'\n")
    assert version[0] == 0
    assert ls[0] == 0 and len(objects(ls[1])) > 5
    # The torch is that of the active environment, which nobody had to name.
    torch = [one for one in objects(env[1]) if one.get("torch")]
    assert [one["interpreter"] for one in torch] == ["/opt/torch/bin/python"], env
    # All is stale for that torch, which is of another version than the one that wrote the cache.
    judged = objects(check[1])[-1]["result"]
    assert check[0] in (0, 1) and judged["python"] == "/opt/torch/bin/python", check
    assert judged["verdicts"]["stale"] > 5
    assert export[0] == 0 and import_[0] == 0, (export, import_)
    assert len(objects(again[1])) > 5
    assert doctor[0] in (0, 4, 5) and objects(doctor[1]), doctor
    for one in (file, shots):
        assert one[0] == 3 and "pip install 'torchkeeper[gui]'" in one[2]
