#!/usr/bin/env bash
# learn.sh [FLAG...]: builds quarry once and runs the learning suite on the seeds 1 to LEARN_SEEDS. Flags go to
# tools/learn: -keep, -markdown docs/design/learning-results.md. The figures stay in bin/learn.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# The commit goes into the results, where git can tell it: not in a folder that belongs to another user.
vcs=auto
git rev-parse HEAD >/dev/null 2>&1 || vcs=false
"$go" build -buildvcs="$vcs" -o "$dir/quarry" ./cmd/quarry
(cd tools/learn && "$go" build -buildvcs=false -o "$dir/learn" .)
mkdir -p bin
"$dir/learn" -quarry "$dir/quarry" -seeds "${LEARN_SEEDS:-2}" -json bin/learn.json "$@" &
learn=$!
# Who stops this script stops the suite, and the programs stay until it has ended.
trap 'kill -TERM "$learn" 2>/dev/null || true' HUP INT TERM
code=0
wait "$learn" || code=$?
while kill -0 "$learn" 2>/dev/null; do # a signal ended the wait
	wait "$learn" || code=$?
done
exit "$code"
