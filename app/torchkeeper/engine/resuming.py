"""Files whose transfer broke off: what is there of them, at this end (``stores.parts``)."""

from __future__ import annotations

import os

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.messages import bundles as msg
from torchkeeper.engine.session import Session
from torchkeeper.stores import parts


def resume(_: Session, params: msg.ResumeParams, report: Report) -> msg.ResumeResult:
    """Without ``output``, the pieces of the file ``path``. With ``pieces``, the new file
    ``output`` has what is there of them, and the result what is missing. With ``stretches``, these
    of ``path`` make the new file ``output``, or with ``back`` become those of ``output``.
    """
    path, output = params.get("path", ""), params.get("output", "")
    stretches, pieces = params.get("stretches", ()), params.get("pieces")
    try:
        if pieces is not None:
            with open(output, "x+b") as made:
                wanted = [(size, digest) for size, digest in pieces]  # hashable, as JSON has none
                missing, used = parts.fill(wanted, made)
            parts.keep(output)
            parts.forget(*used)
            return {"missing": missing}
        with open(path, "rb") as source:
            if not output:
                found = []
                for piece in parts.cut(source, os.fstat(source.fileno()).st_size):
                    report.check()
                    found.append(piece)
                return {"pieces": found}
            with open(output, "r+b" if params.get("back") else "xb") as made:
                if params.get("back"):
                    parts.scatter(iter(lambda: source.read(parts.BLOCK), b""), stretches, made)
                    parts.forget(path)
                else:
                    made.writelines(parts.blocks(source, stretches))
    except (OSError, ValueError) as e:
        raise Problem("output-unwritable", file=output or path, why=str(e)) from e
    return {}
