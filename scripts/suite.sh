#!/usr/bin/env bash
# suite.sh NAME MINUTES COMMAND...: runs COMMAND, then prints a line of the kind of go test, with the wall minutes
# against their budget and the CPU minutes of all children. The exit code is the command's: a slow machine is no failure.
# Below suites.sh the line is kept for its table too.
set -uo pipefail
name=$1 budget=$2
shift 2
spent=$(mktemp)
trap 'rm -f "$spent"' EXIT
start=$(date +%s)
"$@"
code=$?
wall=$(($(date +%s) - start))
# A subshell would count its own children only, so no pipe here. The second line is user and system time of the
# children, each like 1m2.345s.
times >"$spent"
line=$(awk -v name="$name" -v budget="$budget" -v wall="$wall" -v code="$code" '
function minutes(t,  a) { split(t, a, "m"); sub("s", "", a[2]); return a[1] + a[2] / 60 }
NR == 2 {
	state = code != 0 ? "FAIL" : "ok  "
	over = wall / 60 > budget ? ", OVER BUDGET" : ""
	printf "%s\tsuite/%s\t%ds\t(%.1f of %g min, %.1f min CPU%s)\n", state, name, wall, wall / 60, budget, minutes($1) + minutes($2), over
}' "$spent")
echo "$line"
[ -z "${SUITES:-}" ] || echo "$line" >>"$SUITES"
exit "$code"
