"""Fleet files: what they ask for, and everything that is wrong with one, at its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.words.problems import UserError
from torchkeeper.fleet import file
from torchkeeper.fleet.job import Job, check, machines

GOOD = """\
recipes = ["builtin"]
on = ["local", "ssh://gpu1"]
into = "cache"
also = ["redis://cache.local", "out.torchcache", "ssh://gpu1/srv/c"]
prove = true
share = true
jobs = 2
python = "venv/bin/python"
state = "st"
report = "out/fleet.html"
secrets = "without"
[compile]
device = "cpu"
threads = 4
portable = true
seconds = 90
[retention]
after = "12h"
"""


def _written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    return str(path)


def test_what_a_file_says_is_what_is_asked(tmp_path: Path) -> None:
    job = file.read(_written(tmp_path, GOOD))
    assert job.params == {
        "recipes": ["builtin"], "on": ["local", "ssh://gpu1"], "into": f"{tmp_path}/cache",
        "prove": True, "share": True, "slots": 2, "python": f"{tmp_path}/venv/bin/python",
        "state": f"{tmp_path}/st", "secrets": "leave", "device": "cpu", "threads": 4,
        "portable": True, "limit_s": 90.0, "named": ["builtin"],
    }  # fmt: skip
    assert job.also == [
        "redis://cache.local:6379/0", f"{tmp_path}/out.torchcache", "ssh://gpu1/srv/c",
    ]  # fmt: skip
    assert (job.report, job.sign, job.after) == (f"{tmp_path}/out/fleet.html", "", 12 * 3600)
    check(job)
    assert machines(job.params["on"]) == ["", "ssh://gpu1"]


def test_the_example_has_no_fault_and_says_every_key(tmp_path: Path) -> None:
    path = tmp_path / "new" / "fleet.toml"
    file.write(str(path))
    text = path.read_text()
    every = text.replace("# [ret", "[ret").splitlines()
    bare = [line.removeprefix("# ") if " = " in line else line for line in every]
    bare = [line for line in bare if not line.startswith("#")]
    path.with_name("all.toml").write_text("\n".join(bare))
    (tmp_path / "new" / "recipes").mkdir()
    (tmp_path / "new" / "recipes" / "one.toml").write_text('[[eager]]\nop = "aten.abs"\n')
    for one in (path, path.with_name("all.toml")):
        data = recipes.tables(str(one), file.faults)
        assert set(data) <= set(file._KEYS)
    assert set(data) == set(file._KEYS)
    with pytest.raises(UserError) as raised:
        file.write(str(path))
    assert raised.value.code == "recipe-exists"
    file.write(str(path), again=True)


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('into = "cache"\n', "", 1, "“into” is missing"),
        ("prove = true", 'prove = "yes"', 5, "prove: expected true or false"),
        ("share = true", "share = 1", 6, "share: expected true or false"),
        ("jobs = 2", "jobs = 0", 7, "jobs: expected a whole number from 1"),
        ("jobs", "job", 7, "did you mean “jobs”"),
        ('"local", ', "3, ", 2, "on[0]: expected a text"),
        ("seconds = 90", "seconds = -1", 16, "compile.seconds: expected seconds above 0"),
        ('"12h"', '"soon"', 18, "retention.after: expected an age"),
        ('"without"', '"hide"', 11, "secrets: expected one of redact, without, allow"),
        ("redis://cache", "redis://:hush@cache", 4, "a password does not belong into a file"),
        ("on = [", "on = ", 2, "not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    assert old in GOOD
    with pytest.raises(UserError) as raised:
        file.read(_written(tmp_path, GOOD.replace(old, new, 1)))
    error = raised.value
    assert error.params["line"] == line
    assert said in f"{error.what} {error.why}"
    assert "hush" not in str(error)
    assert error.remedy


def test_what_cannot_be_done_with_a_place_is_said_before(tmp_path: Path) -> None:
    for old, new, code in (
        ('state = "st"', 'sign = "key"', "fleet-unsignable"),
        ('into = "cache"', 'into = "redis://one"', "fleet-keeps-all"),
    ):
        with pytest.raises(UserError) as raised:
            check(file.read(_written(tmp_path, GOOD.replace(old, new))))
        assert raised.value.code == code
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "fleet.html").mkdir()
    with pytest.raises(UserError) as raised:
        check(file.read(_written(tmp_path, GOOD)))
    assert raised.value.code == "fleet-report-unwritable"


@pytest.mark.parametrize("is_there", ["", "<!DOCTYPE html>\nan older one", None])
def test_a_report_comes_where_one_was(tmp_path: Path, is_there: str | None) -> None:
    if is_there is not None:
        (tmp_path / "page.html").write_text(is_there)
    check(Job({"recipes": [], "on": [], "into": str(tmp_path)}, report=str(tmp_path / "page.html")))


@pytest.mark.parametrize("kind", ["text", "link", "pipe", "nowhere"])
def test_a_report_takes_the_place_of_no_other_file(tmp_path: Path, kind: str) -> None:
    """A fleet file may be a stranger's, and name any file."""
    page = tmp_path / "page.html"
    mine = tmp_path / "mine"
    mine.write_text("alias ls=ls")
    if kind == "text":
        page.write_text("alias ls=ls")
    elif kind == "pipe":
        os.mkfifo(page)
    else:
        page.symlink_to(mine if kind == "link" else tmp_path / "nowhere")
    with pytest.raises(UserError) as told:
        check(Job({"recipes": [], "on": [], "into": str(tmp_path)}, report=str(page)))
    assert told.value.code == "fleet-report-unwritable"
    assert mine.read_text() == "alias ls=ls"
