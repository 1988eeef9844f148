#!/bin/sh
# The driver ABI that we declare ourselves is NVIDIA's: every entry point's type and version, every constant, every
# struct's size and fields, compared with cuda.h of a CUDA toolkit (13.0 or newer) by one run of the C compiler.
# Skipped where there is none.  CUJIT_ABI_INCLUDE names the folder of another cuda.h, of any version from 11.4 on
# (make check-abi): then names that are newer than the header are left out, and what it has must be the same.

src=${top_srcdir:-$(dirname "$0")/../..}
cc=${CC:-cc}
include=$CUJIT_ABI_INCLUDE
for dir in "${CUDA_HOME:-/nonexistent}/include" /usr/local/cuda/include /usr/local/cuda-13*/include /usr/include; do
    [ -z "$include" ] && [ -f "$dir/cuda.h" ] && [ -f "$dir/cudaTypedefs.h" ] || continue
    version=$(awk '/^#define CUDA_VERSION / { print $3 }' "$dir/cuda.h")
    [ "${version:-0}" -ge 13000 ] && { include=$dir; break; }
done
[ -n "$include" ] || { echo '1..0 # SKIP no cuda.h of toolkit 13.0 or newer'; exit 0; }

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
awk=${AWK:-awk}
version=$(awk '/^#define CUDA_VERSION / { print $3 }' "$include/cuda.h")

# The tables without the rows of newer versions; a row may go on in the next lines, indented.
mkdir "$tmp/cuda"
for table in symbols byvalue exports; do
    $awk -F'[(, ]+' -v most="$version" '
        /^CU(_SAME|_PER_THREAD)?\(/ { newer = $4 + 0 > most }
        /^CU_LACKS\(/ { newer = $3 + 0 > most }
        /^[^ C]/ || /^$/ { newer = 0 }
        !newer { print }' "$src/src/cuda/$table.def" >"$tmp/cuda/$table.def"
done

# What our headers say, as assertions for theirs.
cat >"$tmp/ours.c" <<'END'
#include <stdio.h>
#include "cuda/abi.h"
int main(void)
{
#define SIZE(T) printf("_Static_assert(sizeof(%s) == %zu, \"size of %s\");\n", #T, sizeof(T), #T);
#define FIELD(T, f) printf("_Static_assert(offsetof(%s, %s) == %zu && sizeof ((%s *)0)->%s == %zu, \"%s.%s\");\n", \
    #T, #f, offsetof(T, f), #T, #f, sizeof ((T *)0)->f, #T, #f);
#include "layout.def"
#define CUE(name, value, text) printf("_Static_assert(%s == %d, \"%s\");\n", #name, name, #name);
#include "cuda/errors.def"
    return 0;
}
END
$cc -std=gnu11 -I"$src/src" -I"$src/tests/cuda" "$tmp/ours.c" -o "$tmp/ours" || {
    echo 'Bail out! our own headers do not compile'
    exit 1
}

head='#include <stddef.h>
#include <cuda.h>
#include <cudaTypedefs.h>'

{ echo "$head"; "$tmp/ours"; } >"$tmp/structs.c"
{ echo "$head"
  $awk 'function check(name, value) {
            print "_Static_assert((long long)(" name ") == (long long)(" value "), \"" name "\");"
        }
        FILENAME ~ /abi/ && /^#define CU(DA_ARRAY3D)?_[A-Z_0-9]+ / {
            v = $0
            sub(/^#define [A-Z_0-9]+ /, "", v)
            if (v !~ /void|CUstream/) check($2, v)
        }
        /^    CU[A-Z_0-9]* = / { sub(",", "", $3); check($1, $3) }' \
      "$src/src/cuda/enums.h" "$src/src/cuda/abi.h" "$src/src/cuda/abi_memory.h"; } >"$tmp/constants.c"
# LIST...: the type that cudaTypedefs.h has for each call of them, by its export
types_of()
{
    $awk -F'[(, ]+' '/^CU(_SAME|_PER_THREAD|_LACKS)?\(/ {
        export = /^CU_LACKS/ ? $2 : $3
        version = /^CU_LACKS/ ? $3 : $4
        sub(/[)].*/, "", version)
        api = export
        own = sub(/_ptsz$/, "", api) ? "_ptsz" : sub(/_ptds$/, "", api) ? "_ptds" : ""
        sub(/_v[0-9]$/, "", api)
        print "#define PFN_OF_" export " PFN_" api "_v" version own
    }' "$@"
}
{ echo '#define __CUDA_API_VERSION_INTERNAL'
  echo "$head"
  [ -f "$include/cudaProfilerTypedefs.h" ] &&
      printf '%s\n' '#include <cudaProfiler.h>' '#include <cudaProfilerTypedefs.h>'
  types_of "$tmp/cuda/symbols.def" "$tmp/cuda/byvalue.def" "$tmp/cuda/exports.def"
  grep -E '^#define CJI_CU_(DECL|PASTE)' "$src/src/cuda/abi.h"
  row='typedef CUresult (*row_##export)(CJI_CU_DECL(count, list));
    _Static_assert(_Generic((PFN_OF_##export)0, row_##export: 1, default: 0), #export);'
  echo '#define CU(name, export, version, need, count, list) '"$(echo $row)"
  echo '#define CU_NO_GRAPHICS'
  echo '#include "cuda/symbols.def"'
  echo '#define CU(name, export, version, count, list) '"$(echo $row)"
  echo '#include "cuda/byvalue.def"'
  echo '#define CU(name, export, version, count, list) '"$(echo $row)"
  echo '#include "cuda/exports.def"'
  other='_Static_assert(_Generic((PFN_OF_##export)0, row_##row: 1, default: 0), #export);'
  echo "#define CU_SAME(row, export, version) $other"
  echo "#define CU_PER_THREAD(row, export, version) $other"
  echo '#define CU_LACKS(export, version, why) typedef PFN_OF_##export lacks_##export;'
  echo '#include "cuda/exports.def"'; } >"$tmp/calls.c"

# What is as in our tables from a version on only, and why an older driver takes it.
#   CUmemPoolProps.reserved      usage was taken from it, and is 0 as it was
#   CUDA_CHILD_GRAPH_NODE_PARAMS its ownership lies in bytes of the union that were reserved, and is 0
#   CU_CTX_FLAGS_MASK            grows with the flags, and is not passed to a driver
#   CU_DEVICE_ATTRIBUTE_CAN_...  the names were those of an older interface, without _v2, which libcujit does not use
cat >"$tmp/grown" <<'END'
12080 "CUmemPoolProps.reserved"
12090 "size of CUDA_CHILD_GRAPH_NODE_PARAMS"
12090 "CUgraphNodeParams.graph"
12040 "CU_CTX_FLAGS_MASK"
12000 "CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS"
12000 "CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR"
END
$awk -v version="$version" '$1 > version { sub(/^[0-9]* /, ""); print }' "$tmp/grown" >"$tmp/differs"

# LOG: the errors that count. With an older header those of names that it does not have do not.
wrong()
{
    grep 'error' "$1" | if [ "$version" -ge 13000 ]; then cat; else grep 'static assertion failed'; fi |
        if [ -s "$tmp/differs" ]; then grep -vFf "$tmp/differs"; else cat; fi
}

n=0
echo 1..5
for what in 'structs: sizes and fields are those of cuda.h' 'constants: values are those of cuda.h' \
            'calls: types and versions are those of cudaTypedefs.h'; do
    n=$((n + 1))
    if $cc -std=gnu11 -fsyntax-only -fmax-errors=0 -I"$tmp" -I"$include" -I"$src/src" "$tmp/${what%%:*}.c" \
        >"$tmp/log" 2>&1 || [ -z "$(wrong "$tmp/log")" ]; then
        [ "$version" -ge 13000 ] || echo "# $(grep -c 'error:' "$tmp/log") are newer than $version"
        echo "ok $n - $what"
    else
        wrong "$tmp/log" | sed 's/^/# /' | head -40
        echo "not ok $n - $what"
    fi
done

# The stub library of the toolkit exports what a driver exports, which is what the tables have.
stub=$(dirname "$include")/lib64/stubs/libcuda.so
if [ -f "$stub" ] && command -v nm >/dev/null 2>&1; then
    # a toolkit without the headers for graphics may have a stub library without their names
    nm -D --defined-only "$stub" | $awk '$3 ~ /^cu[A-Z]/ { print $3 }' | LC_ALL=C sort |
        grep -vxF -f "$src/tests/cuda/libcuda_graphics.names" >"$tmp/theirs"
    tables="$src/src/cuda/symbols.def $src/src/cuda/byvalue.def $src/src/cuda/exports.def"
    # shellcheck disable=SC2086
    $awk -F'[(, ]+' '/^CU(_SAME|_PER_THREAD)?\(/ { print $3 } /^CU_LACKS\(/ { print $2 }' $tables |
        LC_ALL=C sort >"$tmp/ours"
    if cmp -s "$tmp/theirs" "$tmp/ours" && cmp -s "$tmp/theirs" "$src/tests/cuda/libcuda.names"; then
        echo 'ok 4 - exports: the names of the tables, and of libcuda.names, are those of the stub library'
    else
        diff "$tmp/theirs" "$tmp/ours" | sed 's/^/# /' | head -40
        diff "$tmp/theirs" "$src/tests/cuda/libcuda.names" | sed 's/^/# libcuda.names: /' | head -40
        echo 'not ok 4 - exports: the names of the tables, and of libcuda.names, are those of the stub library'
    fi
else
    echo 'ok 4 - exports # SKIP no stub library, or no nm'
fi

# An attribute of a launch is asked for from the version on whose header has it first.
attributes=$src/src/driver/launch_attributes.def
$awk -F'[(, ]+' -v version="$version" '/^ATTRIBUTE\(/ { print "CU_LAUNCH_ATTRIBUTE_" $2, ($3 + 0 <= version) }' \
    "$attributes" >"$tmp/attributes"
while read -r name has; do
    if grep -qw "$name" "$include/cuda.h"; then [ "$has" = 1 ] || echo "# cuda.h of $version has $name already"
    else [ "$has" = 0 ] || echo "# cuda.h of $version has no $name"
    fi
done <"$tmp/attributes" >"$tmp/log"
cat "$tmp/log"
if [ -s "$tmp/attributes" ] && [ ! -s "$tmp/log" ]; then not=; else not='not '; fi
echo "${not}ok 5 - launches: each attribute is in cuda.h from the version on that launch_attributes.def has"
