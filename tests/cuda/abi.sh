#!/bin/sh
# The driver ABI that we declare ourselves is NVIDIA's: every entry point's type and version, every constant, every
# struct's size and fields, compared with cuda.h of a CUDA toolkit (13.0 or newer) by one run of the C compiler.
# Skipped where there is none.

src=${top_srcdir:-$(dirname "$0")/../..}
cc=${CC:-cc}
for dir in "${CUDA_HOME:-/nonexistent}/include" /usr/local/cuda/include /usr/local/cuda-13*/include /usr/include; do
    [ -f "$dir/cuda.h" ] && [ -f "$dir/cudaTypedefs.h" ] || continue
    version=$(awk '/^#define CUDA_VERSION / { print $3 }' "$dir/cuda.h")
    [ "${version:-0}" -ge 13000 ] && { include=$dir; break; }
done
[ -n "$include" ] || { echo '1..0 # SKIP no cuda.h of toolkit 13.0 or newer'; exit 0; }

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
awk=${AWK:-awk}

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
        FNR != NR && /^#define CU_[A-Z_0-9]+ / {
            v = $0
            sub(/^#define [A-Z_0-9]+ /, "", v)
            if (v !~ /void|CUstream/) check($2, v)
        }
        FNR == NR && /^    [A-Z_0-9]+ = / { sub(",", "", $3); check($1, $3) }' \
      "$src/src/cuda/enums.h" "$src/src/cuda/abi.h"; } >"$tmp/constants.c"
# LIST: the type that cudaTypedefs.h has for each call of it
types_of()
{
    $awk -F'[(, ]+' '/^CU\(/ { sub(/_v[0-9]$/, "", $3); print "#define PFN_OF_" $2 " PFN_" $3 "_v" $4 }' "$1"
}
{ echo "$head"
  types_of "$src/src/cuda/symbols.def"
  grep -E '^#define CJI_CU_(DECL|PASTE)' "$src/src/cuda/abi.h"
  echo '#define CU(name, export, version, need, count, list) \'
  echo '    _Static_assert(_Generic((PFN_OF_##name)0, CUresult (*)(CJI_CU_DECL(count, list)): 1, default: 0), #name);'
  echo '#include "cuda/symbols.def"'
  types_of "$src/src/cuda/byvalue.def"
  echo '#define CU(name, export, version, count, list) \'
  echo '    _Static_assert(_Generic((PFN_OF_##name)0, CUresult (*)(CJI_CU_DECL(count, list)): 1, default: 0), #name);'
  echo '#include "cuda/byvalue.def"'; } >"$tmp/calls.c"

n=0
echo 1..4
for what in 'structs: sizes and fields are those of cuda.h' 'constants: values are those of cuda.h' \
            'calls: types and versions are those of cudaTypedefs.h'; do
    n=$((n + 1))
    if $cc -std=gnu11 -fsyntax-only -I"$include" -I"$src/src" "$tmp/${what%%:*}.c" >"$tmp/log" 2>&1; then
        echo "ok $n - $what"
    else
        grep error "$tmp/log" | sed 's/^/# /' | head -40
        echo "not ok $n - $what"
    fi
done

# The stub library of the toolkit exports what a driver exports.
stub=$(dirname "$include")/lib64/stubs/libcuda.so
if [ -f "$stub" ] && command -v nm >/dev/null 2>&1; then
    missing=$(nm -D --defined-only "$stub" |
        $awk 'NR == FNR { have[$3] = 1; next } /^CU\(/ { split($0, f, /[(, ]+/); if (!(f[3] in have)) print f[3] }' \
            - "$src/src/cuda/symbols.def" "$src/src/cuda/byvalue.def")
    if [ -z "$missing" ]; then
        echo 'ok 4 - exports: every symbol is in the stub library'
    else
        echo "# missing: $missing"
        echo 'not ok 4 - exports: every symbol is in the stub library'
    fi
else
    echo 'ok 4 - exports # SKIP no stub library, or no nm'
fi
