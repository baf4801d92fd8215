"""Pictures of the dialogs that export and import: asking, at work, and what came of it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt

from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.sample_results import EXPORTED, IMPORTED
from tests.shots.scenes_window import halfway
from tests.shots.stage import Stage, turn
from torchkeeper.artifacts.entry import measured
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.places.model import EXPORTED_TO
from torchkeeper.gui.window import Window

_BUNDLES = "/home/ada/bundles"
_FILE = f"{_BUNDLES}/torchinductor_ada.torchcache"
#: Seconds until what was typed is looked at.
_TYPED = 0.4


def _export_choice(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines, settings={EXPORTED_TO: _BUNDLES})
    for name, file in (
        ("free", _FILE),
        ("replace", f"{_BUNDLES}/there.torchcache"),
        ("no-room", "/mnt/full/torchinductor_ada.torchcache"),
        ("no-folder", "/home/ada/missing/torchinductor_ada.torchcache"),
        ("no-path", "torchinductor_ada"),
    ):
        dialog = window.flows.export()
        assert dialog is not None
        dialog.target.file.setText(file)
        stage.dialog(f"export-{name}", dialog, _TYPED)
    _several(stage)
    _secrets(stage)
    engines.silent.add("plan_export")
    engines.progress["plan_export"] = (12.0, 36.0, "entries")
    dialog = window.flows.export()
    assert dialog is not None
    stage.dialog("export-reading", dialog)
    engines.silent.clear()
    engines.failing["plan_export"] = user_error(
        "place-unreadable", {"place": samples.PLACE, "why": "Input/output error"}
    )
    dialog = window.flows.export()
    assert dialog is not None
    stage.dialog("export-unreadable", dialog)
    del engines.failing["plan_export"]
    window.entries.show_apart(True)
    locks = {entry.identity for entry in window.entries.shown() if entry.kind == "lock"}
    window.table.select(locks)
    dialog = window.flows.export()
    assert dialog is not None
    dialog.target.file.setText(_FILE)
    engines.entries = [entry for entry in engines.entries if entry.kind == "lock"]
    stage.dialog("export-nothing", dialog, _TYPED)
    stage.close(window)


def _several(stage: Stage) -> None:
    window = stage.window(SampleEngines(), settings={EXPORTED_TO: _BUNDLES})
    for place in ("/home/ada/.triton/cache", "/home/ada/.deep_gemm", "/home/ada/.tilelang/cache"):
        window.places.add(place)
    dialog = window.flows.export()
    assert dialog is not None
    for item in dialog.others.items()[:2]:
        item.setCheckState(0, Qt.CheckState.Checked)
    stage.dialog("export-several", dialog, _TYPED)
    stage.close(window)


def _secrets(stage: Stage) -> None:
    engines = SampleEngines()
    engines.leaky = True
    window = stage.window(engines, settings={EXPORTED_TO: _BUNDLES})
    for name, choice in (("secrets", -1), ("redacted", 0)):
        dialog = window.flows.export()
        assert dialog is not None
        dialog.target.file.setText(_FILE)
        turn(_TYPED)
        dialog.secrets.choice.setCurrentIndex(choice)
        stage.dialog(f"export-{name}", dialog, _TYPED)
    stage.close(window)


def _import_choice(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    files = [samples.NIGHTLY, "/home/ada/llama/mega-cache.bin", "/home/ada/llama/notes.txt"]
    for name, chosen, into in (
        ("one", files[:1], samples.PLACE),
        ("several", files, samples.PLACE),
        ("bad", files[2:], samples.PLACE),
        ("same", files[:1], "/home/ada/cache-same"),
        ("no-room", files[:1], "/mnt/full"),
        ("new-folder", files[:1], "/home/ada/missing"),
        ("no-target", files[:1], "cache"),
        ("stale", ["/home/ada/llama/old.torchcache"], samples.PLACE),
        ("signed", ["/home/ada/llama/signed.torchcache"], samples.PLACE),
        ("threads", ["/home/ada/llama/64-cores.torchcache"], samples.PLACE),
        ("strange", ["/home/ada/llama/strange.torchcache"], samples.PLACE),
    ):
        dialog = window.flows.open_import(chosen)
        turn(0.05)
        dialog.target.combo.setEditText(into)
        stage.dialog(f"import-{name}", dialog, _TYPED)
    dialog = window.flows.open_import(["/home/ada/bundles/server.torchcache"])
    turn(_TYPED)
    dialog.each.box.click()
    stage.dialog("import-each", dialog, _TYPED)
    engines.silent.add("list")
    stage.dialog("import-reading", window.flows.open_import(files[:1]))
    engines.silent = {"compare"}
    engines.progress["compare"] = (3_100_000.0, 5_000_000.0, "bytes")
    stage.dialog("import-comparing", window.flows.open_import(files[:1]))
    engines.silent = {"names"}
    stage.dialog("import-naming", window.flows.open_import(files[:1]))
    engines.silent = {"judge"}
    stage.dialog("import-asking", window.flows.open_import(files[:1]))
    stage.close(window)


def _job(window: Window, kind: str) -> Job:
    """A job that runs, in the drawer."""
    title, place = "Export to torchinductor_ada.torchcache", ""
    if kind == "import":
        title, place = "Import nightly.torchcache", samples.PLACE
    job = window.jobs.add(title, kind, place or None)
    window.jobs.begin(job)
    window.following.show(job)
    return job


def _at_work(stage: Stage) -> None:
    window = stage.window()
    for kind in ("export", "import"):
        job = _job(window, kind)
        stage.take(f"{kind}-starting", window)
        halfway(window, job)
        stage.take(f"{kind}-working", window)
        window.jobs.cancelling(job)
        stage.take(f"{kind}-cancelling", window)
        window.jobs.end(job, State.CANCELLED)
        stage.take(f"{kind}-cancelled", window)
    job = _job(window, "export")
    window.jobs.progress(job, 21, 33, "entries")
    stage.take("export-entries", window)
    stage.close(window)


def _over(stage: Stage) -> None:
    window = stage.window()
    going = [one for one in window.entries.shown() if one.kind != "lock" and not one.problem]
    held = sum(entry.size for entry in going)
    exported = {
        **EXPORTED, "entries": len(going), "files": sum(entry.files for entry in going),
        **measured(held, on_disk=False), "size": held + 21_400, "output": _FILE,
    }  # fmt: skip
    nothing = {**IMPORTED, "entries": 0, "files": 0, "bytes": 0, "exists": 33}
    imported = {**IMPORTED, "entries": 17, "files": 21, "bytes": 2_480_100, "exists": 16}
    full = user_error("disk-full", {"place": samples.PLACE})
    unwritable = user_error("output-unwritable", {"file": _FILE, "why": "Input/output error"})
    for name, kind, result, error, left in (
        ("export-done", "export", exported, None, 0),
        ("export-left", "export", exported, None, 3),
        ("export-failed", "export", {}, unwritable, 0),
        ("export-none", "export", {**exported, "entries": 0}, None, 2),
        ("import-done", "import", imported, None, 0),
        ("import-left", "import", {**imported, "entries": 14}, None, 3),
        ("import-prepare", "import", {**imported, "renamed": 11}, None, 0),
        ("import-prepare-left", "import", {**imported, "entries": 15, "renamed": 9}, None, 2),
        ("import-portable", "import", imported, None, 0),
        ("import-nothing-new", "import", nothing, None, 0),
        ("import-failed", "import", {}, full, 0),
    ):
        job = _job(window, kind)
        prepare, portable = "prepare" in name, "portable" in name
        job.asked = {"python": samples.PYTHON, "offer_prepare": prepare, "portable": portable}
        _end(window, job, result, error, left)
        stage.take(name, window)
    stage.close(window)


def _end(
    window: Window, job: Job, result: dict[str, Any], error: UserError | None, left: int
) -> None:
    assert job.started is not None
    job.started -= 4.2
    for number in range(left):
        kind, key, code, about = (
            ("ondisk", "0236e2d9c13c902a", "kind-not-portable", {"kind": "ondisk"}),
            ("fxgraph", "fk2v5qzx7h4wnbd3tpmu6", "entry-broken", {"problem": "payload-unreadable"}),
            ("ondisk", "51b1e2d9c13c90ff", "kind-not-portable", {"kind": "ondisk"}),
        )[number]
        if job.kind == "import":
            kind, key = "code", f"cmnvkzanes3ggbbm{number}"
            code, about = "key-taken", {"path": f"mn/{key}.py"}
        if job.asked.get("offer_prepare"):
            code, about = "object-cpu", samples.LEFT[0]["params"]
        why = user_error(code, about)
        job.leave(f"{kind_words(kind)} {key}: {why.what}", why.what)
    if error is None:
        window.jobs.end(job, State.DONE, note="33 entries (5.0 MB)", result=result)
    else:
        window.jobs.end(job, State.FAILED, error=error)


SCENES = {
    "export": _export_choice,
    "import": _import_choice,
    "work": _at_work,
    "results": _over,
}
