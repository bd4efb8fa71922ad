#!/usr/bin/env bash
# fuzz.sh [TIME]: fuzzes every target of the module for TIME (30s) each. A failing input is written below the package's
# testdata/fuzz, where go test runs it from then on.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go}
time=${1:-30s}
failed=()
while IFS=: read -r file target; do
	dir=$(dirname "$file")
	echo "fuzz $dir $target"
	"$go" test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "$dir" </dev/null || failed+=("$dir:$target")
done < <(grep -roE --include='*_test.go' --exclude-dir=bench --exclude-dir=tools '^func Fuzz[A-Za-z0-9_]+' . | sed 's/:func /:/' | sort)
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
