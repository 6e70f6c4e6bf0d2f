#!/usr/bin/env bash
# Compares the runs OLD and NEW with PROGRAM, and appends the Markdown to the job's summary.
# Inputs come as variables, so that no text of theirs is run.
set -euo pipefail
file=${RUNNER_TEMP:?}/fillrate-compare.md
"${PROGRAM:?}" report --compare "${OLD:?}" "${NEW:?}" >"$file"
cat -- "$file" >>"${GITHUB_STEP_SUMMARY:?}"
printf 'file=%s\n' "$file" >>"${GITHUB_OUTPUT:?}"
