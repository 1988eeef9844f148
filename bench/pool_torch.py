"""PyTorch's caching allocator and its pool of streams, measured as bench/pool measures cujit's.

Prints `name value unit` lines, or one line that says why not.  The time of the loop and of a call from Python
is measured with a function that does nothing, and taken off.
"""

import random
import statistics
import sys
import time

LIVE, STEPS, REPEATS, AT_A_TIME, ROUNDS = 512, 4096, 7, 64, 50


def per_call(run, calls):
    """Nanoseconds a call: the median of some runs, behind one that warms up."""
    run()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter_ns()
        run()
        times.append((time.perf_counter_ns() - start) / calls)
    return statistics.median(times)


def alloc_free(take, give):
    """A block is freed and another one allocated in its place: log-uniform, 64 bytes to 16 MB, 512 live."""
    source = random.Random(12345)
    steps = [(source.randrange(LIVE), int(64 * 2 ** source.uniform(0, 18))) for _ in range(STEPS)]
    live = [take(int(64 * 2 ** source.uniform(0, 18))) for _ in range(LIVE)]

    def run():
        for victim, size in steps:
            give(live[victim])
            live[victim] = take(size)

    ns = per_call(run, STEPS)
    for block in live:
        give(block)
    return ns


def taken_and_returned(take, give):
    """64 are acquired, then released in another order."""
    order = random.Random(7).sample(range(AT_A_TIME), AT_A_TIME)

    def run():
        for _ in range(ROUNDS):
            held = [take() for _ in range(AT_A_TIME)]
            for i in order:
                give(held[i])

    return per_call(run, AT_A_TIME * ROUNDS)


def nothing(*_):
    """What the loops cost themselves."""
    return 0


def main():
    try:
        import torch
    except ImportError:
        print("torch: skipped, PyTorch is not installed")
        return 0
    if not torch.cuda.is_available():
        print("torch: skipped, PyTorch sees no GPU")
        return 0
    cuda = torch.cuda
    stream = cuda.Stream()
    print("torch.version", torch.__version__)
    with cuda.stream(stream):
        raw = alloc_free(lambda size: cuda.caching_allocator_alloc(size, None, stream), cuda.caching_allocator_delete)
        tensors = alloc_free(lambda size: torch.empty(size, dtype=torch.uint8, device="cuda"), nothing)
    loop = alloc_free(nothing, nothing)
    print(f"torch.alloc_free_ns {raw - loop:.5g} ns")
    print(f"torch.empty_ns {tensors - loop:.5g} ns")
    loop = taken_and_returned(nothing, nothing)
    print(f"torch.stream_ns {taken_and_returned(cuda.Stream, nothing) - loop:.5g} ns")
    cuda.synchronize()
    return 0


if __name__ == "__main__":
    sys.exit(main())
