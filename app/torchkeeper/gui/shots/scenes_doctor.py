"""Pictures of the doctor: looking, what was found, fixes, and a healthy machine."""

from __future__ import annotations

from torchkeeper.gui.dialogs.doctor import DoctorDialog
from torchkeeper.gui.doctor.mender import Mended
from torchkeeper.gui.jobs import State
from torchkeeper.gui.shots import sample_doctor, samples
from torchkeeper.gui.shots.sample_engines import SampleEngines
from torchkeeper.gui.shots.stage import Stage, turn
from torchkeeper.gui.window import Window
from torchkeeper.link.words import user_error


def _opened(window: Window) -> DoctorDialog:
    dialog = window.flows.doctor.show_doctor()
    turn(5.0, lambda: dialog.choice_of.facts is not None)
    return dialog


def _told(window: Window) -> DoctorDialog:
    dialog = _opened(window)
    turn(5.0, lambda: dialog.diagnosis.result is not None)
    return dialog


def _doctor(stage: Stage) -> None:
    engines = SampleEngines()
    engines.all_answer = True
    window = stage.window(engines)
    engines.silent = {"toolchain"}
    stage.dialog("doctor-trying", _opened(window))
    engines.silent = {"diagnose"}
    engines.progress = {"diagnose": (12, 27, "checks")}
    engines.found = {"diagnose": sample_doctor.FOUND[2:4]}
    dialog = _opened(window)
    stage.take("doctor-looking", dialog)
    dialog.diagnosis.cancel()
    stage.dialog("doctor-cancelled", dialog)
    engines.silent, engines.progress = set(), {}
    engines.found = {"diagnose": sample_doctor.FOUND}
    engines.diagnosed = sample_doctor.RESULT
    dialog = _told(window)
    stage.take("doctor", dialog)
    _fixes(stage, engines, window, dialog)
    engines.failing = {"diagnose": user_error("engine-gone", {})}
    dialog = _opened(window)
    turn(5.0, lambda: dialog.diagnosis.error is not None)
    stage.dialog("doctor-failed", dialog)
    stage.close(window)
    none = user_error("torch-missing", {"python": samples.PYTHON})
    some = {"diagnose": sample_doctor.FOUND[2:4]}
    engines = SampleEngines(failing={"interpreters": none}, found=some)
    engines.diagnosed = sample_doctor.NO_TORCH
    window = stage.window(engines)
    dialog = window.flows.doctor.show_doctor()
    turn(5.0, lambda: dialog.diagnosis.result is not None)
    stage.dialog("doctor-no-torch", dialog)
    stage.close(window)


def _fixes(stage: Stage, engines: SampleEngines, window: Window, dialog: DoctorDialog) -> None:
    """The dialogs of fixes, and what was mended."""
    busy = user_error("place-busy", {"place": samples.PLACE})
    first = dialog.fixable[:1]
    for name, some in (("fix", first), ("fix-all", dialog.fixable), ("fix-nothing", first)):
        engines.failing = {"mend": busy} if name == "fix-nothing" else {}
        dialog.mender.plan(some)
        turn(5.0, lambda: dialog.preview is not None)
        assert dialog.preview is not None
        stage.dialog(f"doctor-{name}", dialog.preview)
    engines.failing = {}
    one, two = dialog.fixable[:2]
    dialog.diagnosis.found = [x for x in dialog.diagnosis.found if x not in (one, two)]
    for told in (one, two):
        job = window.jobs.add("Purge torchinductor_ada", "purge", samples.PLACE)
        window.jobs.begin(job)
        window.jobs.end(job, State.DONE, result={"receipt": "20261122-170000"})
        dialog.mender.mended.append(Mended(told, job, True))
    dialog.diagnosis.changed.emit()
    stage.dialog("doctor-mended", dialog)


def _healthy(stage: Stage) -> None:
    engines = SampleEngines()
    engines.diagnosed = sample_doctor.HEALTHY
    window = stage.window(engines)
    stage.dialog("doctor-healthy", _told(window))
    stage.close(window)


SCENES = {"doctor": _doctor, "doctor-healthy": _healthy}
