"""The command config: profiles made, shown, checked, carried and given to programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchkeeper
from tests.cli.conftest import Ran, Tk
from tests.conftest import DATA, objects_of
from tests.sampling import sampled
from tests.settings.secrets import FORMS, MARK, PASSWORDS
from torchkeeper.cli import main
from torchkeeper.client.profiles import keeping
from torchkeeper.client.profiles.formats import FORMATS
from torchkeeper.client.profiles.profile import Profile
from torchkeeper.settings.known import BY_NAME

FX, TAG = "TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCH_COMPILE_CACHE_KEY_TAG"
FOLDER, URL = "TORCHINDUCTOR_CACHE_DIR", "TORCHINDUCTOR_REDIS_URL"
REMOTE, AOT = "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE"
HOST = "TORCHINDUCTOR_REDIS_HOST"
PASSWORD = "hunter2-of-a-test"

Config = Callable[..., Ran]


@pytest.fixture(autouse=True)
def own_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has its own profiles, and an environment without settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    for name in BY_NAME:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes]) -> Config:
    """``torchkeeper ARGUMENTS…`` in this process."""

    def run(*arguments: object) -> Ran:
        capfdbinary.readouterr()
        try:
            code = main.run(list(map(str, arguments)))
        except SystemExit as end:  # of argparse
            code = int(str(end.code))
        said = capfdbinary.readouterr()
        return Ran(code, said.out.decode(), said.err.decode())

    return run


@pytest.fixture
def config(here: Config) -> Config:
    """``torchkeeper config ARGUMENTS…`` in this process."""
    return lambda *arguments: here("config", *arguments)


def test_a_profile_from_its_first_setting_to_its_end(config: Config) -> None:
    made = config("set", "serving", f"{FOLDER}=/srv/a b", f"{URL}=redis://u:{PASSWORD}@h/0",
                  "--about", "for\nserving")  # fmt: skip
    assert (made.code, made.out) == (0, "serving made: 2 settings.\n")
    assert config("set", "serving", f"{TAG}=a=b", "--unset", URL).out.startswith("serving changed")
    assert keeping.load("serving").values == {FOLDER: "/srv/a b", TAG: "a=b"}
    assert config("copy", "serving", "two").code == 0
    assert config("copy", "serving", "two").code == 1
    assert config("rename", "two", "three").code == 0
    listed = config("list")
    assert [line.split()[0] for line in listed.out.splitlines()] == [
        "PROFILE", "serving", "three", "2",
    ]  # fmt: skip
    assert listed.out.count("for\n") == 2
    shown = config("show", "serving")
    assert shown.out.splitlines()[:2] == ["# for", "# serving"]
    assert f"{FOLDER}      /srv/a b" in shown.out
    assert config("remove", "serving", "none").code == 1
    assert config("remove", "serving", "three").code == 0
    assert config("list").out.startswith("There is no profile")


def test_wrong_usage_changes_nothing(config: Config) -> None:
    for arguments in (("set", "a", FX), ("set", "a", "PATH=/"), ("set", "a", "--unset", "X"),
                      ("set", "../a", f"{FX}=1"), ("export", "a", "--format", "xml"),
                      ("import", "-"), ("set", "a.b/c.toml", f"{FX}=\udcff")):  # fmt: skip
        ran = config(*arguments)
        assert ran.code == 2, arguments
        assert ran.err
    assert keeping.names() == []
    assert f"{FX} is one" in config("set", "a", f"{FX}S=1").err
    assert config("show", "none").code == 1
    assert config("check", "./none.env").code == 3


def test_a_password_is_in_nothing_but_an_export(config: Config) -> None:
    config("set", "p", f"{URL}=redis://u:{PASSWORD}@h/0", f"{REMOTE}=1")
    for more in ((), ("--json",)):
        for arguments in (("list",), ("show", "p"), ("check", "p"), ("copy", "p", "q"),
                          ("set", "p", f"{AOT}=1"), ("rename", "q", "r"),
                          ("remove", "r")):  # fmt: skip
            ran = config(*arguments, *more)
            assert PASSWORD not in ran.out + ran.err, arguments
    for format in FORMATS:
        ran = config("export", "p", "--format", format)
        assert PASSWORD in ran.out
        assert PASSWORD not in ran.err
        assert f"{URL} has a password in it" in ran.err
        file = config("export", "p", "--format", format, "-o", f"p.{format}", "--json")
        assert PASSWORD not in file.out + file.err
        assert Path(f"p.{format}").stat().st_mode & 0o777 == 0o600
        back = config("import", f"p.{format}", "--format", format, "--name", format, "--json")
        assert PASSWORD not in back.out + back.err
        assert keeping.load(format).values == keeping.load("p").values
    secret = config("export", "p", "--format", "kubernetes", "--secret", "redis/url")
    assert PASSWORD not in secret.out + secret.err
    assert "comes from the Secret redis" in secret.err
    assert config("export", "p", "--format", "sh", "--secret", "redis/url").code == 2


@sampled("password", PASSWORDS, most=1)
def test_no_form_of_a_password_is_shown(config: Config, password: str) -> None:
    for number, form in enumerate(FORMS):
        values = {name: form.replace("{}", password) for name in (URL, HOST)}
        keeping.save(Profile(f"p{number}", values))
        for arguments in (("show", f"p{number}"), ("check", f"p{number}")):
            for more in ((), ("--json",)):
                ran = config(*arguments, *more)
                assert MARK not in ran.out + ran.err, (form, arguments)
        keeping.remove(f"p{number}")


def test_the_code_is_the_worst_that_is_found(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    config("set", "good", f"{TAG}=a")
    config("set", "bad", f"{AOT}=1")
    assert (config("check", "good").code, config("check").code) == (0, 0)
    bad = config("check", "bad")
    assert bad.code == 5
    assert bad.out.startswith("error: The remote AOTAutograd cache is on")
    Path("a.env").write_text(f"{AOT}=1\nTORCHINDUCTOR_FX_GRAPH_CACHES=1\nHOME=/x\n")
    told = config("check", "a.env", "--json")
    assert told.code == 5
    first, *_ = told.objects
    assert (first["code"], first["severity"]) == ("remote-autograd-alone", "error")
    assert first["what"]
    assert "variable-unknown" in [one.get("code") for one in told.objects]
    assert told.result["worst"] == "error"
    assert {one["name"] for one in told.result["left"]} == {
        "TORCHINDUCTOR_FX_GRAPH_CACHES", "HOME",
    }  # fmt: skip
    monkeypatch.setenv(AOT, "1")
    assert config("check").code == 5
    monkeypatch.setenv(REMOTE, "1")
    assert config("check").code < 5
    assert f"export {AOT}='1'" in config("export", "--format", "sh").out


def test_a_profile_may_be_a_file(config: Config) -> None:
    assert config("set", "./team.toml", f"{TAG}=team", "--about", "in git").code == 0
    assert config("set", "team.toml", f"{FX}=1").out == "team changed: 2 settings.\n"
    assert config("list").out.startswith("There is no profile")
    assert TAG in config("show", "team.toml").out
    exported = config("export", "team.toml", "--format", "sh")
    assert f"export {TAG}='team'" in exported.out.splitlines()
    assert config("import", "team.toml", "--name", "own").code == 0
    assert keeping.load("own").about == "in git"
    Path("broken.toml").write_text("[settings")
    assert config("set", "broken.toml", f"{FX}=1").code == 1
    assert Path("broken.toml").read_text() == "[settings"
    assert config("list").code == 0


def test_what_is_imported_and_what_is_left(config: Config) -> None:
    Path("train.sh").write_text(f"export PATH=/x A=1 {FX}=1\npython train.py\n")
    ran = config("import", "train.sh")
    assert ran.out == "train has 1 setting.\n"
    assert ran.err == "left: PATH, A, no settings of the caches.\n"
    assert config("import", "train.sh").code == 1
    assert config("import", "train.sh", "--force").code == 0
    Path("other.sh").write_text(f"cd /\nexport {FX}=$(cat x)\n")
    refused = config("import", "other.sh")
    assert refused.code == 1
    assert f"left: {FX}: it is made of what a command prints, $(…) (line 2)." in refused.err
    assert "in a way that can be read" in refused.err
    Path("nothing.env").write_text("A=1\n")
    assert "sets no variable that steers the caches" in config("import", "nothing.env").err
    assert keeping.names() == ["train"]
    Path("pod.yaml").write_text(
        f"spec:\n containers:\n - name: a\n   env:\n   - {{name: {FX}, value: '1'}}\n"
        f"   - {{name: {FOLDER}, value: $(HOME)}}\n - name: b\n   env:\n"
        f"   - {{name: {FX}, value: '0'}}\n"
    )
    which = config("check", "pod.yaml")
    assert (which.code, "They are: a, b." in which.err) == (2, True)
    assert config("check", "pod.yaml", "--container", "a").out.startswith(
        "pod: 1 setting and 1 left out, "
    )
    left = f"left: {FOLDER}: it is made of another variable, $(HOME) (line 6)."
    for command in (("show",), ("export", "--format", "sh"), ("import", "--name", "pod")):
        ran = config(*command, "pod.yaml", "--container", "a")
        assert (ran.code, left in ran.err) == (0, True), command
    Path("Dockerfile").write_text(f"FROM x AS a\nENV {FX}=0\nFROM x\nENV {FX}=1\n")
    assert f"export {FX}='0'" in config("export", "Dockerfile", "--format", "sh", "--stage=a").out


def test_nothing_is_wrong_only_with_what_was_looked_at(config: Config) -> None:
    Path("pod.yaml").write_text(f"env:\n- name: {FX}\n  value: $(X)\n")
    for command in (("check",), ("export", "--format", "sh"), ("import",)):
        ran = config(*command, "pod.yaml")
        assert ran.code == 1, command
        assert "in a way that can be read" in ran.err
        assert "nothing wrong" not in ran.out
    assert config("show", "pod.yaml").err.startswith(f"left: {FX}: it is made of")


def test_a_damaged_one_does_not_hide_the_others(config: Config) -> None:
    config("set", "good", f"{FX}=1")
    Path(keeping.folder(), "bad.toml").write_text("x")
    ran = config("list")
    assert ran.code == 4
    assert "bad.toml is not a profile, or is damaged" in ran.err
    assert [line.split()[:2] for line in ran.out.splitlines()[1:3]] == [["bad", "?"], ["good", "1"]]
    rows = config("list", "--json").objects
    assert [row.get("settings") for row in rows[:2]] == [None, 1]


def test_all_settings_are_listed(config: Config) -> None:
    listed = config("settings").out
    rows = config("settings", "--json").objects
    assert [row["name"] for row in rows[:-1]] == list(BY_NAME)
    assert all(name in listed and BY_NAME[name].does in listed for name in BY_NAME)


@pytest.mark.slow
def test_what_is_piped(tmp_path: Path) -> None:
    """In a process of its own, in a locale that cannot say it all."""
    value = "/größe/日本"
    keeping.save(Profile("u", {FOLDER: value}))
    command = [sys.executable, "-m", "torchkeeper", "config"]
    # What an editable install has for a path says nothing in such a locale, where it is not ASCII.
    app = str(Path(torchkeeper.__file__).parents[1])
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0",
           "PYTHONPATH": app}  # fmt: skip
    text = subprocess.run(
        [*command, "export", "u", "--format", "env"], env=env, capture_output=True, check=True
    ).stdout
    assert value in text.decode()
    subprocess.run([*command, "import", "-", "--name", "v"], input=text, check=True)
    assert keeping.load("v").values == {FOLDER: value}
    lines = f"redis://:{PASSWORD}@h:1/0\n{value}".encode()
    set_ = [*command, "set", "v", f"{URL}=-", f"{FOLDER}=-", f"{FX}=1"]
    told = subprocess.run(set_, input=lines, env=env, capture_output=True, check=True)
    assert PASSWORD not in told.stdout.decode() + told.stderr.decode()
    assert keeping.load("v").values == {URL: f"redis://:{PASSWORD}@h:1/0", FOLDER: value, FX: "1"}
    assert (
        subprocess.run(set_, input=b"", env=env, capture_output=True, check=False).returncode == 2
    )


PROGRAM = """if True:
    import json, os, sys
    print(json.dumps(dict(os.environ)))
"""


def program_of(tk: Tk, *options: object, **env: str) -> tuple[dict[str, Any], Ran]:
    ran = tk("run", *options, "--", sys.executable, "-c", PROGRAM, **env)
    printed = ran.out.splitlines()[:1]
    return json.loads(printed[0]) if printed else {}, ran


def test_a_program_has_exactly_the_profile(tk: Tk, tmp_path: Path) -> None:
    keeping.save(Profile("one", {TAG: "x", FOLDER: "/srv/cache"}))
    had, ran = program_of(tk, "--profile", "one", **{FX: "0", URL: "redis://h", "TMPDIR": "/tmp"})
    assert {name: had[name] for name in BY_NAME if name in had} == {
        TAG: "x", FOLDER: "/srv/cache", "TMPDIR": "/tmp",
    }  # fmt: skip
    assert ran.code == 0
    place = tmp_path / "here"
    had, ran = program_of(tk, "--profile", "one", "--into", place)
    assert (had[FOLDER], had[TAG]) == (str(place), "x")
    assert f"The folder is {place}, as you said, and not {FOLDER} of the profile" in ran.err


def test_a_profile_that_is_wrong_is_not_used_unless_one_insists(tk: Tk) -> None:
    keeping.save(Profile("bad", {AOT: "1"}))
    had, ran = program_of(tk, "--profile", "bad")
    assert (had, ran.code) == ({}, 1)
    assert "The remote AOTAutograd cache is on" in ran.err
    assert "with --insist" in ran.err
    had, ran = program_of(tk, "--profile", "bad", "--insist")
    assert (had[AOT], ran.code) == ("1", 0)
    assert "The remote AOTAutograd cache is on" in ran.err


#: Says in a file what it was started with, and fails.
TELLING = """\
[[script]]
command = ["sh", "-c", "env -0 > %s; exit 3"]
[environment]
TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE = "0"
"""


@pytest.mark.slow
def test_what_is_warmed_has_exactly_the_profile(tk: Tk, tmp_path: Path, torch_python: str) -> None:
    """And what the recipe says for itself; where it leads to is asked for."""
    values = {
        TAG: "x",
        FOLDER: "/srv/cache",
        URL: f"redis://u:{PASSWORD}@h",
        "OMP_NUM_THREADS": "3",
    }
    keeping.save(Profile("one", values))
    (tmp_path / "telling.toml").write_text(TELLING % (tmp_path / "env"))
    warm = ("warm", "telling.toml", "--into", "place", "--env", torch_python)
    ran = tk(*warm, "--profile", "one", **{FX: "1", AOT: "1", "TRITON_CACHE_DIR": "/x"})
    env = dict(
        one.split("=", 1) for one in (tmp_path / "env").read_text().split("\0") if "=" in one
    )
    place = str(tmp_path / "place")
    own = {"TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE": "0"}
    ours = {name: env[name] for name in BY_NAME if name in env and name != "TMPDIR"}
    assert ours == {**values, FOLDER: place, **own}
    assert ran.code == 1, "the script has failed"
    assert f"The folder is {place}, as you said" in ran.err
    assert "telling sets TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE itself" in ran.err
    assert PASSWORD not in ran.out + ran.err


def test_nothing_is_compiled_with_a_profile_that_is_wrong(here: Config, tmp_path: Path) -> None:
    keeping.save(Profile("off", {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}))
    keeping.save(Profile("bad", {AOT: "1"}))
    (tmp_path / "telling.toml").write_text(TELLING % (tmp_path / "env"))
    warm = ("warm", "telling.toml", "--into", "place", "--env", sys.executable)
    verify = ("verify", ".", "--recipe", "telling.toml", "--trust", "--env", sys.executable)
    for name, said in (("off", "PyTorch keeps nothing"), ("bad", "use it all the same with")):
        for command in (warm, verify):
            ran = here(*command, "--profile", name)
            assert (ran.code, said in ran.err) == (1, True), ran.err
    assert here(*warm, "--profile", "off", "--insist").code == 1
    assert not (tmp_path / "env").exists()
    assert not (tmp_path / "place").exists()


@pytest.mark.slow
@pytest.mark.torch
def test_a_profile_is_in_what_is_compiled_with_it(
    tk: Tk, tmp_path: Path, filled: Path, header_folder: Path, torch_python: str
) -> None:
    """A tag that is part of the keys: with the profile a program hits, without it it does not."""
    keeping.save(Profile("team", {TAG: "of the team"}))
    place = tmp_path / "place"
    objects_of(filled, place)
    command = [torch_python, str(DATA / "plain_script.py")]
    (tmp_path / "plain.toml").write_text(f"[[script]]\ncommand = {json.dumps(command)}\n")
    temporary = {"TMPDIR": str(header_folder)}
    into = ("--into", place)
    ran = tk("warm", "plain.toml", *into, "--env", torch_python, "--profile", "team", **temporary)
    assert ran.code == 0, ran.err
    entry = next(one for one in tk("ls", place, "--json").objects if one.get("kind") == "fxgraph")
    factors = tk("show", place, entry["key"], "--json").out
    assert "of the team" in factors
    verify = ("verify", place, "--recipe", "plain.toml", "--env", torch_python, "--quick")
    assert tk(*verify, "--trust", "--profile", "team", **temporary).code == 0
    counted = [
        tk("run", *into, *more, "--json", "--", *command, **temporary).objects[-1]["result"]
        for more in (("--profile", "team"), ())
    ]
    assert [(one["hits"] > 0, one["misses"] > 0) for one in counted] == [
        (True, False), (False, True),
    ]  # fmt: skip
