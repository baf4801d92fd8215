"""Made-up keys and signers, for the pictures."""

from __future__ import annotations

from typing import Any

from torchkeeper.client.signers import Key, PublicKey, Signer

_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk0b8x2Nf7cQm1yZk0v5o0bX7h1Q2mZr8d6fK3sT1Ea"
_FINGERPRINT = "SHA256:Y9v4l1C0qk2hWv3yqk0v5o0bX7h1Q2mZr8d6fK3sT1E"
_OTHER = "SHA256:t0Qm9bVx4Lw7uJ2nR5sYc8eKa1pZ6fGd3hXiTjUoBvM"
_THIRD = "SHA256:Ko4cWm7QbX1vTz9dR3uYg5nHs8LfEa2pJi6xVkUqNwM"

#: The keys that can be signed with; the second is in a token, the third only in the agent.
KEYS = [
    Key("/home/ada/.ssh/id_ed25519", "ssh-ed25519", _FINGERPRINT, "ada@workstation", agent=True),
    Key("/home/ada/.ssh/id_ed25519_sk", "sk-ssh-ed25519@openssh.com", _OTHER, "ada@yubikey",
        agent=False),
    Key(_KEY, "ssh-ed25519", _FINGERPRINT, "release@llama.example", agent=True),
]  # fmt: skip
SIGNERS = [
    Signer("build@llama.example", _KEY, _FINGERPRINT),
    Signer("ada@example.org", "sk-ssh-ed25519@openssh.com AAAA", _OTHER),
    Signer("*@vision.example.org", "ecdsa-sha2-nistp256 AAAA", _THIRD),
]
PUBLIC = PublicKey(_KEY, _FINGERPRINT, "build@llama.example")
#: As the operation ``signature`` tells of a bundle.
NOBODY: dict[str, Any] = {"status": "none", "signer": None, "key": None, "fingerprint": None,
                          "manifest": ""}  # fmt: skip
UNKNOWN: dict[str, Any] = {**NOBODY, "status": "unknown", "key": _KEY,
                           "fingerprint": _FINGERPRINT}  # fmt: skip
