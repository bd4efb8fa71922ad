#!/usr/bin/env bash
# need.sh COMMAND:PACKAGE...: installs the Debian packages of the commands that are missing, and nothing else.
set -euo pipefail
missing=()
for pair in "$@"; do
	command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
done
[ ${#missing[@]} -gt 0 ] || exit 0
sudo=()
[ "$(id -u)" = 0 ] || sudo=(sudo)
if ! command -v apt-get >/dev/null; then
	echo "error: missing packages: ${missing[*]}" >&2
	echo "hint: install them with this system's package manager" >&2
	exit 3
fi
echo "installing ${missing[*]}" >&2
"${sudo[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
