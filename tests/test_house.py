"""The house: imports point down only, the travelling part needs nothing, problems have words."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import torchkeeper
from tests.client.test_tongue import texts_of
from tests.figures import MOST, circles, figures, imports
from tests.gui.doors import past_the_door
from torchkeeper.client.engines.travel import PACKAGES
from torchkeeper.client.words import doctorwords
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.findingwords import WORDS

APP = Path(torchkeeper.__file__).parent
#: From the ground up; a package may import itself and what stands before it.
FLOORS = [
    "resources",
    "artifacts",
    "stores",
    "settings",
    "verdict",
    "warm",
    "doctor",
    "engine",
    "client",
    "placing",
    "fleet",
    "api",
    "cli",
    "gui",
]
#: The same within gui: modules and packages, of which the longest name counts.
GUI_FLOORS = {
    "widgets": "widgets theme idle taborder pages.glossary",
    "models": """background desktop jobs matrix.cells matrix.variants pages.profiles.drafts
        pages.profiles.words pages.recipes.known places.model sidebar.standing
        verdicts.environments verdicts.asking verdicts.verifications""",
    "parts": """actions chrome context inspector matrix pages places sidebar table treemap
        verdicts""",
    "dialogs and pages": """dialogs activity pages.comparing pages.doctor pages.fleet
        pages.overview pages.profiles pages.recipes pages.runs""",
    "flows": """closing desktop.dragging desktop.dropping flows jobs.following
        jobs.results pages.comparing.flow pages.fleet.flow pages.guide pages.guidebar
        pages.making places.servers remedies sidebar.deferred sidebar.taking verdicts.controller""",
    "window": """app desktop.door inspector.inspecting navigator pages.help shell
        shots start window""",
}
LATE = {"torch", "triton", "redis", "hiredis", "hyperscan", "filelock"}
#: What a floor above may not be used by, although it stands before it.
NEVER = {"gui": {"cli", "api"}, "cli": {"api"}, "warm": {"resources"}}


def imported(tree: ast.Module, whole: bool) -> set[str]:
    """The modules a module imports; at its top level only, unless ``whole``."""
    names: set[str] = set()
    nodes = ast.walk(tree) if whole else iter(tree.body)
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they lead"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


class Module(NamedTuple):
    """What its syntax tree says, which is forgotten: each collection of garbage of this process
    would go through the trees of the whole app.

    whole, top: what it imports, and at its top level. problems, findings: the codes that it raises.
    """

    whole: set[str]
    top: set[str]
    problems: set[str]
    findings: set[str]


def modules() -> list[tuple[str, Path]]:
    return [(path.relative_to(APP).parts[0], path) for path in sorted(APP.rglob("*.py"))]


@functools.cache
def read(path: Path) -> Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    problems, findings = _codes(tree)
    return Module(imported(tree, whole=True), imported(tree, whole=False), problems, findings)


def _codes(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The first argument of every Problem(...) and every problem code in facts; and of every
    Finding(...).
    """
    problems, findings = set[str](), set[str]()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            if node.func.id in ("Problem", "fail"):
                problems.add(str(node.args[0].value))
            if node.func.id == "Finding":
                findings.add(str(node.args[0].value))
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "problem":
                    problems |= {
                        n.value for n in ast.walk(value)
                        if isinstance(n, ast.Constant) and isinstance(n.value, str)
                    }  # fmt: skip
    return problems, findings


@pytest.mark.parametrize("package", FLOORS)
def test_imports_point_down(package: str) -> None:
    allowed = set(FLOORS[: FLOORS.index(package) + 1]) - NEVER.get(package, set())
    for _, path in [one for one in modules() if one[0] == package]:
        _hold_to(package, path, allowed)


def _hold_to(package: str, path: Path, allowed: set[str]) -> None:
    for name in read(path).whole:
        parts = name.split(".")
        if parts[0] == "torchkeeper" and len(parts) > 1 and parts[1] in FLOORS:
            # The command line starts the window, late; it is the one way up.
            if package == "cli" and parts[1] == "gui" and path.name == "main.py":
                continue
            assert parts[1] in allowed, f"{path.name} imports {name}"
        if parts[0] == "PySide6":
            assert package == "gui", f"{path.name} imports {name}"
    for name in read(path).top:
        assert name.split(".")[0] not in LATE or package not in PACKAGES, f"{path.name}: {name}"


def gui_imports() -> dict[str, set[str]]:
    """What each module of gui imports of the others, at its top or late, for types or not."""
    gui = "torchkeeper.gui."
    return {
        name.removeprefix(gui): {one.removeprefix(gui) for one in named if one.startswith(gui)}
        for name, named in imports().items()
        if name.startswith(gui)
    }


def test_imports_in_gui_point_down_and_never_around() -> None:
    floors = {name: floor for floor, names in enumerate(GUI_FLOORS.values())
              for name in names.split()}  # fmt: skip

    def floor_of(module: str) -> int:
        above = [module, *(module[: dot.start()] for dot in re.finditer(r"\.", module))]
        return floors[max(floors.keys() & set(above), key=len)]

    graph = gui_imports()
    assert len(graph) > 150
    up = [(name, one) for name, named in graph.items() for one in named
          if floor_of(one) > floor_of(name)]  # fmt: skip
    assert up == []
    assert list(circles(graph)) == []


def test_the_travelling_part_needs_only_the_standard_library() -> None:
    """Every module of it is imported where nothing else can be."""
    names = [
        "torchkeeper." + ".".join(path.relative_to(APP).with_suffix("").parts)
        for package in PACKAGES
        for path in sorted((APP / package).rglob("*.py"))
        # It is a script: what it compiles with is its subject.
        if path.name not in ("__init__.py", "builtin.py")
    ]
    assert len(names) > 20
    script = f"""if True:
        import importlib, sys
        for banned in {(*LATE, "PySide6", "platformdirs")!r}:
            sys.modules[banned] = None
        sys.path.insert(0, {str(APP.parent)!r})
        for name in {names!r}:
            importlib.import_module(name)
        outside = [n for n in sys.modules if n.partition(".")[0] not in sys.stdlib_module_names
                   and not n.startswith("torchkeeper") and sys.modules[n] and n != "__main__"]
        assert not outside, outside
    """
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_travelling_part_is_python_3_10() -> None:
    for package, path in modules():
        if package in PACKAGES or path.parent == APP:
            ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))


READERS = ("inert.py", "plain.py")


def test_only_the_readers_of_pickles_use_pickle() -> None:
    for _, path in modules():
        names = {name.split(".")[0] for name in read(path).whole}
        used = names & {"pickle", "marshal", "shelve", "dill", "_pickle", "imp"}
        # The engine that travels is written as compiled code; nobody reads any.
        writes = path.match("engines/travel.py") and "marshal.load" not in path.read_text("utf-8")
        assert used <= ({"marshal"} if writes else set()) or path.name in READERS, path


def test_every_problem_has_words_and_no_words_are_idle() -> None:
    travelling = [path for package, path in modules() if package in PACKAGES]
    codes = set().union(*(read(path).problems for path in travelling))
    assert len(codes) > 40
    assert codes - set(CATALOGUE) == set()
    sources = "".join(path.read_text(encoding="utf-8") for _, path in modules())
    quoted = Counter(re.findall(r'(?<=")[^"\n]+(?=")', sources))
    idle = {code for code in CATALOGUE if quoted[code] < 2}
    assert idle == set()


def test_every_finding_has_words_and_no_words_are_idle() -> None:
    travelling = [path for package, path in modules() if package in PACKAGES]
    codes = set().union(*(read(path).findings for path in travelling))
    assert codes == set(WORDS)


def test_no_finding_is_said_in_two_ways() -> None:
    source = (APP / "client/words/findingwords.py").read_text(encoding="utf-8")
    named = {
        key.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    }
    assert len(named) > 40
    assert named & set(doctorwords.WORDS) == set()


def made_findings() -> Iterator[tuple[str, ast.Call]]:
    """Each Finding(...) of the travelling part, with its code."""
    for package, path in modules():
        if package not in PACKAGES:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Finding"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                yield str(node.args[0].value), node


def test_a_finding_has_the_figures_that_its_words_name() -> None:
    looked_at = 0
    for code, call in made_findings():
        told = [keyword.value for keyword in call.keywords if keyword.arg == "params"]
        told += call.args[4:5]
        if told and not isinstance(told[0], ast.Dict):
            continue  # put together elsewhere
        keys = told[0].keys if told and isinstance(told[0], ast.Dict) else []
        if any(not isinstance(key, ast.Constant) for key in keys):
            continue
        there = {str(key.value) for key in keys if isinstance(key, ast.Constant)} | {
            "place",
            "quoted",
        }
        words = "".join(texts_of(WORDS[code])).replace("{{", "").replace("}}", "")
        assert set(re.findall(r"\{(\w+)\}", words)) <= there, code
        looked_at += 1
    assert looked_at > 20


@pytest.mark.slow
def test_nothing_takes_a_strangers_text_for_html() -> None:
    gui = APP / "gui"
    found = [past for path in sorted(gui.rglob("*.py"))
             for past in past_the_door(path, path.relative_to(gui).as_posix())]  # fmt: skip
    assert found == [], "what a cache says goes through gui/widgets/plain.py"


@pytest.mark.parametrize(
    "line",
    [
        "w.setToolTip(name)",
        "w.setToolTip(f'{name}')",
        "w.setToolTip(self.tr('{} is gone').format(name))",
        "item.setToolTip(0, item.text(0))",
        "w.setToolTip(tip(name) if name else name)",
        "w.setWhatsThis('<b>' + name)",
        "tabs.setTabToolTip(1, name)",
        "QToolTip.showText(at, name, w)",
        "QWhatsThis.showText(at, name, w)",
        "box.setItemData(3, name, Qt.ItemDataRole.ToolTipRole)",
        "item.setData(0, Qt.ItemDataRole.WhatsThisRole, name)",
        "def data(r):\n  if r == Qt.ItemDataRole.ToolTipRole:\n    return name",
        "def data(r):\n  if r in (Qt.ItemDataRole.ToolTipRole, 3):\n    return x.what or name",
        "made = QLabel(name)",
        "class Mine(QLabel): pass",
        "QtWidgets.QMessageBox.warning(w, 'no', name)",
        "view.setHtml(name)",
        "cursor.insertHtml(name)",
        "label.setTextFormat(Qt.TextFormat.AutoText)",
        "import html",
        "from html import escape",
    ],
)
def test_what_takes_html_is_found(line: str, tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(line, encoding="utf-8")
    assert len(past_the_door(path, "one.py")) == 1


def test_no_figure_of_the_house_grows() -> None:
    found = figures()
    assert {name: found[name] for name, most in MOST.items() if found[name] > most} == {}
