"""What becomes of entries that hold secrets when they are to leave."""

from __future__ import annotations

import base64
import errno
import hashlib
import io
import os
import pickle
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote

import pytest

from tests.artifacts.test_sieve import PLANTED, plain
from tests.redis_server import dump, serving
from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import PORTABLE, Problem
from torchkeeper.artifacts.leakforms import Leak
from torchkeeper.artifacts.leaks import SMALL
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.shapes import Secrets
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine.protocol import Message
from torchkeeper.stores import atomic
from torchkeeper.stores.bundles import parts
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.bundles.export import export
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import CHUNK, File, Item
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.screening import Screen

PASSWORD = b"hunter2-not-a-real-password"


def forms(secret: bytes) -> list[bytes]:
    """How a secret may stand somewhere."""
    found = [secret, quote(secret, safe="").encode(), secret.hex().encode()]
    for before in range(3):
        whole = base64.b64encode(bytes(before) + secret)
        found.append(whole[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6])
    return found


def ask(op: str, **params: Any) -> tuple[dict[str, Any], list[Mapping[str, Any]]]:
    heard: list[Message] = []
    with Engine() as engine:
        done = engine.call(op, params, heard.append)
    return done, [one.body for one in heard if one.type == "finding"]


def left_of(findings: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    left = [one["left"] for one in findings if "left" in one]
    return {(one["kind"], one["code"]) for one in left if one["kind"] != "lock"}


def put(cache: Path, kind: str, key: str, data: bytes) -> Path:
    """A payload where PyTorch would have it."""
    digest = hashlib.sha256(data).hexdigest()
    path = cache / layout.payload_path(kind, key, digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_secrets_are_an_end_of_it_until_somebody_decides(kept_291: Path, tmp_path: Path) -> None:
    output = tmp_path / "b.torchcache"
    heard: list[Message] = []
    with Engine() as engine, pytest.raises(UserError) as caught:
        engine.call("export", {"place": str(kept_291), "output": str(output)}, heard.append)
    assert caught.value.code == "secrets-found"
    assert (caught.value.params["secrets"], caught.value.params["entries"]) == (7, 7)
    assert not output.exists()
    assert os.listdir(tmp_path) == []
    secrets = [one.body["secret"] for one in heard if "secret" in one.body]
    assert len(secrets) == 7
    for one in secrets:
        path = kept_291 / one["path"]
        data = path.read_bytes()
        assert one["kind"] == "fxgraph"
        assert path.name == one["file"]
        assert data[one["offset"] :].startswith(PASSWORD)
        assert (one["what"], one["redactable"]) == ("url-password", True)
        assert PASSWORD.decode() not in str(one)


@pytest.mark.parametrize("choice", ["redact", "leave"])
def test_no_trace_of_it_is_in_the_bundle(kept_291: Path, tmp_path: Path, choice: str) -> None:
    output = tmp_path / "b.torchcache"
    done, findings = ask("export", place=str(kept_291), output=str(output), secrets=choice)
    data = output.read_bytes()
    for form in forms(PASSWORD):
        assert form not in data
    assert done["leaks"]["redacted"] == (7 if choice == "redact" else 0)
    assert done["entries"] == (44 if choice == "redact" else 37)
    assert left_of(findings) == (set() if choice == "redact" else {("fxgraph", "has-secrets")})
    again, _ = ask("leaks", place=str(output))
    assert again["secrets"] == 0
    # Nobody decides this by accident: what is allowed goes as it is.
    ask("export", place=str(kept_291), output=str(output), secrets="allow")
    assert PASSWORD in output.read_bytes()


def test_what_is_redacted_is_whole_and_named_after_its_content(
    kept_291: Path, tmp_path: Path
) -> None:
    output, back = tmp_path / "b.torchcache", tmp_path / "back"
    ask("export", place=str(kept_291), output=str(output), secrets="redact")
    ask("import", file=str(output), into=str(back))
    old = {p.parent.name: p for p in (kept_291 / "fxgraph").rglob("*") if p.is_file()}
    new = {p.parent.name: p for p in (back / "fxgraph").rglob("*") if p.is_file()}
    assert old.keys() == new.keys()
    for key, path in new.items():
        data = path.read_bytes()
        assert path.name == layout.payload_name(hashlib.sha256(data).hexdigest())
        assert path.name != old[key].name
        assert data == old[key].read_bytes().replace(PASSWORD, b"x" * len(PASSWORD))
    listed, _ = ask("list", place=str(back))
    assert listed["broken"] == 0


def planted(cache: Path, value: bytes) -> None:
    """Entries that have a secret in forms in which nothing says that it is one."""
    text = value.decode()
    inner = pickle.dumps({"x": text, "deeper": pickle.dumps([text])})
    state = {"nested": inner, "quoted": quote(text, safe=""), "64": base64.b64encode(b"a" + value),
             "hex": value.hex(), "plain": text}  # fmt: skip
    graph = next(p for p in sorted((cache / "fxgraph").rglob("*")) if p.is_file())
    data = graph.read_bytes()
    # Beside what it is, as a further text that nobody reads: a pickle ends with its STOP.
    named = {"TORCH_API_KEY": value.decode(), "job": state}
    put(cache, "pgo", "job_0_x", pickle.dumps(named))
    put(cache, "fxgraph", graph.parent.name, data + pickle.dumps(state))


def test_a_secret_is_found_again_where_nothing_says_that_it_is_one(
    filled: Path, tmp_path: Path
) -> None:
    value = b"Tr0ub4dor&3=/+deep"
    cache = Path(shutil.copytree(filled, tmp_path / "cache"))
    planted(cache, value)
    output = tmp_path / "b.torchcache"
    done, findings = ask("export", place=str(cache), output=str(output), secrets="redact")
    assert done["leaks"]["redacted"] == 2, findings
    data = output.read_bytes()
    for form in forms(value):
        assert form not in data
    with Bundle(str(output), Report()) as bundle:
        profile = next(item for item in bundle.items() if item.key == "job_0_x")
        with bundle.open(profile.files[0]) as stream:
            job = pickle.loads(stream.read())["job"]
    nested = pickle.loads(job["nested"])
    assert nested["x"] == job["plain"] == "x" * len(value)
    assert pickle.loads(nested["deeper"]) == ["x" * len(value)]
    assert base64.b64decode(job["64"]) == b"a" + b"x" * len(value)


def test_what_is_named_after_its_source_stays_out(fixture_cache: Path, tmp_path: Path) -> None:
    source = sorted(fixture_cache.glob("*/*.cpp"))[0]
    source.write_text(source.read_text() + "\n// hf_" + "aB3dE6gH9jK2mN5pQ8sT1vW4\n")
    output = tmp_path / "b.torchcache"
    done, findings = ask("export", place=str(fixture_cache), output=str(output), secrets="redact")
    assert left_of(findings) == {("code", "secret-fixed")}
    assert (done["leaks"]["redacted"], done["leaks"]["fixed"]) == (7, 1)
    assert b"hf_aB3" not in output.read_bytes()


TOKEN = b"hf_" + b"aB3dE6gH9jK2mN5pQ8sT1vW4"


def _sources(cache: Path, contents: Iterable[bytes]) -> list[Path]:
    """Generated code of these bytes, in the order in which a bundle has it."""
    paths = []
    for number, data in enumerate(contents):
        stem = "c" + "abcdefgh"[number] * 51
        path = cache / stem[1:3] / f"{stem}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        paths.append(path)
    return paths


def test_what_is_searched_while_it_is_written_has_no_name_before_it_is_clear(
    tmp_path: Path,
) -> None:
    """At the borders of what is searched together, and of the pieces of what is large."""
    cache, folder = tmp_path / "cache", tmp_path / "out"
    folder.mkdir()
    output = folder / "b.torchcache"
    output.write_bytes(b"before")
    sizes = [SMALL - 40, 30, 0, SMALL - 1, SMALL, 3 * CHUNK, 100]
    plain = [b"\n" * size for size in sizes]
    paths = _sources(cache, plain)
    with Engine() as engine:
        for number, size in enumerate(sizes):
            borders = {0, size, *(n for n in (SMALL, CHUNK, 2 * CHUNK) if n < size)}
            for at in sorted({max(0, border - cut) for border in borders for cut in (0, 14)}):
                paths[number].write_bytes(plain[number][:at] + TOKEN + plain[number][at:])
                with pytest.raises(UserError) as caught:
                    engine.call("export", {"place": str(cache), "output": str(output)})
                assert caught.value.code == "secrets-found"
                assert (caught.value.params["secrets"], caught.value.params["fixed"]) == (1, 1)
                assert os.listdir(folder) == [output.name]
                assert output.read_bytes() == b"before"
            paths[number].write_bytes(plain[number])
    # Parts of one in two files are none.
    paths[0].write_bytes(b"\n" * (SMALL - 60) + TOKEN[:9])
    paths[1].write_bytes(TOKEN[9:])
    for path in paths[2:]:
        path.unlink()
    done, _ = ask("export", place=str(cache), output=str(output))
    assert (done["entries"], done["leaks"]["secrets"]) == (2, 0)
    with Bundle(str(output), Report()) as bundle:
        assert len(bundle.items()) == 2


def test_a_secret_of_any_form_ends_an_export(tmp_path: Path) -> None:
    """What the scanner finds at every border is tried there (test_sieve); here, that it is heard,
    and that nothing stays.
    """
    cache, folder = tmp_path / "cache", tmp_path / "out"
    folder.mkdir()
    texts = [text for text in PLANTED if any(isinstance(one, Leak) for one in plain(text))]
    assert len(texts) > 20
    paths = _sources(cache, [b"", b"x = 1", b"y = 2"])
    sizes = (0, SMALL - 5, SMALL, CHUNK - 5, CHUNK, 2 * CHUNK - 9)
    with Engine() as engine:
        for number, text in enumerate(texts):
            path, size = paths[number % 3], sizes[number % len(sizes)]
            before = path.read_bytes()
            path.write_bytes(b"\n" * size + text + b"\n" * (number % 2 * CHUNK))
            with pytest.raises(UserError) as caught:
                engine.call("export", {"place": str(cache), "output": str(folder / "b.torchcache")})
            assert caught.value.code == "secrets-found", text
            assert not os.listdir(folder)
            path.write_bytes(before)
        engine.call("export", {"place": str(cache), "output": str(folder / "b.torchcache")})


def test_where_a_bundle_has_a_name_at_once_it_is_searched_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _sources(tmp_path / "cache", [b"x = '%b'" % TOKEN])
    folder, left = Folder(str(tmp_path / "cache")), list[tuple[Item, Problem]]()
    written: list[str] = []
    monkeypatch.setattr(atomic, "_nameless", lambda *_: None)
    monkeypatch.setattr(parts.Members, "add", lambda _, name, *_args: written.append(name))
    with Reader() as reader:
        every = [
            one for batch in describe(folder.items(Report()), folder, reader, Report())
            for one in batch
        ]  # fmt: skip
        screen = Screen(Report(), lambda i, p: left.append((i, p)), reader)
        with pytest.raises(Problem) as caught:
            export(every, folder, str(tmp_path / "b"), Report(), screen=screen,
                   left=lambda i, p: left.append((i, p)))  # fmt: skip
    assert caught.value.code == "secrets-found"
    assert not written
    assert not left
    assert os.listdir(tmp_path) == ["cache"]


def test_private_facts_never_keep_anything_back(filled: Path, tmp_path: Path) -> None:
    done, _ = ask("export", place=str(filled), output=str(tmp_path / "b.torchcache"))
    told = {one["what"]: one for one in done["leaks"]["private"]}
    assert told["source"]["value"].endswith("plain_script.py")
    assert told["source"]["entries"] >= 3
    assert done["leaks"]["secrets"] == 0


def test_a_server_gets_no_secret_and_one_that_has_some_gives_none_away(
    kept_291: Path, tmp_path: Path
) -> None:
    with serving(tmp_path / "r") as server, serving(tmp_path / "o") as other, Engine() as engine:
        params = {"place": str(kept_291), "into": server.url}
        with pytest.raises(UserError, match="secrets were found"):
            engine.call("copy", params)
        assert server("DBSIZE") == 0
        done = engine.call("copy", {**params, "secrets": "redact"})
        assert done["leaks"]["redacted"] == 7
        again = engine.call("leaks", {"place": server.url})
        assert (again["secrets"], again["private"][0]["what"]) == (0, "source")
        other.load(dump())
        output = tmp_path / "b.torchcache"
        with pytest.raises(UserError, match="secrets were found"):
            engine.call("export", {"place": other.url, "output": str(output)})
        engine.call("export", {"place": other.url, "output": str(output), "secrets": "redact"})
        assert not any(form in output.read_bytes() for form in forms(PASSWORD))


def test_a_folder_of_others_is_a_shared_place_and_ones_own_is_not(
    kept_291: Path, tmp_path: Path
) -> None:
    mine, ours = tmp_path / "mine", tmp_path / "ours"
    mine.mkdir()
    mine.chmod(0o775)  # as many systems make folders, with a group of one's own
    ours.mkdir()
    ours.chmod(0o777)
    with Engine() as engine:
        assert engine.call("copy", {"place": str(kept_291), "into": str(mine)})["leaks"] is None
        params = {"place": str(kept_291), "into": str(ours / "cache")}
        with pytest.raises(UserError, match="secrets were found"):
            engine.call("copy", params)
        assert not (ours / "cache").exists()
        foretold = engine.call("copy", {**params, "dry": True})
        assert foretold["leaks"]["secrets"] == 7
        engine.call("copy", {**params, "secrets": "redact"})
    assert not any(PASSWORD in p.read_bytes() for p in ours.rglob("*") if p.is_file())
    assert len(list((ours / "cache" / "fxgraph").rglob("*/*/*"))) == 7


class Flaky:
    """Files of a folder, of which one fails where it is read for the first time, or opened."""

    def __init__(self, folder: Folder, path: str, when: str) -> None:
        self._folder, self._path, self._when = folder, path, when
        self.failed = 0

    def open(self, file: File) -> BinaryIO:
        stream = self._folder.open(file)
        if file.path != self._path or self.failed:
            return stream
        self.failed += 1
        if self._when == "opened":
            stream.close()
            raise OSError(errno.EIO, "Input/output error")
        stream.close()
        # Reading what was opened for writing alone fails as a disk does.
        return cast(BinaryIO, io.FileIO(os.open(os.devnull, os.O_WRONLY), "r"))


@pytest.mark.parametrize("when", ["opened", "read"])
@pytest.mark.parametrize("choice", [None, "leave", "redact", "allow"])
def test_what_could_not_be_searched_is_held_back(
    clean_291: Path, when: str, choice: Secrets | None
) -> None:
    folder = Folder(str(clean_291))
    reader = Reader()
    try:
        every = [
            one
            for batch in describe(folder.items(Report()), folder, reader, Report())
            for one in batch
            if one.entry.kind in PORTABLE
        ]
        graph = next(one for one in every if one.entry.kind == "fxgraph")
        source = Flaky(folder, graph.item.path, when)
        left: list[tuple[Item, Problem]] = []
        screen = Screen(Report(), lambda i, p: left.append((i, p)), reader, choice)
        taken, _ = screen.described(every, source)
    finally:
        reader.close()
    assert source.failed == 1
    with folder.open(graph.item.files[0]) as stream:
        assert stream.read(), "a copy could read it"
    gone = {one.entry.identity for one in every} - {one.entry.identity for one in taken}
    if choice == "allow":
        assert (gone, left) == (set(), [])
        return
    assert gone == {graph.entry.identity}
    [(item, problem)] = left
    assert item is graph.item
    assert problem.code == "not-searched"
    assert user_error(problem.code, problem.params).remedy
