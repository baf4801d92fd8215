"""What is in a file in which a program keeps what torch compiled for it (``artifacts.forms``).
Nothing of it is loaded, unpacked or unpickled.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO

from torchkeeper.artifacts import code, dynamo, forms, manifest
from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.layout import VLLM_MODEL
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, environments, path_of
from torchkeeper.stores.bundles import parts
from torchkeeper.stores.bundles.bundle import open_file
from torchkeeper.stores.bundles.members import Directory, Member
from torchkeeper.stores.reader import Reading
from torchkeeper.verdict import judging, packaged

if TYPE_CHECKING:
    from torchkeeper.engine.messages import entries as msg
    from torchkeeper.verdict.judging import Verdict
    from torchkeeper.verdict.probed import Env

#: Bytes of what ``aot_compile`` saves: no weights are in it.
_MAX_PICKLE = 32 << 20
#: Models of a package that are told, and members that one has at most.
_MAX_MODELS, _MAX_MEMBERS = 50, 20_000


def form(session: Session, params: msg.FormParams, report: Report) -> msg.FormResult:
    """What a file is, where it is none of a cache; ``form`` is None of any other. With ``env``, its
    verdict there. Raises Problem as ``open_file``, and ("bundle-damaged").
    """
    env = next(iter(environments(session, params.get("envs"), wanted=False)), None)
    path = path_of(params["file"])
    with open_file(path) as stream:
        head = stream.read(4096)
        if head[:4] == b"PK\x03\x04":
            try:
                return _package(stream, env, report)
            except Problem as problem:
                problem.params.setdefault("file", path)
                raise
            except (zipfile.BadZipFile, OSError, UnicodeDecodeError) as e:
                raise Problem("bundle-damaged", file=path, why=parts.INCOMPLETE) from e
        stream.seek(0)
        if head[:1] == b"\x80":
            return _saved(session, stream.read(_MAX_PICKLE + 1), env, report)
        if path.endswith(".py"):
            return _source(stream.read(forms.MAX_TEXT))
    return _none()


def _none() -> msg.FormResult:
    return {
        "form": None, "name": None, "torch": None, "python": None, "device": None, "gpu": None,
        "said": {}, "holds": {}, "size": 0, "models": [], "strange": [], "verdict": None,
    }  # fmt: skip


def _source(data: bytes) -> msg.FormResult:
    found = _none()
    if said := forms.precompiled(data.decode("utf-8", "replace")):
        found["form"], found["holds"], found["size"] = "precompile", {"source": 1}, len(data)
        if len(data) < forms.MAX_TEXT:
            said["sha256"] = hashlib.sha256(data).hexdigest()
        found["said"] = said
    return found


def _saved(session: Session, data: bytes, env: Env | None, report: Report) -> msg.FormResult:
    found = _none()
    if len(data) > _MAX_PICKLE:
        return found
    reading = Reading("precompile", [VLLM_MODEL], {VLLM_MODEL: data})
    [facts] = session.reader.facts([reading], report)
    cached = facts.get("format") == dynamo.PRECOMPILED
    if facts.get("problem") or not (cached or "backend" in facts):
        return found
    found["size"], found["holds"] = len(data), {"pickle": 1}
    found["strange"] = [str(one)[:200] for one in facts.get("strange", ())][:100]
    if cached:
        found["form"] = "precompile-cache"
        named = {"format": facts.get("name"), "version": facts.get("version"),
                 "code_hash": facts.get("digest")}  # fmt: skip
        found["said"] = {name: str(one)[:200] for name, one in named.items() if one is not None}
        return found
    found["form"] = "aot-compile"
    found["name"], found["torch"] = facts.get("name"), facts.get("torch")
    found["python"], found["gpu"] = facts.get("python"), facts.get("gpu")
    found["device"] = facts.get("device")
    if backend := facts.get("backend"):
        found["said"] = {"backend": str(backend)[:200]}
    if env is not None:
        one = Entry("precompile", "", None, len(data), 1, path="", device=facts.get("device"))
        found["verdict"] = judging.other(one, facts, env).to_json()
    return found


def _package(stream: BinaryIO, env: Env | None, report: Report) -> msg.FormResult:
    members: dict[str, Member] = {}
    for one in Directory(stream).checked():
        report.check()
        if one.name == manifest.NAME or len(members) >= _MAX_MEMBERS:
            return _none()
        members[one.name] = one
    folders = {name.partition("/")[0] for name in members}
    root = f"{folders.pop()}/" if len(folders) == 1 else ""
    mark = members.get(root + forms.MARK)
    found = _none()
    if mark is None or _read(stream, mark, 16).strip() != forms.MARKED:
        return found
    paths = [name.removeprefix(root) for name, one in members.items() if one.size]
    said = forms.package(paths)
    found["form"] = said.form
    found["holds"] = dict(sorted(Counter(map(forms.what, paths)).items()))
    found["size"] = sum(one.size for one in members.values())
    verdicts: list[Verdict] = []
    for name, some in sorted(said.models.items())[:_MAX_MODELS]:
        report.check()
        told: dict[str, str] = {}
        if file := forms.metadata_of(some):
            told = forms.metadata(_read(stream, members[root + file], forms.MAX_TEXT))
        objects = [members[root + path] for path in some if path.endswith(".so")]
        model, used = _model(stream, name, told, objects)
        if env is not None:
            verdicts.append(packaged.model(told, used, env))
            model["verdict"] = verdicts[-1].to_json()
        found["models"].append(model)
    devices = {one["device"] for one in found["models"]}
    found["device"] = devices.pop() if len(devices) == 1 else None
    if len(verdicts) == 1:
        found["verdict"] = verdicts[0].to_json()
    return found


def _model(
    stream: BinaryIO, name: str, told: Mapping[str, str], objects: list[Member]
) -> tuple[msg.FormModel, list[str | None]]:
    """A model of a package, and the vector instructions that each of its objects may use."""
    used: list[str | None] = []
    needs: dict[str, None] = {}
    for one in objects[:_MAX_MODELS]:
        data = _read(stream, one, code.MAX_OBJECT)
        used.append(code.instructions(data) if len(data) == one.size else None)
        needs |= dict.fromkeys(forms.libraries(data) or ())
    return {
        "name": name,
        "device": told.get("AOTI_DEVICE_KEY") or None,
        "capability": told.get("AOTI_COMPUTE_CAPABILITY") or None,
        "machine": told.get("AOTI_MACHINE") or None,
        "platform": told.get("AOTI_PLATFORM") or None,
        "isa": told.get("AOTI_CPU_ISA") or None,
        "needs": list(needs),
        "verdict": None,
    }, used


def _read(stream: BinaryIO, one: Member, most: int) -> bytes:
    """A member up to so many bytes. Raises Problem("bundle-damaged"), OSError."""
    stream.seek(one.offset)
    start = parts.start_of(stream.read(parts.header_of(one.name)), one.name, one.offset)
    part = parts.Slice(stream, start, one.packed)
    if one.as_it_is:
        return bytes(part.read(min(most, one.size)))
    with parts.inflated(part) as unpacked:
        return unpacked.read(most)
