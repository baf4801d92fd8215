# Sourced by `run` and `test`: everything between a clone and a working .venv.
# shellcheck shell=bash disable=SC2034
#
#   set_up EXTRA…    makes or refreshes .venv with these extras of pyproject.toml
#
# Afterwards: $python and $torchkeeper are the app's, $torch_python the interpreter with torch.

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv
case $root in
    *[[:space:]]*)
        # PyTorch hands g++ its own path without quotes, so that nothing compiles with a torch
        # below a blank: such a clone has a link to an environment that lies elsewhere.
        linked=$venv
        venv=${XDG_CACHE_HOME:-${HOME:?is not set, and neither is XDG_CACHE_HOME}/.cache}
        venv=$venv/torchkeeper-venv-$(printf '%s' "$root" | cksum | cut -d ' ' -f 1)
        ;;
esac
stamp=$venv/torchkeeper-setup
python=$venv/bin/python
torchkeeper=$venv/bin/torchkeeper

say() { printf '\n== %s\n' "$*"; }

# what went wrong, why, what to do
fail() {
    printf '\nFailed: %s\n   why: %s\n    do: %s\n' "$1" "$2" "$3" >&2
    exit 1
}

on_debian() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

may_install() {
    [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

# The one line a person without the rights can type or pass on.
command_to_type() {
    if command -v sudo >/dev/null; then
        printf "sudo sh -c 'apt-get update && apt-get install -y %s'" "$*"
    else
        printf "su -c 'apt-get update && apt-get install -y %s'" "$*"
    fi
}

install_debian() {
    if ! may_install; then
        printf '\nThese Debian packages are missing, and only root can install them:\n  %s\n' "$*" >&2
        printf 'Type this, then start again:\n\n  %s\n' "$(command_to_type "$@")" >&2
        exit 1
    fi
    say "Installing Debian packages: $*"
    local as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo -n)
    # A fresh or slim machine has no package lists, an old one has stale ones.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null ||
        fail "apt-get update" "see its message above" "check the network and start again"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "$@" </dev/null ||
        fail "apt-get install $*" "see its message above" "$(command_to_type "$@")"
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local name
    for name in "$python" python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null && new_enough "$name"; then
            base_python=$(command -v "$name")
            return 0
        fi
    done
    return 1
}

# Debian packages of what needs.py found missing go into $packages, the rest into $unknown.
find_missing() {
    local package what found
    packages=()
    unknown=()
    found=$("$base_python" "$root/packaging/needs.py" "${torch_python_given:-$base_python}" \
        "${wanted[@]}") ||
        fail "looking for what the system lacks" "see the message above" \
            "run $base_python $root/packaging/needs.py to see it again"
    while IFS=$'\t' read -r package what; do
        case $package in
            '') ;;
            -) unknown+=("$what") ;;
            *) if on_debian; then packages+=("$package"); else unknown+=("$what"); fi ;;
        esac
    done <<<"$found"
}

check_system() {
    if ! find_python; then
        on_debian || fail "finding python3" "Python 3.11 or newer is not on PATH" \
            "install it with your system's package manager and start again"
        # needs.py cannot run either; all that it could ask for, so that one command is enough.
        local all
        all=$(sed -n 's/^    "lib.*": "\(.*\)",$/\1/p' "$root/packaging/needs.py" | sort -u)
        # shellcheck disable=SC2086
        install_debian python3 python3-venv python3-dev g++ fonts-dejavu-core $all \
            ${for_tests:+redis-server openssh-client desktop-file-utils shared-mime-info} \
            ${for_tests:+appstream libglib2.0-bin xdg-utils dbus}
        find_python || fail "finding python3" "this Debian's Python is older than 3.11" \
            "use Debian 12 or newer, or put a newer python3 on PATH"
    fi
    find_missing
    if [ ${#packages[@]} -gt 0 ]; then
        install_debian "${packages[@]}"
        find_missing
        unknown+=("${packages[@]}")
    fi
    if [ ${#unknown[@]} -gt 0 ]; then
        printf '\nNot found, and no Debian package to install for it; going on without:\n' >&2
        printf '  %s\n' "${unknown[@]}" >&2
        return 1
    fi
}

# An interpreter that already has torch, when the user names one.
check_torch_python() {
    torch_python_given=${TORCHKEEPER_TORCH_PYTHON:-}
    [ -n "$torch_python_given" ] || return 0
    local given=$torch_python_given found
    torch_python_given=$(command -v -- "$given") ||
        fail "TORCHKEEPER_TORCH_PYTHON=$given" "there is no such program" \
            "give the full path of a python that has torch, or unset it to install torch here"
    case $torch_python_given in /*) ;; *) torch_python_given=$PWD/$torch_python_given ;; esac
    # Looked up, not imported: an import takes seconds. From /, so that no ./torch folder answers.
    found=$(cd / && "$torch_python_given" -c '
import importlib.metadata as m, importlib.util as u, sys
if sys.version_info < (3, 10): sys.exit("it is Python %d.%d, older than 3.10" % sys.version_info[:2])
if not u.find_spec("torch"): sys.exit("it has no torch")
try: print(m.version("torch"))
except m.PackageNotFoundError: print("of unknown version")
' 2>&1) || fail "TORCHKEEPER_TORCH_PYTHON=$given" "$(printf '%s\n' "$found" | tail -n 1)" \
        "name a python where 'import torch' works, or unset it to install torch here"
    echo "Using torch $found of $torch_python_given"
}

# Changes when .venv must be made or filled anew: it is bound to its place, its Python and the pins.
fingerprint() {
    {
        cat "$root/pyproject.toml" "$root/packaging/"{setup.sh,needs.py,constraints.txt}
        cat "$root/app/torchkeeper/artifacts/version.py"
        "$python" -VV
        printf '%s\n' "$root"
    } | cksum
}

stamped() { [ -f "$stamp" ] && grep -qxF -- "$1" "$stamp"; }

# A folder and the command that fills it: how much is there is said every few seconds.
filling() {
    local folder=$1 begun=$SECONDS teller status=0
    shift
    while sleep 5 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
        printf '\r   %s s, %s in %s\n' $((SECONDS - begun)) \
            "$(du -sh -- "$folder" 2>/dev/null | cut -f 1)" "$folder"
    done >&2 &
    teller=$!
    "$@" || status=$?
    kill "$teller" 2>/dev/null || true
    wait "$teller" 2>/dev/null || true
    return "$status"
}

pip_install() {
    filling "$venv" "$python" -m pip --disable-pip-version-check install --no-input "$@" </dev/null ||
        fail "pip install $*" "see pip's message above" \
            "check the network, the disk space and pip's own settings, then start again"
}

install_app() {
    local extras=$1 line tools
    say "Installing torchkeeper into $venv, extras: ${extras:-none}"
    case $extras in *warm*) echo "torch is a large download; the first time takes minutes" ;; esac
    # The build tools go into .venv, so that nothing is built with the network later: not the
    # editable install, not the wheel of tests/test_wheel.py.
    tools=$("$python" -c '
import sys, tomllib
print("\n".join(tomllib.load(open(sys.argv[1], "rb"))["build-system"]["requires"]))
' "$root/pyproject.toml")
    local requirements=()
    while read -r line; do requirements+=("$line"); done <<<"$tools"
    pip_install -c "$root/packaging/constraints.txt" "${requirements[@]}"
    pip_install -c "$root/packaging/constraints.txt" --no-build-isolation -e "$root${extras:+[$extras]}"
}

set_up() {
    local extra extras base system for_tests= missing=
    check_torch_python
    local wanted=()
    for extra in "$@"; do
        # Who brings a torch gets none from us.
        if [ "$extra" != warm ] || [ -z "$torch_python_given" ]; then wanted+=("$extra"); fi
        [ "$extra" != test ] || for_tests=yes
    done
    system="system ${torch_python_given:-own}${for_tests:+ and tests}"

    # One set-up at a time; the second finds the work done. Held on a folder, so nothing is left.
    exec 9<"$root/packaging"
    if command -v flock >/dev/null && ! flock -n 9; then
        echo "Waiting for another set-up of this clone to end"
        flock 9
    fi

    if [ -n "${linked-}" ] && [ "$(readlink -- "$linked")" != "$venv" ]; then
        rm -rf -- "$linked"
        ln -s -- "$venv" "$linked"
    fi
    # Without pip: its Python was upgraded or removed, or making it was interrupted.
    if [ -e "$venv" ] && ! { new_enough "$python" && "$python" -c 'import pip' 2>/dev/null; }; then
        echo "$venv does not work any more; it is made anew"
        rm -rf -- "$venv"
    fi
    base=
    if [ -e "$venv" ]; then base="base $(fingerprint)"; fi
    if [ -z "$base" ] || ! stamped "$base" || ! stamped "$system"; then
        check_system || missing=yes
    fi
    if [ -z "$base" ]; then
        say "Making $venv with $base_python"
        "$base_python" -m venv "$venv" ||
            fail "making $venv" "see the message above" \
                "see that this python3 has its venv module and the disk has space, start again"
        base="base $(fingerprint)"
    fi
    if ! stamped "$base"; then echo "$base" >"$stamp"; fi
    extras=$(IFS=,; echo "${wanted[*]-}")
    for extra in app "${wanted[@]}"; do
        if ! stamped "extra $extra"; then
            install_app "$extras"
            printf 'extra %s\n' app "${wanted[@]}" >>"$stamp"
            break
        fi
    done
    if [ -z "$missing" ] && ! stamped "$system"; then
        echo "$system" >>"$stamp"
    fi
    # As pip does for what it installs: the window starts faster. Where it may not, it may not.
    "$python" -m compileall -q "$root/app" >/dev/null 2>&1 || true
    exec 9<&-
    torch_python=${torch_python_given:-$python}
}

# Qt and Python both mean UTF-8; a bare container or a cron job says nothing, or "C".
case $(locale charmap 2>/dev/null) in
    UTF-8) ;;
    *) export LC_ALL=C.UTF-8 ;;
esac
