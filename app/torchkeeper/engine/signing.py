"""The operations about who made a bundle: checking a signature, and putting one in.

The key stays with whoever asks: an engine only gives out the manifest that is to be signed.
"""

from __future__ import annotations

import os
from typing import Any

from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, path_of
from torchkeeper.stores import signing


def signature(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Who signed the bundle ``file``, an artifacts.sshsig.Signature. signers: a file of allowed
    signers, or nothing.
    """
    signers = path_of(params, "signers") if params.get("signers") else None
    return signing.signature_of(path_of(params, "file"), signers, report)._asdict()


def copy_manifest(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Write the manifest of the bundle ``file`` to the new file ``target``; its sha256 is the
    ``manifest`` of the result.
    """
    file, target = path_of(params, "file"), path_of(params, "target")
    return {"manifest": signing.copy_manifest(file, target, report)}


def attach_signature(_: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
    """Put the text ``signature`` into the bundle ``file``, whose manifest has the sha256
    ``manifest``; with ``output``, the signed one gets that name, with ``replace`` false only where
    none is. The result has its ``size``.
    """
    file = path_of(params, "file")
    text, digest = str(params["signature"]), str(params["manifest"])
    output = path_of(params, "output") if params.get("output") else ""
    replace, data = bool(params.get("replace", True)), text.encode("utf-8", "replace")
    signing.attach(file, data, digest, report, output, replace)
    return {"size": os.path.getsize(output or file)}
