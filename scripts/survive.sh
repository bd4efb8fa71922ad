#!/usr/bin/env bash
# survive.sh [TRIALS]: runs demo-small in real processes, kills each with SIGKILL at a random moment, starts it again and
# compares the end with an uninterrupted run (TestSurvive in internal/loop). SURVIVE_SEED repeats a series.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
trials=${1:-${KILL_TRIALS:-5}}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
start=$(date +%s)
if ${GO:-go} build -o "$dir/quarry" ./cmd/quarry &&
	SURVIVE_BINARY="$dir/quarry" SURVIVE_TRIALS="$trials" ${GO:-go} test -count=1 -timeout 50m -run '^TestSurvive$' -v ./internal/loop; then
	printf 'ok  \tsurvive\t%s trials\t%ds\n' "$trials" "$(($(date +%s) - start))"
else
	printf 'FAIL\tsurvive\t%s trials\n' "$trials"
	exit 1
fi
