#!/usr/bin/env python3
"""weft and its peers side by side, from one run on one GPU.

  compare.py BUILD [--quick] [--no-peers] [--out FOLDER] [--markdown FILE]

Runs the benchmarks of the build folder BUILD (its benchmarks/) and peers.py, keeps their JSON in
FOLDER, prints a table of medians with ratios, ceilings and goals, and appends it as Markdown.
Exit status 1 where a benchmark failed; a goal that is missed is said, and fails nothing.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
WEFT = "weft"

# name, most times the best peer, least part of a ceiling and whose, most (absolute)
GOALS = [
    ("W1", 1.02, ("stream", 0.97), None),
    ("W2c", 1.02, ("read", 0.97), None),
    ("W2d", 1.02, ("read", 0.97), None),
    ("W3a", None, None, None),
    ("W6 cold", None, None, 0.40),
    ("W6 warm", None, None, 0.33),
    ("W6 with a product, cold", None, None, None),
    ("W6 with a product, warm", None, None, 0.65),
    ("first use of a fused kernel, median of 8", None, None, 60),
    ("first use of a fused kernel, slowest of 8", None, None, None),
    ("W7, first step, compilation included", None, None, None),
    ("record an op of two operands", None, None, None),
    ("start a known plan, 1 nodes", None, None, None),
    ("start a known plan, 10 nodes", None, None, None),
    ("start a known plan, 100 nodes", None, None, None),
    ("a small kernel, waited for", None, None, None),
] + [(f"copy to the {to}, {mib} MiB", None, None, None) for mib in (64, 256, 1024) for to in ("device", "host")]


def run_json(command):
    """The rows that a command prints; None where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"compare.py: {command[0]} failed", file=sys.stderr)
        return None
    return json.loads(done.stdout) if done.stdout.strip() else []


def first_results(program, samples):
    """W6: from the start of a process to its first value, kernels compiled or found."""
    rows = []
    for arguments, name in (([], "W6"), (["--product"], "W6 with a product,")):
        cold, warm = [], []
        for _ in range(samples):
            folder = tempfile.mkdtemp()
            try:
                for times in (cold, warm):
                    begin = time.monotonic()
                    done = subprocess.run([program, *arguments], capture_output=True, text=True,
                                          env={**os.environ, "WEFT_CACHE_DIR": folder})
                    if done.returncode or not done.stdout.strip():
                        print(f"compare.py: first_result: {done.stderr.strip()}", file=sys.stderr)
                        return None
                    times.append(float(done.stdout) - begin)
            finally:
                shutil.rmtree(folder)
        for which, times in (("cold", cold), ("warm", warm)):
            rows.append({"name": f"{name} {which}", "who": WEFT,
                         "value": statistics.median(times), "unit": "s"})
    return rows


def value_of(rows, name, who):
    return next((row["value"] for row in rows if row["name"] == name and row["who"] == who), None)


def peer_name(name):
    """W6's peers have no cache of ours."""
    return name.replace(", cold", "").replace(", warm", "").replace(" cold", "").replace(" warm", "")


def line_of(rows, goal):
    name, most_ratio, ceiling, most = goal
    own = next((row for row in rows if row["name"] == name and row["who"] == WEFT), None)
    if own is None:
        return None
    value, unit = own["value"], own["unit"]
    more_is_better = unit == "GB/s"
    others = [row for row in rows if row["name"] == peer_name(name) and row["who"] != WEFT]
    best = (max if more_is_better else min)(others, key=lambda row: row["value"], default=None)
    cells = {"what": name, "weft": f"{value:.4g} {unit}", "best other": "", "ratio": "",
             "of the ceiling": "", "goal": "", "": ""}
    missed = False
    if best:
        ratio = value / best["value"]
        cells["best other"] = f"{best['value']:.4g} {best['who']}"
        cells["ratio"] = f"{ratio:.3f}"
        missed |= bool(most_ratio) and ratio > most_ratio
    goals = [f"<= {most_ratio} x"] if most_ratio else []
    if ceiling:
        top = value_of(rows, ceiling[0], "raw kernel")
        own_traffic = value_of(rows, name + " traffic", WEFT)
        goals.append(f">= {ceiling[1]:.0%} of {ceiling[0]}")
        if top and own_traffic:
            cells["of the ceiling"] = f"{own_traffic / top:.1%}"
            missed |= own_traffic / top < ceiling[1]
    if most:
        goals.append(f"<= {most:g} {unit}")
        missed |= value > most
    cells["goal"] = ", ".join(goals)
    cells[""] = "missed" if missed else ""
    return cells


def table_of(rows, markdown):
    lines = [line for goal in GOALS if (line := line_of(rows, goal))]
    if not lines:
        return "no figures\n"
    heads = list(lines[0])
    if markdown:
        out = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
        out += ["| " + " | ".join(line.values()) + " |" for line in lines]
        return "\n".join(out) + "\n"
    widths = [max(len(head), *(len(line[head]) for line in lines)) for head in heads]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() + "\n"
                   for cells in [heads] + [list(line.values()) for line in lines])


def ceilings_of(rows):
    named = [row for row in rows if row["name"] in ("copy", "stream", "read")]
    own = [row for row in rows if row["name"].endswith("traffic")]
    return "".join(f"{row['name']}, {row['who']}: {row['value']:.0f} {row['unit']}\n" for row in named + own)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()
    out = options.out or options.build / "figures"
    out.mkdir(parents=True, exist_ok=True)
    programs = options.build / "benchmarks"
    quick = ["--quick"] if options.quick else []
    parts = {
        "gpu": lambda: run_json([str(programs / "gpu"), "--json", *quick]),
        "gpu_paths": lambda: run_json([str(programs / "gpu_paths"), "--json", *quick]),
        "first_result": lambda: first_results(str(programs / "first_result"), 2 if options.quick else 7),
    }
    if not options.no_peers:
        parts["peers"] = lambda: run_json([sys.executable, str(HERE / "peers.py"), *quick])
    rows, failed = [], False
    for name, run in parts.items():
        found = run()
        failed |= found is None
        (out / f"{name}.json").write_text(json.dumps(found or [], indent=1) + "\n")
        rows += found or []
    print(table_of(rows, False) + "\n" + ceilings_of(rows), end="")
    if options.markdown:
        with options.markdown.open("a") as file:
            ceilings = ceilings_of(rows).replace("\n", "; ").rstrip("; ")
            file.write("\n" + table_of(rows, True) + f"\nMemory, in the same run: {ceilings}.\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
