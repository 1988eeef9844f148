#!/bin/sh
# The functions of a first launch (src/base/first.h) stand between their two ends in the library, and nothing else does
# that is large. Elsewhere than with the linker of GNU nothing is asserted: they are fetched one by one there.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
library=$top_builddir/.libs/libcujit.so
nm "$library" >"$tap_work/symbols" 2>/dev/null || skip_all 'no shared library, or no nm'
case " ${CFLAGS:-} ${LDFLAGS:-}" in *-fsanitize* | *-flto*) skip_all 'a sanitizer or the linker orders it' ;; esac
${CC:-cc} ${LDFLAGS:-} -Wl,--version 2>/dev/null | grep -q '^GNU ld' || skip_all 'another linker'
place() { awk -v name="$1" '$3 == name { print $1 }' "$tap_work/symbols"; }
begin=$(place cji_first_begin) end=$(place cji_first_end)
[ -n "$begin" ] && [ -n "$end" ] || skip_all 'no symbols: the library was stripped'
for name in cji_image_compile cji_ptx_digest cji_hasher_put cji_disk_decode cji_kernel_launch; do
    at=$(place "$name")
    printf '%s\n' "$begin" "$at" "$end" >"$tap_work/order"
    [ -n "$at" ] && LC_ALL=C sort -c "$tap_work/order" 2>/dev/null
    result $? "$name stands between the ends" "$tap_work/order"
done
[ $((0x$end - 0x$begin)) -le 65536 ]
result $? 'there are 64 KiB between them at most'
finish
