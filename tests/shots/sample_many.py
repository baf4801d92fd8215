"""Very much of everything, for the pictures: a cache of 50,000 entries, and lists that are long."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from tests.shots import sample_doctor, sample_jobs, sample_recipes, sample_runs, samples
from torchkeeper.artifacts.entry import Entry
from torchkeeper.client.kept import history
from torchkeeper.client.kept.runs import MAX_RUNS, Kept
from torchkeeper.client.kept.verified import Warmed
from torchkeeper.client.profiles.profile import Profile
from torchkeeper.gui.pages.profiles.drafts import Kept as KeptProfile
from torchkeeper.gui.pages.recipes.known import Known, Listed

#: Entries of a cache that many share.
ENTRIES = 50_000
#: Seconds between two of them: they are of three months.
_APART = 155
_TEAMS = ("vision", "speech", "search", "ranking", "translation")
_MODELS = ("resnet", "whisper", "bert", "dlrm", "llama", "clip", "t5", "vit")


def entries(count: int = ENTRIES) -> list[Entry]:
    """Entries of every common kind, a few of them broken."""
    now, usual = time.time(), samples.entries()
    made = []
    for number in range(count):
        one, layer = usual[number % len(usual)], number // len(usual) % 48
        graph = one.kind in ("fxgraph", "aotautograd")
        name = f"layers.{layer}.{one.name}" if graph else one.name
        odd = number * 0x9E3779B1 % (1 << 32) / (1 << 32)
        digest = f"{(number + 11) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128):032x}"
        made.append(
            one._replace(
                key=digest if one.kind == "lock" else f"{one.kind[0]}{digest}",
                name=f"{digest[:16]}.lock" if one.kind == "lock" else name,
                size=int(one.size * (0.4 + 2 * odd**3)),
                compile_s=one.compile_s and one.compile_s * (0.5 + odd),
                mtime=now - number * _APART - 40,
                path=f"{one.kind}/{digest[:2]}/{digest}",
                sha256=digest * 2,
                problem="payload-unreadable" if number % 9_000 == 40 else None,
                orphan="code-unnamed" if number % 4_000 == 41 else None,
            )
        )
    return made


def runs() -> Kept:
    """As many runs as are kept, a few hours apart."""
    usual, now = sample_runs.runs(), time.time()
    made = []
    for number in range(MAX_RUNS):
        at = now - 3600 * (1 + 5 * number)
        ident = time.strftime(f"%Y%m%d-%H%M%S-{number:04x}", time.localtime(at))
        made.append(replace(usual[number * 7 % len(usual)], id=ident, at=at))
    return Kept(made, 0)


def jobs() -> history.Kept:
    """As many jobs of earlier sessions as are kept."""
    usual = sample_jobs.kept().jobs
    made = []
    for number in range(history.MAX_JOBS):
        one, earlier = usual[number % len(usual)], 5_400.0 * number
        began = one.began - earlier if one.began is not None else None
        ident = f"{one.id[:-8]}{number:08x}"
        made.append(replace(one, id=ident, began=began, ended=one.ended - earlier))
    made.sort(key=lambda one: -one.ended)
    return history.Kept(made, 0)


def recipes() -> list[Listed]:
    """Folders of several teams, with a recipe for each model."""
    first = sample_recipes.listed()
    now = time.time()
    known = next(one for one in first[1].recipes if one.name == "decode")
    for team in _TEAMS:
        folder, some = f"/srv/recipes/{team}", []
        for number, model in enumerate(_MODELS):
            warmed = Warmed(now - 7_000 * (number + 1), samples.PLACE, 12, 3 * (number % 4 == 3))
            some.append(
                Known(f"{folder}/{model}.toml", model, f"What the {team} team serves", known.source,
                      12, warmed=warmed if number % 3 else None)
            )  # fmt: skip
        first.append(Listed(folder, True, some))
    return first


def profiles() -> list[KeptProfile]:
    """A profile for each model of each team."""
    names = [f"{team}-{model}" for team in _TEAMS for model in _MODELS]
    return [
        KeptProfile(name, Profile(name, {
            "TORCHINDUCTOR_CACHE_DIR": f"/srv/cache/{name}", "TORCHINDUCTOR_FX_GRAPH_CACHE": "1",
        }))
        for name in sorted(names)
    ]  # fmt: skip


def found() -> list[dict[str, Any]]:
    """What a doctor finds in the caches of everybody."""
    made = []
    for team in _TEAMS:
        for model in _MODELS[:4]:
            for one in sample_doctor.FOUND[2:6]:
                about = one["found"]
                if about["fix"]:
                    place = f"/srv/cache/{team}-{model}"
                    made.append({**one, "found": {**about, "place": place}})
    return [*sample_doctor.FOUND[:2], *made]
