"""What is read from files that set variables: what it means to who runs them; nothing is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from torchkeeper.client.profiles import formats, taking
from torchkeeper.client.words.problems import UserError

FX, TAG = "TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCH_COMPILE_CACHE_KEY_TAG"
FOLDER, URL = "TORCHINDUCTOR_CACHE_DIR", "TORCHINDUCTOR_REDIS_URL"
HOST = "TORCHINDUCTOR_REDIS_HOST"


def values(text: str, format: str | None, **more: str) -> dict[str, str]:
    return formats.read(text, format, "x", **more).profile.values


def refusal(text: str, format: str, **more: str) -> UserError:
    with pytest.raises(UserError) as caught:
        formats.read(text, format, "x", **more)
    return caught.value


def left(text: str, format: str, name: str) -> str:
    """Why a setting is not taken."""
    read = formats.read(text, format, "x")
    assert name not in read.profile.values
    return dict(read.left).get(name, "")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"export {FX}=1 {TAG}='a b'\n", {FX: "1", TAG: "a b"}),
        (f"{FX}=0; export {FX}", {FX: "0"}),
        (f"export {FX}=1\nunset {FX} {TAG}\nexport {TAG}=b # why\n", {TAG: "b"}),
        (f"env -u {TAG} {FX}=1 python train.py --x={TAG}=2", {FX: "1"}),
        (f"cd /srv && {FX}=0 {TAG}=v2 exec python serve.py 2>&1 | tee log &", {FX: "0", TAG: "v2"}),
        (f"declare -x {TAG}=\"a'\\$\\\\b\"'c'\\ d", {TAG: "a'$\\bc d"}),
        (f"export {TAG}=a\\\nb\r\nexport {FX}=1\r\n", {TAG: "ab", FX: "1"}),
        (
            f"cat > x <<'EOF'\nexport {FX}=1\nEOF\ncat <<-E >&2\n\t{TAG}=1\n\tE\nexport {TAG}=2",
            {TAG: "2"},
        ),
        (f'if [ -n "$X" ]; then echo {FX}=1; fi\nexport OTHER=$(id) {TAG}=x', {TAG: "x"}),
        (f"export {TAG}='two\nlines'", {TAG: "two\nlines"}),
        (f"set -eu -o pipefail\nnohup env {TAG}= python x", {TAG: ""}),
        (f"export {TAG}=a$ {FX}=1#2", {TAG: "a$", FX: "1#2"}),
        (f"export {TAG}\n{TAG}=a; {FX}=1", {TAG: "a"}),
        (f"set -ae\n{TAG}=a\nset +o allexport\n{FX}=1", {TAG: "a"}),
        (f"declare {TAG}=a; declare -gx {FX}=1", {FX: "1"}),
        (f"export {TAG}=a\nexit 0\nexport {TAG}=b", {TAG: "a"}),
        (f"export {TAG}=a\nf() {{ return 1; }}\nx || exit 1\nexport {FX}=1", {TAG: "a", FX: "1"}),
        (f"{TAG}=a exec python x\nexport {TAG}=b", {TAG: "a"}),
        (f"export {TAG}=a\n: ${{{TAG}:=b}} ${{{FX}:=1}}", {TAG: "a"}),
        (f"export {FX}=1 {FOLDER}=$HOME/cache", {FX: "1"}),
        (f'x="$(cat <<EOF\nit\'s\nEOF\n)"\nexport {FX}=1', {FX: "1"}),
        (f"y=$(cat <<-'E' | tr a b\n )\n\tE\n)\nexport {FX}=1", {FX: "1"}),
        (f": $((1<<x)) $(cat <<E) $(cat <<<E\n)\nexport {FX}=1", {FX: "1"}),
    ],
)
def test_scripts(script: str, expected: dict[str, str]) -> None:
    assert values(script, "sh") == expected


@pytest.mark.parametrize(
    ("script", "line", "why"),
    [
        (f"\nexport {FX}=$(touch ran)", 2, "what a command prints, $(…)"),
        (f"export {FX}=`touch ran`", 1, "what a command prints, `…`"),
        (f'export {TAG}="$HOME/x"', 1, "another variable, $HOME"),
        (f"export {TAG}=${{X:-$(touch ran)}}", 1, "another variable, ${X…}"),
        (f"export {TAG}=~/x", 1, "your home folder"),
        (f"export {TAG}=$'a'", 1, "escapes"),
        (f"export {TAG}+=x", 1, "what it had before"),
        (f"export {TAG}=(a b)", 1, "a list"),
        (f"if true\nthen\n  export {FX}=1\nfi", 3, "a condition"),
        (f"[ -f x ] && export {FX}=1", 1, "a condition"),
        (f"false || unset {FX}", 1, "a condition"),
        (f"for x in 1 2; do export {FX}=1; done", 1, "a loop"),
        (f"case $1 in\n a|b) export {FX}=1 ;;\nesac", 2, "a condition"),
        (f"setup() {{\n export {FX}=1\n}}", 2, "a call of the function"),
        (f"( export {FX}=1 )", 1, "a group of commands"),
        (f"echo | export {FX}=1", 1, "a pipe"),
        (f"export {FX}=1 &", 1, "another process"),
        (f": ${{{FX}:=1}}\nexport {FX}", 1, "it is a default"),
        (f'export {FX}=1\nx=1 y "${{{FX}=2}}" ${{{TAG}=b}}; export {TAG}', 2, "it is a default"),
        (f"export {FX}=1\nprintf -v {FX} %s 0", 2, "printf sets it"),
        (f"export {FX}=1\nread -r {FX} < x", 2, "read sets it"),
        (f"{FX}=1\npython x.py", 1, "it is not exported"),
        (f"{FX}=1 :", 1, "it is not exported"),
        (f"export {FX}", 1, "only its name"),
    ],
)
def test_what_a_script_does_not_say_is_left_and_not_found_out(
    script: str, line: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = left(script, "sh", FX if FX in script and f"{TAG}=b" not in script else TAG)
    assert said.endswith(f" (line {line})")
    assert why in said
    assert not list(tmp_path.iterdir())


def test_scripts_that_cannot_be_understood() -> None:
    for script, line, why in (
        (f"x=1\nexport {FX}='", 2, "A quote is not closed"),
        (f"export {FX}=1\n(", 2, "is missing at the end"),
    ):
        error = refusal(script, "sh")
        assert error.params["line"] == line
        assert why in str(error.params["why"])


def test_what_a_script_sources_is_named() -> None:
    read = formats.read(f". ./more.sh\nexport {FX}=1\nexport PATH=/x", "sh", "x")
    assert read.profile.values == {FX: "1"}
    assert dict(read.left) == {
        "line 1: . ./more.sh": "what that sets is not looked at",
        "PATH": "it is no setting of the caches",
    }


PIECES = ["a", "b", "'a b'", '"a b"', "\\", "#", ";", "{", "}", ":", "=", "\n", "\\\n", "é", "%",
          "''", '"\\$x"', "x\\\\", "$", "*", "'", '"', "!", "[", "?"]  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from(["export {}={}", "{}={}", "# {}={}", "unset {}; : {}",
                             "cat <<E\n{}={}\nE", "{0}={1}; export {0}", "set -a\n{}={}",
                             ": ${{{}:={}}}", "export {0}; : ${{{0}={1}}}", "{}={}; return",
                             "printf -v {} {}", "export {0}\n{0}={1} :",
                             "set +a; {}={} || exit"]),
            st.sampled_from([FX, TAG]),
            st.lists(st.sampled_from(PIECES), max_size=5).map("".join),
        ),
        min_size=1, max_size=3,
    )
)  # fmt: skip
def test_what_is_read_of_a_script_is_what_the_shells_make_of_it(
    lines: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    script = "\n".join(form.format(name, text) for form, name, text in lines)
    try:
        read = formats.read(script, "sh", "x")
    except UserError:
        return
    folder = tmp_path_factory.getbasetemp()
    (folder / "script").write_text(script)
    for shell in ("dash", "bash"):
        done = subprocess.run(
            [shell, "-c", ". ./script >/dev/null; exec env -0"],
            env={"PATH": os.environ["PATH"]}, cwd=folder, capture_output=True, check=False,
        )  # fmt: skip
        assume(not done.stderr)  # a command that is not there, a variable that cannot be set
        pairs = (one.partition(b"=") for one in done.stdout.split(b"\0"))
        env = {name.decode(): value.decode() for name, _, value in pairs}
        known = {FX, TAG} - {name for name, why in read.left if "not exported" not in why}
        assert {name: env[name] for name in known if name in env} == read.profile.values, script


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{FX}=1\nexport {TAG} = v 2 # why\n\n# {URL}=x", {FX: "1", TAG: "v 2"}),
        (f"{TAG}='a # \\'b\\\\'  # c\n{FX}=\"0\"\r\n", {TAG: "a # 'b\\", FX: "0"}),
        (f'{TAG}="a\\tb\\"\\$c"', {TAG: 'a\tb"$c'}),
        (f"{TAG}=a#b", {TAG: "a#b"}),
        (f"{TAG}=\n{FX}=$ 1", {TAG: "", FX: "$ 1"}),
        (f"{TAG}='two\nlines'\n{FX}=1", {TAG: "two\nlines", FX: "1"}),
        (f"{FX}\n{TAG}=1", {TAG: "1"}),
    ],
)
def test_env_files(text: str, expected: dict[str, str]) -> None:
    assert values(text, "env") == expected


def test_env_files_that_do_not_say_it() -> None:
    assert "a $, which some programs read as a variable" in left(f"{TAG}=$HOME/x", "env", TAG)
    assert left(f'{FX}=1\n{TAG}="a${{X}}"', "env", TAG) == (
        "it is made of another variable, ${X…} (line 2)"
    )
    for text, why in (
        (f"{TAG}='a", "A quote is not closed"),
        (f"{TAG}='a'b", "something follows it"),
        ("what is this", "It sets no variable"),
    ):
        assert why in str(refusal(text, "env").params["why"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"FROM x\nENV {FX}=1 {TAG}='a b'\nenv {URL} redis://h  /0 \n",
         {FX: "1", TAG: "a b", URL: "redis://h  /0"}),
        (f"# escape=`\nFROM x\nENV {TAG}=a`\nb {FX}=1\n", {TAG: "ab", FX: "1"}),
        (f"FROM x AS base\nENV R=/r {FX}=0\nFROM y\nENV {FX}=1\nFROM base\n"
         f"ENV {FOLDER}=$R/c {TAG}=${{R}}", {FX: "0", FOLDER: "/r/c", TAG: "/r"}),
        (f"FROM x\nENV {TAG}=a \\\n# a comment\n\n  {FX}=1 #=2\n",
         {TAG: "a", FX: "1"}),
        (f"FROM x\nRUN <<EOF cat > y\nENV {FX}=1\nEOF\nRUN echo ENV {FX}=1\nENV {TAG}=1",
         {TAG: "1"}),
        (f"FROM x\nENV A=1\nENV A=2 {TAG}=$A", {TAG: "1"}),
        (f'ENV {TAG}="\\$a\\\\\\"b\\c"', {TAG: '$a\\"b\\c'}),
    ],
)  # fmt: skip
def test_dockerfiles(text: str, expected: dict[str, str]) -> None:
    """Each but the one with RUN was built by buildah 1.28, with the same result."""
    assert values(text, "dockerfile") == expected


def test_a_stage_is_chosen() -> None:
    text = f"FROM x AS one\nENV {FX}=0\nFROM y AS two\nENV {FX}=1"
    assert [values(text, "dockerfile", stage=one) for one in ("one", "ONE", "0", "two")] == [
        {FX: "0"}, {FX: "0"}, {FX: "0"}, {FX: "1"},
    ]  # fmt: skip
    error = refusal(text, "dockerfile", stage="three")
    assert error.why == "The file has 2 of them: one, two."
    told = left(f"FROM x\nENV {TAG}=a\nARG V=1\nENV {FX}=$V", "dockerfile", FX)
    assert told == "it is made of another variable, ${V}, which no ENV of the stage tells (line 4)"
    assert "A quote" in str(refusal(f"ENV {FX}='1", "dockerfile").params["why"])


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (f"export {URL}=redis://:pa$hunter2@h:1/0", "sh"),
        (f'export {URL}="redis://:pa${{word:-hunter2}}@h:1/0"', "sh"),
        (f'eval "export {URL}=redis://:hunter2@h"', "sh"),
        (f"{URL}=redis://:pa$hunter2@h:1/0", "env"),
        (f'{URL}="redis://:pa${{word:-hunter2}}@h:1/0"', "env"),
        (f"ENV {URL}=redis://:pa$hunter2@h:1/0", "dockerfile"),
        (f"ENV {URL} redis://:pa${{word:-hunter2}}@h:1/0", "dockerfile"),
        (f'{URL}: "redis://:pa$(hunter2)@h:1/0"\n{FX}: "1"', "kubernetes"),
        (f'env:\n- name: {URL}\n  value: "redis://:pa$(hunter2)@h:1/0"', "kubernetes"),
        (f"env:\n- name: {URL}\n  value: *hunter2", "kubernetes"),
        (f"{HOST}=me:$hunter2@h", "env"),
    ],
)
def test_no_part_of_a_password_is_quoted(text: str, format: str) -> None:
    """It is said how a dollar is written that is a part of it."""
    try:
        read = formats.read(text, format, "x")
    except UserError as error:
        told = f"{error} {error.params}"
        assert "hunter2" not in told
        assert "single quotes" in told or "YAML" in told
    else:
        assert "hunter2" not in str(read.left)
        assert read.profile.values.get(URL) in (None, "redis://:pa$(hunter2)@h:1/0")
        assert read.left or URL in read.profile.values


POD = f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: shared
data:
  {TAG}: "from a map"
  notes.txt: hello
---
apiVersion: batch/v1
kind: CronJob
spec:
  jobTemplate:
    spec:
      template:
        spec:
          initContainers:
          - name: prepare
            env:
            - name: {FX}
              value: "0"
          containers:
          - name: serve
            envFrom:
            - configMapRef:
                name: shared
            - configMapRef:
                name: elsewhere
            env:
            - name: {FX}
              value: "1"
            - name: HOME
              value: /root
            - name: {URL}
              valueFrom:
                secretKeyRef:
                  name: redis
                  key: url
            - name: {FOLDER}
              value: "$$(x) $(HOME)/cache"
            - name: OMP_NUM_THREADS
              value: 4
"""


def test_manifests() -> None:
    read = formats.read(POD, None, "x")
    assert read.profile.values == {FX: "1", TAG: "from a map"}
    left = {name: why.partition(" (line")[0] for name, why in read.left}
    assert left == {
        URL: "its value comes from a Secret",
        FOLDER: "it is made of another variable, $(HOME)",
        "OMP_NUM_THREADS": "Kubernetes takes nothing but a text in quotes there",
        "HOME": "it is no setting of the caches",
        "envFrom: elsewhere": "what is in that ConfigMap is not in the file",
    }
    assert values(POD, None, container="prepare") == {FX: "0"}
    assert refusal(POD, "kubernetes", container="x").why == "There are: shared, prepare, serve."


@pytest.mark.parametrize(
    "text",
    [
        f"- name: {FX}\n  value: '1'\n",
        f"env:\n- name: {FX}\n  value: '1'\n",
        f"env: {{{FX}: '1'}}",
        f"{FX}: '1'",
        f"data: {{{FX}: '1'}}",
        f"kind: ConfigMap\ndata: {{{FX}: '1'}}",
        f"kind: List\nitems:\n- kind: Pod\n  spec:\n    containers:\n    - env:\n"
        f"      - {{name: {FX}, value: '1'}}",
        f"base: &base\n  env: [{{name: {FX}, value: '1'}}]\ncontainers:\n- <<: *base\n  name: a",
        f'[{{"name": "{FX}", "value": "1"}}]',
    ],
)
def test_parts_of_manifests(text: str) -> None:
    assert values(text, None) == {FX: "1"}


def test_several_containers_are_named() -> None:
    text = (
        "kind: Deployment\nspec:\n template:\n  spec:\n   containers:\n   - name: a\n     env:\n"
        f"     - name: {FX}\n       value: '1'\n   - name: b\n"
        f"     env: [{{name: {TAG}, value: b}}]\n   - name: c\n"
    )
    error = refusal(text, "kubernetes")
    assert (error.code, error.why) == ("profile-container-which", "They are: a, b, c.")
    assert values(text, "kubernetes", container="a") == {FX: "1"}
    assert values(text, "kubernetes", container="c") == {}
    # A sidecar without settings is not asked about.
    assert values(text.replace(TAG, "PORT"), "kubernetes") == {FX: "1"}


def test_what_a_config_map_of_the_file_has_is_the_containers() -> None:
    text = (
        f"kind: ConfigMap\nmetadata: {{name: cm}}\ndata: {{{FX}: '1', key: b}}\n---\n"
        "kind: Deployment\nspec: {template: {spec: {containers: [{name: serve, "
        f"env: [{{name: {TAG}, valueFrom: {{configMapKeyRef: {{name: cm, key: key}}}}}}], "
        "envFrom: [{configMapRef: {name: cm}}, {secretRef: {name: s}}]}]}}}\n"
    )
    for container in (None, "serve"):
        read = formats.read(text, "kubernetes", "x", container=container)
        assert read.profile.values == {FX: "1", TAG: "b"}
        assert dict(read.left)["envFrom: s"] == "Secrets are not read"


def test_secrets_are_not_read() -> None:
    text = f"kind: Secret\nmetadata: {{name: s}}\nstringData: {{{URL}: 'redis://:hunter2@h'}}"
    assert refusal(text, "kubernetes").code == "profile-secrets-only"


@sampled(
    ("text", "why"),
    [
        ("a: [", "It is no YAML"),
        ("[" * 5000, "nested too deep"),
        ("&a [*a]\n", ""),
        ("\n".join(f"a{n}: &a{n} {{<<: [{f'*a{n - 1}, ' * 8}]}}" if n else "a0: &a0 {b: c}"
                   for n in range(40)), ""),
        ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 25)),
         ""),
        ("a: &a {" + ", ".join(f"k{n}: 1" for n in range(3000)) + "}\n"
         + "b:\n" + "- {<<: [*a, *a, *a, *a, *a, *a, *a, *a]}\n" * 900, "Its aliases expand"),
        ("---\na: 1\n" * 2000, "more than 1,000 documents"),
        ("kind: Pod", ""),
        ("!!python/object/apply:os.system ['touch ran']", ""),
    ],
    most=3,
)  # fmt: skip
def test_manifests_of_an_enemy(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = refusal(text, "kubernetes")
    assert why in str(error.params.get("why", ""))
    assert why or error.code == "profile-nothing-there"
    assert not list(tmp_path.iterdir())


def test_formats_are_guessed() -> None:
    assert taking.guess("", "deploy/Dockerfile.gpu") == "dockerfile"
    assert taking.guess("", "serve.Dockerfile") == "dockerfile"
    assert taking.guess("", "/x/.env.local") == "env"
    assert taking.guess("", "a.yml") == "kubernetes"
    assert taking.guess("", "p.toml") == "toml"
    assert taking.guess(f"# x\n[settings]\n{FX} = '1'") == "toml"
    assert taking.guess(f"#!/bin/sh\n{FX}=1") == "sh"
    assert taking.guess(f"{FX}=1 python x") == "sh"
    assert taking.guess(f"{FX}=1\n{TAG}='a b' # c") == "env"
    assert taking.guess(f"# syntax=x\n\nARG X\nFROM y\nENV {FX}=1") == "dockerfile"


def test_files_that_are_not_read(tmp_path: Path) -> None:
    large, binary = tmp_path / "large.env", tmp_path / "binary.env"
    large.write_bytes(b"A=1\n" * (taking.MOST_BYTES // 4 + 1))
    binary.write_bytes(b"A=1\nB=\xff\n")
    os.mkfifo(tmp_path / "pipe")
    for path, why in ((large, "It is too large"), (binary, "Line 2 is not UTF-8"),
                      (tmp_path / "pipe", "It is a pipe, which may never "
                       "end; - reads one from standard input"),
                      (tmp_path / "none", "No such file or directory")):  # fmt: skip
        with pytest.raises(UserError) as caught:
            taking.text_in(str(path))
        assert caught.value.params["why"] == why


def test_a_pipe_of_a_shell_is_read_no_further_than_a_file() -> None:
    for command in (["echo", f"{FX}=1"], ["cat", "/dev/zero"]):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout
            path = f"/dev/fd/{child.stdout.fileno()}"
            if command[0] == "echo":
                assert taking.text_in(path) == f"{FX}=1\n"
            else:
                with pytest.raises(UserError) as caught:
                    taking.text_in(path)
                assert caught.value.params["why"] == "It is too large"
        assert taking.stem(path) == "stdin"


@pytest.mark.parametrize(
    ("text", "format", "why"),
    [
        ('"$(' * 5000, "sh", "nested too deep"),
        ("< " * 50_000, "sh", ""),
        ("if " * 50_000, "sh", "“fi” is missing at the end"),
        ("a\n" * 50_000, "sh", ""),
        ("A=1\n" * 50_000, "env", ""),
        (
            "".join(f"FROM a{n} AS a{n + 1}\nENV X{n}=1\n" for n in range(8000)),
            "dockerfile",
            "more than 1,000 stages",
        ),
        (
            f"ENV {TAG}=x\n" + f"ENV {TAG}=${TAG}${TAG}\n" * 60,
            "dockerfile",
            "",
        ),
    ],
)
def test_texts_of_an_enemy_take_no_time_and_no_room(text: str, format: str, why: str) -> None:
    try:
        assert formats.read(text, format, "x").profile.values == {}
    except UserError as error:
        assert why
        assert why in str(error.params["why"])
    else:
        assert not why


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (f"export {URL}=redis://:${{PW:-hunter2}}hunter2@h", "sh"),
        (f"{URL}=redis://:$PWhunter2@h", "env"),
        (f'{URL}="redis://:${{PW:-hunter2}}@h"', "env"),
        (f"ENV {URL}=redis://:${{PW:-hunter2}}hunter2@h", "dockerfile"),
        (f"env: [{{name: {URL}, value: 'redis://:$(PW)hunter2@h'}}]", "kubernetes"),
    ],
)
def test_no_part_of_a_password_is_told(text: str, format: str) -> None:
    try:
        said = str(formats.read(text, format, "x").left)
    except UserError as error:
        said = f"{error} {error.params}"
    assert URL in said
    assert "hunter2" not in said
