"""A place in a script: what it tells, refuses, takes back and leaves behind."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import torchkeeper
from tests.conftest import Served
from tests.pace import LONG
from tests.redis_server import serving
from tests.snapshots import snapshot
from tests.ssh.elsewhere import ANYWHERE
from torchkeeper.client.kept import protected

ROOT = Path(__file__).resolve().parents[2]


def code_of(error: pytest.ExceptionInfo[torchkeeper.Error]) -> str:
    assert error.value.what
    return error.value.code


def processes() -> set[str]:
    """The processes that this one has started and that have not ended."""
    tasks = Path("/proc/self/task").iterdir()
    return {pid for task in tasks for pid in (task / "children").read_text().split()}


@ANYWHERE
def test_entries_are_typed_and_in_order(kept_291: Path) -> None:
    with torchkeeper.open(kept_291) as place:
        entries = place.entries()
        graphs = place.entries("kind:fxgraph")
        locks = place.entries("kind:lock")
    assert isinstance(entries, torchkeeper.Entries)
    assert [one.kind for one in locks] == ["lock"] * 26
    assert "lock" not in entries.by("kind")
    assert graphs == entries.by("kind")["fxgraph"] == entries[: len(graphs)]
    graph = graphs[0]
    assert graph.torch == "2.9.1+cu128"
    assert graph.mtime is not None
    assert graph.mtime.tzinfo is UTC
    assert datetime(2020, 1, 1, tzinfo=UTC) < graph.mtime < datetime.now(UTC)
    assert (kept_291 / graph.path).stat().st_size == graph.size
    assert (graph.verdict, graph.misses, graph.broken) == (None, False, False)
    assert entries.size == sum(some.size for some in entries.by("kind").values())
    with pytest.raises(AttributeError):
        graph.size = 0  # type: ignore[misc]


@ANYWHERE
def test_what_cannot_be_used_says_so(clean_291: Path, tmp_path: Path) -> None:
    cache = Path(shutil.copytree(clean_291, tmp_path / "cache"))
    next((cache / "fxgraph").rglob("*/*/*")).write_bytes(b"cut off, as by a full disk")
    with torchkeeper.open(cache) as place:
        (broken,) = place.entries("is:broken")
    assert broken.broken
    assert broken.problem == "payload-unreadable"


@ANYWHERE
def test_a_time_that_nobody_can_say_is_none(fixture_cache: Path) -> None:
    for path in fixture_cache.rglob("*"):
        os.utime(path, (1e12, 1e12))  # as far as the file system can keep it
    with torchkeeper.open(fixture_cache) as place:
        times = {one.mtime for one in place.entries()}
    assert all(time is None or time.year > 2400 for time in times)


@ANYWHERE
@pytest.mark.torch
def test_verdicts_have_reasons(clean_291: Path, torch_python: str) -> None:
    with torchkeeper.open(clean_291) as place:
        entries = place.entries("kind:fxgraph", verdicts_for=torch_python)
    assert {one.verdict for one in entries} == {"stale"}
    assert all(one.misses and one.reasons[0].startswith("torch 2.9.1") for one in entries)


@ANYWHERE
def test_what_is_wrong_is_said_with_a_remedy(tmp_path: Path, kept_291: Path) -> None:
    with pytest.raises(torchkeeper.Error) as error, torchkeeper.open(tmp_path / "none") as place:
        place.entries()
    assert code_of(error) == "place-missing"
    with pytest.raises(torchkeeper.Error) as error:
        torchkeeper.open("")
    assert code_of(error) == "wrong-usage"
    with pytest.raises(torchkeeper.Error) as error:
        torchkeeper.open("redis://host:port")
    assert code_of(error) == "address-wrong"
    with torchkeeper.open(kept_291) as place:
        with pytest.raises(torchkeeper.Error) as error:
            place.entries("siez>1")
        assert code_of(error) == "bad-filter"
        assert place.entries("kind:pgo"), "it goes on"
        with pytest.raises(torchkeeper.Error) as error:
            place.export(tmp_path / "b.torchcache", secrets="maybe")  # type: ignore[arg-type]
        assert "redact" in error.value.remedy
        with pytest.raises(torchkeeper.Error) as error:
            place.entries(verdicts_for=tmp_path / "python")
        assert code_of(error) == "interpreter-unusable"
    again = pickle.loads(pickle.dumps(error.value))
    assert type(again) is torchkeeper.Error
    assert (again.code, str(again)) == (error.value.code, str(error.value))


@ANYWHERE
def test_secrets_stay_at_home(kept_291: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "b.torchcache"
    with torchkeeper.open(kept_291) as place:
        for leave in (place.export, place.copy):
            with pytest.raises(torchkeeper.Error) as error:
                leave(bundle)
            assert code_of(error) == "secrets-found"
            assert 'secrets="redact"' in error.value.remedy
            assert "fxgraph" in error.value.why, "where they are"
            assert not bundle.exists()
        redacted = place.export(bundle, secrets="redact")
        assert (redacted.redacted, redacted.size) == (7, bundle.stat().st_size)
        with pytest.raises(torchkeeper.Error) as error:
            place.export(bundle, secrets="redact")
        assert code_of(error) == "output-exists"
        assert "replace=True" in error.value.remedy
        without = place.export(bundle, secrets="without", replace=True)
        assert without.entries == redacted.entries - 7
        assert [one.code for one in without.left].count("has-secrets") == 7
        everything = place.export(bundle, secrets="allow", replace=True)
        assert (everything.entries, everything.redacted) == (redacted.entries, 0)


@ANYWHERE
def test_nothing_is_exported_where_nothing_matches(clean_291: Path, tmp_path: Path) -> None:
    with torchkeeper.open(clean_291) as place:
        assert place.export(tmp_path / "b.torchcache", "nothing-is-called-so").entries == 0
    assert list(tmp_path.iterdir()) == []


def test_several_places_are_exported_to_one_mega_cache(
    clean_291: Path, kept_215: Path, tmp_path: Path
) -> None:
    made = tmp_path / "both.bin"
    with (
        torchkeeper.open(clean_291) as place,
        torchkeeper.open(kept_215 / "mega-cache.bin") as other,
        torchkeeper.open(made) as both,
    ):
        done = place.export(made, also=[other], secrets="allow")
        wanted = {one.key for one in [*place.entries("kind:fxgraph"), *other.entries()]}
        found = both.entries()
        assert done.entries == len(found)
        assert {one.key for one in found if one.kind == "fxgraph"} <= wanted
        assert {one.key for one in other.entries()} <= {one.key for one in found}
        with pytest.raises(torchkeeper.Error) as error:
            place.export(made, sign=tmp_path / "key")
        assert code_of(error) == "wrong-usage"


@ANYWHERE
def test_an_import_needs_trust(clean_291: Path, tmp_path: Path) -> None:
    bundle, cache = tmp_path / "b.torchcache", tmp_path / "cache"
    with torchkeeper.open(clean_291) as place:
        place.export(bundle)
    with torchkeeper.open(cache) as place, torchkeeper.open(bundle) as source:
        with pytest.raises(torchkeeper.Error) as error:
            place.import_(bundle)
        assert code_of(error) == "untrusted"
        with pytest.raises(torchkeeper.Error) as error:
            source.copy(cache)
        assert code_of(error) == "untrusted"
        assert not cache.exists()
        done = place.import_(bundle, trust=True)
        assert (done.into, done.exists) == (place.name, 0)
        assert len(place.entries()) == done.entries > 0
        assert source.copy(place, trust=True).exists == done.entries
        with pytest.raises(torchkeeper.Error) as error:
            place.import_()
        assert code_of(error) == "wrong-usage"


def test_several_folders_are_one_bundle_and_each_goes_to_its_place(
    clean_291: Path, kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, home = tmp_path / "b.torchcache", tmp_path / "home"
    with torchkeeper.open(clean_291) as place:
        made = place.export(bundle, also=[kernels])
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(home / "inductor"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(home / "triton"))
    with pytest.raises(torchkeeper.Error) as error:
        torchkeeper.import_each(bundle)
    assert code_of(error) == "untrusted"
    assert not home.exists()
    done = torchkeeper.import_each(bundle, trust=True)
    assert [one.into for one in done] == [str(home / "inductor"), str(home / "triton")]
    assert sum(one.entries + len(one.left) for one in done) == made.entries
    assert all(one.entries for one in done)


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="it comes with openssh-client")
def test_a_signed_bundle_is_trusted(clean_291: Path, tmp_path: Path) -> None:
    from torchkeeper.client import signers

    key, bundle = tmp_path / "key", tmp_path / "b.torchcache"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    subprocess.run(command, check=True)
    with torchkeeper.open(clean_291) as place:
        signed = place.export(bundle, sign=key)
    assert signed.size == bundle.stat().st_size
    one = signers.trust("team@example.org", f"{key}.pub")
    try:
        with torchkeeper.open(tmp_path / "cache") as place:
            assert place.import_(bundle).entries > 0
    finally:
        signers.forget(one)


@ANYWHERE
def test_a_purge_is_a_plan_first(fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    with torchkeeper.open(fixture_cache) as place:
        plan = place.purge("kind:fxgraph")
        assert snapshot(fixture_cache) == before
        assert plan.entries == place.entries("kind:fxgraph")
        assert plan.size >= plan.entries.size > 0
        receipt = plan.apply()
        assert (receipt.entries, receipt.size) == (len(plan.entries), plan.size)
        assert place.entries("kind:fxgraph") == ()
        assert receipt.undo().entries == receipt.entries
        assert place.entries("kind:fxgraph") == plan.entries
        with pytest.raises(torchkeeper.Error) as error:
            receipt.undo()
        assert code_of(error) == "nothing-to-undo"
        with pytest.raises(torchkeeper.Error) as error:
            plan.apply()
        assert code_of(error) == "plan-unknown"
        assert place.purge("nothing-is-called-so").apply().entries == 0
        gone = place.purge("kind:pgo").apply(now=True)
        assert (gone.entries, gone.id) == (1, None)
        with pytest.raises(torchkeeper.Error) as error:
            gone.undo()
        assert code_of(error) == "wrong-usage"


@ANYWHERE
def test_what_other_machines_may_use_needs_another_word(served: Served, kept_291: Path) -> None:
    cache = served(kept_291)
    with torchkeeper.open(cache) as place:
        plan = place.purge("kind:fxgraph")
        assert plan.shared == "fuse.shared"
        with pytest.raises(torchkeeper.Error, match="is on fuse") as refused:
            plan.apply()
        assert refused.value.code == "wrong-usage"
        assert len(place.entries("kind:fxgraph")) == len(plan.entries) > 0
        plan.apply(shared=True).undo()
        assert len(place.entries("kind:fxgraph")) == len(plan.entries)
    with torchkeeper.open(kept_291) as place:
        assert place.purge("kind:fxgraph").shared == ""


@pytest.mark.parametrize("filter", ["", "  "])
def test_an_empty_filter_purges_nothing(fixture_cache: Path, filter: str) -> None:
    with torchkeeper.open(fixture_cache) as place, pytest.raises(torchkeeper.Error) as error:
        place.purge(filter)
    assert code_of(error) == "wrong-usage"


@ANYWHERE
def test_what_is_dead_says_why(fixture_cache: Path) -> None:
    with torchkeeper.open(fixture_cache) as place:
        old = place.purge(older=timedelta(0))
        assert {one.because for one in old.entries} == {("unused",)}
        whole = place.entries().size
        some = place.purge(keep=whole // 2)
        assert 0 < len(some.entries) < len(old.entries)
        assert all("budget" in one.because or "needless" in one.because for one in some.entries)
        assert place.purge("kind:pgo", older=timedelta(days=36_500)).entries == ()


def test_a_read_only_place_stays_as_it_is(fixture_cache: Path) -> None:
    with torchkeeper.open(fixture_cache) as place:
        plan = place.purge("kind:fxgraph")
        protected.protect(str(fixture_cache), on=True)
        try:
            with pytest.raises(torchkeeper.Error) as error:
                plan.apply()
        finally:
            protected.protect(str(fixture_cache), on=False)
        assert code_of(error) == "place-protected"


@ANYWHERE
def test_a_server_is_a_place(clean_291: Path, tmp_path: Path) -> None:
    with (
        serving(tmp_path / "redis") as redis,
        torchkeeper.open(redis.url) as server,
        torchkeeper.open(clean_291) as place,
    ):
        done = place.copy(server)
        assert (done.into, done.entries) == (server.name, len(server.entries()))
        assert place.copy(redis.url).exists == done.entries
        back = server.copy(tmp_path / "cache")
        assert back.entries == done.entries
        with pytest.raises(torchkeeper.Error) as error:
            server.warm("recipes")
        assert "is a server" in error.value.why
        receipt = server.purge("size>=0").apply()
        assert (receipt.entries, receipt.id) == (done.entries, None)
        with pytest.raises(torchkeeper.Error):
            server.undo()
        assert server.entries() == ()


@ANYWHERE
def test_a_password_of_the_address_is_used_and_not_shown(tmp_path: Path) -> None:
    with serving(tmp_path / "redis", "--requirepass", "hunter2") as redis:
        with torchkeeper.open(redis.url) as place, pytest.raises(torchkeeper.Error) as error:
            place.entries()
        assert code_of(error) == "password-needed"
        with torchkeeper.open(redis.url.replace("//", "//:hunter2@")) as place:
            assert place.entries() == ()
            assert "hunter2" not in place.name + repr(place)


@ANYWHERE
def test_the_password_of_the_environment_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path / "redis", "--requirepass", "hunter2") as redis:
        monkeypatch.setenv("TORCHKEEPER_REDIS_PASSWORD", "wrong")
        with torchkeeper.open(redis.url) as place, pytest.raises(torchkeeper.Error) as error:
            place.entries()
        assert code_of(error) == "password-wrong"
        monkeypatch.setenv("TORCHKEEPER_REDIS_PASSWORD", "hunter2")
        with torchkeeper.open(redis.url) as place:
            assert place.entries() == ()


def test_who_is_told_of_progress_may_close_the_place(kept_291: Path) -> None:
    told = []

    def closing(_: torchkeeper.Progress) -> None:
        told.append(1)
        place.close()

    before = processes()
    place = torchkeeper.open(kept_291, progress=closing)
    assert len(place.entries()) > 1
    assert told and processes() == before
    assert place.entries()


def test_nothing_is_left_behind(
    kept_291: Path, tmp_path: Path, started_engines: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = processes()
    with torchkeeper.open(kept_291) as place:
        assert processes() == before, "nothing is started before it is needed"
        place.entries()
        assert len(processes() - before) == 1
        place.close()
        assert processes() == before
        assert place.entries(), "another one is started"
    assert processes() == before
    forgotten = torchkeeper.open(kept_291)
    forgotten.entries()
    del forgotten
    gc.collect()
    assert processes() == before
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_was_killed_is_started_again(kept_291: Path, started_engines: None) -> None:
    before = processes()
    with torchkeeper.open(kept_291) as place:
        wanted = place.entries()
        (engine,) = processes() - before
        os.kill(int(engine), signal.SIGKILL)
        with pytest.raises(torchkeeper.Error) as error:
            place.entries()
        assert code_of(error) == "engine-gone"
        assert place.entries() == wanted


class Enough(Exception):
    pass


def test_what_progress_raises_takes_back_what_was_done(
    clean_291: Path, tmp_path: Path, started_engines: None
) -> None:
    bundle, cache = tmp_path / "b.torchcache", tmp_path / "cache"
    heard: list[torchkeeper.Progress] = []

    def stop(progress: torchkeeper.Progress) -> None:
        heard.append(progress)
        raise Enough

    before = processes()
    whole = exported(clean_291, bundle)
    with torchkeeper.open(cache, progress=stop) as place:
        with pytest.raises(Enough):
            place.import_(bundle, trust=True)
        assert len(heard) == 1, "who raises hears no more"
        assert processes() == before
    check_none_or_all(cache, whole)


def exported(cache: Path, bundle: Path) -> torchkeeper.Entries:
    """What an import of a cache brings, which is exported to a bundle."""
    with torchkeeper.open(cache) as place, torchkeeper.open(f"{bundle}.whole") as other:
        place.export(bundle)
        other.import_(bundle, trust=True)
        return other.entries()


def check_none_or_all(cache: Path, whole: torchkeeper.Entries) -> None:
    """It was taken back, or was done by then."""
    if cache.exists():
        with torchkeeper.open(cache) as place:
            assert [one.key for one in place.entries()] in ([], [one.key for one in whole])
        assert not list(cache.rglob("*.tmp"))


@ANYWHERE
def test_who_hears_of_progress_asks_nothing(clean_291: Path, tmp_path: Path) -> None:
    def ask(_: torchkeeper.Progress) -> None:
        place.entries()

    with torchkeeper.open(clean_291, progress=ask) as place:
        with pytest.raises(torchkeeper.Error) as error:
            place.export(tmp_path / "b.torchcache")
        assert "busy" in error.value.what


INTERRUPTED = """
import os, sys, time
import torchkeeper

def hang(progress):
    print("begun", flush=True)
    time.sleep(600)

place = torchkeeper.open(sys.argv[1], progress=hang)
try:
    place.import_(sys.argv[2], trust=True)
finally:
    # One that was killed is gone in a moment, and one that was done by then ends, too.
    end = time.monotonic() + float(sys.argv[3])
    children = f"/proc/self/task/{os.getpid()}/children"
    while (left := open(children).read()) and time.monotonic() < end:
        time.sleep(0.05)
    print("left:", left)
"""


def test_an_interrupt_takes_back_what_was_done(clean_291: Path, tmp_path: Path) -> None:
    bundle, cache, temporary = tmp_path / "b.torchcache", tmp_path / "cache", tmp_path / "tmp"
    temporary.mkdir()
    whole = exported(clean_291, bundle)
    # A shell that starts the tests in the background has them ignore SIGINT.
    command = ["env", "--default-signal=INT", sys.executable, "-c", INTERRUPTED]
    env = os.environ | {"PYTHONPATH": str(ROOT / "app"), "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [*command, str(cache), str(bundle), str(LONG / 2)], env=env, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONG)
    assert process.returncode == -signal.SIGINT
    assert out == "left: \n"
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert [one for one in temporary.iterdir() if one.name.startswith("torchkeeper")] == []
    check_none_or_all(cache, whole)


@ANYWHERE
def test_threads_take_turns_and_places_do_not(fixture_cache: Path, kept_291: Path) -> None:
    with torchkeeper.open(fixture_cache) as one, torchkeeper.open(kept_291) as other:
        wanted = one.entries("kind:fxgraph"), other.entries("kind:code")
        with ThreadPoolExecutor(8) as pool:
            first = [pool.submit(one.entries, "kind:fxgraph") for _ in range(8)]
            second = [pool.submit(other.entries, "kind:code") for _ in range(8)]
            assert [job.result() for job in first] == [wanted[0]] * 8
            assert [job.result() for job in second] == [wanted[1]] * 8


@ANYWHERE
def test_others_who_may_write_there_are_logged(
    fixture_cache: Path, beside: Path, caplog: pytest.LogCaptureFixture, clean_291: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    bundle = tmp_path / "b.torchcache"
    with torchkeeper.open(clean_291) as place:
        place.export(bundle)
    beside.chmod(0o777)
    with caplog.at_level(logging.WARNING, "torchkeeper"), torchkeeper.open(beside) as place:
        place.import_(bundle, trust=True)
    assert "may write" in caplog.text


def test_the_caches_of_this_machine(fixture_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(fixture_cache))
    assert str(fixture_cache) in torchkeeper.places()


@pytest.mark.torch
def test_only_what_is_usable_is_taken(kept_291: Path, tmp_path: Path, torch_python: str) -> None:
    bundle, cache = tmp_path / "b.torchcache", tmp_path / "cache"
    with torchkeeper.open(kept_291) as place:
        place.export(bundle, "kind:fxgraph", secrets="allow")
    with torchkeeper.open(cache) as place, torchkeeper.open(bundle) as source:
        done = place.import_(bundle, trust=True, python=torch_python, only_usable=True)
        assert not done.entries
        assert {one.code for one in done.left} == {"not-usable"}
        copied = source.copy(cache, trust=True, python=torch_python, only_usable=True)
        assert not copied.entries
        assert place.import_(bundle, trust=True, python=torch_python).entries
