#!/usr/bin/env bash
# suites.sh COMMAND...: runs COMMAND and repeats at the end the line of every suite in it, so that a long log ends with
# what took how long of which budget. The exit code is the command's.
set -uo pipefail
[ -z "${SUITES:-}" ] || exec "$@" # the outer one prints them
SUITES=$(mktemp)
export SUITES
trap 'rm -f "$SUITES"' EXIT
"$@"
code=$?
echo
cat "$SUITES"
exit "$code"
