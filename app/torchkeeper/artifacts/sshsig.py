"""What a signature of OpenSSH says: which key made it, and in words whose that is.

The format is openssh's PROTOCOL.sshsig. Whether a signature fits is for ssh-keygen to say
(``bundles.signing``).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import NamedTuple

#: What a signature is for, so that one made for mail or git is none (``ssh-keygen -Y sign -n``).
NAMESPACE = "torchcache"
#: Bytes of a signature; that of a long RSA key has some 2,000.
MAX_SIZE = 64 << 10

_ARMOUR = re.compile(
    rb"-----BEGIN SSH SIGNATURE-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END SSH SIGNATURE-----\r?\n?"
)


class Signature(NamedTuple):
    """What is known of who made a bundle. status: "none"; "trusted", by one who is in the allowed
    signers; "unknown", by another key; "unchecked", where there is no ssh-keygen. signer: their
    name in the allowed signers. key: as a line of ``authorized_keys`` has it, and its fingerprint.
    manifest: the sha256 of the manifest; of a mega-cache, which has none, that of what one would
    say where its contents were read, else empty.
    """

    status: str
    signer: str | None
    key: str | None
    fingerprint: str | None
    manifest: str


def looks_like(data: bytes) -> bool:
    return len(data) <= MAX_SIZE and _ARMOUR.fullmatch(data) is not None


def public_key(signature: bytes) -> bytes:
    """The public key that a signature names. Raises ValueError(why)."""
    if (match := _ARMOUR.fullmatch(signature)) is None:
        raise ValueError("It is not a signature of OpenSSH")
    try:
        data = base64.b64decode(match[1].replace(b"\r", b"").replace(b"\n", b""), validate=True)
    except binascii.Error as e:
        raise ValueError("It is not a signature of OpenSSH") from e
    # A magic word, a version, then texts with their lengths before them, the key the first.
    length = int.from_bytes(data[10:14], "big")
    if data[:10] != b"SSHSIG\x00\x00\x00\x01" or not 4 < length <= len(data) - 14:
        raise ValueError("Its version is not known")
    return data[14 : 14 + length]


def line_of(blob: bytes) -> str:
    """A public key as ``authorized_keys`` has it: its kind, and all of it in base64."""
    kind = blob[4 : 4 + int.from_bytes(blob[:4], "big")].decode("ascii", "replace")
    return f"{kind} {base64.b64encode(blob).decode()}"


def fingerprint(blob: bytes) -> str:
    """That of a public key, as ``ssh-keygen -l`` prints it."""
    import hashlib  # takes as long to load as all the rest; most only ask where the signers are

    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode()
    return f"SHA256:{digest.rstrip('=')}"


def short_key(signature: Mapping[str, object]) -> str:
    """The kind of a key and its fingerprint; signature: a Signature by the names of its fields."""
    return f"{str(signature.get('key')).partition(' ')[0]} {signature.get('fingerprint')}"


def signed_by(signature: Mapping[str, object]) -> str:
    """In words who signed a bundle; signature: as of ``short_key``."""
    key = short_key(signature)
    return {
        "trusted": f"by {signature.get('signer')} ({key})",
        "unknown": f"by a key that is not among your signers ({key})",
        "unchecked": f"by {key}, but not checked: there is no ssh-keygen here",
    }.get(str(signature.get("status")), "by nobody")
