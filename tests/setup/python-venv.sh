# shellcheck shell=bash
# Makes a Python environment in the cache from a list of exact versions. It is
# sourced, after common.sh. Packages come through pip, from wherever the user's
# pip is set up to look.

# python_venv NAME REQUIREMENTS
# Sets venv_python. An environment is bound to its place, so it is built where
# it stays, and counts only once its last line, .complete, is written.
python_venv() {
    local name=$1 requirements=$2 venv stamp python
    venv=$tools_dir/$name
    venv_python=$venv/bin/python
    stamp="recipe 1 in $venv from $(sha256sum <"$requirements")"
    # The interpreter is a link to the system's, which may have been removed.
    if [ -x "$venv_python" ] && is_complete "$venv" "$stamp"; then
        return 0
    fi

    python=${FILLRATE_PYTHON:-python3}
    need "$python"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        die 3 "this needs Python 3.11 or newer, and '$python' is older: set FILLRATE_PYTHON."
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        die 3 "this needs Python's modules venv and ensurepip, which '$python' lacks (Debian: the package python3-venv); or set FILLRATE_PYTHON."
    lock_and_scratch "$name"
    if [ -x "$venv_python" ] && is_complete "$venv" "$stamp"; then
        return 0
    fi

    say "making a Python environment in $venv"
    rm -rf "$venv"
    "$python" -m venv "$venv" ||
        die 1 "the Python environment $venv could not be made."
    # Ready-made packages only: a compiler is not something to ask for here. Python compiles what a
    # test loads when it loads it; all of it would take half as long as the rest.
    "$venv_python" -m pip install --quiet --disable-pip-version-check --no-input \
        --only-binary :all: --no-compile --requirement "$requirements" ||
        die 4 "pip could not install the packages of $(basename "$requirements") (reason above)."
    "$venv_python" -m pip check --disable-pip-version-check ||
        die 5 "the packages of $(basename "$requirements") do not fit together on this Python."
    mark_complete "$venv" "$stamp"
}
