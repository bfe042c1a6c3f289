#!/usr/bin/env python3
"""Draws samples of refwrite.sh: the slowest ref write of each tenth of a second, on a logarithmic scale.

usage: refwrite_plot.py OUT.svg LABEL=FILE.json [LABEL=FILE.json ...]      (needs gnuplot)
"""
import json
import subprocess
import sys


def slowest(samples):
    buckets = {}
    for at, took in samples:
        end = at + took / 1000
        bucket = int(end * 10)
        buckets[bucket] = max(buckets.get(bucket, 0), took)
    return sorted((bucket / 10, took) for bucket, took in buckets.items())


def main():
    out, series = sys.argv[1], [argument.split("=", 1) for argument in sys.argv[2:]]
    lines = [
        "set terminal svg size 760,320 background '#ffffff'",
        f"set output '{out}'",
        "set logscale y",
        "set xlabel 'seconds'",
        "set ylabel 'slowest ref write, ms'",
        "set grid ytics",
        "set key outside top center horizontal",
        "plot " + ", ".join(f"'-' with impulses lw 1.5 title '{label}'" for label, _ in series),
    ]
    for _, path in series:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        lines += [f"{at:.1f} {took:.3f}" for at, took in slowest(data["samples"])] + ["e"]
    subprocess.run(["gnuplot"], input="\n".join(lines), text=True, check=True)


main()
