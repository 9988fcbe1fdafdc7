#!/usr/bin/env python3
"""The work of benchmarks/gpu.cpp by other libraries on the first GPU: torch (eager, compile), jax
(jit), cupy (fuse). Each of those that are installed is run in a process of its own.

  peers.py [--quick] [--only torch,jax,cupy]      JSON rows on stdout: name, who, value, unit

Same sizes, random data, values checked against float64; medians over samples of 10 to 40 queued
calls, warm, timed by CUDA events (jax, which has none: by the clock, waiting at the end).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

CHAIN = 512 << 20
ROWS, COLUMNS = 32768, 4096
MIB = 1 << 20
PEERS = ("torch", "jax", "cupy")


def median_ms(samples, calls, batch):
    """batch(calls) gives the milliseconds of so many calls."""
    for _ in range(2):
        batch(calls)
    return statistics.median(batch(calls) / calls for _ in range(samples))


def check(ok, what):
    if not ok:
        raise SystemExit(f"peers.py: wrong value: {what}")


class Rows:
    def __init__(self):
        self.rows = []

    def add(self, name, who, value, unit="ms"):
        self.rows.append({"name": name, "who": who, "value": value, "unit": unit})


def check_chain(x, y, z, got):
    """Windows as float64 NumPy arrays."""
    import numpy as np

    wanted = np.tanh(np.maximum(x * y + z, 0)) * y - z
    check(bool(np.all(np.abs(got - wanted) <= 2e-6 * (1 + np.abs(wanted)))), "W1")


def run_torch(rows, samples):
    import torch

    torch.manual_seed(1)

    def batch_of(call):
        def batch(calls):
            begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
            begin.record()
            for _ in range(calls):
                call()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end)

        return batch

    def chain(x, y, z):
        return torch.tanh(torch.relu(x * y + z)) * y - z

    x, y, z = (torch.randn(CHAIN, device="cuda") for _ in range(3))

    def window(t):
        return t[-100000:].double().cpu().numpy()

    for who, call in (("torch eager", chain), ("torch compile", torch.compile(chain))):
        check_chain(window(x), window(y), window(z), window(call(x, y, z)))
        rows.add("W1", who, median_ms(samples, 10, batch_of(lambda: call(x, y, z))))
    del x, y, z
    torch.cuda.empty_cache()
    m = torch.randn(ROWS, COLUMNS, device="cuda")
    sums = {"W2c": lambda t: t.sum(), "W2d": lambda t: t.sum(0)}
    for name, total in sums.items():
        for who, call in (("torch eager", total), ("torch compile", torch.compile(total))):
            wanted, size = total(m.double()), total(m.double().abs())
            check(bool(((call(m).double() - wanted).abs() <= 1e-6 * size).all()), name)
            rows.add(name, who, median_ms(samples, 40, batch_of(lambda: call(m))))
    del m
    torch.cuda.empty_cache()
    for mib in (64, 256, 1024):
        there = torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")
        for who, pinned in (("torch pinned", True), ("torch pageable", False)):
            here = torch.ones(mib * MIB, dtype=torch.uint8, pin_memory=pinned)
            for name, call in (
                ("copy to the device", lambda: there.copy_(here, non_blocking=pinned)),
                ("copy to the host", lambda: here.copy_(there, non_blocking=pinned)),
            ):
                ms = median_ms(max(3, samples // 2), 2, batch_of(call))
                rows.add(f"{name}, {mib} MiB", who, mib * MIB / ms / 1e6, "GB/s")


def run_jax(rows, samples):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp
    import numpy as np

    def batch_of(call):
        def batch(calls):
            start = time.perf_counter()
            for _ in range(calls):
                result = call()
            result.block_until_ready()
            return 1e3 * (time.perf_counter() - start)

        return batch

    keys = jax.random.split(jax.random.PRNGKey(1), 4)
    x, y, z = (jax.random.normal(k, (CHAIN,), dtype=jnp.float32) for k in keys[:3])
    chain = jax.jit(lambda x, y, z: jnp.tanh(jax.nn.relu(x * y + z)) * y - z)

    def window(t):
        return np.asarray(t[-100000:], dtype=np.float64)

    check_chain(window(x), window(y), window(z), window(chain(x, y, z)))
    rows.add("W1", "jax jit", median_ms(samples, 10, batch_of(lambda: chain(x, y, z))))
    for t in (x, y, z):
        t.delete()
    m = jax.random.normal(keys[3], (ROWS, COLUMNS), dtype=jnp.float32)
    host = np.asarray(m, dtype=np.float64)
    for name, axis in (("W2c", None), ("W2d", 0)):
        call = jax.jit(lambda t, axis=axis: t.sum(axis))
        wanted, size = host.sum(axis), np.abs(host).sum(axis)
        check(bool(np.all(np.abs(np.asarray(call(m), np.float64) - wanted) <= 1e-6 * size)), name)
        rows.add(name, "jax jit", median_ms(samples, 40, batch_of(lambda: call(m))))


def run_cupy(rows, samples):
    import cupy

    def batch_of(call):
        def batch(calls):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            for _ in range(calls):
                call()
            end.record()
            end.synchronize()
            return cupy.cuda.get_elapsed_time(begin, end)

        return batch

    random = cupy.random.default_rng(1)
    x, y, z = (random.standard_normal(CHAIN, dtype=cupy.float32) for _ in range(3))

    @cupy.fuse(kernel_name="chain")
    def chain(x, y, z):
        return cupy.tanh(cupy.maximum(x * y + z, 0)) * y - z

    def window(t):
        return cupy.asnumpy(t[-100000:]).astype("float64")

    check_chain(window(x), window(y), window(z), window(chain(x, y, z)))
    rows.add("W1", "cupy fuse", median_ms(samples, 10, batch_of(lambda: chain(x, y, z))))
    del x, y, z
    cupy.get_default_memory_pool().free_all_blocks()
    m = random.standard_normal((ROWS, COLUMNS), dtype=cupy.float32)
    for name, axis in (("W2c", None), ("W2d", 0)):
        wide = m.astype(cupy.float64)
        wanted, size = wide.sum(axis), cupy.abs(wide).sum(axis)
        check(bool((cupy.abs(m.sum(axis) - wanted) <= 1e-6 * size).all()), name)
        del wide
        rows.add(name, "cupy", median_ms(samples, 40, batch_of(lambda: m.sum(axis))))


# Programs whose time from start to first value is W6; each prints the monotonic clock then.
FIRST = {
    "torch eager": "import torch; x = torch.tensor([1., 2., 3.], device='cuda'); v = {}",
    "jax jit": "import jax, jax.numpy as jnp; x = jnp.array([1., 2., 3.]); v = {}",
    "cupy": "import cupy; x = cupy.array([1., 2., 3.], dtype='float32'); v = {}",
}
FIRST_VALUE = {
    "torch eager": ("torch.relu(x * 2 - 3)[2].item()", "(torch.ones(256, 256, device='cuda') @ torch.ones(256, 256, device='cuda'))[0, 0].item()"),
    "jax jit": ("float(jax.jit(lambda x: jax.nn.relu(x * 2 - 3))(x)[2])", "float((jnp.ones((256, 256)) @ jnp.ones((256, 256)))[0, 0])"),
    "cupy": ("float(cupy.maximum(x * 2 - 3, 0)[2])", "float((cupy.ones((256, 256), 'f') @ cupy.ones((256, 256), 'f'))[0, 0])"),
}


def first_results(rows, peer, samples):
    for who, start in FIRST.items():
        if who.split()[0] != peer:
            continue
        for name, value, wanted in zip(("W6", "W6 with a product"), FIRST_VALUE[who], (3.0, 256.0)):
            code = start.format(value) + f"; assert v == {wanted}; import time; print(time.monotonic())"
            took = []
            for _ in range(samples + 1):
                begin = time.monotonic()
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
                if done.returncode:
                    print(f"{who}, {name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                    break
                took.append(float(done.stdout.split()[-1]) - begin)
            else:
                rows.add(name, who, statistics.median(took[1:]), "s")


def run_one(peer, quick):
    rows = Rows()
    {"torch": run_torch, "jax": run_jax, "cupy": run_cupy}[peer](rows, 5 if quick else 21)
    print(json.dumps(rows.rows))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(PEERS))
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return run_one(options.run, options.quick)
    rows = Rows()
    for peer in options.only.split(","):
        found = subprocess.run([sys.executable, "-c", f"import {peer}"], capture_output=True)
        if found.returncode:
            print(f"peers.py: {peer} is not installed: passed over", file=sys.stderr)
            continue
        command = [sys.executable, os.path.abspath(__file__), "--run", peer]
        command += ["--quick"] if options.quick else []
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"peers.py: {peer} failed", file=sys.stderr)
            continue
        rows.rows += json.loads(done.stdout.splitlines()[-1])
        first_results(rows, peer, 1 if options.quick else 3)
    print(json.dumps(rows.rows, indent=1))


if __name__ == "__main__":
    main()
