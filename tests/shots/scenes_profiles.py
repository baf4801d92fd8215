"""Pictures of the settings: profiles in the form, what is wrong with them, import and export."""

from __future__ import annotations

from tests.shots import sample_profiles, samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.dialogs.profilefiles import ProfileExport, ProfileImport
from torchkeeper.gui.pages.profiles.page import SettingsPage
from torchkeeper.gui.window import Window


def settings_of(window: Window) -> SettingsPage:
    page = window.show_page("settings")
    assert isinstance(page, SettingsPage)
    turn(5.0, lambda: page.profiles.read)
    return page


def _shown(window: Window, name: str) -> SettingsPage:
    page = settings_of(window)
    turn(5.0, lambda: page.choice_of.facts is not None)
    page.profiles.list.choose(name)
    turn(2.0, lambda: not page.profiles.live.checking)
    return page


def _settings(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    page = _shown(window, "serving")
    stage.take("settings", window, 1.0)
    page.profiles.form.box.setText("redis")
    stage.take("settings-filtered", window, 1.0)
    page.profiles.form.box.clear()
    page.profiles.form.only.setChecked(True)
    stage.take("settings-only-set", window)
    page.profiles.form.only.setChecked(False)
    page.profiles.list.choose("old")
    stage.take("settings-damaged", window)
    engines.kept_profiles = []
    page.refresh()
    stage.take("settings-empty", window)
    stage.close(window)


def _errors(stage: Stage) -> None:
    engines = SampleEngines(found={"diagnose": sample_profiles.looked_up()})
    window = stage.window(engines)
    page = _shown(window, "training-cluster")
    page.profiles.form.go_to("TORCHINDUCTOR_CACHE_DIR")
    stage.take("settings-errors", window)
    page.profiles.form.go_to("TORCHINDUCTOR_REDIS_URL")
    engines.silent.add("diagnose")
    page.profiles.form.apply({"TORCHINDUCTOR_CACHE_DIR": "/mnt/scratch/other"})
    stage.take("settings-checking", window)
    page.profiles.undo.offer("", "staging was removed", then=lambda: None)
    error = {"file": "/home/ada/.config/torchkeeper/profiles/training-cluster.toml",
             "why": "No space left on device"}  # fmt: skip
    page.profiles.notice.tell(user_error("profile-unwritable", error))
    stage.take("settings-unwritable", window)
    stage.close(window)


def _carried(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    page = _shown(window, "serving")
    for profile, name in ((sample_profiles.GOOD, "settings-export"),
                          (sample_profiles.BAD, "settings-export-secret")):  # fmt: skip
        export = ProfileExport(page, window.engines, profile)
        export.format.setCurrentIndex(3)
        stage.dialog(name, export)
    page.open_files([f"{samples.PLACE}/decoder.yaml"])
    stage.dialog("settings-import", page.findChildren(ProfileImport)[-1])
    engines.failing["offered_profile"] = user_error(
        "profile-container-which", {"names": "server, tokenizer, metrics"}
    )
    page.open_files([f"{samples.PLACE}/decoder.yaml"])
    stage.dialog("settings-import-which", page.findChildren(ProfileImport)[-1])
    stage.close(window)


def _warm(stage: Stage) -> None:
    window = stage.window(SampleEngines(), settings={"warm/profile": "serving"})
    for name in ("serving", "training-cluster"):
        dialog = window.flows.warm()
        choice = dialog.profile
        turn(0.1)
        choice.combo.setCurrentIndex(choice.combo.findData(name))
        stage.dialog("warm-profile" if name == "serving" else "warm-profile-wrong", dialog)
    stage.close(window)


def _origins(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    page = settings_of(window)
    turn(5.0, lambda: page.choice_of.facts is not None)
    page.show_setting("TORCHINDUCTOR_CACHE_DIR", origin=True)
    turn(5.0, lambda: page.origins.found is not None and page.origins.of.count() > 1)
    stage.take("settings-origins", window)
    page.origins.of.setCurrentIndex(1)
    page.origins.of.activated.emit(1)
    turn(5.0, lambda: page.origins.found is not None)
    stage.take("settings-process", window)
    engines.failing["process_settings"] = user_error("process-gone", {"pid": 41_213})
    page.origins.again.click()
    stage.take("settings-process-gone", window)
    engines.silent.add("settings")
    page.origins.of.setCurrentIndex(0)
    page.origins.of.activated.emit(0)
    stage.take("settings-origins-asking", window)
    stage.close(window)


SCENES = {"settings": _settings, "settings-errors": _errors, "settings-carried": _carried,
          "settings-origins": _origins, "warm-profile": _warm}  # fmt: skip
