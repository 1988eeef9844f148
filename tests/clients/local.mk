# Other people's programs of the driver API on the CPU device (make check-clients): Python packages from outside, so no part of make check.

clients = bindings core drjit halide numba taichi tinygrad
EXTRA_DIST += %D%/check.sh %D%/saxpy_text.py $(clients:%=%D%/client_%.py)
