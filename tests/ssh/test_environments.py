"""What is known of an environment there is kept as long as the machine says that it is the same."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.ssh.conftest import Machine
from torchkeeper.client.engines import interpreters, line, probes
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.verdict.probed import Env


@pytest.fixture
def python(there: Machine) -> str:
    """An environment there, of which only files are looked at."""
    packages = there.home / "venv/lib/python3.12/site-packages"
    (packages / "torch").mkdir(parents=True)
    (packages / "torch/version.py").write_text("__version__ = '2.0'\n")
    (there.home / "venv/bin").mkdir()
    (there.home / "venv/bin/python").symlink_to("/usr/bin/python3")
    return there.place("venv/bin/python")


def later(file: Path) -> None:
    os.utime(file, (time.time() + 9, time.time() + 9))


def test_facts_are_kept_until_something_changes_there(there: Machine, python: str) -> None:
    known_by = probes.identity(python)
    assert probes.identity(python) == known_by
    assert known_by[0] == python and len(known_by[2]) == 64
    facts: Env = {"torch": "2.0", "python": "3.12"}
    probes.keep(known_by, facts)
    # It is not started: nothing there says that its torch is 2.0.
    assert probes.probe(python) == facts
    assert probes.kept(probes.identity(f"ssh://there{there.home}/venv/bin/python")) is None
    later(there.home / "venv/lib/python3.12/site-packages/torch/version.py")
    assert (changed := probes.identity(python)) != known_by
    assert probes.kept(changed) is None
    there.rc.write_text("export OMP_NUM_THREADS=3\n")
    line.close_all()
    assert probes.identity(python) != changed, "other variables may lead to another torch"
    line.close_all()


def test_of_a_machine_one_engine_is_asked_and_its_python_once(
    there: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    begun, start = list[str | None](), line.Line.start

    def counted(self: line.Line, python: str | None) -> line.Channel:
        begun.append(python)
        return start(self, python)

    monkeypatch.setattr(line.Line, "start", counted)
    with Engine("ssh://there") as engine:
        for _ in range(2):
            told = probes.everywhere(machine="ssh://there", engine=engine)
            assert (told.envs, told.failed) == ([], []), "it has no torch"
            with pytest.raises(UserError, match="has no torch"):
                probes.environment(interpreters.chosen(None, "ssh://there"), engine)
    assert begun == [None, line.to("ssh://there").hello().executable]
    line.close_all()


def test_what_a_machine_says_is_only_a_name_for_its_own_facts(there: Machine, python: str) -> None:
    there.rc.write_text("export SECRET_TOKEN=abc\n")
    with Engine("ssh://there") as engine:
        told = engine.call(protocol.INSTALLED, {"path": python})
    assert list(told) == ["known_by"] and "abc" not in told["known_by"]
    mine = "ssh://there/usr/bin/python3", *probes.identity(python)[1:]
    probes.keep(mine, {"torch": "6.6.6"})
    assert probes.kept(probes.identity(python)) is None
    line.close_all()


@pytest.mark.slow
@pytest.mark.torch
def test_a_second_check_imports_no_torch_there(
    tk: Tk, there: Machine, warm_cache: Path, torch_python: str
) -> None:
    place, env = there.place(warm_cache), ("--env", f"ssh://there{torch_python}")
    first = tk("check", "--json", place, *env)
    assert first.code in (0, 1) and first.result["python"] == env[1]
    # Who starts it now gets no answer; its files are as they were.
    there.rc.write_text("export PYTHONHOME=/nowhere-session\n")
    assert tk("check", "--json", place, *env).code == 3, "a variable that changes what it is"
    there.rc.write_text("")
    again = tk("check", "--json", place, *env)
    assert again.objects == first.objects
