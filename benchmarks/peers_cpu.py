#!/usr/bin/env python3
"""The work of benchmarks/cpu.cpp on the CPU by other libraries: torch (eager, compile), jax (jit), mlx
(compile). Each of those that are installed is run in a process of its own.

  peers_cpu.py [--quick] [--threads N] [--only torch,jax,mlx] [--first]
                                              JSON rows on stdout: name, who, value, unit

Same sizes, random data, values checked against float64; warm, medians of batches that are waited for at
their end. --first: instead, from the start of a process to its first value.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

PEERS = ("torch", "jax", "mlx")
CHAINS = {"C1 16M": (1 << 24, 1), "C1 16K": (1 << 14, 200)}
PRODUCTS = ((256, 256, 256), (1024, 1024, 1024), (2048, 2048, 2048), (256, 784, 512), (1, 1024, 1024))
ROWS, LENGTH = 4096, 1024
BATCH, FEATURES, HIDDEN, CLASSES = 256, 784, 256, 10
RATE = 0.05
MOST_SECONDS = 1  # of a row, once it has three samples
STEP = "C4 training step 784-256-10"


def check(ok, what):
    if not ok:
        raise SystemExit(f"peers_cpu.py: wrong value: {what}")


class Bench:
    """The rows of one library, which is one of the classes below."""

    def __init__(self, library, quick):
        import numpy as np

        self.np, self.lib, self.rows = np, library, []
        self.samples = 5 if quick else 21
        self.random = np.random.default_rng(1)

    def draw(self, *shape, low=-2, high=2):
        return (self.random.random(shape, dtype="f4") * (high - low) + low).astype("f4")

    def add(self, name, who, calls, call):
        took, begin = [], time.perf_counter()
        for i in range(-2, self.samples):
            if len(took) >= 3 and time.perf_counter() - begin > MOST_SECONDS:
                break
            start = time.perf_counter()
            for _ in range(calls):
                result = call()
                self.lib.start(result)
            self.lib.wait(result)
            if i >= 0:
                took.append((time.perf_counter() - start) / calls)
        self.rows.append({"name": name, "who": who, "value": 1e3 * statistics.median(took), "unit": "ms"})

    def compare(self, name, calls, work, inputs, wanted, bound):
        """`bound`: most that a value may be off, of the shape of what is wanted, or one for all."""
        there = [self.lib.there(x) for x in inputs]
        for who, wrap in self.lib.ways:
            function = wrap(work)
            try:
                got = self.lib.back(function(*there)).astype("f8")
            except Exception as error:
                print(f"peers_cpu.py: {who}, {name}: passed over: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            check(bool(self.np.all(self.np.abs(got - wanted) <= bound)), f"{who}, {name}")
            self.add(name, who, calls, lambda: function(*there))

    def run(self):
        np, f8 = self.np, lambda x: x.astype("f8")
        for name, (count, calls) in CHAINS.items():
            a, b, c, d, e = inputs = [self.draw(count) for _ in range(5)]
            product = np.maximum(f8(a) * b + c, 0) * np.tanh(f8(d))
            self.compare(name, calls, self.lib.chain, inputs, product - e, 2e-6 * (1 + np.abs(product)))
        for m, k, n in PRODUCTS:
            a, b = self.draw(m, k), self.draw(k, n)
            self.compare(f"C2 {m}x{k}x{n}", 20 if 2 * m * k * n < 1e8 else 1, self.lib.product, [a, b],
                         f8(a) @ f8(b), 2e-6 * (np.abs(f8(a)) @ np.abs(f8(b))))
        x, weight, bias = self.draw(ROWS, LENGTH), self.draw(LENGTH), self.draw(LENGTH)
        power = np.exp(f8(x) - x.max(1, keepdims=True))
        share = power / power.sum(1, keepdims=True)
        self.compare("C3 softmax", 4, self.lib.softmax, [x], share, 2e-6 * share)
        centred = f8(x) - f8(x).mean(1, keepdims=True)
        norm = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight + bias
        self.compare("C3 layer norm", 4, self.lib.layer_norm, [x, weight, bias], norm, 5e-6)
        self.in_turn()
        self.train()

    def in_turn(self):
        x, w = self.draw(16, 16), self.draw(16, 16, low=-0.4, high=0.4)
        wanted = x.astype("f8")
        for _ in range(100):
            wanted = wanted @ w.astype("f8")

        def products(x, w):
            for _ in range(100):
                x = self.lib.product(x, w)
            return x

        self.compare("C4 100 products of 16x16", 10, products, [x, w], wanted, 2e-5 * self.np.abs(wanted).max())
        y = self.draw(1024)
        wanted = y.astype("f8")
        for _ in range(50):
            wanted = self.np.sin(wanted) + 0.5

        def waves(x):
            for _ in range(50):
                x = self.lib.sin(x) + 0.5
            return x

        self.compare("C4 50 x (sin, + 0.5) of 1024", 10, waves, [y], wanted, 5e-6)

    def train(self):
        np = self.np
        x = self.draw(BATCH, FEATURES, low=0, high=1)
        labels = (np.arange(BATCH) * 7 % CLASSES).astype("i8")
        bound1, bound2 = FEATURES**-0.5, HIDDEN**-0.5
        start = [self.draw(HIDDEN, FEATURES, low=-bound1, high=bound1), self.draw(HIDDEN, low=-bound1, high=bound1),
                 self.draw(CLASSES, HIDDEN, low=-bound2, high=bound2), self.draw(CLASSES, low=-bound2, high=bound2)]
        wanted, loss_wanted = [p.astype("f8") for p in start], 0
        for _ in range(3):
            loss_wanted = self.step(wanted, x.astype("f8"), labels)
        for who, make in self.lib.trainers:
            try:
                step, parameters = make(start, x, labels)
                for _ in range(3):
                    loss = step()
            except Exception as error:
                print(f"peers_cpu.py: {who}, {STEP}: passed over: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            check(abs(float(self.lib.back(loss)) - loss_wanted) <= 2e-6 * (1 + loss_wanted), f"{who}, {STEP}, loss")
            for got, want in zip(parameters(), wanted):
                check(bool(np.all(np.abs(self.lib.back(got).astype("f8") - want) <= 2e-6)), f"{who}, {STEP}")
            self.add(STEP, who, 5, step)

    def step(self, parameters, x, labels):
        """One of plain SGD on mean cross-entropy, in float64; the loss before it."""
        np = self.np
        w1, b1, w2, b2 = parameters
        h = np.maximum(x @ w1.T + b1, 0)
        out = h @ w2.T + b2
        out -= out.max(1, keepdims=True)
        power = np.exp(out)
        total = power.sum(1, keepdims=True)
        each = np.arange(BATCH)
        loss = float((np.log(total[:, 0]) - out[each, labels]).mean())
        d = power / total
        d[each, labels] -= 1
        d /= BATCH
        dh = (d @ w2) * (h > 0)
        for p, g in zip(parameters, (dh.T @ x, dh.sum(0), d.T @ h, d.sum(0))):
            p -= RATE * g
        return loss


class Torch:
    def __init__(self, threads):
        import torch

        self.torch = torch
        torch.set_num_threads(threads)
        self.ways = [("torch eager", self.without_gradient), ("torch compile", self.compiled)]
        self.trainers = [("torch eager", lambda *a: self.trainer(False, *a)),
                         ("torch compile", lambda *a: self.trainer(True, *a))]
        self.there = lambda x: torch.from_numpy(x)
        self.product, self.sin = torch.matmul, torch.sin

    def without_gradient(self, work):
        return self.torch.no_grad()(work)

    def compiled(self, work):
        return self.without_gradient(self.torch.compile(work, dynamic=False))

    def start(self, result):
        pass

    def wait(self, result):
        pass

    def back(self, x):
        return x.detach().numpy()

    def chain(self, a, b, c, d, e):
        return self.torch.relu(a * b + c) * self.torch.tanh(d) - e

    def softmax(self, x):
        return self.torch.softmax(x, 1)

    def layer_norm(self, x, weight, bias):
        return self.torch.nn.functional.layer_norm(x, (LENGTH,), weight, bias, 1e-5)

    def trainer(self, is_compiled, start, x, labels):
        torch = self.torch
        net = torch.nn.Sequential(torch.nn.Linear(FEATURES, HIDDEN), torch.nn.ReLU(),
                                  torch.nn.Linear(HIDDEN, CLASSES))
        with torch.no_grad():
            for p, value in zip(net.parameters(), start):
                p.copy_(torch.from_numpy(value))
        optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
        x, labels = torch.from_numpy(x), torch.from_numpy(labels)

        def loss_of(x, labels):
            return torch.nn.functional.cross_entropy(net(x), labels)

        update = optimizer.step
        if is_compiled:
            loss_of, update = torch.compile(loss_of, dynamic=False), torch.compile(optimizer.step)

        def step():
            optimizer.zero_grad()
            loss = loss_of(x, labels)
            loss.backward()
            update()
            return loss

        return step, lambda: list(net.parameters())


class Jax:
    def __init__(self, threads):
        import jax
        import jax.numpy as jnp
        import numpy as np

        self.jax, self.np = jax, np
        self.ways = [("jax jit", jax.jit)]
        self.trainers = [("jax jit", self.trainer)]
        self.there, self.product, self.sin = jnp.asarray, jnp.matmul, jnp.sin
        self.jnp = jnp

    def start(self, result):
        pass

    def wait(self, result):
        self.jax.block_until_ready(result)

    def back(self, x):
        return self.np.asarray(x)

    def chain(self, a, b, c, d, e):
        return self.jax.nn.relu(a * b + c) * self.jnp.tanh(d) - e

    def softmax(self, x):
        return self.jax.nn.softmax(x, 1)

    def layer_norm(self, x, weight, bias):
        centred = x - x.mean(1, keepdims=True)
        return centred * self.jax.lax.rsqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight + bias

    def trainer(self, start, x, labels):
        jax, jnp = self.jax, self.jnp
        x, labels = jnp.asarray(x), jnp.asarray(labels.astype("i4"))
        state = [[jnp.asarray(p) for p in start]]

        def loss_of(parameters):
            w1, b1, w2, b2 = parameters
            out = jax.nn.log_softmax(jax.nn.relu(x @ w1.T + b1) @ w2.T + b2)
            return -out[jnp.arange(BATCH), labels].mean()

        def update(parameters):
            loss, gradients = jax.value_and_grad(loss_of)(parameters)
            return loss, [p - RATE * g for p, g in zip(parameters, gradients)]

        update = jax.jit(update, donate_argnums=0)

        def step():
            loss, state[0] = update(state[0])
            return loss

        return step, lambda: state[0]


class Mlx:
    def __init__(self, threads):
        import mlx.core as mx
        import numpy as np

        self.mx, self.np = mx, np
        mx.set_default_device(mx.cpu)
        self.ways = [("mlx compile", mx.compile)]
        self.trainers = [("mlx compile", self.trainer)]
        self.there, self.product, self.sin = mx.array, mx.matmul, mx.sin

    def start(self, result):
        self.mx.async_eval(result)

    def wait(self, result):
        self.mx.eval(result)
        self.mx.synchronize()

    def back(self, x):
        return self.np.array(x)

    def chain(self, a, b, c, d, e):
        return self.mx.maximum(a * b + c, 0) * self.mx.tanh(d) - e

    def softmax(self, x):
        return self.mx.softmax(x, 1)

    def layer_norm(self, x, weight, bias):
        return self.mx.fast.layer_norm(x, weight, bias, 1e-5)

    def trainer(self, start, x, labels):
        mx = self.mx
        x, labels = mx.array(x), mx.array(labels)
        state = [[mx.array(p) for p in start]]

        def loss_of(parameters):
            w1, b1, w2, b2 = parameters
            out = mx.maximum(x @ w1.T + b1, 0) @ w2.T + b2
            return (mx.logsumexp(out, 1) - mx.take_along_axis(out, labels[:, None], 1)[:, 0]).mean()

        @mx.compile
        def update(parameters):
            loss, gradients = mx.value_and_grad(loss_of)(parameters)
            return loss, [p - RATE * g for p, g in zip(parameters, gradients)]

        def step():
            loss, state[0] = update(state[0])
            mx.async_eval(loss, state[0])
            return loss

        return step, lambda: state[0]


FIRST = {
    "torch": "import torch; x = torch.tensor([1., 2., 3.]); v = torch.relu(x * 2 - 3)[2].item()",
    "jax": "import jax, jax.numpy as jnp; x = jnp.array([1., 2., 3.]); "
           "v = float(jax.jit(lambda x: jax.nn.relu(x * 2 - 3))(x)[2])",
    "mlx": "import mlx.core as mx; mx.set_default_device(mx.cpu); x = mx.array([1., 2., 3.]); "
           "v = mx.maximum(x * 2 - 3, 0)[2].item()",
}  # fmt: skip


def first_result(peer, samples):
    """From the start of a process, the interpreter's included, to its first value."""
    code = FIRST[peer] + "; assert v == 3; import time; print(time.monotonic())"
    took = []
    for _ in range(samples + 1):
        begin = time.monotonic()
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
        took.append(float(done.stdout) - begin)
    return [{"name": "first result", "who": peer, "value": 1e3 * statistics.median(took[1:]), "unit": "ms"}]


def environment(threads):
    """torch and mlx's products heed the first two, jax's thread pool the others."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC", "PJRT_NPROC")
    return os.environ | {name: str(threads) for name in names} | {"JAX_PLATFORMS": "cpu"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--only", default=",".join(PEERS))
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        library = {"torch": Torch, "jax": Jax, "mlx": Mlx}[options.run](options.threads)
        bench = Bench(library, options.quick)
        bench.run()
        return print(json.dumps(bench.rows))
    rows = []
    for peer in options.only.split(","):
        module = "mlx.core" if peer == "mlx" else peer
        if subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode:
            print(f"peers_cpu.py: {peer} is not installed: passed over", file=sys.stderr)
            continue
        if options.first:
            rows += first_result(peer, 1 if options.quick else 5)
            continue
        command = [sys.executable, os.path.abspath(__file__), "--run", peer, "--threads", str(options.threads)]
        done = subprocess.run(command + ["--quick"] * options.quick, stdout=subprocess.PIPE, text=True,
                              env=environment(options.threads))
        if done.returncode:
            print(f"peers_cpu.py: {peer} failed", file=sys.stderr)
            continue
        rows += json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
