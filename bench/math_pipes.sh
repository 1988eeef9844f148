#!/bin/sh
# Counts what a warp executes for one result, by pipe, in loops of bench/math as ptxas compiles them for sm_90:
# math_pipes.sh FILE.ptx...       bench/math_pipes.awk says what is counted
# The files are those of bench/math --texts, and CUDA's of bench/math_peers.sh.
set -u
here=$(dirname "$0")
[ $# -ge 1 ] || { echo 'usage: math_pipes.sh FILE.ptx...' >&2; exit 2; }
ptxas=${CUJIT_PTXAS:-ptxas}
if ! command -v "$ptxas" >/dev/null 2>&1; then ptxas=/usr/local/cuda/bin/ptxas; fi
nvdisasm=$(command -v nvdisasm || echo "$(dirname "$ptxas")/nvdisasm")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for file in "$@"; do
    "$ptxas" -arch=sm_90 "$file" -o "$work/loop.cubin" && "$nvdisasm" -c "$work/loop.cubin" >"$work/loop.dis" || exit 1
    awk -v name="$(basename "$file" .ptx)" -f "$here/math_pipes.awk" "$work/loop.dis" || exit 1
done
