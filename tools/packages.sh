#!/bin/sh
# Installs Debian packages for commands that are missing, with apt-get, as root or by sudo.
# usage: packages.sh [-n] COMMAND:PACKAGE...   (cc is ${CC:-gcc} with the headers of the C library; -n: only names them)
set -eu
fail() { printf 'packages: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

name_only=
if [ "${1:-}" = -n ]; then name_only=yes; shift; fi

want=
for pair in "$@"; do
    command=${pair%%:*} package=${pair#*:}
    if [ "$command" = cc ]; then
        cc=${CC:-gcc}
        if have "${cc%% *}" && echo '#include <stdio.h>' | ${CC:-gcc} -E - >/dev/null 2>&1; then continue; fi
        case ${CC:-gcc} in clang*) package=clang ;; esac
        package="$package libc6-dev"
    elif have "$command"; then continue
    fi
    want="$want $package"
done
want=${want# }
[ -n "$want" ] || exit 0

[ -z "$name_only" ] || fail "these Debian packages, or what your system calls them, are missing: $want"
have apt-get || fail "these Debian packages, or what your system calls them, are missing: $want"
if [ "$(id -u)" -eq 0 ]; then as_root=
elif have sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then as_root=sudo
else fail "these packages are missing, and only root can install them: apt-get install $want"
fi
printf '\n--> installing %s\n' "$want"
$as_root apt-get -q update || echo 'packages: apt-get update failed; the package lists that are here are used' >&2
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $want ||
    fail "apt-get cannot install: $want"
