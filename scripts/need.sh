#!/usr/bin/env bash
# need.sh WHAT:PACKAGE...: installs the Debian packages of what is missing, and nothing else. WHAT is a command, or the
# absolute path of a file that only Debian's layout promises and that is not asked for elsewhere.
set -euo pipefail
have() {
	case $1 in
	/*) [ -e "$1" ] || ! command -v apt-get >/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}
missing=()
for pair in "$@"; do
	have "${pair%%:*}" || missing+=("${pair#*:}")
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
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
