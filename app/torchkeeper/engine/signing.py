"""The operations about who made a bundle: checking a signature, and putting one in.

The key stays with whoever asks: an engine only gives out the manifest that is to be signed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, path_of
from torchkeeper.stores.bundles import signing

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import (
        AttachSignatureParams,
        AttachSignatureResult,
        CopyManifestParams,
        CopyManifestResult,
        SignatureParams,
        SignatureResult,
        Signed,
    )


def signature(_: Session, params: SignatureParams, report: Report) -> SignatureResult:
    """Who signed the bundle ``file``, an artifacts.sshsig.Signature. signers: a file of allowed
    signers, or nothing.
    """
    signers = path_of(params, "signers") if params.get("signers") else None
    found = signing.signature_of(path_of(params, "file"), signers, report)
    return {
        "status": found.status,
        "signer": found.signer,
        "key": found.key,
        "fingerprint": found.fingerprint,
        "manifest": found.manifest,
    }


def copy_manifest(
    session: Session, params: CopyManifestParams, report: Report
) -> CopyManifestResult:
    """Write the manifest of the bundle ``file``, or of the one that is ``held`` since its export,
    to the new file ``target``; its sha256 is the ``manifest`` of the result.
    """
    file, target = _file(session, params), path_of(params, "target")
    return {"manifest": signing.copy_manifest(file, target, report)}


def attach_signature(
    session: Session, params: AttachSignatureParams, report: Report
) -> AttachSignatureResult:
    """Put the text ``signature`` into the bundle ``file``, or the one that is ``held`` since its
    export, whose manifest has the sha256 ``manifest``; with ``output``, which what is held needs,
    the signed one gets that name, with ``replace`` false only where none is. The result has its
    ``size``.
    """
    file = _file(session, params)
    text, digest = params["signature"], params["manifest"]
    held = bool(params.get("held"))
    output = path_of(params, "output") if held or params.get("output") else ""
    replace, data = bool(params.get("replace", True)), text.encode("utf-8", "replace")
    signing.attach(file, data, digest, report, output, replace)
    if held:
        session.hold_unsigned(None)
    return {"size": os.path.getsize(output or file)}


def _file(session: Session, params: Signed) -> str:
    if not params.get("held"):
        return path_of(params, "file")
    if session.unsigned is None:
        raise Problem("file-missing", file=params.get("output", ""))
    return session.unsigned.path
