"""Signatures of bundles: whose the user trusts, whether one is required, the SSH keys that he can
sign with, and signing, which no engine sees. Trusted keys are in a file of allowed signers
(ssh-keygen(1)), so that the stock ``ssh-keygen -Y verify`` can be pointed at it, too.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import fnmatch
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from torchkeeper.artifacts import manifest, sshsig
from torchkeeper.artifacts.sshsig import NAMESPACE, fingerprint, signed_by
from torchkeeper.client import temporary
from torchkeeper.client.engines.process import clean_environment
from torchkeeper.client.engines.questions import Asking, Question
from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import UserError, failing_as, printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import traits

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import CopyManifestResult, SignatureResult, Signed

#: Asks an engine for an operation, as ``cli.asking.Asker.ask``.
Ask = Callable[..., Any]

#: Characters of an error that are looked at, and of a key's name.
_SAID, _SHOWN = 4000, 60
#: What ssh-keygen says where a passphrase, or the PIN of a token, is not the right one.
_WRONG = b"incorrect passphrase"
#: The file beside what is signed that says which of the agent's keys it is.
_NAMED = "key.pub"


def program() -> str:
    """What signs. Raises UserError("ssh-keygen-missing")."""
    if (found := shutil.which("ssh-keygen")) is None:
        raise user_error("ssh-keygen-missing", {})
    return found


def check_key(key: str) -> str:
    """What signs with a key. Raises UserError("key-unusable" | "ssh-keygen-missing")."""
    found = program()
    if not os.path.isfile(key):
        raise user_error("key-unusable", {"file": key, "why": tr("There is no such file")})
    return found


class Keygen:
    """ssh-keygen as it signs a file in a private folder. key: as a ``Key`` is named, or the file of
    one. asker: who is asked for a passphrase or a touch; without one that is asked for, and what it
    says is shown, on the terminal.
    """

    def __init__(
        self, key: str, file: str, asker: Callable[[Question], None] | None = None
    ) -> None:
        self._key, self._file, self._asker = key, file, asker
        self._process: subprocess.Popen[bytes] | None = None
        self._lock, self._over = threading.Lock(), False

    def sign(self) -> str:
        """Wait for the text of the signature. Whoever mistypes a passphrase is asked again. Raises
        UserError("key-unusable" | "ssh-keygen-missing" | "signing-failed").
        """
        key, asking = self._key, None
        if _KEY.match(key):
            key = os.path.join(os.path.dirname(self._file), _NAMED)
            with failing_as("signing-failed"), open(key, "x", encoding="ascii") as out:
                out.write(f"{public_key_in(self._key, self._key).key}\n")
        command = [check_key(key), "-q", "-Y", "sign", "-n", NAMESPACE, "-f", key, self._file]
        if self._asker:
            about = self._key if key != self._key else os.path.basename(key)
            asking = Asking(printable(about, _SHOWN), self._asker)
        try:
            while why := self._run(command, asking):
                if not (asking and asking.answered and _WRONG in why):
                    said = why.decode(errors="replace").splitlines()[-1].rstrip(".\r")
                    raise user_error("signing-failed", {"why": said})
        finally:
            if asking:
                asking.end()
        try:
            with open(self._file + ".sig", encoding="ascii") as stream:
                return stream.read(sshsig.MAX_SIZE)
        except (OSError, ValueError) as e:
            said = tr("ssh-keygen has written no signature")
            raise user_error("signing-failed", {"why": said}) from e

    def _run(self, command: list[str], asking: Asking | None) -> bytes:
        """Why it failed, by what it said last; empty where it did not."""
        heard, pipe = b"", subprocess.PIPE
        if asking:
            asking.answered = False
        with failing_as("signing-failed"), self._lock:
            self._process = process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=pipe,
                env=clean_environment(asking.variables) if asking else None,
            )  # fmt: skip
            if self._over:
                process.kill()
        with process:
            assert process.stderr
            while data := os.read(process.stderr.fileno(), 4096):
                heard = (heard + data)[-_SAID:]
                if not asking:
                    sys.stderr.write(data.decode(errors="backslashreplace"))
                    sys.stderr.flush()
        if not (code := process.returncode):
            return b""
        return heard.strip() or tr("ssh-keygen ended with {code}", code=code).encode()

    def end(self) -> None:
        """End it at once: nobody waits for it any more. Does not wait."""
        with self._lock:
            self._over = True
            if self._process:
                self._process.kill()


def sign(ask: Ask, file: str, key: str, output: str = "", replace: bool = True) -> None:
    """Sign a bundle with a private key, or a public one whose other half an agent holds; ssh-keygen
    asks for a passphrase on the terminal. output: the name of the signed one, in place of a file
    with ``replace``. Without a ``file`` it is the one that the engine was told to export and holds.
    Raises UserError("key-unusable" | "ssh-keygen-missing" | "signing-failed"), and as the engine.
    """
    check_key(key)
    source: Signed = {"file": file} if file else {"held": True}
    with temporary.folder("sign") as folder:
        target = os.path.join(folder, manifest.NAME)
        copied: CopyManifestResult = ask(protocol.COPY_MANIFEST, **source, target=target)
        signature = Keygen(key, target).sign()
        ask(
            protocol.ATTACH_SIGNATURE, **source, signature=signature, manifest=copied["manifest"],
            output=output, replace=replace,
        )  # fmt: skip


#: Names a file of allowed signers in place of the user's own, and requires that they signed: for
#: containers, which have no settings of a user.
VARIABLE = "TORCHKEEPER_SIGNERS"
#: The list that holds what the user requires, and what stands in it.
_POLICY, _REQUIRED = "trust", "signatures-required"
#: A name in the file: patterns and lists have a meaning of their own there.
_NAME = re.compile(r"[^\s\"'*?!,#]{1,200}")
_KEY = re.compile(r"(?:^|\s)((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[A-Za-z0-9@.-]+) ([A-Za-z0-9+/]+=*)")
#: Bytes of a key's file, and of a file of allowed signers, at most.
_LARGEST, _MOST_SIGNERS = 64 << 10, 4 << 20


class PublicKey(NamedTuple):
    """A public key, its kind and text; its fingerprint; its owner's comment, unproved."""

    key: str
    fingerprint: str
    comment: str


class Signer(NamedTuple):
    """A line of the allowed signers: a name, or several, or patterns; a key and its fingerprint."""

    name: str
    key: str
    fingerprint: str


def signers_file() -> str:
    """Where the allowed signers are kept; it may not be there yet."""
    if given := os.environ.get(VARIABLE):
        return os.path.abspath(given)
    return os.path.join(os.path.dirname(whole.file(_POLICY)), "allowed_signers")


def signers() -> list[Signer]:
    """All of them. Raises UserError("signers-unreadable")."""
    return [signer for line in _lines() if (signer := _signer(line)) is not None]


def trust(name: str, key: str) -> Signer:
    """Trust a key, a path or text. Raises UserError("signer-…" | "signers-…" | "key-unusable")."""
    if not _NAME.fullmatch(name):
        raise user_error("signer-name", {"name": name})
    public = public_key(key)
    signer = Signer(name, public.key, public.fingerprint)
    lines = _lines()
    if any(other is not None and other[::2] == signer[::2] for other in map(_signer, lines)):
        raise user_error("signer-there", {"name": name})
    _write([*lines, f'{name} namespaces="{NAMESPACE}" {public.key}'])
    return signer


def distrust(name: str) -> tuple[list[Signer], list[Signer]]:
    """Take away all keys of a name, or the one with this fingerprint. Of a line with several names
    only this one goes. Returns what was taken away, and of what stays the signers with a pattern
    that the name fits. Raises UserError("signer-unknown" | "signers-…").
    """
    gone, stays, lines = list[Signer](), list[Signer](), list[str]()
    for line in _lines():
        if (one := _signer(line)) is None:
            lines.append(line)
            continue
        names = one.name.split(",")
        if name not in names and name != one.fingerprint:
            lines.append(line)
            stays += [one] if any(fnmatch.fnmatchcase(name, each) for each in names) else []
            continue
        gone.append(one)
        if (others := [x for x in names if x != name]) and name != one.fingerprint:
            lines.append(",".join(others) + line.lstrip()[len(one.name) :])
    if not gone:
        raise user_error("signer-unknown", {"name": name})
    _write(lines)
    return gone, stays


def forget(signer: Signer) -> None:
    """Take away a signer's whole line. Raises UserError("signer-unknown" | "signers-…")."""
    lines = _lines()
    stay = [line for line in lines if _signer(line) != signer]
    if stay == lines:
        raise user_error("signer-unknown", {"name": signer.name})
    _write(stay)


def required() -> bool:
    """Whether only bundles by these signers may be imported. Raises UserError."""
    if os.environ.get(VARIABLE):
        file = signers_file()
        with failing_as("signers-unreadable", file=file):
            about = os.stat(file)
            if stat.S_ISREG(about.st_mode):
                whole.read(file, _MOST_SIGNERS)
        why = ""
        if not stat.S_ISREG(about.st_mode):
            why = tr("it is no file")
        elif about.st_uid not in (0, os.getuid()) or about.st_mode & 0o022:
            why = tr("others can change it")
        if why:
            raise user_error("signers-unreadable", {"file": file, "why": why})
        return True
    return _REQUIRED in whole.load(_POLICY, "signers-unreadable", "settings")


def require(on: bool) -> None:
    """Say whether that is so. Raises UserError."""
    if not on and os.environ.get(VARIABLE):
        raise user_error("signers-given", {"variable": VARIABLE, "file": signers_file()})
    whole.save(_POLICY, [_REQUIRED] if on else [], "signers-unwritable")


def vouched(op: str, always: bool = False) -> dict[str, str]:
    """What is to be said with an operation so that an engine holds it to what the user requires, or
    ``always`` to signatures: nothing, or the ``vouched`` of ``bundles.signing.check``. Raises
    UserError.
    """
    return {"vouched": signers_file()} if traits(op).brings_code and (always or required()) else {}


def check_policy(file: str, signature: SignatureResult) -> None:
    """Raise UserError("signature-required") where a bundle lacks what the user requires."""
    if signature["status"] != "trusted" and required():
        raise user_error("signature-required", {"file": file, "how": signed_by(signature)})


def _lines() -> list[str]:
    path = signers_file()
    try:
        with failing_as("signers-unreadable", file=path), contextlib.suppress(FileNotFoundError):
            return whole.read(path, _MOST_SIGNERS).decode().splitlines()
    except ValueError as e:
        raise user_error("signers-unreadable", {"file": path, "why": tr("it is not text")}) from e
    return []


def _write(lines: list[str]) -> None:
    path = signers_file()
    with failing_as("signers-unwritable", file=path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        whole.write_text(path, "".join(f"{line}\n" for line in lines), 0o600)


def _signer(line: str) -> Signer | None:
    """What a line says; None of a comment, and of one that cannot be understood."""
    match = None if line.lstrip().startswith("#") else _KEY.search(line)
    if match is None or not line[: match.start()].strip():
        return None
    try:
        blob = base64.b64decode(match[2], validate=True)
    except binascii.Error:
        return None
    return Signer(line.split(maxsplit=1)[0], f"{match[1]} {match[2]}", fingerprint(blob))


def public_key(key: str) -> PublicKey:
    """A public key, of its file or as it stands. Raises UserError("key-unusable")."""
    text = key
    if not _KEY.match(key):
        try:
            with failing_as("key-unusable", file=key):
                text = whole.read(key, _LARGEST).decode()
        except ValueError as e:
            raise user_error("key-unusable", {"file": key, "why": tr("It is not text")}) from e
    return public_key_in(text, key)


def public_key_in(text: str, name: str) -> PublicKey:
    """The public key at a text's beginning. name: for UserError("key-unusable"), if it is none."""
    if "PRIVATE KEY" in text:
        why = tr("It is a private key, which nobody else may see")
        raise user_error("key-unusable", {"file": name, "why": why})
    match = _KEY.match(text)
    try:
        blob = base64.b64decode(match[2], validate=True) if match else b""
    except binascii.Error:
        blob = b""
    if match is None or not blob[4:].startswith(match[1].encode()):
        why = tr("It is no public key of OpenSSH")
        raise user_error("key-unusable", {"file": name, "why": why})
    comment = text[match.end() :].partition("\n")[0].strip()
    return PublicKey(f"{match[1]} {match[2]}", fingerprint(blob), comment)


# The SSH keys that the user can sign with. One is named by the path of its file, or, where only an
# agent holds it, by its public half as a line of ``authorized_keys``: nothing that is secret.

#: Seconds that an agent, or ssh-keygen, may take to answer.
_PATIENCE = 10
#: What is looked at in the folder of keys, and taken of an agent, at most.
_MOST = 200
#: What ``ssh-keygen -l`` says: 256 SHA256:… comment (ED25519).
_LISTED = re.compile(r"\d+ (SHA256:\S+) (.*) \(([A-Z0-9-]+)\)\s*")


class Key(NamedTuple):
    """A key to sign with. name: as above. kind: as ``authorized_keys`` has it, or what ssh-keygen
    calls it; empty, as the fingerprint is, where neither can be told without a passphrase.
    """

    name: str
    kind: str
    fingerprint: str
    comment: str
    agent: bool

    @property
    def hardware(self) -> bool:
        """Whether it is in a token that wants to be touched."""
        return self.kind.startswith("sk-") or self.kind.endswith("-SK")


class Found(NamedTuple):
    """The keys; without_agent: why those of an agent are not among them, in words, or empty."""

    keys: list[Key]
    without_agent: str


def found() -> Found:
    """Those of ``~/.ssh``, then others of the agent. Raises UserError("ssh-keygen-missing")."""
    program()
    held, why = _of_agent()
    texts, folder, names = {one.key for one in held}, os.path.expanduser("~/.ssh"), list[str]()
    with contextlib.suppress(OSError):
        names = sorted(name for name in os.listdir(folder) if name.endswith(".pub"))[:_MOST]
    beside = (_beside(os.path.join(folder, name), texts) for name in names)
    keys = [key for key in beside if key is not None]
    known = {key.fingerprint for key in keys}
    for one in held:
        if one.fingerprint not in known:
            known.add(one.fingerprint)
            keys.append(_key(one.key, one, agent=True))
    return Found(keys, why)


def of_file(path: str) -> Key:
    """The key in a file, private or public. Raises UserError("key-unusable" | "ssh-keygen-…")."""
    program = check_key(path)
    public = path if path.endswith(".pub") else f"{path}.pub"
    if path == public or os.path.isfile(public):
        return _key(path, public_key(public), agent=False)
    # Of a private key of OpenSSH the public half is not encrypted.
    done = _asked([program, "-l", "-f", path])
    if done.returncode == 0 and (match := _LISTED.fullmatch(done.stdout)):
        return Key(path, match[3], match[1], match[2], agent=False)
    with (
        failing_as("key-unusable", file=path),
        open(path, encoding="ascii", errors="replace") as key,
    ):
        if "PRIVATE KEY" not in key.read(200):
            raise user_error("key-unusable", {"file": path, "why": tr("It is no key of OpenSSH")})
    return Key(path, "", "", "", agent=False)


def _key(name: str, public: PublicKey, agent: bool) -> Key:
    return Key(name, public.key.partition(" ")[0], public.fingerprint, public.comment, agent)


def _beside(path: str, held: set[str]) -> Key | None:
    """The key of a public file, where something can be signed with it."""
    private = path.removesuffix(".pub")
    try:
        public = public_key(path)
    except UserError:
        return None
    if "-cert-" in public.key.partition(" ")[0]:
        return None
    if os.path.isfile(private):
        return _key(private, public, agent=public.key in held)
    return _key(path, public, agent=True) if public.key in held else None


def _of_agent() -> tuple[list[PublicKey], str]:
    """The keys of the running agent; and why there are none."""
    if (program := shutil.which("ssh-add")) is None:
        return [], tr("There is no ssh-add here.")
    if not os.environ.get("SSH_AUTH_SOCK"):
        return [], tr("No ssh-agent is running.")
    if (done := _asked([program, "-L"])).returncode == 2:
        return [], tr("ssh-agent does not answer.")
    keys = []
    for line in done.stdout.splitlines()[:_MOST] if done.returncode == 0 else ():
        try:
            one = public_key_in(line, line)
        except UserError:
            continue
        if "-cert-" not in one.key.partition(" ")[0]:
            keys.append(one)
    return keys, "" if keys else tr("ssh-agent holds no key.")


def _asked(command: list[str]) -> subprocess.CompletedProcess[str]:
    """What a program of OpenSSH says, which can ask nobody; 2 where it does not answer."""
    env = clean_environment({"SSH_ASKPASS_REQUIRE": "never"})
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=env,
            text=True, errors="replace", timeout=_PATIENCE, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return subprocess.CompletedProcess(command, 2, "", "")
