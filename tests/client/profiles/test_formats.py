"""What profiles are written as: real readers, and a real torch, get exactly the profile from it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.client.profiles.consumers import OF, expanded
from torchkeeper.client.profiles import dockerfile, formats
from torchkeeper.client.profiles.profile import Profile
from torchkeeper.client.words.problems import UserError
from torchkeeper.settings.known import BY_NAME, SETTINGS, value
from torchkeeper.settings.masks import SHARED

FOLDER, URL = "TORCHINDUCTOR_CACHE_DIR", "TORCHINDUCTOR_REDIS_URL"
TEXTS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"])
) | st.text("'\"$`\\ \n\t\r{}()#=~-abc:!*?[];&|<>%@")  # fmt: skip
VALUES = st.dictionaries(st.sampled_from(sorted(BY_NAME)), TEXTS, max_size=4)
#: What has to be carried by each, and by sh alone and Kubernetes.
ANY = {FOLDER: "/srv/a cache/$HOME/ü%(x)s #1", URL: "redis://u:p%40ss@host:6379/0"}
HARD = {FOLDER: "-n 'x' \"y\" `id` $(id) $$(X) ${HOME} \\ \\\\ a\nb\t!é\u2028\x7f"}


@pytest.mark.parametrize("format", formats.FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(values=VALUES)
@example(values=ANY)
@example(values=HARD)
def test_what_is_written_is_read_by_all(
    format: str, values: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By us, and by everybody for whom it is; or nothing is written, and which variable it is."""
    profile = Profile("any", values)
    try:
        text = formats.write(profile, format)
    except UserError as error:
        assert format in ("env", "dockerfile")
        assert error.code == "profile-text-uncarried"
        assert error.params["name"] in values
        assert values is not ANY
        return
    assert formats.read(text, format, "any").profile.values == values
    before = {"PATH": os.environ["PATH"], "OTHER": "stays"}
    if format == "sh":
        before |= dict.fromkeys(BY_NAME.keys() - SHARED, "of before")
    for consumer in OF[format]:
        after = consumer(text, before, tmp_path_factory.getbasetemp())
        assert after.pop("OTHER") == "stays"
        assert {name: after[name] for name in after if name in BY_NAME} == values


def test_the_format_is_known_without_a_word() -> None:
    for format in formats.FORMATS:
        text = formats.write(Profile("any", ANY), format)
        assert formats.read(text, None, "any").profile.values == ANY, format
        assert formats.read("\ufeff" + text, None, "any").profile.values == ANY, format


def test_nothing_else_has_a_line_of_it() -> None:
    """What a user says of a profile is a comment, whatever it is."""
    about = "one\nexport EVIL=1\r\nENV EVIL=1\u2028EVIL=1\n- name: EVIL\n'\n`id`\nescape=`"
    for format in formats.FORMATS:
        profile = Profile("escape=` \u201d", {FOLDER: "/x"}, about)
        lines = formats.write(profile, format).split("\n")
        said = [line for line in lines if "EVIL" in line or "escape" in line or "id`" in line]
        assert said
        assert all(line.startswith("# ") for line in said)
        assert not dockerfile._DIRECTIVE.fullmatch(lines[0])
        read = formats.read("\n".join(lines), format, "x")
        assert (read.profile.values, read.left) == ({FOLDER: "/x"}, [])


def test_a_password_is_named_and_can_stay_with_a_secret() -> None:
    profile = Profile("p", {URL: "redis://u:hunter2@h/0", FOLDER: "/c"})
    for format in formats.FORMATS:
        assert "hunter2" in formats.write(profile, format)
        assert f"{URL} has a password in it" in " ".join(formats.notes(profile, format))
    text = formats.write(profile, "kubernetes", "redis.v1/the_url")
    assert "hunter2" not in text
    folder, url = sorted(yaml.safe_load(text)["env"], key=lambda one: str(one["name"]))
    assert folder == {"name": FOLDER, "value": "/c"}
    reference = {"secretKeyRef": {"name": "redis.v1", "key": "the_url"}}
    assert url == {"name": URL, "valueFrom": reference}
    read = formats.read(text, None, "p")
    assert read.profile.values == {FOLDER: "/c"}
    [(name, why)] = read.left
    assert (name, why.split(" (")[0]) == (URL, "its value comes from a Secret")
    for secret in ("redis", "/url", "a b/c", "A/b", "a/b\n"):
        with pytest.raises(UserError, match="not name a key"):
            formats.write(profile, "kubernetes", secret)
    with pytest.raises(UserError, match="no password"):
        formats.write(Profile("p", {FOLDER: "/c"}), "kubernetes", "a/b")


def test_what_the_kubelet_expands_is_kept_from_it() -> None:
    for text in ("$(HOME)", "$$(HOME)", "$$$(HOME)", "$", "$$", "a$b", "$(", "$)("):
        made = yaml.safe_load(formats.write(Profile("p", {FOLDER: text}), "kubernetes"))
        assert expanded(made["env"][0]["value"], {"HOME": "/root"}) == text


#: Prints what the configuration modules of torch hold, once for each environment that it is told.
ASK = """if True:
    import importlib, json, os, sys
    names = json.loads(sys.argv[1])
    modules = sorted({name.rpartition(".")[0] for name in names})
    for env in json.load(sys.stdin):
        os.environ.clear()
        os.environ.update(env)
        for module in modules:
            sys.modules.pop(module, None)
        for module in modules:
            importlib.import_module(module)
        held = {}
        for name in names:
            module, _, attribute = name.rpartition(".")
            held[name] = getattr(sys.modules[module], attribute, "there is none")
        print(json.dumps(held))
"""


def ask_torch(python: str, environments: list[dict[str, str]]) -> list[dict[str, Any]]:
    """What the attributes hold that settings are read into, in each of some environments."""
    names = sorted({one.config for one in SETTINGS if one.config.startswith("torch.")})
    done = subprocess.run(
        [python, "-W", "ignore", "-c", ASK, json.dumps(names)],
        input=json.dumps(environments), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.torch
@pytest.mark.slow
def test_torch_gets_exactly_the_profile(torch_python: str, tmp_path: Path) -> None:
    """Each reader's environment, given to torch: its modules hold what the profile says, and what
    it leaves open is as if nothing were set.
    """
    values = {
        one.name: "0" if value(one, None) is True else "1"
        for one in SETTINGS
        if one.type in ("switch", "tristate")
        and one.config
        and one.name in (*one.same, one.name)[:1]
    }
    values |= {FOLDER: "/srv/a cache", URL: "redis://u:pw@h/0", "TORCH_COMPILE_CACHE_KEY_TAG": "v"}
    kept = list(values)[::2]  # the others are left to PyTorch
    profile = Profile("some", {name: values[name] for name in kept})
    clean = {k: v for k, v in os.environ.items() if k not in BY_NAME}
    readers, environments = ["nobody"], [clean]
    for format, consumers in OF.items():
        before = {**clean, **dict.fromkeys(values, "0")} if format == "sh" else clean
        for number, consumer in enumerate(consumers):
            readers.append(f"{format} {number}")
            environments.append(consumer(formats.write(profile, format), before, tmp_path))
    plain, *told = ask_torch(torch_python, environments)
    meant = {
        BY_NAME[name].config: value(BY_NAME[name], text)
        for name, text in profile.values.items()
        if BY_NAME[name].config in plain
    }
    assert len(meant) > 5
    for reader, env, held in zip(readers[1:], environments[1:], told, strict=True):
        assert {name: env[name] for name in env if name in BY_NAME} == profile.values, reader
        assert held == {**plain, **meant}, reader
    assert all(plain[name] != meant[name] for name in meant)
