"""Which running processes have torch, what each is, and where its settings come from: real ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Start, starting
from tests.settings.secrets import FORMS, MARK, PASSWORDS, SEEN
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words import settled
from torchkeeper.client.words.findingwords import said
from torchkeeper.engine.protocol import MAX_LINE, encode
from torchkeeper.settings import programs
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import BY_NAME
from torchkeeper.settings.origins import Origin, Override, fitting
from torchkeeper.settings.processes import of_process, root_of, running
from torchkeeper.settings.shapes import OfProcessTold, OriginTold, ProcessesTold

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

FX, FOLDER = "TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_CACHE_DIR"
AOT, MASTER = "TORCHINDUCTOR_AUTOGRAD_CACHE", "TORCHINDUCTOR_FORCE_DISABLE_CACHES"
URL = "TORCHINDUCTOR_REDIS_URL"
STEM = "cab" + "x" * 49
WAIT = "print('ready', flush=True)\nimport time; time.sleep(600)\n"
MAP = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
"""


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Starts a process that says a line once it is ready, with no settings but those given."""
    with starting(without=("TORCH", "TRITON")) as started:
        yield started


class Heard(Report):
    """Keeps the rows."""

    def __init__(self) -> None:
        self.found: dict[int, Any] = {}

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.found |= {row["pid"]: row for row in rows}


def listed() -> tuple[dict[int, Any], ProcessesTold]:
    heard = Heard()
    result = running(heard)
    return heard.found, result


def by_name(told: OfProcessTold) -> dict[str, OriginTold]:
    return {one["name"]: one for one in told["settings"]}


def brief(told: OfProcessTold, name: str) -> tuple[Any, ...]:
    one = by_name(told)[name]
    return one["value"], one["by"], one["variable"], one["where"], one["sure"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with an object in it, named as Inductor names such."""
    root = tmp_path_factory.mktemp("cache")
    (root / "ab").mkdir()
    (root / "ab" / f"{STEM}.so").write_bytes(b"\x7fELF" + bytes(5000))
    return root


@pytest.fixture(scope="module")
def served(start: Start, torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> int:
    """A program with torch, whose own code sets what variables set as well; its number."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "serve.py").write_text(
        "import torch\nimport torch._inductor.config as config\nimport own\n"
        "config.fx_graph_cache = False\n"
        "torch._functorch.config.enable_autograd_cache = False\n"
        "import json, triton\n"
        "held = [torch.__version__, triton.__version__, config.fx_graph_cache, "
        "torch._functorch.config.enable_autograd_cache, torch.compiler.config.cache_key_tag]\n"
        "with open('held.json', 'w') as file: json.dump(held, file)\n" + WAIT
    )
    (folder / "own.py").write_text("import torch\ntorch.compiler.config.cache_key_tag = 'own'\n")
    return start(
        torch_python, "-W", "ignore", "serve.py", "--password", "s3cret", cwd=folder,
        **{FX: "1", URL: "redis://me:s3cret@host:1/0", "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1"},
    )  # fmt: skip


def held(pid: int) -> list[Any]:
    """What the program has written down of itself."""
    found: list[Any] = json.loads(Path(f"/proc/{pid}/cwd/held.json").read_text())
    return found


@pytest.mark.torch
@pytest.mark.slow
def test_a_program_with_torch(served: int, torch_python: str) -> None:
    found, result = listed()
    row = found[served]
    assert row["loaded"] is True
    assert row["name"].split(" ")[1:] == ["serve.py"]
    assert row["command"][3:] == ["serve.py", "--password", "…"]
    assert os.path.samefile(row["python"], torch_python)
    assert os.path.basename(os.path.dirname(row["python"])) == "bin"
    assert [row["torch"], row["triton"]] == held(served)[:2]
    assert abs(row["started"] - os.stat(f"/proc/{served}").st_ctime) < 60
    assert result["count"] == len(found)


@pytest.mark.slow
@pytest.mark.torch
def test_what_its_code_sets(served: int) -> None:
    told = of_process(served)
    assert told["looked"]["kind"] == "script"
    assert told["looked"]["files"] == 2
    # This variable wins over what code says, in every version; nothing wins over that one.
    assert brief(told, FX) == ("1", "variable", FX, "", True)
    assert [one["wins"] for one in by_name(told)[FX]["overrides"]] == [False]
    assert brief(told, AOT) == ("0", "code", "", "serve.py:5", True)
    assert brief(told, "TORCH_COMPILE_CACHE_KEY_TAG") == ("own", "code", "", "own.py:2", True)
    assert brief(told, URL) == ("redis://me:…@host:1/0", "variable", URL, "", True)
    assert brief(told, MASTER) == ("0", "default", "", "", True)
    codes = [one["code"] for one in told["findings"]]
    assert "setting-forced" in codes
    assert "s3cret" not in repr(told)
    # That is what its torch holds.
    assert held(served)[2:] == [True, False, "own"]


def test_the_folder_that_it_really_uses(start: Start, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(
        f"import os, sys\nos.environ['{FOLDER}'] = sys.argv[2]\n{MAP}{WAIT}"
    )
    pid = start(sys.executable, "run.py", cache / "ab" / f"{STEM}.so", cache, cwd=tmp_path,
                **{FOLDER: "/elsewhere"})  # fmt: skip
    told = of_process(pid)
    assert brief(told, FOLDER) == (str(cache), "code", FOLDER, "run.py:2", True)
    assert by_name(told)[FOLDER]["seen"] == str(cache / "ab" / f"{STEM}.so")
    (folder,) = told["process"]["folders"]
    assert (folder["path"], folder["kind"], folder["files"]) == (str(cache), "inductor", 1)
    (finding,) = [one for one in told["findings"] if one["code"] == "setting-overridden"]
    assert finding["params"]["value"] == str(cache)
    assert brief(told, "TRITON_CACHE_DIR")[0] == str(cache / "triton")


def test_the_folder_that_its_variable_names(start: Start, cache: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(cache)
    pid = start(sys.executable, "-c", MAP + WAIT, cache / "ab" / f"{STEM}.so",
                **{FOLDER: str(link)})  # fmt: skip
    told = of_process(pid)
    assert brief(told, FOLDER) == (str(link), "variable", FOLDER, "", True)
    assert by_name(told)[FOLDER]["seen"]
    assert told["looked"]["main"] == ""


def test_one_that_ends_while_its_sources_are_read(
    start: Start, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run.py").write_text(MAP + WAIT)
    pid = start(sys.executable, "run.py", cache / "ab" / f"{STEM}.so", cwd=tmp_path,
                **{FOLDER: f"{cache}/"})  # fmt: skip
    look = programs.look_at

    def look_at(asked: programs.Program) -> programs.Looked:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return look(asked)

    monkeypatch.setattr(programs, "look_at", look_at)
    assert brief(of_process(pid), FOLDER) == (f"{cache}/", "variable", FOLDER, "", True)


def test_a_source_that_was_changed_since_it_was_started(start: Start, tmp_path: Path) -> None:
    """What it says now is not what runs; that is not to be seen, and said."""
    script = tmp_path / "run.py"
    script.write_text(f"import os\nos.environ['{FX}'] = '0'\n" + WAIT)
    pid = start(sys.executable, "run.py", cwd=tmp_path)
    assert of_process(pid)["looked"]["changed"] == []
    script.write_text(WAIT)
    os.utime(script, (time.time() + 60,) * 2)
    told = of_process(pid)
    assert told["looked"]["changed"] == ["run.py"]
    notes = settled.unseen(settled.process_from(told))
    assert any("run.py was changed since" in note for note in notes)


def test_what_is_set_only_where_nothing_is(start: Start, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(
        f"import os\nos.environ.setdefault('{FOLDER}', '/other')\n"
        f"os.environ.setdefault('{FX}', '0')\n"
        f"def later(): os.environ['{MASTER}'] = '1'\n" + WAIT
    )
    told = of_process(start(sys.executable, "run.py", cwd=tmp_path, **{FOLDER: "/mine"}))
    assert brief(told, FOLDER) == ("/mine", "variable", FOLDER, "", True)
    assert brief(told, FX) == ("0", "code", "", "run.py:3", True)
    assert brief(told, MASTER) == ("1", "code", "", "run.py:4", False)
    assert by_name(told)[MASTER]["otherwise"] == "0"
    assert by_name(told)[FX]["otherwise"] is None
    (off,) = [one for one in told["findings"] if one["code"] == "graphs-off"]
    assert said(Finding.from_json(off)).remedy == "Code sets that, at run.py:3: change it there."
    assert off["change"] == {}, "no variable mends it"


def test_variables_that_code_sets(start: Start, tmp_path: Path) -> None:
    """What a text comes to, what wins over an attribute, and what of two names decides."""
    (tmp_path / "run.py").write_text(
        f"import os\nos.environ['{FX}'] = 'yes'\nos.environ['{FX}_DEFAULT'] = '0'\n"
        f"del os.environ['{AOT}']\n"
        "def later():\n    from torch._inductor import config\n    config.fx_graph_cache = 0\n"
        "os.chdir('/')\n" + WAIT
    )
    pid = start(sys.executable, "run.py", cwd=tmp_path, PWD=str(tmp_path), **{AOT: "0"})
    told = of_process(pid)
    script = f"{tmp_path}/run.py".removeprefix("/")
    assert brief(told, FX) == ("1", "code", "", f"{script}:2", True)
    assert [one["wins"] for one in by_name(told)[FX]["overrides"]] == [True, False, False]
    assert brief(told, AOT) == ("1", "code", AOT, f"{script}:4", True)


def test_of_what_is_not_to_be_seen_nothing_is_said(start: Start, tmp_path: Path) -> None:
    aot = "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE"
    fx = "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"
    (tmp_path / "sure.py").write_text(WAIT)
    (tmp_path / "open.py").write_text(f"import os\nos.environ['{fx}'] = str(1 + 0)\n{WAIT}")
    codes = {}
    for name in ("sure.py", "open.py"):
        told = of_process(start(sys.executable, name, cwd=tmp_path, **{aot: "1"}))
        codes[name] = [one["code"] for one in told["findings"]]
    assert "remote-autograd-alone" in codes["sure.py"]
    assert "remote-autograd-alone" not in codes["open.py"]


def test_a_program_that_says_too_much(start: Start, tmp_path: Path) -> None:
    """All that is told of it has to fit a line."""
    deep = tmp_path / "/".join(["é" * 100] * 8)
    deep.mkdir(parents=True)
    line = "".join(f"os.environ['{name}'] = {'é' * 1000!r}\n" for name in (FX, AOT, MASTER, URL))
    (deep / "run.py").write_text("import os\n" + line * 40 + WAIT)
    pid = start(sys.executable, deep / "run.py", *["é" * 5000] * 20, cwd="/")
    told = of_process(pid)
    assert len(json.dumps(told)) < 1 << 19
    assert brief(told, FX)[1] == "code"


def test_one_that_has_given_itself_a_title(start: Start, cache: Path, tmp_path: Path) -> None:
    """It has written over its environment, as setproctitle does; the folder it uses is seen."""
    over = """
import ctypes
with open("/proc/self/stat") as file:
    first, last = map(int, file.read().rpartition(")")[2].split()[47:49])
ctypes.memset(first, 0, last - first)
"""
    pid = start(sys.executable, "-c", over + MAP + WAIT, cache / "ab" / f"{STEM}.so",
                **{FOLDER: str(cache), FX: "0"})  # fmt: skip
    told = of_process(pid)
    assert told["lost"] is True
    assert brief(told, FX)[1] == "unknown"
    assert brief(told, FOLDER)[:2] == (str(cache), "unknown")


def test_without_torch_in_memory(start: Start) -> None:
    """It could load one, which its interpreter has; ours has one in every checkout."""
    pid = start(sys.executable, "-c", WAIT, FOO="1")
    found, _ = listed()
    assert found[pid]["loaded"] is False
    assert os.path.samefile(os.path.dirname(found[pid]["python"]), os.path.dirname(sys.executable))
    told = of_process(pid)
    assert brief(told, FX) == ("1", "default", "", "", True)
    assert told["looked"]["kind"] == "code"


def test_an_interpreter_without_torch(start: Start, bare_python: str) -> None:
    pid = start(bare_python, "-c", WAIT, **{FX: "0"})
    assert pid not in listed()[0]
    told = of_process(pid)
    assert told["process"]["torch"] is None
    assert told["process"]["python"] == bare_python
    assert brief(told, FX) == ("0", "variable", FX, "", True)
    assert by_name(told)[AOT]["by"] == "unknown"


def test_workers_are_their_programs(start: Start, tmp_path: Path) -> None:
    """A process that torch has started to compile in is told of with the one that it is for."""
    folder = tmp_path / "torch" / "_inductor" / "compile_worker"
    folder.mkdir(parents=True)
    (folder / "__main__.py").write_text("import time; print(1, flush=True); time.sleep(600)")
    code = (
        "import subprocess, sys\n"
        "one = subprocess.Popen([sys.executable, sys.argv[1]], stdout=subprocess.PIPE)\n"
        "one.stdout.readline()\n"
    )
    pid = start(sys.executable, "-c", code + WAIT, folder / "__main__.py")
    found, _ = listed()
    assert found[pid]["workers"] == 1
    assert not any("compile_worker" in row["command"][1] for row in found.values())


def test_one_with_mounts_of_its_own(start: Start, cache: Path, tmp_path: Path) -> None:
    """It knows the folder by another path, and its script is where only it can see it."""
    inner, sources = tmp_path / "inner", tmp_path / "sources"
    inner.mkdir()
    sources.mkdir()
    (sources / "run.py").write_text(f"import os\nos.environ['{FX}'] = '0'\n{MAP}{WAIT}")
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    script = f'mount --bind {cache} {inner} && mount --bind {sources} {hidden} && exec "$@"'
    argv = ["unshare", "--mount", "/bin/sh", "-c", script, "sh"]
    if subprocess.run([*argv, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounts are not allowed here")
    pid = start(
        *argv, sys.executable, hidden / "run.py", inner / "ab" / f"{STEM}.so",
        **{FOLDER: str(inner)},
    )  # fmt: skip
    assert not (hidden / "run.py").exists()
    told = of_process(pid)
    assert told["process"]["elsewhere"] is True
    assert told["process"]["torch"]
    assert brief(told, FOLDER)[:2] == (str(inner), "variable")
    assert brief(told, FX)[:2] == ("0", "code")


def test_one_with_numbers_of_its_own(start: Start, tmp_path: Path) -> None:
    """A container's process is listed by its number here, whatever it is called there."""
    mark = f"mark-{tmp_path.name}"
    argv = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"]
    if subprocess.run([*argv, "true"], capture_output=True, check=False).returncode:
        pytest.skip("namespaces are not allowed here")
    start(*argv, sys.executable, "-c", f"import os; assert os.getpid() == 1\n{WAIT}", mark)
    (row,) = [row for row in listed()[0].values() if row["command"][-1] == mark]
    assert row["elsewhere"] is True
    assert of_process(row["pid"])["process"]["command"] == row["command"]


def test_others(start: Start, tmp_path: Path) -> None:
    """What cannot be asked about, each for its own reason."""
    with pytest.raises(Problem) as caught:
        of_process(1 << 22)
    assert caught.value.code == "process-gone"
    with pytest.raises(Problem) as caught:
        of_process(-1)
    assert caught.value.code == "process-gone"
    sleep = start("sh", "-c", "echo ready; sleep 600; true", PASSWORD="s3cret")
    with pytest.raises(Problem) as caught:
        of_process(sleep)
    assert (caught.value.code, caught.value.params["name"]) == ("process-not-python", "sh")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(Problem) as caught:
        of_process(ended.pid)
    ended.wait()
    assert caught.value.code == "process-gone"
    if os.path.isdir("/proc/2") and not Path("/proc/2/cmdline").read_bytes():
        with pytest.raises(Problem) as caught:
            of_process(2)
        assert caught.value.code == "process-kernel"


def test_another_users(start: Start, tmp_path: Path) -> None:
    """One user does not see into another's, and root lists only its own."""
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root can be another user")
    theirs = start("setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", WAIT)
    before, result = listed()
    assert theirs not in before
    assert result["hidden"] >= 1
    mine = start(sys.executable, "-c", WAIT)
    # What is asked is read first: the other user need not see into the folder that it is in.
    ask = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from torchkeeper.settings.processes import of_process\n"
        "from torchkeeper.artifacts.entry import Problem\n"
        "os.setgroups([]); os.setresuid(65534, 65534, 65534)\n"
        "try: of_process(int(sys.argv[2]))\n"
        "except Problem as p: print(p.code)"
    )
    app = str(Path(__file__).parents[2] / "app")
    argv = [sys.executable, "-I", "-S", "-B", "-c", ask, app, str(mine)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.stdout == "process-of-other\n", done.stderr


ROOTS = {
    f"/a/cache/ab/{STEM}.so": ("/a/cache", "inductor"),
    f"/a/cache/ab/{STEM}.main.so": ("/a/cache", "inductor"),
    f"/a/cache/zz/{STEM}.so": None,
    f"/a/{STEM}/{STEM}.wrapper.so": ("/a", "inductor"),
    f"/a/cache/triton/0/{'A' * 52}/cuda_utils.so": ("/a/cache", "inductor"),
    f"/a/.triton/cache/{'A' * 52}/cuda_utils.so": ("/a/.triton/cache", "triton"),
    f"/a/.triton/cache/{'A' * 52}/x.log": None,
    f"/a/cache/fxgraph/bc/fab{'c' * 49}/x": ("/a/cache", "inductor"),
    f"/a/cache/aotautograd/a{'c' * 51}/x": ("/a/cache", "inductor"),
    f"/a/cache/.torchkeeper-trash/1/files/ab/{STEM}.so": None,
    "/usr/lib/libc.so.6": None,
    "/x": None,
    "": None,
}


@pytest.mark.parametrize("path", ROOTS)
def test_which_cache_a_file_is_of(path: str) -> None:
    assert root_of(path) == ROOTS[path]


def test_passwords_of_any_length_are_hidden_and_other_texts_whole(
    start: Start, tmp_path: Path
) -> None:
    """In the environment, in the source, and in the arguments of a program."""
    texts = [form.replace("{}", password) for password in PASSWORDS for form in FORMS]
    seen = [form.replace("{}", password) for password in PASSWORDS for form in SEEN]
    folder = "/" + "x/" * 5000
    (tmp_path / "own.py").write_text(
        "import os\n" + "".join(f"os.environ[{URL!r}] = {text!r}\n" for text in texts)
    )
    (tmp_path / "serve.py").write_text("if not 'never':\n    import own\n" + WAIT)
    names = (URL, "TORCHINDUCTOR_REDIS_HOST", "TRITON_REDIS_HOST")
    for text, argument in zip(texts[:: len(FORMS) + 1], seen[:: len(SEEN) + 1], strict=False):
        pid = start(
            sys.executable, "serve.py", argument, "--redis", argument, f"--url={argument}", *seen,
            cwd=tmp_path, **dict.fromkeys(names, text), **{FOLDER: folder},
        )  # fmt: skip
        told = of_process(pid)
        assert told["looked"]["files"] == 2
        assert MARK not in json.dumps(told)
        assert len(told["process"]["command"]) > 10
        one = by_name(told)[FOLDER]
        assert (one["value"], one["cut"]) == (folder, False)
        assert by_name(told)[URL]["overrides"]


def test_what_is_told_goes_into_one_line() -> None:
    """However long the variables of a process are."""
    long = "\N{PILE OF POO}" * (128 << 10)
    override = Override("x.py:1", "variable", long, False, None)
    found = [
        Origin(name, long, "variable", name, otherwise=long, overrides=(override,) * 5)
        for name in BY_NAME
    ]
    made = fitting(found)
    assert len(encode({"settings": [one.to_json() for one in made]})) < MAX_LINE
    assert all(one.cut and one.value and long.startswith(one.value) for one in made)
    one = Origin(FOLDER, "x" * 40000, "variable")
    assert (len(fitting([one])[0].value or ""), fitting([one])[0].cut) == (32 << 10, True)
