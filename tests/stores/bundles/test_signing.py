"""Signed bundles: OpenSSH agrees, and of one that is signed not a byte can be another."""

from __future__ import annotations

import contextlib
import hashlib
import io
import random
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.stores.building import filling
from tests.stores.bundles.test_bundle import Left, bring, described
from torchkeeper.artifacts import manifest, megacache, sshsig
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.bundles import parts as exact
from torchkeeper.stores.bundles import signing
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.bundles.export import export
from torchkeeper.stores.bundles.parts import info

WHO = "team@example.org"


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


@pytest.fixture(scope="module")
def signers(key: Path) -> Path:
    path = key.with_name("allowed_signers")
    path.write_text(f"# us\n{WHO} {key.with_suffix('.pub').read_text()}")
    return path


@pytest.fixture(scope="module")
def small(kept_291: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of an entry of each kind that a place has, and of two graphs."""
    folder, ones = described(kept_291)
    ones.sort(key=lambda one: -one.entry.size)
    some = {one.entry.kind: one for one in ones}
    some["another"] = [one for one in ones if one.entry.kind == "fxgraph"][-2]
    output = tmp_path_factory.mktemp("small") / "small.torchcache"
    done = export(list(some.values()), folder, str(output), Report(), Left())
    assert done.entries >= 4
    return output


def sign(bundle: Path, key: Path, folder: Path) -> None:
    folder.mkdir()
    target = folder / "manifest.json"
    digest = signing.copy_manifest(str(bundle), str(target), Report())
    how = ["-q", "-Y", "sign", "-n", sshsig.NAMESPACE]
    subprocess.run(["ssh-keygen", *how, "-f", key, target], check=True)
    made = (folder / "manifest.json.sig").read_bytes()
    signing.attach(str(bundle), made, digest, Report())


@pytest.fixture
def signed(small: Path, key: Path, tmp_path: Path) -> Path:
    bundle = tmp_path / "signed.torchcache"
    bundle.write_bytes(small.read_bytes())
    sign(bundle, key, tmp_path / "first")
    return bundle


def test_ssh_keygen_agrees(signed: Path, signers: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(signed) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "out", ["manifest.json", "manifest.json.sig"])
    command: list[str | Path] = ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", WHO]
    command += ["-n", "torchcache", "-s", tmp_path / "out" / "manifest.json.sig"]
    data = (tmp_path / "out" / "manifest.json").read_bytes()
    assert subprocess.run(command, input=data, check=False).returncode == 0
    assert subprocess.run(command, input=data + b" ", check=False).returncode != 0


def test_who_signed_is_known(signed: Path, small: Path, key: Path, signers: Path) -> None:
    found = signing.signature_of(str(signed), str(signers), Report())
    assert (found.status, found.signer) == ("trusted", WHO)
    listed = subprocess.run(["ssh-keygen", "-l", "-f", key], capture_output=True, check=True)
    assert found.fingerprint == listed.stdout.split()[1].decode()
    public = key.with_suffix(".pub").read_text()
    assert found.key == " ".join(public.split()[:2])
    assert signing.signature_of(str(signed), None, Report())[:2] == ("unknown", None)
    none = signing.signature_of(str(small), str(signers), Report())
    assert none[:4] == ("none", None, None, None)
    assert none.manifest == found.manifest
    with Bundle(str(small), Report()) as bundle:
        assert none.manifest == bundle.manifest_sha256


def test_a_signature_is_for_bundles_of_torchkeeper_only(
    small: Path, key: Path, signers: Path, tmp_path: Path
) -> None:
    """One that its owner made for a mail or a commit does not vouch for a bundle."""
    target = tmp_path / "manifest.json"
    digest = signing.copy_manifest(str(small), str(target), Report())
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", key, target], check=True)
    bundle = tmp_path / "b.torchcache"
    bundle.write_bytes(small.read_bytes())
    made = target.with_name("manifest.json.sig").read_bytes()
    signing.attach(str(bundle), made, digest, Report())
    with pytest.raises(Problem) as caught:
        signing.signature_of(str(bundle), str(signers), Report())
    assert caught.value.code == "signature-wrong"


def test_a_key_that_has_expired_is_not_trusted(signed: Path, key: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    public = key.with_suffix(".pub").read_text()
    old.write_text(f'{WHO} valid-before="20200101" {public}')
    assert signing.signature_of(str(signed), str(old), Report()).status == "unknown"


def test_signing_again_replaces_the_signature(
    signed: Path, key: Path, signers: Path, tmp_path: Path
) -> None:
    before = signed.read_bytes()
    sign(signed, key, tmp_path / "again")
    assert signed.read_bytes() == before
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", other], check=True)
    sign(signed, other, tmp_path / "other-folder")
    assert signing.signature_of(str(signed), str(signers), Report()).status == "unknown"
    with zipfile.ZipFile(signed) as archive:
        assert archive.namelist().count(manifest.SIGNATURE) == 1


def test_what_is_signed_comes_in_as_what_is_not(signed: Path, small: Path, tmp_path: Path) -> None:
    done, left, _ = bring(signed, tmp_path / "a")
    plain, others, _ = bring(small, tmp_path / "b")
    assert (done, left.codes) == (plain, others.codes)
    assert done.entries > 3


def parts(bundle: Path) -> dict[str, range]:
    """Where each member is in the file, with its header."""
    with zipfile.ZipFile(bundle) as archive:
        infos = sorted(archive.infolist(), key=lambda one: one.header_offset)
        start = archive.start_dir
    ends = [*(one.header_offset for one in infos[1:]), start]
    found = {one.filename: range(one.header_offset, end)
             for one, end in zip(infos, ends, strict=True)}  # fmt: skip
    return {**found, "": range(start, bundle.stat().st_size)}


@pytest.mark.parametrize("held", [1 << 20, 0], ids=["in memory", "on the disk"])
def test_what_is_checked_of_a_manifest_is_what_is_read(
    signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    """Also where somebody writes into the bundle after its sha256 was taken."""
    monkeypatch.setattr(exact, "_IN_MEMORY", held)
    changed = tmp_path / "changed.torchcache"
    changed.write_bytes(signed.read_bytes())
    with zipfile.ZipFile(signed) as archive:
        listed = archive.read(manifest.NAME)
    with changed.open("r+b") as stream, contextlib.closing(exact.Opened(stream)) as opened:
        stream.seek(signed.read_bytes().index(listed))
        stream.write(listed.replace(b"0", b"1"))
        stream.flush()
        assert opened.manifest.read() == listed
        assert opened.sha256 == hashlib.sha256(listed).hexdigest()


@pytest.mark.slow
def test_no_byte_can_be_another(signed: Path, signers: Path, tmp_path: Path) -> None:
    """Of each member its header and some of its bytes, and the whole directory at the end."""
    whole = signed.read_bytes()
    chosen = random.Random(7)
    changed = tmp_path / "changed.torchcache"
    for name, where in parts(signed).items():
        near = [n for n in where if n < where.start + 60]
        places = {*chosen.sample(near, 8), *chosen.sample(where, 6), where[-1]}
        for place in sorted(places):
            data = bytearray(whole)
            data[place] ^= chosen.choice([1, 16, 128, 255])
            changed.write_bytes(data)
            said = refused(changed, signers, tmp_path / "into")
            assert said, f"byte {place} of {name}"
            if name.startswith("files/"):
                assert any(name in text for text in said), said


@pytest.mark.slow
def test_of_each_changed_bit_the_entry_is_named(
    signed: Path, signers: Path, tmp_path: Path
) -> None:
    """Wherever it lies: in a payload, in what is between two of them, in a file or its header."""
    whole = signed.read_bytes()
    with zipfile.ZipFile(signed) as archive:
        listed = [*manifest.begin(archive.read(manifest.NAME)).entries]
        data = archive.read(manifest.MEGA_CACHE)
    begin = whole.index(data)
    owners: list[tuple[range, str]] = []
    artifacts = megacache.artifacts(io.BytesIO(data))
    for one in artifacts:
        kind = megacache.KIND_OF_TYPE[one.type]
        key = next(e.key for e in listed if e.kind == kind and one.key in (e.key, e.path[6:]))
        # With its key and length before it.
        start = one.offset - 16 - -(-len(one.key.encode()) // 3) * 4
        owners.append((range(begin + start, begin + one.offset + one.size), f"{kind} {key}"))
    where = parts(signed)
    owners += [
        (where[file.path], f"{entry.kind} {entry.key} ({file.path})")
        for entry in listed
        for file in entry.files
    ]
    assert len(owners) > 4
    chosen = random.Random(11)
    changed = tmp_path / "changed.torchcache"
    everywhere = [chosen.randrange(len(whole)) for _ in range(60)]
    for within, _ in owners:
        everywhere += [within.start + 3, within.start + 12, chosen.choice(within), within[-1]]
    for place in everywhere:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chosen.randrange(8)
        changed.write_bytes(damaged)
        with pytest.raises(Problem) as caught:
            signing.signature_of(str(changed), str(signers), Report())
        said = caught.value.params
        for within, name in owners:
            if place in within:
                assert (caught.value.code, said["part"]) == ("bundle-altered", name), place


def test_a_signature_with_another_name_is_not_none(signed: Path, signers: Path) -> None:
    """Of what was signed, one letter would make something that nobody has signed."""
    data = bytearray(signed.read_bytes())
    at = data.rindex(b"manifest.json.sig")
    data[at + 16] ^= 1
    signed.write_bytes(data)
    for look in (
        lambda: signing.signature_of(str(signed), str(signers), Report()),
        lambda: Bundle(str(signed), Report()),
    ):
        with pytest.raises(Problem) as caught:
            look()
        assert (caught.value.code, caught.value.params["part"]) == (
            "bundle-more",
            "manifest.json.sif",
        )


def test_checking_can_be_cancelled_and_tells_how_far_it_is(signed: Path) -> None:
    class Told(Report):
        def __init__(self) -> None:
            self.said: list[tuple[int, int | None, str]] = []

        def progress(self, done: int, total: int | None, unit: str) -> None:
            self.said.append((done, total, unit))

    class Stopped(Told):
        def check(self) -> None:
            if self.said:
                raise Cancelled

    told = Told()
    signing.signature_of(str(signed), None, told)
    with zipfile.ZipFile(signed) as archive:
        most = sum(one.file_size for one in archive.infolist())
    assert told.said[-1][0] == told.said[-1][1]
    assert told.said[-1][2] == "bytes"
    assert 0 < told.said[-1][0] <= most
    with pytest.raises(Cancelled):
        signing.signature_of(str(signed), None, Stopped())


def test_another_manifest_with_the_same_signature(
    signed: Path, signers: Path, tmp_path: Path
) -> None:
    """A zip that is exactly as ours are, with a payload and its sha256 changed."""
    changed = tmp_path / "changed.torchcache"
    with zipfile.ZipFile(signed) as archive, zipfile.ZipFile(changed, "w") as new:
        for name in archive.namelist():
            data = archive.read(name)
            if name == manifest.NAME:
                data = data.replace(b'"made_by": "torchkeeper', b'"made_by": "Torchkeeper')
            with new.open(info(name), "w", force_zip64=name == manifest.MEGA_CACHE) as member:
                member.write(data)
    with pytest.raises(Problem) as caught:
        signing.signature_of(str(changed), str(signers), Report())
    assert caught.value.code == "signature-wrong"


@pytest.mark.parametrize("how", ["one more", "another key", "one less"])
def test_a_mega_cache_with_its_sums_put_right_is_another(
    signed: Path, signers: Path, tmp_path: Path, how: str
) -> None:
    """Whoever has no Torchkeeper gives it to PyTorch, which unpickles all that is in it."""
    changed = tmp_path / "changed.torchcache"
    with zipfile.ZipFile(signed) as archive, zipfile.ZipFile(changed, "w") as new:
        for name in archive.namelist():
            data = archive.read(name)
            if name == manifest.MEGA_CACHE:
                data = forged(data, how)
            with new.open(info(name), "w", force_zip64=name == manifest.MEGA_CACHE) as member:
                member.write(data)
    with pytest.raises(Problem) as caught:
        signing.signature_of(str(changed), str(signers), Report())
    with zipfile.ZipFile(signed) as archive:
        listed = [*manifest.begin(archive.read(manifest.NAME)).entries]
    graph = next(one.key for one in listed if one.kind == "fxgraph")
    said = caught.value
    part = "fxgraph evil" if how == "one more" else f"fxgraph {graph}"
    assert (said.code, said.params["part"]) == ("bundle-altered", part)


def forged(data: bytes, how: str) -> bytes:
    """A mega-cache with something changed that no sum of it tells."""
    stream, out = io.BytesIO(data), io.BytesIO()
    writer = megacache.Writer(out)
    artifacts = megacache.artifacts(stream)
    for kind in dict.fromkeys(one.type for one in artifacts):
        writer.section(kind)
        for one in artifacts:
            if one.type == kind and not (how == "one less" and kind == "inductor"):
                payload = data[one.offset : one.offset + one.size]
                key = one.key + "x" * (how == "another key" and kind == "inductor")
                writer.artifact(key, filling(iter([payload])))
        if how == "one more" and kind == "inductor":
            writer.artifact("evil", filling(iter([b"cos\nsystem\n(S'true'\ntR."])))
    writer.close(Report())
    return out.getvalue()


def refused(bundle: Path, signers: Path, into: Path) -> list[str]:
    """What is said of a bundle that is not taken, or not whole; nothing where all is well."""
    try:
        found = signing.signature_of(str(bundle), str(signers), Report())
        if found.status != "trusted":
            return [found.status]
        left = LeftPaths()
        with Bundle(str(bundle), Report()) as opened:
            for item in opened.items():
                left.look(opened, item)
            return left.paths + [one.code for one in opened.refused]
    except Problem as problem:
        return [problem.code, *map(str, problem.params.values())]


class LeftPaths:
    """Reads entries as an import does, and keeps the paths of those that are not as promised."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def look(self, bundle: Bundle, item: object) -> None:
        from torchkeeper.stores.items import Item

        assert isinstance(item, Item)
        for file in item.files:
            with bundle.open(file) as stream:
                data = stream.read()
            if file.sha256 != hashlib.sha256(data).hexdigest():
                self.paths.append(file.path)


def test_a_payload_of_the_mega_cache_is_named(signed: Path, tmp_path: Path) -> None:
    where = parts(signed)[manifest.MEGA_CACHE]
    data = bytearray(signed.read_bytes())
    data[where.start + len(where) // 2] ^= 1
    signed.write_bytes(data)
    with pytest.raises(Problem) as caught:
        Bundle(str(signed), Report())
    assert caught.value.code == "bundle-altered"
    assert str(caught.value.params["part"]).split()[0] in ("fxgraph", "aotautograd", "pgo")


def test_a_member_that_is_smuggled_in_is_named(signed: Path, signers: Path) -> None:
    with zipfile.ZipFile(signed, "a") as archive:
        archive.writestr("files/xy/cxyz.py", b"import os")
    with pytest.raises(Problem) as caught:
        signing.signature_of(str(signed), str(signers), Report())
    assert (caught.value.code, caught.value.params["part"]) == (
        "bundle-more",
        "files/xy/cxyz.py",
    )


@pytest.mark.parametrize(
    "text", [b"", b"hello", b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n",
             b"x" * (sshsig.MAX_SIZE + 1)],
    ids=["empty", "a text", "short", "large"],
)  # fmt: skip
def test_what_is_no_signature(small: Path, signers: Path, tmp_path: Path, text: bytes) -> None:
    bundle = tmp_path / "b.torchcache"
    bundle.write_bytes(small.read_bytes())
    with zipfile.ZipFile(bundle, "a") as archive:
        archive.writestr(manifest.SIGNATURE, text)
    with pytest.raises(Problem) as caught:
        signing.signature_of(str(bundle), str(signers), Report())
    assert caught.value.code == "signature-wrong"


def test_a_bundle_that_others_packed_cannot_be_signed(small: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.torchcache"
    with zipfile.ZipFile(small) as ours, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in ours.namelist():
            new.writestr(name, ours.read(name))
    with pytest.raises(Problem) as caught:
        signing.copy_manifest(str(packed), str(tmp_path / "m"), Report())
    assert caught.value.code == "bundle-altered"


def test_a_bundle_that_is_replaced_meanwhile_is_not_signed(small: Path, tmp_path: Path) -> None:
    armour = b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"
    with pytest.raises(Problem) as caught:
        signing.attach(str(small), armour, "0" * 64, Report())
    assert caught.value.code == "bundle-changed"


def test_without_ssh_keygen_it_is_said(
    signed: Path, signers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = signing.signature_of(str(signed), str(signers), Report())
    assert found[:2] == ("unchecked", None)
    assert found.fingerprint


def test_the_directory_is_that_of_zipfile(small: Path) -> None:
    """Of large members, too, of which there are none here."""
    with zipfile.ZipFile(small) as archive:
        infos, start = archive.infolist(), archive.start_dir
    lines = b"".join(map(exact.line_of, infos))
    written = lines + exact.end_of(len(infos), len(lines), start)
    assert written == small.read_bytes()[start:]
