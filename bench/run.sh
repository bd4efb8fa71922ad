#!/usr/bin/env bash
# run.sh [NAME...]: measures all rows, or the named ones, prints them as a table and writes them to results.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
exec go run . "$@"
