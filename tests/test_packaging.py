"""The two commands and the README keep their word, as far as that is cheap to check."""

from __future__ import annotations

import itertools
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.pace import LONG
from tests.sampling import sampled
from tests.test_install import needed

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
MANUAL = ROOT / "resources" / "manual"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [ROOT / "README.md", *sorted(MANUAL.glob("*.md"))]
COMMANDS = ("packaging/run", "packaging/test", "packaging/build", ".ci/run")

# Brought by the C library, the compiler's runtime and every system that runs Python.
ALWAYS_THERE = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|ld-linux.*)\.so")

QT_LIBRARIES = ("Core", "Gui", "Widgets", "Svg", "DBus", "OpenGL", "XcbQpa", "WaylandClient")


def call(
    *command: str | Path, timeout: float = LONG, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        timeout=timeout,
        env=os.environ | environment,
    )


def block(heading: str) -> list[str]:
    """The lines of the first code block under a heading of the README."""
    found = re.search(rf"^## {heading}$.*?^```\w*\n(.*?)^```", README, re.M | re.S)
    assert found, heading
    return found[1].splitlines()


def without_comment(line: str) -> str:
    return re.sub(r"\s+# .*", "", line)


@pytest.mark.parametrize("name", [*COMMANDS, "packaging/setup.sh", "packaging/pytest.sh"])
def test_shell_is_well_formed(name: str) -> None:
    checked = call("bash", "-n", ROOT / name)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_can_be_started_and_explain_themselves(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)
    asked = call(ROOT / name, "--help")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.startswith("Usage: packaging/")


def test_run_refuses_what_it_does_not_know() -> None:
    assert call(ROOT / "packaging/run", "--frobnicate").returncode == 2


@pytest.mark.parametrize("version", [(), ("",), ("newest",), ("2.15",), ("../2.15.0",)])
def test_test_takes_a_whole_version_of_torch(version: tuple[str, ...]) -> None:
    ran = call(ROOT / "packaging/test", "--slow", "--torch", *version)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("Usage: packaging/test")


def test_torch_python_that_does_not_exist_is_named() -> None:
    ran = call(ROOT / "packaging/run", TORCHKEEPER_TORCH_PYTHON="/nowhere/python")
    assert ran.returncode == 1
    assert "TORCHKEEPER_TORCH_PYTHON=/nowhere/python" in ran.stderr
    assert "no such program" in ran.stderr


def test_torch_python_without_torch_is_refused(tmp_path: Path) -> None:
    made = call(sys.executable, "-m", "venv", "--without-pip", tmp_path)
    assert made.returncode == 0, made.stderr
    ran = call(ROOT / "packaging/run", TORCHKEEPER_TORCH_PYTHON=str(tmp_path / "bin/python"))
    assert ran.returncode == 1
    assert "why: it has no torch" in ran.stderr


def test_what_takes_long_says_how_far_it_is(tmp_path: Path) -> None:
    script = f'''. packaging/setup.sh
filling {tmp_path} sh -c "until grep -q ' s, ' {tmp_path}/said; do sleep 0.1; done; exit 7"'''
    with (tmp_path / "said").open("w") as said:
        done = subprocess.run(
            ["bash", "-c", script], cwd=ROOT, stderr=said, check=False, timeout=LONG
        )
    assert done.returncode == 7
    assert re.search(rf"^\s+\d+ s, \S+ in {tmp_path}$", (tmp_path / "said").read_text(), re.M)


def test_needs_says_package_and_thing() -> None:
    needs = ROOT / "packaging/needs.py"
    asked = call(sys.executable, needs, CXX="frobnicate++ -O2")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "-\tthe C++ compiler frobnicate++ -O2 that CXX names" in asked.stdout.splitlines()
    assert all(re.fullmatch(r"[a-z0-9.+-]+\t.+", line) for line in asked.stdout.splitlines())


@pytest.mark.skipif(not shutil.which("objdump"), reason="objdump comes with a C++ compiler")
def test_needs_knows_every_library_that_qt_asks_for() -> None:
    import PySide6

    qt = Path(PySide6.__file__).parent / "Qt"
    libraries = [f"Qt6{name}" for name in QT_LIBRARIES]
    files = [qt / f"lib/lib{name}.so.6" for name in libraries]
    files += [qt / f"plugins/platforms/libq{name}.so" for name in ("xcb", "wayland", "offscreen")]
    files += [qt / "plugins/iconengines/libqsvgicon.so", qt / "plugins/imageformats/libqsvg.so"]
    dumped = call("objdump", "-p", *files)
    assert dumped.returncode == 0, dumped.stderr
    wanted = set(re.findall(r"NEEDED\s+(\S+)", dumped.stdout))
    brought = {file.name for file in (qt / "lib").iterdir()}
    known = runpy.run_path(str(ROOT / "packaging/needs.py"))["LIBRARIES"]
    left = {name for name in wanted - brought - set(known) if not ALWAYS_THERE.match(name)}
    assert left == set()


def test_qt_returns_none_without_using_it_up() -> None:
    # PySide6 6.12.0 gives back a None it never took: before Python 3.12 a window that has painted
    # a few thousand cells aborts with "deallocating None".
    from PySide6.QtCore import QObject

    parentless = QObject()
    before = sys.getrefcount(None)
    for _ in range(1000):
        parentless.parent()
    assert sys.getrefcount(None) > before - 500


# What packaging/test does with pytest. Each test here says in a file that it has run.
TESTS = """
import os, pathlib, pytest

def ran(name):
    note = pathlib.Path(__file__).with_name(name)
    note.open("a").write("x")
    return len(note.read_text())

@pytest.mark.parametrize("what", ["a b", "c]", "d::e [f"])
def test_unsteady(what):
    assert ran("unsteady" + str(len(what))) > 1, f"was {what}"

def test_bad():
    ran("bad")
    assert "a wall\\nof text" * 50 == "", "why\\nnot"

def test_good():
    ran("good")

def test_ends():
    os._exit(3)

def test_interrupted():
    raise KeyboardInterrupt
"""


def came_of(
    folder: Path, *arguments: str, also: str = ""
) -> tuple[int, list[str], dict[str, int], str]:
    """What came of some TESTS: the status, the summary, how often each ran, and all that was said.

    ``also`` is another file of tests.
    """
    # Elsewhere than the tests, which must not make pytest look for its settings there.
    (private := folder / "private").mkdir()
    (folder := folder / "tests").mkdir()
    (folder / "test_some.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    if also:
        (folder / "test_also.py").write_text(also)
    script = """
        set -eu; cd "$1"; shift; say() { printf '== %s\\n' "$*"; }
        . "$root/packaging/pytest.sh"
        status=0; run_pytest "$@" || status=$?
        echo Summary; tell_of_pytest; exit "$status"
    """
    told = call("bash", "-c", script, "test", folder, *arguments,
                root=str(ROOT), python=sys.executable, private=str(private), LC_ALL="C.UTF-8",
                PYTHONPATH=str(ROOT), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
                PYTEST_PLUGINS="xdist.plugin",
                # It would remove what other runs have left, for minutes.
                PYTEST_DEBUG_TEMPROOT=str(private))  # fmt: skip
    assert told.stderr == ""
    ran = {
        path.name: len(path.read_text())
        for path in folder.iterdir()
        if path.is_file() and path.read_text()[:1] == "x"
    }
    return told.returncode, told.stdout.partition("Summary\n")[2].splitlines(), ran, told.stdout


def test_tests_that_failed_are_run_again_alone_and_named(tmp_path: Path) -> None:
    status, said, ran, _ = came_of(tmp_path, "-k", "unsteady or bad or good")
    assert status == 1
    assert ran == {"unsteady3": 2, "unsteady2": 2, "unsteady7": 2, "bad": 2, "good": 1}
    assert re.fullmatch(r"pytest at first: =+ 4 failed, 1 passed, 2 deselected in .*", said[0])
    assert said[1:-1] == [
        "unsteady: passed alone: test_some.py::test_unsteady[a b]",
        "        AssertionError: was a b",
        "unsteady: passed alone: test_some.py::test_unsteady[c]]",
        "        AssertionError: was c]",
        "unsteady: passed alone: test_some.py::test_unsteady[d::e [f]",
        "        AssertionError: was d::e [f",
        "failed: test_some.py::test_bad",
        "        AssertionError: why",
    ]
    assert re.fullmatch(r"=+ 1 failed, 3 passed in .*", said[-1])


@pytest.mark.slow
def test_tests_that_pass_alone_pass(tmp_path: Path) -> None:
    status, said, ran, _ = came_of(tmp_path, "-k", "unsteady or good", "-n", "1")
    assert (status, ran["good"]) == (0, 1)
    assert [line.partition(": test_")[0] for line in said[1:-1:2]] == ["unsteady: passed alone"] * 3
    assert re.fullmatch(r"=+ 3 passed in .*", said[-1])


def test_tests_that_pass_are_not_run_again(tmp_path: Path) -> None:
    status, said, ran, _ = came_of(tmp_path, "-k", "good")
    assert (status, ran, len(said)) == (0, {"good": 1}, 1)


@sampled(
    ("arguments", "status", "named", "also"),
    [
        # A process that ended, in the middle of its tests and as the only one.
        (("-n", "1", "-k", "ends or unsteady"), 1, "failed: test_some.py::test_ends", ""),
        (("-k", "ends"), 3, "", ""),
        (("-k", "interrupted or unsteady"), 2, "failed: test_some.py::test_unsteady", ""),
        # What follows was not run at all.
        (("-x",), 1, "failed: test_some.py::test_unsteady[a b]", ""),
        (("-k", "good"), 2, "failed: test_also.py", "import nowhere"),
        (("-n", "1", "-k", "good"), 1, "failed: test_also.py", "import nowhere"),
        # Too many.
        (
            ("-k", "many"), 1, "failed: test_also.py::test_many[0]",
            "import pytest\n@pytest.mark.parametrize('a', range(6))\ndef test_many(a): assert 0",
        ),
    ],
    most=1,
)  # fmt: skip
def test_runs_that_say_too_little_are_not_mended(
    tmp_path: Path, arguments: tuple[str, ...], status: int, named: str, also: str
) -> None:
    ended, said, ran, output = came_of(tmp_path, *arguments, also=also)
    assert ended == status, output
    assert any(line.startswith(named) for line in said), output
    assert not any("unsteady: passed" in line for line in said)
    assert set(ran.values()) <= {1}


def test_what_is_installed_has_its_version_among_the_constraints() -> None:
    """Of what the extras ask for, and of what that asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    # Ray is for whoever has a cluster, and for slow tests.
    wanted = [one for name, some in extras.items() if name != "ray" for one in some]
    lines = (ROOT / "packaging/constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    named = {canonicalize_name(name): version for name, version in pinned.items()}
    installed = {
        canonicalize_name(dist.name): dist.version
        for dist in needed([*project["dependencies"], *wanted])
    }
    own = {"torch", "triton"}  # pyproject.toml has theirs
    assert {name: of for name, of in installed.items() if name not in own} == {
        name: named.get(name) for name in installed if name not in own
    }


def test_readme_sets_up_with_two_commands() -> None:
    commands = [without_comment(line) for line in block("Set up")]
    assert commands == ["packaging/run", "packaging/test"]


def commands_of(text: str) -> set[tuple[str, ...]]:
    """Every `torchkeeper COMMAND …` in code, as words."""
    found = re.findall(r"(?:^|`|\| )(?:\.venv/bin/)?torchkeeper ([a-z][^`\n]*)", text, re.M)
    return {tuple(without_comment(one).split()) for one in found}


@pytest.mark.slow
def test_what_the_pages_tell_one_to_type_exists() -> None:
    options: dict[str, set[str]] = {}
    for verb, *words in set[tuple[str, ...]]().union(*(commands_of(p.read_text()) for p in PAGES)):
        named = [word for word in itertools.takewhile("--".__ne__, words) if word.startswith("-")]
        # Of a command with commands of its own, those have the options.
        below = [words[0]] if words and verb in ("recipe", "config", "signers") else []
        options.setdefault(" ".join([verb, *below]), set()).update(named)
    assert len(options) > 20
    for command, named_ in options.items():
        helped = call(sys.executable, "-m", "torchkeeper", *command.split(), "--help")
        assert helped.returncode == 0, (command, helped.stderr)
        for option in named_:
            assert re.search(rf"(^|[\s\[,]){re.escape(option)}\b", helped.stdout), (command, option)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_no_paragraph_of_the_pages_is_long(page: Path) -> None:
    text = re.sub(r"^```.*?^```|^<!--.*?-->$", "", page.read_text(), flags=re.M | re.S)
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.strip().splitlines()
        assert len(lines) <= 5 or lines[0].startswith(("|", "- ")), paragraph
        assert all(len(line) <= 110 or line[0] == "|" for line in lines), paragraph


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_the_manual_names_each_of_its_pages() -> None:
    index = (MANUAL / "index.md").read_text()
    assert {page.name for page in MANUAL.glob("*.md")} == {
        "index.md", *re.findall(r"\]\((\w+\.md)\)", index)
    }  # fmt: skip


def test_the_map_of_the_house_is_true() -> None:
    found = re.search(r"^## The house\n+```\n(.*?)^```", CONTRIBUTING.read_text(), re.M | re.S)
    assert found
    house = found[1].splitlines()
    above = ""
    for line in house:
        name = line.split()[0]
        if not line.startswith(" "):
            above = name if name == "app/torchkeeper/" else ""
        assert (ROOT / above / name if line.startswith(" ") else ROOT / name).is_dir(), line
    packages = {f"{p.parent.name}/" for p in (ROOT / "app/torchkeeper").glob("*/__init__.py")}
    assert {line.split()[0] for line in house if line.startswith(" ")} == packages


def test_every_file_that_newcomers_are_sent_to_is_there() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", CONTRIBUTING.read_text()))
    assert len(named) > 50
    missing = [
        name
        for name in sorted(named)
        if not (ROOT / "app/torchkeeper" / name).exists() and not (ROOT / name).exists()
    ]
    assert missing == []


def test_the_journeys_cross_as_many_files_as_they_say() -> None:
    text = CONTRIBUTING.read_text()
    sections = re.findall(r"^### (.+?) \((\d+) files.*?\)\n(.*?)(?=^##)", text, re.M | re.S)
    request, *journeys = [
        (title, int(count), set(re.findall(r"`([\w/]+\.py)`", body)))
        for title, count, body in sections
    ]
    assert request[1] == len(request[2]) == 5
    assert len(journeys) == 3
    for title, count, files in journeys:
        assert (title, count) == (title, len(files | request[2]))
