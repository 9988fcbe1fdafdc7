#!/usr/bin/env python3
"""Every op on 16M elements beside NumPy and PyTorch, in one run on one device, as a table.

  ops_table.py BUILD [--device cpu|cuda:0] [--quick] [--threads 1,2] [--out FILE]

Runs BUILD/benchmarks/ops and, in a process of its own each, those of numpy (cpu alone) and torch that
are installed: the same names, sizes and ranges of arguments, warm, medians, waited for; for each number
of threads, which numpy does not heed. The Markdown tables have weft's milliseconds, the others', and
weft's ratio to the best of them; they go to the standard output, or into FILE between its marks. What is
more than 1.2 times the best is marked and listed.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parent / "graph/include/weft/graph/detail/ops.def"
LIMIT = 1.2
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
# Where the others' name is not ours: (torch, numpy); None: they have none.
NAMES = {
    "abs": ("abs", "absolute"), "neg": ("neg", "negative"), "round": ("round", "rint"),
    "rsqrt": ("rsqrt", None), "reciprocal": ("reciprocal", "reciprocal"),
    "asin": ("asin", "arcsin"), "acos": ("acos", "arccos"), "atan": ("atan", "arctan"),
    "asinh": ("asinh", "arcsinh"), "acosh": ("acosh", "arccosh"), "atanh": ("atanh", "arctanh"),
    "isinf": ("isinf", "isinf"), "bitwise_not": ("bitwise_not", "invert"),
    "sub": ("sub", "subtract"), "mul": ("mul", "multiply"), "div": ("div", "divide"),
    "pow": ("pow", "power"), "atan2": ("atan2", "arctan2"), "eq": ("eq", "equal"),
    "ne": ("ne", "not_equal"), "lt": ("lt", "less"), "le": ("le", "less_equal"),
    "gt": ("gt", "greater"), "ge": ("ge", "greater_equal"),
    "left_shift": ("bitwise_left_shift", "left_shift"),
    "right_shift": ("bitwise_right_shift", "right_shift"),
    "relu": ("relu", None), "sigmoid": ("sigmoid", None), "erf": ("erf", None),
    "erfc": ("erfc", None), "lerp": ("lerp", None),
}  # fmt: skip


def rows_of_table():
    """name, arity, classes, low, high of each point-wise op but the cast."""
    pattern = re.compile(r"^WEFT_OP_POINTWISE\((\w+),\s*(\d),\s*(\w+),\s*(\w+),\s*[\d.]+,\s*"
                         r"(-?[\d.]+),\s*(-?[\d.]+),", re.M)
    for name, arity, rule, classes, low, high in pattern.findall(TABLE.read_text()):
        if rule != "given":
            yield name, int(arity), classes, float(low), float(high)


def median_ms(samples, call, wait=lambda: None):
    took = []
    for i in range(-2, samples):
        wait()
        start = time.perf_counter()
        call()
        wait()
        if i >= 0:
            took.append(time.perf_counter() - start)
    return 1e3 * statistics.median(took)


def works(lib, draw, count):
    """name -> call of the functions that the library has; draw(shape, low, high, is_whole)."""
    import_name = lib.__name__
    is_torch = import_name == "torch"
    found = {}
    for name, arity, classes, low, high in rows_of_table():
        own = NAMES.get(name, (name, name))[0 if is_torch else 1]
        function = own and (getattr(lib, own, None) or
                            (getattr(lib.nn.functional, own, None) if is_torch else None))
        if not function:
            continue
        inputs = [draw((count,), low, high, classes == "ints") for _ in range(arity)]
        if name == "where":
            inputs[0] = inputs[0] > 0
        found[name] = lambda f=function, a=inputs: f(*a)
    rows = count // 4096
    m = draw((rows, 4096), -1, 1, False)
    a = draw((1024, 1024), -1, 1, False)
    axis = "dim" if is_torch else "axis"
    along = lambda f, i: lambda: f(m, **{axis: i})
    found |= {
        "sum": lambda: lib.sum(m), "sum of columns": along(lib.sum, 0),
        "sum of rows": along(lib.sum, 1), "mean": lambda: lib.mean(m),
        "prod of rows": along(lib.prod, 1), "amax": lambda: lib.amax(m),
        "amax of rows": along(lib.amax, 1), "argmax of rows": along(lib.argmax, 1),
        "any": lambda: lib.any(m > 2), "matmul 1024": lambda: lib.matmul(a, a),
    }  # fmt: skip
    if is_torch:
        picks = lib.randint(0, rows, (rows,), device=m.device)
        row_of = picks[:, None].expand(rows, 4096).contiguous()
        found |= {
            "logsumexp of rows": lambda: lib.logsumexp(m, 1),
            "softmax of rows": lambda: lib.softmax(m, 1),
            "transpose": lambda: m.t().contiguous(), "flip": lambda: lib.flip(m, (1,)),
            "cat": lambda: lib.cat((m, m), 1),
            "index_select of rows": lambda: lib.index_select(m, 0, picks),
            "topk 8 of rows": lambda: lib.topk(m, 8, 1),
            "cast to f64": lambda: m.double(), "cast to f16": lambda: m.half(),
            "cast to i32": lambda: m.int(),
            "cumsum of rows": lambda: lib.cumsum(m, 1), "sort of rows": lambda: lib.sort(m, 1),
            "scatter_add of rows": lambda: lib.scatter_add(m, 0, row_of, m),
            "var of rows": lambda: lib.var(m, 1), "roll": lambda: lib.roll(m, 1, 1),
            "pad": lambda: lib.nn.functional.pad(m, (1, 1)), "tril": lambda: lib.tril(m),
            "rand": lambda: lib.rand(count, device=m.device),
            "randn": lambda: lib.randn(count, device=m.device),
            "arange": lambda: lib.arange(count, dtype=lib.float32, device=m.device),
        }  # fmt: skip
    else:
        picks = lib.random.default_rng(2).integers(0, rows, rows)
        generator = lib.random.default_rng(3)
        found |= {
            "transpose": lambda: lib.ascontiguousarray(m.T),
            "flip": lambda: lib.ascontiguousarray(lib.flip(m, 1)),
            "cat": lambda: lib.concatenate((m, m), 1),
            "index_select of rows": lambda: lib.take(m, picks, 0),
            "cast to f64": lambda: m.astype("f8"), "cast to f16": lambda: m.astype("f2"),
            "cast to i32": lambda: m.astype("i4"),
            "cumsum of rows": lambda: lib.cumsum(m, 1), "sort of rows": lambda: lib.sort(m, 1),
            "var of rows": lambda: lib.var(m, 1, ddof=1), "roll": lambda: lib.roll(m, 1, 1),
            "pad": lambda: lib.pad(m, ((0, 0), (1, 1))), "tril": lambda: lib.tril(m),
            "rand": lambda: generator.random(count, dtype="f4"),
            "randn": lambda: generator.standard_normal(count, dtype="f4"),
            "arange": lambda: lib.arange(count, dtype="f4"),
        }  # fmt: skip
    return found


def run_peer(peer, device, quick, threads):
    """Figures of one library, as a dictionary on the standard output."""
    count = 1 << (20 if quick else 24)
    wait = lambda: None
    if peer == "torch":
        import torch as lib

        lib.set_num_threads(threads)
        lib.set_grad_enabled(False)

        def draw(shape, low, high, is_whole):
            x = lib.rand(shape, device=device) * (high - low) + low
            return x.int() if is_whole else x

        if device != "cpu":
            wait = lib.cuda.synchronize
    else:
        import numpy as lib

        generator = lib.random.default_rng(1)

        def draw(shape, low, high, is_whole):
            x = generator.random(shape, dtype="f4") * lib.float32(high - low) + lib.float32(low)
            return x.astype("i4") if is_whole else x

    figures = {}
    for name, call in works(lib, draw, count).items():
        try:
            figures[name] = median_ms(5 if quick else 7, call, wait)
        except Exception as error:  # an op that the library has not for this dtype
            print(f"ops_table.py: {peer} {name}: {error}", file=sys.stderr)
    json.dump({"version": lib.__version__, "figures": figures}, sys.stdout)


def is_installed(name):
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode == 0


def own_figures(given, quick, environment):
    done = subprocess.run([given.build / "benchmarks/ops", "--json", "--device", given.device, *quick],
                          stdout=subprocess.PIPE, check=True, env=environment)
    return {row["name"]: row["value"] for row in json.loads(done.stdout)}


def measure(given, threads):
    """({op: ms} of weft, {peer: {"version", "figures"}}), weft before and after the peers: the lesser."""
    quick = ["--quick"] if given.quick else []
    environment = os.environ | {"WEFT_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    own = own_figures(given, quick, environment)
    peers = {}
    for peer in ("numpy", "torch"):
        if (peer == "numpy" and given.device != "cpu") or not is_installed(peer):
            continue
        peers[peer] = json.loads(subprocess.run(
            [sys.executable, __file__, str(given.build), "--peer", peer, "--device", given.device,
             "--threads", str(threads), *quick],
            stdout=subprocess.PIPE, check=True, env=environment).stdout)
    again = own_figures(given, quick, environment)
    return {name: min(value, again[name]) for name, value in own.items()}, peers


def table_of(own, peers):
    titles = [f"{name} {peers[name]['version']}" for name in peers]
    lines = ["| op | weft ms | " + "".join(f"{title} ms | " for title in titles) + "ratio to the best |",
             "|---|---|" + "---|" * (len(peers) + 1)]
    slower = []
    for name, value in own.items():
        others = [peers[peer]["figures"].get(name) for peer in peers]
        best = min((each for each in others if each), default=None)
        ratio = "" if not best else f"{value / best:.2f}" + (" *" if value > LIMIT * best else "")
        if best and value > LIMIT * best:
            slower.append(f"{name} ({value / best:.2f})")
        cells = [f"{each:.2f}" if each else "" for each in others]
        lines.append("| " + " | ".join([name, f"{value:.2f}", *cells, ratio]) + " |")
    counted = f"More than {LIMIT} times the best, {len(slower)} of {len(own)}: " + ", ".join(slower) + "."
    return "\n".join(lines) + "\n\n" + counted + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", default=str(os.cpu_count()))
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        return run_peer(given.peer, given.device, given.quick, int(given.threads))
    git = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    parts = [f"Commit {os.environ.get('WEFT_COMMIT') or git.stdout.strip()}, {datetime.date.today()}, on "
             f"{given.device}, {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the start.\n"]
    for threads in map(int, given.threads.split(",")):
        parts.append(f"### Threads: {threads}\n\n" + table_of(*measure(given, threads)))
    text = "\n".join(parts)
    if not given.out:
        return print(text, end="")
    page = given.out.read_text() if given.out.exists() else BEGIN + END
    given.out.write_text(page[: page.index(BEGIN)] + BEGIN + "\n" + text + "\n" + page[page.index(END) :])


if __name__ == "__main__":
    main()
