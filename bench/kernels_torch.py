"""PyTorch's kernels for bench/kernels, which asks by pipe: a line `NAME MILLISECONDS` is answered by the microseconds
of a launch, 0 where PyTorch has no such kernel.  The first line says the version, or why nothing can be measured.
"""

import sys

PARTS = 200 << 20  # operands rotate over as many bytes at least


def of_rows(torch, make, rows, columns, dtype):
    """A function of a matrix, on several of them in turn."""
    size = rows * columns * torch.empty(0, dtype=dtype).element_size()
    parts = [torch.randn(rows, columns, device="cuda").to(dtype) for _ in range(max(1, -(-PARTS // size)))]
    return [lambda x=x: make(x) for x in parts]


def of_product(torch, m, n, k, dtype, by_rows=False):
    """Products with B stored by columns, or by rows."""
    multiply = torch._int_mm if dtype == torch.int8 else torch.mm

    def random(rows, columns):
        if dtype == torch.int8:
            return torch.randint(-128, 128, (rows, columns), device="cuda", dtype=dtype)
        return torch.randn(rows, columns, device="cuda").to(dtype)

    size = (m + n) * k * torch.empty(0, dtype=dtype).element_size()
    pairs = [(random(m, k), random(k, n) if by_rows else random(n, k).t()) for _ in range(max(1, -(-PARTS // size)))]
    return [lambda a=a, b=b: multiply(a, b) for a, b in pairs]


def of_e4m3(torch, n, promoted):
    """Products of 8-bit floating point with B stored by columns, to bf16."""
    one = torch.ones((), device="cuda")
    a, b = (torch.randn(n, n, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    return [lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=not promoted)]


def of_tf32(torch, launches):
    """The same products with f32 rounded to tf32."""
    def rounded(launch):
        torch.backends.cuda.matmul.allow_tf32 = True
        launch()
        torch.backends.cuda.matmul.allow_tf32 = False

    return [lambda launch=launch: rounded(launch) for launch in launches]


def of_attention(torch, tokens, dim, causal, dtype):
    """16 heads and 16,384 tokens in all, by cuDNN."""
    kernels = torch.nn.attention
    shape = (16384 // tokens, 16, tokens, dim)
    parts = [[torch.randn(shape, device="cuda").to(dtype) for _ in range(3)] for _ in range(2)]

    def run(q, k, v):
        with kernels.sdpa_kernel(kernels.SDPBackend.CUDNN_ATTENTION):
            torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return [lambda p=p: run(*p) for p in parts]


def rows_of(columns):
    return (1 << 26) // columns


def case(torch, name):
    """The launches of a case; None: there are none."""
    types = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "s8": torch.int8, "u32": torch.int32}
    functional = torch.nn.functional
    words = name.split(".")
    if words[0] == "copy":
        to = torch.empty(rows_of(4096), 4096, device="cuda")
        return of_rows(torch, to.copy_, rows_of(4096), 4096, torch.float32)
    if words[0] in ("softmax", "layer_norm", "rms_norm"):
        dtype, columns = types[words[1]], int(words[2])
        weight = torch.ones(columns, device="cuda", dtype=dtype)
        make = {
            "softmax": lambda x: torch.softmax(x, 1),
            "layer_norm": lambda x: functional.layer_norm(x, (columns,), weight, weight),
            "rms_norm": lambda x: functional.rms_norm(x, (columns,), weight),
        }[words[0]]
        return of_rows(torch, make, rows_of(columns), columns, dtype)
    if words[0] == "reduce":
        return of_rows(torch, torch.sum, 1, 1 << 28, torch.float32)
    if words[0] == "scan":
        dtype = types[words[1]]
        return of_rows(torch, lambda x: torch.cumsum(x, 1, dtype=dtype), 1, 1 << 28, dtype)
    if words[0] == "gemm":
        sizes = [int(word) for word in words[2].split("x")]
        m, n, k = sizes * 3 if len(sizes) == 1 else sizes
        if words[1].startswith("e4m3"):
            return of_e4m3(torch, m, words[1].endswith("promoted"))
        if words[1] == "tf32":
            return of_tf32(torch, of_product(torch, m, n, k, torch.float32))
        return of_product(torch, m, n, k, types[words[1].split("_")[0]], words[1].endswith("_rows"))
    if words[0] == "attention":
        tokens, dim = words[2].rstrip("c").split("x")
        return of_attention(torch, int(tokens), int(dim), words[2].endswith("c"), types[words[1]])
    return None


def microseconds(torch, launches, milliseconds):
    """Of a launch, over as many as take the time, after as many."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def run(repeats):
        start.record()
        for _ in range(repeats):
            for launch in launches:
                launch()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    run(1)
    once = run(1)
    repeats = int(milliseconds / max(once, 1e-3)) + 1
    run(repeats)
    return run(repeats) * 1e3 / (repeats * len(launches))


def main():
    try:
        import torch
    except ImportError:
        print("torch: skipped, PyTorch is not installed", flush=True)
        return 0
    if not torch.cuda.is_available():
        print("torch: skipped, PyTorch sees no GPU", flush=True)
        return 0
    print("torch.version", torch.__version__, flush=True)
    for line in sys.stdin:
        name, milliseconds = line.split()
        launches = case(torch, name)
        print(microseconds(torch, launches, float(milliseconds)) if launches else 0, flush=True)
        del launches
    return 0


if __name__ == "__main__":
    sys.exit(main())
