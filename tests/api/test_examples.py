"""Every example of resources/manual/python.md does what the page says, on real caches."""

from __future__ import annotations

import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import torchkeeper
from tests.api.test_fleet import KERNELS
from tests.conftest import DATA
from tests.pace import LONG

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "resources" / "manual" / "python.md").read_text(encoding="utf-8")
#: Each example by the heading that it stands under.
EXAMPLES = dict(
    re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```", PAGE, re.M | re.S)
)


def test_there_are_as_many_tests_as_examples() -> None:
    assert PAGE.count("```python") == len(EXAMPLES)
    source = Path(__file__).read_text(encoding="utf-8")
    for heading in EXAMPLES:
        assert f'"{heading}"' in source, heading


@dataclass
class Scripts:
    """Runs an example in a folder, which is also the home of its user."""

    folder: Path

    def __call__(
        self, heading: str, said: str = "", python: str = sys.executable, **env: object
    ) -> subprocess.CompletedProcess[str]:
        script = self.folder / "example.py"
        script.write_text(EXAMPLES[heading], encoding="utf-8")
        variables = {"HOME": str(self.folder), "PYTHONPATH": str(ROOT / "app")}
        variables |= {name: str(value) for name, value in env.items()}
        return subprocess.run(
            [python, "-W", "error", str(script)],
            input=said, env=os.environ | variables, cwd=self.folder, capture_output=True,
            text=True, check=False, timeout=LONG,
        )  # fmt: skip


@pytest.fixture
def example(tmp_path: Path) -> Scripts:
    return Scripts(tmp_path)


@pytest.fixture
def usual(tmp_path: Path, clean_291: Path) -> Path:
    """The cache of the user, in the home folder."""
    place = tmp_path / ".cache" / "torchinductor"
    place.parent.mkdir()
    return Path(shutil.copytree(clean_291, place))


def test_a_list_and_its_sums(example: Scripts, usual: Path) -> None:
    ran = example("List what is there, and sum it up by kind")
    assert (ran.returncode, ran.stderr) == (0, "")
    first, *kinds = ran.stdout.splitlines()
    with torchkeeper.open(usual) as place:
        entries = place.entries()
    assert first.startswith(f"{len(entries)} entries, {entries.size} bytes")
    assert [line.split()[0] for line in kinds] == list(entries.by("kind"))
    assert sum(int(line.split()[2]) for line in kinds) == entries.size


@pytest.mark.slow
@pytest.mark.torch
def test_a_bundle_of_another_torch_fails(
    example: Scripts, clean_291: Path, torch_python: str
) -> None:
    with torchkeeper.open(clean_291) as place:
        place.export(example.folder / "model.torchcache")
    text = EXAMPLES["Fail if a bundle does not hit"]
    assert "sys.executable" in text
    ran = example("Fail if a bundle does not hit", python=torch_python)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert any(line.startswith("fxgraph  ") and "stale  torch 2.9.1" in line
               for line in ran.stdout.splitlines())  # fmt: skip


@pytest.mark.slow
@pytest.mark.torch
def test_a_bundle_of_this_torch_passes(example: Scripts, filled: Path, torch_python: str) -> None:
    with torchkeeper.open(filled) as place:
        place.export(example.folder / "model.torchcache")
    ran = example("Fail if a bundle does not hit", python=torch_python)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.fixture
def shelf() -> Iterator[tuple[str, dict[str, bytes]]]:
    """The address of a server that takes what is put there, and that."""
    taken: dict[str, bytes] = {}

    class Taker(http.server.BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            taken[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(201)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is said."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/model", taken
        server.shutdown()


@pytest.mark.slow
def test_an_export_arrives_where_it_is_uploaded(
    example: Scripts, kept_291: Path, shelf: tuple[str, dict[str, bytes]]
) -> None:
    url, taken = shelf
    ran = example(
        "Export what a training has compiled, and upload it",
        TORCHINDUCTOR_CACHE_DIR=kept_291, UPLOAD_URL=url, no_proxy="*",
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "secrets replaced in 7" in ran.stdout
    arrived = example.folder / "arrived.torchcache"
    arrived.write_bytes(taken["/model"])
    with torchkeeper.open(arrived) as bundle:
        assert len(bundle.entries()) == int(ran.stdout.split()[0]) > 40
        bundle.copy(example.folder / "again.torchcache")  # which refuses secrets


@pytest.mark.slow
def test_an_import_tells_what_it_has_left(example: Scripts, clean_291: Path) -> None:
    with torchkeeper.open(clean_291) as place:
        place.export(example.folder / "model.torchcache")
    cache = example.folder / "cache"
    ran = example("Import when a container starts", TORCHINDUCTOR_CACHE_DIR=cache)
    assert (ran.returncode, ran.stderr) == (0, "")
    first, *left = ran.stdout.splitlines()
    found = re.fullmatch(r"(\d+) entries are new, 0 were there, (\d+) were left", first)
    assert found
    assert int(found[2]) == len(left) > 0
    with torchkeeper.open(cache) as place:
        assert len(place.entries()) == int(found[1])


def test_a_purge_is_shown_before_it_is_done(example: Scripts, usual: Path) -> None:
    heading = "Purge what is older than 30 days, but show it first"
    with torchkeeper.open(usual) as place:
        before = place.entries()
        assert example(heading, "y").stdout == "", "nothing is so old"
        ago = time.time() - 40 * 86_400
        for path in usual.rglob("*"):
            os.utime(path, (ago, ago))
        shown = example(heading, "n")
        assert (shown.returncode, shown.stderr) == (0, "")
        assert len(shown.stdout.splitlines()) >= len(before)
        assert len(place.entries()) == len(before)
        done = example(heading, "y")
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(f"{len(before)} entries are in the trash\n")
        assert place.entries() == ()
        assert place.undo().entries == len(before)


RECIPE = """\
[[callable]]
function = "small.py:halved"
inputs = [{ shape = [4] }]
"""
SMALL = "def halved(x):\n    return x.sin() / 2\n"


@pytest.mark.slow
@pytest.mark.torch
def test_recipes_are_warmed(example: Scripts, torch_python: str, header_folder: Path) -> None:
    recipes = example.folder / "recipes"
    recipes.mkdir()
    (recipes / "small.toml").write_text(RECIPE)
    (recipes / "small.py").write_text(SMALL)
    (recipes / "wrong.toml").write_text(RECIPE.replace("halved", "missing"))
    ran = example("Warm recipes", python=torch_python, TMPDIR=header_folder)
    assert (ran.returncode, ran.stderr) == (1, "")
    lines = ran.stdout.splitlines()
    assert any(line.startswith("small ") and line.endswith(" done 0 1") for line in lines)
    assert any(line.startswith("wrong ") and " failed " in line for line in lines)
    assert "missing" in ran.stdout
    assert re.search(r"^\d+ of \d+ \w+$", ran.stdout, re.M), "progress"
    with torchkeeper.open(example.folder / "cache") as place:
        assert len(place.entries("kind:fxgraph")) == 1


@pytest.mark.slow
@pytest.mark.torch
def test_many_machines_are_warmed(example: Scripts, torch_python: str) -> None:
    """Every day: the same by another script, in test_fleet.py."""
    recipes = example.folder / "recipes"
    recipes.mkdir()
    shutil.copy(DATA / "recipe_kernels.py", recipes)
    (recipes / "kernels.toml").write_text(KERNELS)
    ran = example("Warm on many machines", TORCHKEEPER_TORCH_PYTHON=torch_python)
    assert (ran.returncode, ran.stderr) == (0, "")
    (line,) = ran.stdout.splitlines()
    assert line.startswith("kernels ")
    assert " proven " in line
    assert (example.folder / "fleet.html").is_file()


def test_an_error_has_a_code_and_words(example: Scripts) -> None:
    ran = example("When something goes wrong")
    assert (ran.returncode, ran.stderr) == (0, "")
    code, *words = ran.stdout.splitlines()
    assert code == "place-missing"
    assert len(words) >= 2


def test_the_examples_fit_the_types(tmp_path: Path) -> None:
    for number, text in enumerate(EXAMPLES.values()):
        (tmp_path / f"example_{number}.py").write_text(text, encoding="utf-8")
    wrong = "import torchkeeper\ntorchkeeper.opne('x')\n"
    wrong += "torchkeeper.open('x').export('y', secrets='maybe')\n"
    (tmp_path / "wrong.py").write_text(wrong, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull,
         "--follow-imports", "silent", "--cache-dir", str(tmp_path / "cache"), str(tmp_path)],
        cwd=tmp_path, env=os.environ | {"MYPYPATH": str(ROOT / "app")}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    lines = ran.stdout.splitlines()
    assert [line.partition(": error")[0] for line in lines[:-1]] == ["wrong.py:2", "wrong.py:3"], (
        ran.stdout + ran.stderr
    )
