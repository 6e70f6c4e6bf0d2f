# shellcheck shell=bash
# What every set-up script here needs. It is sourced, never run.
#
# Sourcing it moves the script's standard output away: the one line a caller
# reads is written by `answer`, and whatever else any program prints becomes
# progress on standard error.
#
# Exit codes, so that a test can tell "unavailable" from "broken":
#   3  a tool this needs is missing on this machine
#   4  a download failed: no network, no usable mirror, or no key for it
#   5  what is on offer is not the version asked for
#   1  it was installed and does not work

exec 3>&1 1>&2

setup_name=$(basename "$0")

# Messages of the tools we parse must not be translated.
export LC_ALL=C

say() {
    printf '%s: %s\n' "$setup_name" "$*" >&2
}

die() {
    local code=$1
    shift
    say "$*"
    exit "$code"
}

answer() {
    printf '%s\n' "$1" >&3
}

need() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 ||
            die 3 "this needs the program '$tool', which is not on this machine."
    done
}

# A HOME that is not set is an ordinary thing in a service or a container.
[ -n "${FILLRATE_CACHE:-}${XDG_CACHE_HOME:-}${HOME:-}" ] ||
    die 3 "there is no place for the cache: set HOME, XDG_CACHE_HOME or FILLRATE_CACHE."
fillrate_cache=${FILLRATE_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/fillrate}
case $fillrate_cache in
/*) ;;
*) fillrate_cache=$PWD/$fillrate_cache ;;
esac
tools_dir=$fillrate_cache/tools

# One line that says what a finished directory was made from. A directory
# whose line differs (other versions, other place, other recipe) is made again.
is_complete() {
    local dir=$1 want=$2 have
    [ -r "$dir/.complete" ] || return 1
    have=$(<"$dir/.complete")
    [ "$have" = "$want" ]
}

mark_complete() {
    printf '%s\n' "$2" >"$1/.complete.new"
    mv -f "$1/.complete.new" "$1/.complete"
}

# Makes the scratch directory that is removed on every way out, and takes the
# lock that keeps two runs from building the same thing: test processes run
# side by side, and each of them may be the first.
lock_and_scratch() {
    local what=$1
    need flock mktemp
    mkdir -p "$tools_dir" || die 1 "the directory $tools_dir cannot be made."
    exec 9>"$tools_dir/.$what.lock"
    flock 9
    # What a killed run left behind; with the lock held, nobody uses it.
    rm -rf "$tools_dir/.$what."??????
    scratch=$(mktemp -d "$tools_dir/.$what.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    # Without these a signal would end the shell before the EXIT trap.
    trap 'exit 130' INT
    trap 'exit 143' TERM
}
