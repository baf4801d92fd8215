"""What a program runs by its command line, and what its own sources do: read beside each other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from torchkeeper.settings import programs
from torchkeeper.settings.programs import Looked, Program, look_at, program
from torchkeeper.stores import processes

SET = "import torch; torch._inductor.config.fx_graph_cache = False\n"
COMMANDS = {
    "python serve.py --port 1": ("script", "/srv/app/serve.py"),
    "python -u -X dev -W error ../serve.py": ("script", "/srv/serve.py"),
    "python -OOum pkg.serve x": ("module", "pkg.serve"),
    "python -Xdev -m pkg": ("module", "pkg"),
    "python -c x=1 y": ("code", "x=1"),
    "python -Bcx=1 y": ("code", "x=1"),
    "python --check-hash-based-pycs always /a/b.py": ("script", "/a/b.py"),
    "python -": ("none", ""),
    "python": ("none", ""),
    "python -m": ("module", ""),
    "": ("none", ""),
}


@pytest.mark.parametrize("line", COMMANDS)
def test_what_a_command_line_runs(line: str) -> None:
    made = program(line.split(" "), "/srv/app", "", "")
    assert (made.kind, made.main) == COMMANDS[line]


def of(folder: Path, *command: str, path: str = "") -> Looked:
    return look_at(program(["python", *command], str(folder), path, ""))


def files(found: Looked, folder: Path) -> list[str]:
    return [os.path.relpath(one.file, folder) for one in found.found]


def test_what_a_script_imports_of_its_own(tmp_path: Path) -> None:
    package = tmp_path / "src" / "mine" / "deep"
    package.mkdir(parents=True)
    (tmp_path / "src" / "serve.py").write_text(
        "from mine import config\nimport json, helper, torch\ndef f():\n    import lazy\n" + SET
    )
    (tmp_path / "src" / "helper.py").write_text(SET)
    (tmp_path / "src" / "lazy.py").write_text(SET)
    (tmp_path / "src" / "stranger.py").write_text(SET)
    (tmp_path / "src" / "mine" / "__init__.py").write_text(SET)
    (tmp_path / "src" / "mine" / "config.py").write_text("from .deep import inner\nfrom . import x")
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("from ... import beyond\nfrom ..config import inner\n" + SET)
    found = of(tmp_path, "src/serve.py")
    assert files(found, tmp_path) == [
        "src/serve.py", "src/mine/__init__.py", "src/helper.py", "src/lazy.py",
        "src/mine/deep/inner.py",
    ]  # fmt: skip
    assert (found.files, found.unread, found.stopped) == (7, (), "")
    sure = {os.path.basename(one.file): one.sure for one in found.found}
    assert sure == {"serve.py": True, "__init__.py": True, "helper.py": True, "lazy.py": False,
                    "inner.py": True}  # fmt: skip
    assert [one.main for one in found.found] == [True, False, False, False, False]


def test_modules_and_code(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__main__.py").write_text("from pkg import other")
    (tmp_path / "pkg" / "other.py").write_text(SET)
    assert files(of(tmp_path, "-m", "pkg"), tmp_path) == ["pkg/other.py"]
    assert files(of(tmp_path, "-m", "pkg.other"), tmp_path) == ["pkg/other.py"]
    assert of(tmp_path, "-m", "not.mine") == Looked()
    assert [one.file for one in of(tmp_path, "-c", SET + "import pkg.other").found] == [
        "-c", str(tmp_path / "pkg" / "other.py"),
    ]  # fmt: skip


def test_what_python_runs_before_the_program(tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(SET)
    (tmp_path / "run.py").write_text("")
    (one,) = of(tmp_path, "run.py", path="path:/nowhere").found
    assert (os.path.basename(one.file), one.sure, one.main) == ("sitecustomize.py", True, False)


def test_what_is_no_source(tmp_path: Path) -> None:
    names = ["loop", "pipe", "device", "folder", "huge", "odd", "deep", "secret", "binary"]
    (tmp_path / "run.py").write_text("import " + ", ".join(names) + "\n" + SET)
    (tmp_path / "loop.py").symlink_to("loop.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "device.py").symlink_to("/dev/zero")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "huge.py").write_bytes(b"#" * ((1 << 20) + 1))
    (tmp_path / "odd.py").write_bytes(b"# coding: klingon\n")
    (tmp_path / "deep.py").write_bytes(b"1" + b"+1" * 100_000)
    (tmp_path / "binary.py").write_bytes(b"\0\xff" * 1000)
    found = of(tmp_path, "run.py")
    assert files(found, tmp_path) == ["run.py"]
    unread = {(os.path.basename(file), why) for file, why in found.unread}
    assert unread == {("huge.py", "too-large"), ("odd.py", "not-python"),
                      ("deep.py", "too-deep"), ("binary.py", "not-python")}  # fmt: skip
    for name, why in (("loop", "unreadable"), ("pipe", "unreadable"), ("device", "unreadable"),
                      ("folder", "unreadable"), ("gone", "missing")):  # fmt: skip
        assert of(tmp_path, f"{name}.py").unread == ((str(tmp_path / f"{name}.py"), why),)
    assert of(tmp_path, "no\0name.py").unread[0][1] == "unreadable"


def test_imports_in_a_circle_and_packages_in_themselves(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import b\n" + SET)
    (tmp_path / "b.py").write_text("import a, c.c.c.c.c\n" + SET)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "__init__.py").write_text("from . import c\n" + SET)
    (tmp_path / "c" / "c").symlink_to(tmp_path / "c")
    found = of(tmp_path, "a.py")
    assert found.stopped in ("", "files")
    assert {"a.py", "b.py", "c/__init__.py"} <= set(files(found, tmp_path))


def test_not_more_than_is_said(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("".join(f"import m{n}\n" for n in range(300)))
    for n in range(300):
        (tmp_path / f"m{n}.py").write_text(SET)
    found = of(tmp_path, "run.py")
    assert (found.files, found.stopped) == (200, "files")


@pytest.mark.slow
def test_what_takes_long_ends(tmp_path: Path) -> None:
    """Sources just below the limit, each slow to read."""
    slow = ("x = [" + "a.b(c)," * 149_000 + "]\n").encode()
    assert len(slow) < 1 << 20
    (tmp_path / "run.py").write_text(SET + "".join(f"import m{n}\n" for n in range(50)))
    for n in range(50):
        (tmp_path / f"m{n}.py").write_bytes(slow)
    found = of(tmp_path, "run.py")
    assert found.stopped in ("time", "stuck", "crashed")
    assert files(found, tmp_path) == ["run.py"]


@pytest.mark.parametrize(
    ("does", "stopped"),
    [("while time.process_time() < 0.6: pass", ""), ("time.sleep(600)", "stuck")],
    ids=["works", "waits"],
)
def test_only_what_does_not_work_either_is_stuck(
    monkeypatch: pytest.MonkeyPatch, does: str, stopped: str
) -> None:
    """On a busy machine even the start of a process takes longer than a silence may."""

    def begin(module: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        code = f'import time\n{does}\nprint(\'{{"stopped": ""}}\')'
        command = [sys.executable, "-I", "-S", "-c", code]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(processes, "begin", begin)
    monkeypatch.setattr(programs, "SILENCE", 0.1)
    assert look_at(Program()).stopped == stopped


def test_nothing_of_it_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for name in ("run.py", "own.py", "ast.py", "json.py", "sitecustomize.py"):
        (tmp_path / name).write_text(f"open({str(mark)!r}, 'w')\nimport own, ast, json\n{SET}")
    found = of(tmp_path, "run.py", path=str(tmp_path))
    assert len(found.found) == 5
    assert not mark.exists()


def test_a_program_that_is_not_there() -> None:
    assert look_at(Program()) == Looked()
    assert look_at(Program("script", "/nowhere/x.py", ("/nowhere",))).unread == (
        ("/nowhere/x.py", "missing"),
    )
