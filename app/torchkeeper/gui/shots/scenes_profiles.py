"""Pictures of the settings: profiles in the form, what is wrong with them, import and export."""

from __future__ import annotations

from torchkeeper.gui.dialogs.profileexport import ProfileExport
from torchkeeper.gui.dialogs.profileimport import ProfileImport
from torchkeeper.gui.dialogs.settings import SettingsDialog
from torchkeeper.gui.shots import sample_profiles, samples
from torchkeeper.gui.shots.sample_engines import SampleEngines
from torchkeeper.gui.shots.stage import Stage, turn
from torchkeeper.gui.window import Window
from torchkeeper.link.words import user_error


def _shown(window: Window, name: str) -> SettingsDialog:
    dialog = window.flows.profiles.show_settings()
    turn(5.0, lambda: dialog.page.read and dialog.choice_of.facts is not None)
    dialog.page.list.choose(name)
    turn(2.0, lambda: not dialog.page.live.checking)
    return dialog


def _settings(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    dialog = _shown(window, "serving")
    stage.take("settings", dialog)
    dialog.page.form.box.setText("redis")
    stage.take("settings-filtered", dialog)
    dialog.page.form.box.clear()
    dialog.page.form.only.setChecked(True)
    stage.take("settings-only-set", dialog)
    dialog.page.form.only.setChecked(False)
    dialog.page.list.choose("old")
    stage.take("settings-damaged", dialog)
    dialog.reject()
    turn()
    engines.kept_profiles = []
    dialog = window.flows.profiles.show_settings()
    turn(5.0, lambda: dialog.page.read)
    stage.dialog("settings-empty", dialog)
    stage.close(window)


def _errors(stage: Stage) -> None:
    engines = SampleEngines(found={"diagnose": sample_profiles.looked_up()})
    window = stage.window(engines)
    dialog = _shown(window, "training-cluster")
    dialog.page.form.go_to("TORCHINDUCTOR_CACHE_DIR")
    stage.take("settings-errors", dialog)
    dialog.page.form.go_to("TORCHINDUCTOR_REDIS_URL")
    engines.silent.add("diagnose")
    dialog.page.form.apply({"TORCHINDUCTOR_CACHE_DIR": "/mnt/scratch/other"})
    stage.take("settings-checking", dialog)
    dialog.page.undo.offer("", "laptop was removed", then=lambda: None)
    error = {"file": "/home/ada/.config/torchkeeper/profiles/serving.toml",
             "why": "No space left on device"}  # fmt: skip
    dialog.page.notice.tell(user_error("profile-unwritable", error))
    stage.dialog("settings-unwritable", dialog)
    stage.close(window)


def _carried(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    dialog = _shown(window, "serving")
    for profile, name in ((sample_profiles.GOOD, "settings-export"),
                          (sample_profiles.BAD, "settings-export-secret")):  # fmt: skip
        export = ProfileExport(dialog, window.engines, profile)
        export.format.setCurrentIndex(3)
        stage.dialog(name, export)
    dialog.open_files([f"{samples.PLACE}/decoder.yaml"])
    stage.dialog("settings-import", dialog.findChildren(ProfileImport)[-1])
    engines.failing["offered_profile"] = user_error(
        "profile-container-which", {"names": "server, tokenizer, metrics"}
    )
    dialog.open_files([f"{samples.PLACE}/decoder.yaml"])
    stage.dialog("settings-import-which", dialog.findChildren(ProfileImport)[-1])
    dialog.reject()
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
    dialog = window.flows.profiles.show_settings()
    turn(5.0, lambda: dialog.choice_of.facts is not None)
    dialog.tabs.setCurrentWidget(dialog.origins)
    turn(5.0, lambda: dialog.origins.found is not None and dialog.origins.of.count() > 1)
    stage.take("settings-origins", dialog)
    dialog.origins.of.setCurrentIndex(1)
    dialog.origins.of.activated.emit(1)
    turn(5.0, lambda: dialog.origins.found is not None)
    stage.take("settings-process", dialog)
    engines.failing["process_settings"] = user_error("process-gone", {"pid": 41_213})
    dialog.origins.again.click()
    stage.take("settings-process-gone", dialog)
    engines.silent.add("settings")
    dialog.origins.of.setCurrentIndex(0)
    dialog.origins.of.activated.emit(0)
    stage.dialog("settings-origins-asking", dialog)
    stage.close(window)


SCENES = {"settings": _settings, "settings-errors": _errors, "settings-carried": _carried,
          "settings-origins": _origins, "warm-profile": _warm}  # fmt: skip
