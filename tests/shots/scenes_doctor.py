"""Pictures of the doctor: looking, what was found, fixes, and a healthy machine."""

from __future__ import annotations

from tests.shots import sample_doctor, samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.sample_results import PURGED
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages.doctor.diagnosis import Mended
from torchkeeper.gui.pages.doctor.page import DoctorPage
from torchkeeper.gui.window import Window


def _entered(window: Window) -> DoctorPage:
    page = window.show_page("doctor")
    assert isinstance(page, DoctorPage)
    return page


def _opened(window: Window) -> DoctorPage:
    page = _entered(window)
    turn(5.0, lambda: page.choice_of.facts is not None)
    return page


def _told(window: Window) -> DoctorPage:
    page = _opened(window)
    turn(5.0, lambda: page.diagnosis.result is not None)
    return page


def _doctor(stage: Stage) -> None:
    engines = SampleEngines()
    engines.all_answer = True
    window = stage.window(engines)
    engines.silent = {"toolchain"}
    page = _opened(window)
    stage.take("doctor-trying", window)
    engines.silent = {"diagnose"}
    engines.progress = {"diagnose": (12, 27, "checks")}
    engines.found = {"diagnose": sample_doctor.FOUND[2:4]}
    page.run()
    stage.take("doctor-looking", window)
    page.diagnosis.cancel()
    stage.take("doctor-cancelled", window)
    engines.found = {}
    page.run()
    page.diagnosis.cancel()
    # What is marked beside the name of the page comes a little later.
    stage.take("doctor-nothing", window, 0.3)
    engines.silent, engines.progress = set(), {}
    engines.found = {"diagnose": sample_doctor.FOUND}
    engines.diagnosed = sample_doctor.RESULT
    page.run()
    turn(5.0, lambda: page.diagnosis.result is not None)
    stage.take("doctor", window, 0.3)
    page.diagnosis.at -= 240
    window.operations.changed.emit(samples.PLACE)
    stage.take("doctor-since", window)
    _fixes(stage, engines, window, page)
    engines.failing = {"diagnose": user_error("engine-bug", {"why": "KeyError: st_mtime_ns"})}
    page.run()
    turn(5.0, lambda: page.diagnosis.error is not None)
    stage.take("doctor-failed", window)
    stage.close(window)
    none = user_error("torch-missing", {"python": samples.PYTHON})
    some = {"diagnose": sample_doctor.FOUND[2:4]}
    engines = SampleEngines(failing={"interpreters": none}, found=some)
    engines.diagnosed = sample_doctor.NO_TORCH
    window = stage.window(engines)
    page = _entered(window)
    turn(5.0, lambda: page.diagnosis.result is not None)
    stage.take("doctor-no-torch", window)
    stage.close(window)


def _fixes(stage: Stage, engines: SampleEngines, window: Window, page: DoctorPage) -> None:
    """The dialogs of fixes, and what was mended."""
    busy = user_error("place-busy", {"place": samples.PLACE})
    first = page.fixable[:1]
    for name, some in (("fix", first), ("fix-all", page.fixable), ("fix-nothing", first)):
        engines.failing = {"mend": busy} if name == "fix-nothing" else {}
        page.mender.plan(some)
        turn(5.0, lambda: page.preview is not None)
        assert page.preview is not None
        stage.dialog(f"doctor-{name}", page.preview)
    engines.failing = {}
    one, two = page.fixable[:2]
    moved = {**PURGED, "entries": 3, "files": 3, "receipt": "20261122-170000"}
    page.diagnosis.found = [x for x in page.diagnosis.found if x not in (one, two)]
    for told in (one, two):
        job = window.jobs.add("Purge torchinductor_ada", "purge", samples.PLACE)
        window.jobs.begin(job)
        window.jobs.end(job, State.DONE, result=moved)
        page.mender.mended.append(Mended(told, job, True))
    page.diagnosis.changed.emit()
    stage.take("doctor-mended", window)


def _healthy(stage: Stage) -> None:
    engines = SampleEngines()
    engines.diagnosed = sample_doctor.HEALTHY
    window = stage.window(engines)
    _told(window)
    stage.take("doctor-healthy", window)
    stage.close(window)


SCENES = {"doctor": _doctor, "doctor-healthy": _healthy}
