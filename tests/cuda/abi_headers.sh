#!/bin/sh
# make check-abi: compares our tables with cuda.h of several CUDA versions.  The headers are in packages for Python,
# which pip installs into the folder abi/ of the build tree.  A version that cannot be installed is skipped.
# usage: abi_headers.sh SRCDIR BUILDDIR
src=$1 build=$2
python=${CUJIT_PYTHON:-python3}
status=0
for package in nvidia-cuda-runtime-cu11==11.7.* nvidia-cuda-runtime-cu11==11.8.* nvidia-cuda-runtime-cu12==12.0.* \
               nvidia-cuda-runtime-cu12==12.2.* nvidia-cuda-runtime-cu12==12.3.* nvidia-cuda-runtime-cu12==12.4.* \
               nvidia-cuda-runtime-cu12==12.5.* nvidia-cuda-runtime-cu12==12.6.* nvidia-cuda-runtime-cu12==12.8.* \
               nvidia-cuda-runtime-cu12==12.9.* nvidia-cuda-runtime==13.0.* nvidia-cuda-runtime==13.1.*; do
    version=${package#*==}
    version=${version%.\*}
    folder=$build/abi/$version
    header=$(find "$folder" -name cuda.h 2>/dev/null | head -1)
    if [ -z "$header" ]; then
        "$python" -m pip install -q --disable-pip-version-check --no-deps --target "$folder" "$package" \
            >"$build/abi-pip.log" 2>&1
        header=$(find "$folder" -name cuda.h 2>/dev/null | head -1)
    fi
    if [ -z "$header" ]; then
        echo "check-abi: CUDA $version: skipped, its headers cannot be installed"
        continue
    fi
    result=$(top_srcdir=$src CUJIT_ABI_INCLUDE=${header%/*} sh "$src/tests/cuda/abi.sh")
    if echo "$result" | grep -q '^not ok' || ! echo "$result" | grep -q '^ok 5'; then
        echo "$result"
        echo "check-abi: CUDA $version: differs"
        status=1
    else
        echo "check-abi: CUDA $version: structs, constants, calls and attributes of launches are the same"
    fi
done
exit $status
