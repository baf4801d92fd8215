# Sourced by `test`: pytest, and once more what failed.
# shellcheck shell=bash
#
#   run_pytest ARGUMENT…   runs pytest; where only a few tests failed, these once more, alone
#   tell_of_pytest         which tests failed and why, which only at first, and how pytest closed
#
# $python is the interpreter, $private a folder for what is noted between the two.

# NAME ARGUMENT…: what it says stays in $private/NAME, what fails in $private/NAME.failed.
pytest_once() {
    local name=$1 color=no
    shift
    [ ! -t 1 ] || color=yes
    "$python" -m pytest -p tests.failures --failures="$private/$name.failed" --color="$color" "$@" \
        2>&1 | tee "$private/$name"
    return "${PIPESTATUS[0]}"
}

run_pytest() {
    local status=0 again=0 names
    pytest_once first "$@" || status=$?
    [ -s "$private/first.failed.alone" ] || return "$status"
    mapfile -t names <"$private/first.failed.alone"
    say "pytest, once more and alone, with what failed"
    pytest_once second -n 0 "${names[@]}" || again=$?
    # Whatever else it ended with says nothing of the tests.
    [ "$again" -le 1 ] || cp "$private/first.failed" "$private/second.failed"
    return "$again"
}

tell_of_pytest() {
    local name why last=first
    local -A failed=()
    if [ -e "$private/second.failed" ]; then
        last=second
        printf 'pytest at first: %s\n' "$(tail -n 1 "$private/first")"
    fi
    if [ -e "$private/$last.failed" ]; then
        while IFS=$'\t' read -r name why; do failed[$name]=1; done <"$private/$last.failed"
        while IFS=$'\t' read -r name why; do
            [ -n "${failed[$name]-}" ] && name="failed: $name" || name="unsteady: passed alone: $name"
            printf '%s\n' "${name:0:200}" "        ${why:0:192}"
        done <"$private/first.failed"
    fi
    tail -n 1 "$private/$last"
}
