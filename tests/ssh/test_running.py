"""Programs that run on another machine: what they print and look up is told here."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import torchkeeper
from tests.cli.conftest import Tk
from tests.cli.test_run import TRACING
from tests.cli.test_warm import processes_under
from tests.engine.test_running import SAID
from tests.gui.test_programs import PROGRAM as TRAIN
from tests.ssh.conftest import Machine, ended
from tests.ssh.test_warming import ssh_of
from torchkeeper.client.engines import line
from torchkeeper.client.kept import runs

PROGRAM = (
    "import os, sys\n"
    "print(os.getcwd(), os.environ['OF_THERE'], 'OF_HERE' in os.environ)\n"
    "print()\n"
    "print('\\x1b[31m', os.environ['TORCHINDUCTOR_CACHE_DIR'], sys.argv[1:], file=sys.stderr)\n"
    "sys.exit(3)\n"
)


def test_a_program_runs_in_a_folder_there(tk: Tk, there: Machine, tmp_path: Path) -> None:
    (there.home / "project").mkdir()
    (there.home / "project/serve.py").write_text(PROGRAM)
    there.rc.write_text("export OF_THERE=yes\n")
    into, folder = there.place("cache"), there.place("project")
    asked = "--into", into, "--folder", folder, "--env", "/usr/bin/python3"
    report = tmp_path / "report.json"
    ran = tk("run", *asked, "--report", report, "--", "serve.py", "-v", OF_HERE="1")
    assert ran.code == 3, ran
    first, second, third, *rest = ran.out.splitlines()
    assert first == f"{there.home}/project yes False" and second == ""
    assert third == f"\\x1b[31m {there.home}/cache ['-v']"
    assert "exit code 3 before it compiled anything, and its own message" in "".join(rest)
    assert report.is_file()

    program = "--", "python3", "-c", "import os; print(os.getcwd())"
    plain = tk("run", "--folder", "ssh://there", *program)
    assert (plain.code, plain.out.splitlines()[0]) == (0, str(there.home))
    (tmp_path / "p.env").write_text("TORCHINDUCTOR_CACHE_DIR=/of/profile\n")
    shown = "--", "python3", "-c", "import os; print(os.environ['TORCHINDUCTOR_CACHE_DIR'])"
    given = tk("run", "--folder", folder, "--profile", tmp_path / "p.env", *shown)
    assert given.out.splitlines()[0] == "/of/profile"

    assert tk("run", "--folder", folder, "--", "no-such-command").code == 127
    assert tk("run", "--folder", there.place("none"), *program).code == 126
    for more, code in {
        ("--recipe", "/no/folder/r.toml", "--folder", folder): "recipe-unwritable",
        ("--folder", folder, "--into", "ssh://other/cache"): "places-apart",
        ("--folder", folder, "--into", str(tmp_path)): "places-apart",
        ("--env", "ssh://-oProxyCommand=x/y"): "ssh-address-wrong",
    }.items():
        wrong = tk("run", *more, "--json", *program)
        assert wrong.objects[-1]["error"]["code"] == code, wrong
    assert tk("run", "--folder", str(tmp_path), *program).code == 2
    assert not list((there.folder / "tmp").glob("torchkeeper-engine-*"))


#: One without a torch.
PYTHON = "/usr/bin/python3"
#: Notes what it compiles, as if it had.
NOTES = """import json, os
one = {"kind": "function", "module": "__main__", "name": "step", "there": True, "file": None,
       "decorated": True, "backend": "inductor", "settings": [], "calls": [
           {"inputs": [3], "keywords": {}, "backward": False, "symbols": False}]}
note = {"compiled": [one], "unseen": 0, "main": os.path.abspath(__file__), "environment": {}}
with open(os.environ["_TORCHKEEPER_RECORD"] + "/1.json", "w") as file:
    json.dump(note, file)
"""


def test_a_recipe_of_a_program_there_names_its_files(
    tk: Tk, there: Machine, tmp_path: Path
) -> None:
    (there.home / "serve.py").write_text(NOTES)
    recipe = tmp_path / "r.toml"
    asked = "run", "--recipe", recipe, "--unproved", "--force", "--folder", there.place("")
    ran = tk(*asked, "--", "python3", "serve.py", "-n", "8")
    assert ran.code == 0 and "does more than define" in ran.err, ran
    whole = tomllib.loads(recipe.read_text())
    assert whole["machine"] == "ssh://there"
    told = whole["script"]
    assert told == [{"command": ["python", "serve.py", "-n", "8"], "folder": str(there.home)}]
    # A file that only defines something is named there, by its whole path.
    (there.home / "define.py").write_text("def step(x): pass\n")
    (there.home / "serve.py").write_text(NOTES.replace("serve.py", "x").replace(
        "os.path.abspath(__file__)", f"{str(there.home / 'define.py')!r}"))  # fmt: skip
    ran = tk(*asked, "--", "python3", "serve.py")
    assert ran.code == 0, ran
    (item,) = tomllib.loads(recipe.read_text())["callable"]
    assert item == {"function": f"{there.home}/define.py:step", "inputs": [3]}
    assert "It names files of ssh://there" in recipe.read_text()
    assert not list((there.home / ".cache/torchkeeper/jobs").iterdir())


def test_a_recipe_of_a_program_there_runs_elsewhere_only_for_who_trusts_it(
    tk: Tk, there: Machine, tmp_path: Path
) -> None:
    """A machine may say that its program has compiled any function that is installed anywhere."""
    hub = "/usr/lib/python3/site-packages/torch/hub.py"
    told = NOTES.replace("__main__", "torch.hub").replace('"step"', '"load"')
    (there.home / "serve.py").write_text(told.replace('"file": None', f'"file": {hub!r}'))
    recipe = tmp_path / "r.toml"
    asked = "run", "--recipe", recipe, "--unproved", "--folder", there.place("")
    assert tk(*asked, "--", "python3", "serve.py").code == 0
    data = tomllib.loads(recipe.read_text())
    assert data["callable"][0]["function"] == "torch.hub:load"
    assert data["machine"] == "ssh://there"
    (tmp_path / "cache").mkdir()
    for command in (
        ["warm", recipe, "--into", tmp_path / "cache"],
        ["warm", recipe, "--into", "ssh://other/cache"],
        ["verify", tmp_path / "cache", "--recipe", recipe],
    ):
        ran = tk(*command, "--env", PYTHON, "--json")
        error = ran.objects[-1]["error"]
        assert (ran.code, error["code"]) == (2, "wrong-usage"), ran
        assert (
            "recorded on ssh://there, and that machine says what it runs: torch.hub:load."
            in error["why"]
        )
        assert "--trust" in error["remedy"]
    # Who trusts it goes on, to a Python without torch; and on that machine nobody is asked.
    for more in (["--trust"], ["--into", there.place("cache")]):
        into = [] if "--into" in more else ["--into", tmp_path / "cache"]
        ran = tk("warm", recipe, *into, *more, "--env", PYTHON, "--json")
        assert ran.code == 1 and ran.objects[0]["variant"]["name"] == "load", ran
    with torchkeeper.open(tmp_path / "cache") as place:
        with pytest.raises(torchkeeper.Error) as raised:
            place.warm(recipe, python=PYTHON)
        assert raised.value.code == "untrusted"
        (failed,) = place.warm(recipe, python=PYTHON, trust=True).failed
        assert failed.name == "load"
    shown = tk("recipe", "show", recipe, "--env", PYTHON)
    assert (
        "recorded on ssh://there, and that machine says what it runs: torch.hub:load." in shown.err
    ), shown
    shown = tk("recipe", "show", recipe, "--env", PYTHON, "--json")
    assert shown.result["machines"] == ["ssh://there"]


def test_a_program_there_ends_with_the_command(there: Machine, tmp_path: Path) -> None:
    written = tmp_path / "pid"
    program = (
        f"import os, time; open({str(written)!r}, 'w').write(str(os.getpid())); time.sleep(99)"
    )
    command = [sys.executable, "-m", "torchkeeper", "run", "--folder", "ssh://there", "--"]
    command = ["env", "--default-signal=INT", *command, "python3", "-c", program]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (written.exists() and written.read_text()):
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.stderr and "Cancelled" in process.stderr.read()
        assert process.wait() == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(written.read_text()), 0)


#: Says what is to be followed, leaves a trace, and waits.
WAITS = TRACING.replace(
    "    sys.exit",
    "    import time\n"
    "    while not os.path.exists(sys.argv[3]): time.sleep(0.02)\n"
    "    print('the end')\n    sys.exit",
)


@pytest.mark.slow
def test_a_program_goes_on_without_the_connection(
    tk: Tk, there: Machine, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (trace,) = (recorded / "shape").iterdir()
    cache = shutil.copytree(recorded / "cache", there.home / "cache")
    asked = "run", "--into", there.place(cache), "--", "python3", "-c", WAITS, str(trace), "3"

    def cut(end: Path) -> str:
        """Begin, and break the connection; the job."""
        command = [sys.executable, "-m", "torchkeeper", *asked, str(end)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout and process.stderr
            assert process.stdout.readline() == "the program\n"
            os.kill(ssh_of(process.pid), signal.SIGKILL)
            said = process.stderr.read()
            assert process.wait() == 126, said
        found = re.search(r"“torchkeeper jobs ssh://there --follow ([0-9a-f]{16})” follows", said)
        assert "connection to ssh://there broke" in said and found, said
        ended(there)
        return found[1]

    first, go = cut(there.home / "go"), there.home / "go"
    (row,) = (one for one in tk("jobs", "ssh://there", "--json").objects if "id" in one)
    assert (row["id"], row["kind"], row["state"]) == (first, "run", "running")
    assert row["title"].startswith("Run python3 -c if True:"), row
    go.touch()
    followed = tk("jobs", "ssh://there", "--follow", first)
    assert followed.code == 3, followed
    own, end, _, miss, why = followed.out.splitlines()[:5]
    assert (own, end) == ("the program", "the end")
    assert miss.startswith("miss") and SAID["shape"] in why
    (run,) = runs.kept().runs
    assert (run.code, run.place, run.machine) == (3, there.place(cache), "ssh://there")
    assert "there: python3" in tk("runs").out
    # And one is ended, with what it runs.
    second = cut(tmp_path / "never")
    assert tk("jobs", "ssh://there", "--end", second).code == 0
    line.close_all()
    assert not processes_under(there.home)


@pytest.mark.slow
@pytest.mark.torch
def test_a_recipe_of_a_program_there_is_proved_there(
    tk: Tk, there: Machine, tmp_path: Path, torch_python: str, header_folder: Path
) -> None:
    there.rc.write_text(f"export TORCHINDUCTOR_COMPILE_THREADS=1 TMPDIR={header_folder}\n")
    (there.home / "project").mkdir()
    file, recipe = there.home / "project/train.py", tmp_path / "train.toml"
    file.write_text(TRAIN)
    python = f"ssh://there{torch_python}"
    into = "--into", there.place("cache"), "--folder", there.place("project"), "--env", python
    asked = "run", *into, "--force", "--recipe", str(recipe), "--", "train.py"
    ran = tk(*asked, "8")
    assert ran.code == 0 and "\ndone\n" in f"\n{ran.out}", ran
    proved = "Proved: 1 of 1 combination found what the program compiled, in a fresh process"
    assert f"{proved}." in ran.err and f"# {proved}.\n" in recipe.read_text(), ran
    (item,) = tomllib.loads(recipe.read_text())["callable"]
    assert item["function"] == f"{file}:layer"
    # What cannot be named is the command, in its folder there.
    file.write_text(TRAIN.replace('if __name__ == "__main__":', "for _ in range(1):"))
    ran = tk(*asked, "9")
    assert ran.code == 0 and "It runs the command again, because" in ran.err, ran
    (item,) = tomllib.loads(recipe.read_text())["script"]
    assert item == {"command": ["train.py", "9"], "folder": str(file.parent)}
    assert tk("warm", recipe, "--into", there.place("other"), "--env", python).code == 0
    graphs = [(there.home / name).glob("fxgraph/*/*") for name in ("cache", "other")]
    own, other = ({one.name for one in some} for some in graphs)
    assert len(own) == 2 and len(other) == 1 and other < own


def test_an_environment_there_is_added(tk: Tk, there: Machine) -> None:
    name = "ssh://there" + os.path.realpath(sys.executable)
    added = tk("env", "--json", "--add", name)
    assert [one["interpreter"] for one in added.objects] == [name]
    assert tk("env", "--remove", name).code == 0
    wrong = tk("env", "--json", "--add", "ssh://a b/python")
    assert wrong.objects[-1]["error"]["code"] == "ssh-address-wrong"
