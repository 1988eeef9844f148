#!/bin/sh
# Programs of the driver API that know nothing of cujit: compiled with NVIDIA's cuda.h, linked with -lcuda against the
# CPU device's libcuda.so, run by `cujit run-sim`. Their image is PTX text, and where there is nvcc fat binaries too.
# shellcheck source=tests/build/sh_tap.sh
. "${top_srcdir:-.}/tests/build/sh_tap.sh"
folder=$(dirname "$CUJIT_SIM")/as-libcuda
[ -e "$folder/libcuda.so.1" ] || skip_all 'the shim was not built'
case "${CFLAGS:-} ${LDFLAGS:-}" in *-fsanitize*) skip_all 'a sanitizer is linked in' ;; esac
for dir in "${CUDA_HOME:-/nonexistent}" /usr/local/cuda /usr/local/cuda-13* /usr; do
    [ -f "$dir/include/cuda.h" ] || continue
    version=$(awk '/^#define CUDA_VERSION / { print $3 }' "$dir/include/cuda.h")
    [ "${version:-0}" -ge 13000 ] && { toolkit=$dir; break; }
done
[ -n "$toolkit" ] || skip_all 'no cuda.h of toolkit 13.0 or newer'
source=$(cd "$top_srcdir" && pwd)/tests/tools
cd "$tap_work" || exit 1

cat >vector.ptx <<'END'
.version 8.0
.target sm_75
.address_size 64
.visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .f32 %f<3>;
    .reg .b64 %d<8>;
    ld.param.u64 %d0, [a];
    ld.param.u64 %d1, [b];
    ld.param.u64 %d2, [c];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.s32 %p, %r4, %r0;
    @%p ret;
    mul.wide.s32 %d3, %r4, 4;
    add.s64 %d4, %d0, %d3;
    add.s64 %d5, %d1, %d3;
    add.s64 %d6, %d2, %d3;
    ld.f32 %f0, [%d4];
    ld.f32 %f1, [%d5];
    add.f32 %f2, %f0, %f1;
    st.f32 [%d6], %f2;
    ret;
}
END
images=vector.ptx
if [ -x "$toolkit/bin/nvcc" ]; then
    cat >vector.cu <<'END'
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
END
    fatbinary() { "$toolkit/bin/nvcc" -fatbin "$@" vector.cu >log 2>&1; }
    if fatbinary -gencode arch=compute_75,code=compute_75 -o ptx.fatbin &&
        fatbinary -compress-mode=speed -gencode 'arch=compute_90,code=[sm_90,compute_90]' -o both.fatbin &&
        fatbinary -gencode arch=compute_90,code=sm_90 -o machine.fatbin; then
        images="$images ptx.fatbin both.fatbin"
    fi
fi

for program in drv_vector_add drv_library drv_graph drv_own_stream; do
    flags=
    [ $program = drv_own_stream ] && flags=-DCUDA_API_PER_THREAD_DEFAULT_STREAM
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu11 -Wall -Werror -Wno-deprecated-declarations $flags -I"$toolkit/include" \
        "$source/$program.c" -o $program -L"$folder" -lcuda >log 2>&1
    result $? "$program: compiled with cuda.h, linked with -lcuda" log
    for image in $images; do
        "$CUJIT_BIN" run-sim ./$program $image >log 2>&1
        result $? "$program: runs with $image" log
    done
done

if [ -f machine.fatbin ]; then
    CUJIT_LOG=error "$CUJIT_BIN" run-sim ./drv_vector_add machine.fatbin >log 2>&1
    [ $? -eq 1 ] && grep -q 'cuModuleLoad returns CUDA_ERROR_NO_BINARY_FOR_GPU: .*machine code for sm_90 and no PTX' log
    result $? 'machine code alone: the log has the sentence' log
fi
finish
