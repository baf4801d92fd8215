"""What is wrong in a folder: each set up for real, found, mended, and looked at again."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.conftest import Doctor, Stock
from tests.pace import LONG
from torchkeeper.client import diagnosing
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import findingwords
from torchkeeper.client.words.problems import UserError
from torchkeeper.doctor.folders import skew_of
from torchkeeper.settings.finding import Finding

AGO = time.time() - 3 * 86_400


def gone() -> int:
    """The number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_folder_that_others_may_write_to(doctor: Doctor, among: Path, cache: Path) -> None:
    place = shutil.copytree(cache, among / "cache")
    place.chmod(0o777)
    (file,) = place.rglob("*.py")
    file.chmod(0o666)
    found = doctor(place, only=("owner",))["folder-owned"]
    assert (found.severity, found.fix) == ("warning", "chmod")
    assert "chmod -R go-w" in findingwords.said(found).remedy
    assert doctor.mend(found) == {"files": 2, "failed": 0}
    assert (place.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o755, 0o644)
    assert doctor(place, only=("owner",)).codes == []


def test_of_what_is_open_only_the_cache_is_closed(doctor: Doctor, among: Path, cache: Path) -> None:
    """What nobody recognises there is somebody's, and not a cache."""
    place = shutil.copytree(cache, among / "cache")
    for path in (place, note := place / "notes.txt"):
        path.touch()
        path.chmod(0o666 if path == note else 0o777)
    found = doctor(place, only=("owner",))["folder-owned"]
    plan = doctor.plan(found)
    assert plan["paths"] == [str(place)]
    assert plan["modes"] == ["777"]
    assert f"1 file in {place}: {place}. Mode 777 loses" in diagnosing.will(found, plan)
    assert doctor.mend(found) == {"files": 1, "failed": 0}
    assert note.stat().st_mode & 0o777 == 0o666


def test_the_folder_above_is_named_and_nothing_below_it_changes(
    doctor: Doctor, among: Path, cache: Path
) -> None:
    above = among / "open"
    place = shutil.copytree(cache, above / "cache")
    above.chmod(0o777)
    (found,) = (
        one.finding for one in doctor(place, only=("owner",)).findings
        if one.finding.params["owned"]["what"] == "above" and one.finding.fix
    )  # fmt: skip
    said = diagnosing.will(found, doctor.plan(found))
    assert said.startswith(f"Forbid others to write to {above}, the folder above {place}.")
    assert doctor.mend(found) == {"files": 1, "failed": 0}
    assert above.stat().st_mode & 0o777 == 0o755


def test_a_team_keeps_its_folder(doctor: Doctor, among: Path, cache: Path) -> None:
    """That a group may write is good to know; nothing takes that away."""
    place = shutil.copytree(cache, among / "cache")
    os.chown(place, -1, 4321)
    place.chmod(0o2770)
    for one in doctor(place, only=("owner",)).findings:
        assert (one.finding.severity, one.finding.fix) == ("advice", "")


def test_files_of_what_is_no_cache_are_left_alone(doctor: Doctor, among: Path) -> None:
    place = among / "documents"
    place.mkdir()
    (place / "letter.txt").write_text("dear\n")
    place.chmod(0o777)
    found = Finding("folder-owned", "warning", (), str(place), {"owned": {}}, fix="chmod")
    with pytest.raises(UserError) as caught:
        doctor.plan(found)
    assert caught.value.code == "place-no-cache"
    assert place.stat().st_mode & 0o777 == 0o777


@pytest.mark.skipif(os.getuid() != 0, reason="needs to be another user")
def test_a_folder_that_this_user_may_not_write_to(among: Path, cache: Path) -> None:
    """Asked by an engine of another user: torch would fail there."""
    place = shutil.copytree(cache, among / "cache")
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); "
        "from torchkeeper.doctor.check import FolderLook; "
        "from torchkeeper.doctor.folders import owner; "
        "from torchkeeper.artifacts.report import Report; p = sys.argv[2]; "
        "import pwd, grp; from torchkeeper.stores.places import default_folder; default_folder(); "
        "list(owner(FolderLook(p, p, Report(), True))); os.setgid(65534); os.setuid(65534); "
        "print([x.code for x in owner(FolderLook(p, p, Report(), True))])"
    )
    source = Path(findingwords.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script, str(source), str(place)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert "folder-unwritable" in done.stdout, done.stderr


@pytest.mark.slow
def test_a_blank_in_the_path(doctor: Doctor, stock: Stock, tmp_path: Path) -> None:
    place = tmp_path / "my cache"
    assert stock(place)["ok"]  # an extern kernel needs no compiler
    said = stock(place, "sin")
    assert not said["ok"]
    assert "C++ compile error" in said["error"]
    found = doctor(place, only=("names",))["path-blank"]
    assert (found.severity, found.params["character"]) == ("error", "blank")


@pytest.mark.slow
def test_a_path_that_is_too_long(doctor: Doctor, stock: Stock, tmp_path: Path) -> None:
    """Torch compiles, and keeps nothing."""
    place = tmp_path
    while len(str(place)) < 3_900:
        place /= "d" * min(200, 3_999 - len(str(place)))
    place.mkdir(parents=True)
    said = stock(place)
    assert said["ok"]
    assert said["counters"]["fxgraph_cache_write_error"] == 1
    assert "File name too long" in said["log"]
    kept = [path.name for path in (place / "fxgraph").rglob("*") if path.is_file()]
    assert all(name.endswith(".tmp") for name in kept)
    found = doctor(place, only=("names",))["path-long"]
    assert (found.severity, found.params["most"]) == ("error", 4095)


def test_short_names(doctor: Doctor, tmp_path: Path) -> None:
    """A file system whose names are short: Minix's, where one may mount it."""
    image, disk = tmp_path / "image", tmp_path / "disk"
    image.write_bytes(bytes(1 << 20))
    disk.mkdir()
    for command in (["mkfs.minix", str(image)], ["mount", "-o", "loop", str(image), str(disk)]):
        try:
            subprocess.run(command, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no file system of short names can be mounted")
    try:
        found = doctor(disk, only=("names",))["names-short"]
        assert found.params["most"] < 255
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
def test_files_from_the_future(doctor: Doctor, stock: Stock, cache: Path) -> None:
    """Torch hits all the same; the fix says that they are of now."""
    ahead = time.time() + 5 * 86_400
    files = [path for path in cache.rglob("*") if path.is_file()]
    for path in files:
        os.utime(path, (ahead, ahead))
    assert stock(cache)["counters"]["fxgraph_cache_hit"] == 1
    found = doctor(cache, only=("clock",))["files-from-future"]
    assert found.severity == "advice"
    assert found.params["count"] == len(files)
    assert abs(found.params["ahead_s"] - 5 * 86_400) < 60
    assert doctor.mend(found) == {"files": len(files), "failed": 0}
    assert doctor(cache, only=("clock",)).codes == []
    assert max(path.stat().st_mtime for path in files) <= time.time()


def test_a_clock_is_compared_by_a_file_that_does_not_stay(tmp_path: Path) -> None:
    assert abs(skew_of(str(tmp_path))) < 1
    assert list(tmp_path.iterdir()) == []


def test_what_dead_writers_left(doctor: Doctor, cache: Path) -> None:
    """Not what is held, what is young, nor the lock of an entry that is there."""
    (graph,) = (cache / "fxgraph").glob("*/*")
    temporary = graph / f".{gone()}.140000000000.tmp"
    mine = graph / f".{os.getpid()}.140000000000.tmp"
    for path in (temporary, mine):
        path.write_bytes(bytes(1000))
        os.utime(path, (AGO, AGO))
    # Of a program that may be at work for hours: its name says nothing of whom.
    folder = cache / "tmpab12cd34"
    folder.mkdir()
    (folder / "file").touch()
    os.utime(folder / "file", (time.time() - 7200,) * 2)
    young = graph / f".{gone()}.141000000000.tmp"
    young.touch()
    locks = cache / "locks"
    locks.mkdir(exist_ok=True)
    (code,) = cache.rglob("*.py")
    orphan, held, guard = (
        locks / f"{name}.lock" for name in ("c" + "g" * 51, "c" + "h" * 51, code.stem)
    )
    for path in (orphan, held, guard):
        path.touch()
        os.utime(path, (AGO, AGO))
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = doctor(cache, only=("leftovers",))["left-over"]
        assert (found.severity, found.fix) == ("warning", "trash-leftovers")
        assert (found.params["files"], found.params["locks"]) == (1, 1)
        done = doctor.mend(found)
        assert (done["locks"], done["entries"]) == (2, 0)
        assert doctor(cache, only=("leftovers",)).codes == []
    assert not temporary.exists()
    assert not orphan.exists()
    assert (folder / "file").exists()
    assert mine.exists() and young.exists() and held.exists() and guard.exists()
    doctor.engine.call("undo", {"place": str(cache)})
    assert temporary.read_bytes() == bytes(1000)
    assert orphan.exists()


@pytest.mark.slow
def test_broken_entries(
    doctor: Doctor, stock: Stock, cache: Path, facts: dict[str, Any], torch_python: str
) -> None:
    """Torch compiles again what it cannot read, and says so in its log only."""
    (graph,) = (path for path in (cache / "fxgraph").rglob("*") if path.is_file())
    whole = graph.read_bytes()
    graph.write_bytes(whole[:1000])
    shutil.rmtree(cache / "aotautograd")
    said = stock(cache)
    assert said["ok"]
    assert "fxgraph_cache_hit" not in said["counters"]
    graph.write_bytes(whole[:1000])
    found = doctor(cache, only=("broken",), facts=facts)["entries-broken"]
    assert (found.severity, found.fix) == ("warning", "trash-broken")
    assert found.params["path"] == str(graph.relative_to(cache))
    doctor.engine.call("know", {"python": torch_python, "env": facts})
    assert doctor.mend(found, (torch_python,))["entries"] >= 1
    assert doctor(cache, only=("broken",), facts=facts).codes == []
    doctor.engine.call("undo", {"place": str(cache)})
    assert graph.read_bytes() == whole[:1000]


def test_orphans(doctor: Doctor, stock: Stock, cache: Path) -> None:
    """Code that no graph names; torch does not miss it."""
    for path in cache.rglob("*"):
        os.utime(path, (AGO, AGO))
    (code,) = cache.rglob("*.py")
    other = code.with_name(code.stem[:3] + "z" * 49 + ".py")
    shutil.copy2(code, other)
    found = doctor(cache, only=("orphaned",))["entries-orphaned"]
    assert (found.severity, found.params["count"]) == ("advice", 1)
    assert found.params["path"] == str(other.relative_to(cache))
    told = findingwords.said(found)
    assert told.what == f"1 entry in {cache} that nothing needs."
    assert told.why.startswith("What it belongs to is gone. It takes ")
    assert doctor.mend(found)["entries"] == 1
    assert not other.exists()
    assert diagnosing.nothing(doctor.plan(found))
    assert doctor(cache, only=("orphaned",)).codes == []
    assert stock(cache)["counters"]["fxgraph_cache_hit"] == 1


def test_what_is_broken_is_not_told_again_as_an_orphan(doctor: Doctor, triton_cache: Path) -> None:
    """A kernel that was cut off while it was written, which nothing can use."""
    next(triton_cache.rglob("__grp__*.json")).unlink()
    for path in triton_cache.rglob("*"):
        os.utime(path, (AGO, AGO))
    assert doctor(triton_cache, only=("broken", "orphaned")).codes == ["entries-broken"]


@pytest.mark.slow
def test_what_another_torch_made(
    doctor: Doctor, stock: Stock, fixture_cache: Path, facts: dict[str, Any], torch_python: str
) -> None:
    """Of a cache of torch 2.9.1 nothing hits; beside one's own graphs it is a part."""
    found = doctor(fixture_cache, only=("stale",), facts=facts)
    [all_of_it] = found.findings
    assert all_of_it.finding.code in ("all-stale", "some-stale")
    assert "2.9.1" in all_of_it.finding.params["made_by"]
    said = stock(fixture_cache)
    assert "fxgraph_cache_hit" not in said["counters"]
    part = doctor(fixture_cache, only=("stale",), facts=facts)["some-stale"]
    assert part.severity == "advice"
    assert part.params["count"] < part.params["of"]
    doctor.engine.call("know", {"python": torch_python, "env": facts})
    assert doctor.mend(part, (torch_python,))["entries"] >= part.params["count"]
    assert doctor(fixture_cache, only=("stale",), facts=facts).codes == []
    assert stock(fixture_cache)["counters"]["fxgraph_cache_hit"] == 1


def test_without_a_torch_nobody_says_that_nothing_is_stale(doctor: Doctor, cache: Path) -> None:
    found = doctor(cache, only=("stale",))
    assert found.codes == []
    assert found.result["checks"] == []
    [left] = found.result["left"]
    assert (left["check"], left["code"]) == ("stale", "no-verdicts")


@pytest.mark.slow
def test_graphs_for_another_number_of_threads(
    doctor: Doctor, filled: Path, facts: dict[str, Any]
) -> None:
    """As the facts tell on a machine of another size; the real miss is test_verify's."""
    here = int(facts["threads"])
    value = {**facts, "threads": here + 1}
    factors = dict(facts["key_factors"])
    if "cpp_runtime_thread_count" not in factors:
        pytest.skip("this torch has no such factor")
    name, count = factors["cpp_runtime_thread_count"]
    factors["cpp_runtime_thread_count"] = [f"{name}-other", str(int(count) + 1)]
    found = doctor(filled, only=("threads",), facts={**value, "key_factors": factors})
    about = found["threads-differ"]
    assert about.change == {"OMP_NUM_THREADS": count}
    assert about.params["here"] == str(int(count) + 1)
    assert doctor(filled, only=("threads",), facts=facts).codes == []


def test_a_large_trash(doctor: Doctor, cache: Path) -> None:
    """What was purged takes room until the trash is emptied; nothing does that by itself."""
    stem = "cca" + "b" * 49
    large = cache / "ca" / f"{stem}.so"
    large.parent.mkdir(exist_ok=True)
    with large.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 200 << 20)  # what counts is the room on the disk
    # A disk with little room in one piece takes some more, for where the pieces are.
    room = large.stat().st_blocks * 512
    plan = doctor.engine.call(
        "plan_purge", {"place": str(cache), "select": {"items": [["code", f"ca/{stem}.so"]]}}
    )
    doctor.engine.call("purge", {"plan": plan["plan"]})
    found = doctor(cache, only=("trash",))["trash-large"]
    assert (found.severity, found.fix) == ("advice", "")
    assert found.params["trash_bytes"] == room >= 200 << 20
    assert "--empty" in findingwords.said(found).remedy
    doctor.engine.call("empty_trash", {"place": str(cache)})
    assert doctor(cache, only=("trash",)).codes == []


def test_a_folder_that_nothing_reads(
    doctor: Doctor, cache: Path, facts: dict[str, Any], torch_python: str
) -> None:
    found = doctor(cache, only=("unread",), facts=facts)["folder-unread"]
    assert found.severity == "advice"
    assert found.params["count"] >= 3
    assert doctor(cache, only=("unread",), facts=facts, reads=[str(cache)]).codes == []
    assert doctor(cache, only=("unread",), facts=facts, reads=[str(cache.parent)]).codes == []
    # A program that runs with it is one that reads it.
    script = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)},
    ) as program:  # fmt: skip
        assert program.stdout
        program.stdout.readline()
        assert doctor(cache, only=("unread",), facts=facts).codes == []
        program.communicate(timeout=LONG)


def test_the_same_entries_twice(doctor: Doctor, cache: Path, tmp_path: Path) -> None:
    other = shutil.copytree(cache, tmp_path / "other")
    found = doctor(cache, other, only=("duplicates",))["caches-alike"]
    assert (found.place, found.params["other"]) == (str(cache), str(other))
    assert found.params["count"] >= 3  # the graph, AOTAutograd's, and the code
    assert found.params["size_bytes"] > 10_000
    assert "TRITON_CACHE_DIR" in findingwords.said(found).remedy
    shutil.rmtree(other / "aotautograd")
    shutil.rmtree(other / "fxgraph")
    for code in other.rglob("*.py"):
        code.write_text("another = 1\n")
    assert doctor(cache, other, only=("duplicates",)).codes == []


def test_a_folder_that_cannot_be_read_is_not_healthy(doctor: Doctor, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    found = doctor(file, only=("broken", "orphaned", "stale"))
    assert found.result["checks"] == []
    assert {one["code"] for one in found.result["left"]} == {"place-not-folder"}


def test_a_bug_in_a_check_hides_no_other(tmp_path: Path) -> None:
    with Engine() as engine:
        # No variable can hold such a character, so that nobody has thought of it.
        values, facts = {"TRITON_HOME": "\0"}, {"torch": "2.13.0"}
        about = {"values": values, "facts": facts, "toolchain": {}, "machine": True}
        answer = engine.call("diagnose", {"places": [str(tmp_path)], **about})
        bugs = [one["check"] for one in answer["left"] if one["code"] == "engine-bug"]
        assert bugs == ["unread"]
        assert "broken" in answer["checks"]
    # The log is whole when the engine has ended: it comes by a pipe of its own.
    assert any("Traceback" in line for line in engine.log)
