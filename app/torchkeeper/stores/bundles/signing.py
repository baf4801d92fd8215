"""Signatures of bundles: made and checked by OpenSSH, over the manifest.

A signed bundle has one member more, ``manifest.json.sig``, which is what ``ssh-keygen -Y sign -n
torchcache`` writes for its manifest (openssh, PROTOCOL.sshsig); the stock ``ssh-keygen -Y verify``
takes both as they are. The manifest has a sha256 for every payload and file, and what is around
these has to be as an export writes it (``bundles.parts``).
"""

from __future__ import annotations

import binascii
import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from typing import IO, BinaryIO

from torchkeeper.artifacts import manifest, megacache, sshsig
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.sshsig import Signature
from torchkeeper.stores.atomic import AtomicFile
from torchkeeper.stores.bundles import parts
from torchkeeper.stores.bundles.bundle import Bundle, open_file
from torchkeeper.stores.folders.locks import remove_leftovers
from torchkeeper.stores.items import CHUNK
from torchkeeper.stores.pouring import Progress
from torchkeeper.stores.preconditions import unwritable

#: Seconds that ssh-keygen may take to check one.
_PATIENCE = 30
#: Bytes that a signature takes besides its own, and the directory behind it, about.
_ABOUT = 4096


def signature_of(path: str, signers: str | None, report: Report) -> Signature:
    """Who signed a bundle. signers: a file of allowed signers as of ssh-keygen(1), which need not
    be there, or None.

    Raises as ``Bundle``, and of one that is signed Problem("signature-wrong", file=…, why=…),
    Problem("bundle-altered" | "bundle-more", file=…, part=…) where anything in it is not as it was
    signed. Each byte of that is read for it, and of one that is not signed none but the manifest.
    """
    with _opened(path) as opened:
        digest = opened.sha256 if opened else ""
        if opened is None or not opened.signed:
            return Signature("none", None, None, None, digest)
        signature = _signature_in(path, opened)
        try:
            blob = sshsig.public_key(signature)
        except ValueError as e:
            raise Problem("signature-wrong", file=path, why=str(e)) from e
        status, signer = _asked(path, opened, signature, signers)
        parts.check(path, opened, report, files=True)
        return Signature(status, signer, sshsig.line_of(blob), sshsig.fingerprint(blob), digest)


def check(bundle: Bundle, signers: str, report: Report) -> None:
    """Raise Problem("signature-required", file=…, how=…) unless one of these signed a bundle,
    Problem("bundle-changed") where its file is another one by now, and as ``signature_of``.
    """
    signature = signature_of(bundle.path, signers, report)
    if signature.status != "trusted":
        how = sshsig.signed_by(signature._asdict())
        raise Problem("signature-required", file=bundle.path, how=how)
    _same(bundle, signature)


def check_unaltered(bundle: Bundle, report: Report) -> None:
    """Of a signed bundle: raise as ``signature_of``, and Problem("bundle-changed") as ``check``."""
    if bundle.signed:
        _same(bundle, signature_of(bundle.path, None, report))


def _same(bundle: Bundle, signature: Signature) -> None:
    if signature.manifest != bundle.manifest_sha256:
        raise Problem("bundle-changed", file=bundle.path)


def copy_manifest(path: str, target: str, report: Report) -> str:
    """Write the manifest of a bundle to a new file, to be signed; returns its sha256. Raises as
    ``signature_of`` does of one that is signed, and Problem("not-a-bundle", file=…): what is
    damaged already nobody could take when it is signed.
    """
    with _opened(path) as opened:
        if opened is None:
            raise Problem("not-a-bundle", file=path)
        parts.check(path, opened, report, files=True)
        # In a folder of its own, which goes when it is signed.
        _write_manifest(opened, target)
        return opened.sha256


def attach(
    path: str, signature: bytes, digest: str, report: Report, output: str = "", replace: bool = True
) -> None:
    """Put a signature into a bundle whose manifest has this sha256, in place of one it has.

    The file is written anew, and appears in its place when it is whole; with ``output``, it gets
    that name instead, as ``export`` with ``replace``. Raises as ``copy_manifest``,
    Problem("signature-wrong" | "bundle-changed" | "output-unwritable" | "output-full" |
    "output-exists"). What an earlier one has left there is removed first.
    """
    # Of a link, the file that it leads to is signed.
    target = output or os.path.realpath(path)
    if not sshsig.looks_like(signature):
        raise Problem("signature-wrong", file=target, why="It is not a signature of OpenSSH")
    with _opened(path) as opened:
        if opened is None:
            raise Problem("not-a-bundle", file=path)
        if opened.sha256 != digest:
            raise Problem("bundle-changed", file=target)
        parts.check(path, opened, report)
        directory, end = opened.directory, opened.directory.start
        lines, count = directory.end - end, directory.count
        before = opened.own.get(manifest.SIGNATURE)
        found = parts.as_written(opened.stream, before) if before else None
        if before and found and before.offset + found[0] + before.size == end:
            end, lines, count = before.offset, lines - len(found[1]), count - 1
        remove_leftovers(os.path.dirname(target) or ".", report)
        try:
            with AtomicFile(target, os.fstat(opened.stream.fileno()).st_mode & 0o777) as made:
                _copy(made.stream, opened.stream, end, Progress(report, end))
                added = parts.info(manifest.SIGNATURE)
                added.CRC, added.file_size = binascii.crc32(signature), len(signature)
                added.compress_size, added.header_offset = added.file_size, end
                made.stream.write(added.FileHeader(False) + signature)
                start, line = made.stream.tell(), parts.line_of(added)
                shutil.copyfileobj(
                    parts.Slice(opened.stream, directory.start, lines), made.stream, CHUNK
                )
                made.stream.write(line + parts.end_of(count + 1, lines + len(line), start))
                made.commit(replace)
        except FileExistsError:
            raise Problem("output-exists", file=target) from None
        except OSError as e:
            raise unwritable(target, e, end + _ABOUT + len(signature)) from e


def _copy(out: IO[bytes], stream: BinaryIO, end: int, done: Progress) -> None:
    stream.seek(0)
    past = 0
    while past < end and (data := stream.read(min(CHUNK, end - past))):
        out.write(data)
        past += len(data)
        done.reach(past)
    done.end()


@contextlib.contextmanager
def _opened(path: str) -> Iterator[parts.Opened | None]:
    """A bundle's manifest and signature; None for a mega-cache."""
    with open_file(path) as stream:
        head = stream.read(12)
        if megacache.looks_like(head):
            yield None
            return
        if head[:2] != b"PK":
            raise Problem("not-a-bundle", file=path)
        with contextlib.ExitStack() as ends:
            try:
                opened = ends.enter_context(contextlib.closing(parts.Opened(stream)))
                for one in opened.directory:
                    # One that no manifest has to be read for: where it was that of a signature,
                    # nobody is to hear that there is none.
                    name = one.name
                    ours = name in parts.OUR_OWN or name.startswith(manifest.FILES)
                    if not ours and not (name.endswith("/") and not one.size):
                        raise Problem("bundle-more", part=name[:200])
            except Problem as problem:
                problem.params.setdefault("file", path)
                raise
            yield opened


def _write_manifest(opened: parts.Opened, path: str) -> None:
    with open(path, "xb") as out:
        opened.manifest.seek(0)
        shutil.copyfileobj(opened.manifest, out, CHUNK)


def _signature_in(path: str, opened: parts.Opened) -> bytes:
    one = opened.own[manifest.SIGNATURE]
    if one.size > sshsig.MAX_SIZE:
        raise Problem("signature-wrong", file=path, why="It is too large for a signature")
    try:
        return opened.read(one)[0].read()
    except Problem as problem:
        raise Problem(problem.code, file=path, **problem.params) from problem


def _asked(
    path: str, opened: parts.Opened, signature: bytes, signers: str | None
) -> tuple[str, str | None]:
    """The status of a signature and its signer, as ssh-keygen sees them."""
    program = shutil.which("ssh-keygen")
    if program is None:
        return "unchecked", None
    with tempfile.TemporaryDirectory(prefix="torchkeeper-signature-") as folder:
        file, listed = os.path.join(folder, "signature"), os.path.join(folder, "manifest")
        with open(file, "xb") as out:
            out.write(signature)
        _write_manifest(opened, listed)

        def asked(
            how: str, *more: str, data: str = os.devnull
        ) -> subprocess.CompletedProcess[bytes]:
            command = [program, "-Y", how, "-s", file, *more]
            try:
                with open(data, "rb") as stdin:
                    return subprocess.run(
                        command, stdin=stdin, capture_output=True, check=False, timeout=_PATIENCE
                    )
            except (OSError, subprocess.TimeoutExpired) as e:
                why = "ssh-keygen could not check it"
                raise Problem("signature-wrong", file=path, why=why) from e

        if asked("check-novalidate", "-n", sshsig.NAMESPACE, data=listed).returncode:
            raise Problem("signature-wrong", file=path, why="It does not sign this manifest")
        if signers is None or not os.path.exists(signers):
            return "unknown", None
        named = asked("find-principals", "-f", signers)
        for name in named.stdout.decode("utf-8", "replace").splitlines():
            more = ("-f", signers, "-I", name, "-n", sshsig.NAMESPACE)
            if asked("verify", *more, data=listed).returncode == 0:
                return "trusted", name
        return "unknown", None
