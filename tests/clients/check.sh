#!/bin/sh
# Other people's programs of the driver API on the CPU device, unmodified: check.sh SOURCE BUILD CLIENT... (make
# check-clients). Each is a Python package, installed into BUILD/clients/NAME with versions that are fixed here, and
# runs tests/clients/client_NAME.py, a program of ours whose results are compared. One line for each; where a package
# cannot be installed, its line is a skip.
set -u
source=$1 build=$2
shift 2
python=${CUJIT_PYTHON:-python3}
limit=${CUJIT_CLIENT_SECONDS:-300}
end=$(($(date +%s) + ${CUJIT_CLIENTS_SECONDS:-7200}))

packages()   # NAME
{
    case $1 in
    bindings) echo numpy==2.2.6 cuda-bindings==13.0.1 ;;
    core)     echo numpy==2.2.6 cuda-bindings==13.5.0 cuda-core==1.2.2 ;;
    drjit)    echo numpy==2.2.6 drjit==1.5.0 ;;
    halide)   echo numpy==2.2.6 halide==21.0.0 ;;
    numba)    echo numba==0.61.2 numba-cuda==0.17.0 nvidia-cuda-nvcc-cu12==12.9.86 nvidia-cuda-runtime-cu12==12.9.79 ;;
    taichi)   echo taichi==1.7.4 ;;
    tinygrad) echo numpy==2.2.6 tinygrad==0.14.0 ;;
    esac
}

if ! "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo 'check-clients: skipped: no Python 3.10 or newer with venv (Debian: apt-get install python3-venv)'
    exit 0
fi
failed=0
libcuda=$build/.libs/cujit/as-libcuda
for name in "$@"; do
    place=$build/clients/$name
    wanted=$(packages "$name")
    [ -n "$wanted" ] || { echo "check-clients: there is no client $name" >&2; exit 2; }
    if [ "$(cat "$place/installed" 2>/dev/null)" != "$wanted" ]; then
        rm -rf "$place"
        mkdir -p "$place"
        # shellcheck disable=SC2086
        left=$((end - $(date +%s)))
        if [ "$left" -le "$limit" ]; then
            echo "skip $name: the time for all clients is over (CUJIT_CLIENTS_SECONDS)"
            continue
        fi
        if ! { "$python" -m venv "$place/python" &&
            timeout -k 5 "$((left - limit))" "$place/python/bin/pip" install -q \
                --only-binary :all: --disable-pip-version-check --timeout 15 --retries 1 $wanted; } \
            >"$place/install.log" 2>&1; then
            echo "skip $name: its packages cannot be installed ($place/install.log)"
            continue
        fi
        echo "$wanted" >"$place/installed"
    fi
    if CUJIT_LOG=error LD_LIBRARY_PATH=$libcuda DRJIT_LIBCUDA_PATH=$libcuda/libcuda.so \
        NUMBA_CUDA_DRIVER=$libcuda/libcuda.so.1 NUMBA_CUDA_USE_NVIDIA_BINDING=0 DEV=CUDA:PTX \
        CACHELEVEL=0 HOME=$place TI_OFFLINE_CACHE=0 timeout "$limit" "$place/python/bin/python" -W ignore \
        "$source/tests/clients/client_$name.py" >"$place/run.log" 2>&1; then
        echo "ok $name: $(tail -n 1 "$place/run.log")"
    else
        echo "not ok $name ($place/run.log)"
        tail -n 5 "$place/run.log" | sed 's/^/#   /'
        failed=1
    fi
done
exit $failed
