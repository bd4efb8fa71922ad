#!/usr/bin/env python3
"""Random walks by Python peers and by kg/walk on the same graph in the same run, with ratios.

    walk.py FB15k-237.tar.gz [--steps N] [--large] [--repeat R]

The archive holds train.txt, valid.txt and test.txt with tab-separated head, relation, tail. Both directions are walked,
parallel statements count each but in networkx. Speed is steps by processor time, best of R. --large adds a random graph of 2 million
vertices and 20 million statements, for numpy and kg/walk (about 3 GB).
Needs python3-networkx, python3-igraph and python3-numpy (Debian packages), and go for kg/walk.
"""
import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import time

try:
    import igraph
    import networkx
    import numpy
except ImportError as e:
    sys.exit(f"{e.name} is missing: install python3-networkx, python3-igraph and python3-numpy, and run with that python3")

LENGTH = 80  # steps of a walk, for every engine
REPO = pathlib.Path(__file__).resolve().parents[2]


def read(archive):
    """Edges as an array of (head, tail) numbers; statements that occur twice are kept once, as kg/csr does."""
    entities, statements = {}, set()
    with tarfile.open(archive) as tar:
        for member in tar:
            if os.path.basename(member.name) not in ("train.txt", "valid.txt", "test.txt"):
                continue
            for line in tar.extractfile(member):
                fields = line.rstrip(b"\r\n").split(b"\t")
                if len(fields) == 3:
                    h, r, t = fields
                    statements.add((entities.setdefault(h, len(entities)), r, entities.setdefault(t, len(entities))))
    return len(entities), numpy.array([(h, t) for h, _, t in sorted(statements)], dtype=numpy.int64)


def csr(n, edges):
    source = numpy.concatenate([edges[:, 0], edges[:, 1]])
    target = numpy.concatenate([edges[:, 1], edges[:, 0]]).astype(numpy.uint32)
    target = target[numpy.argsort(source, kind="stable")]
    offsets = numpy.zeros(n + 1, dtype=numpy.int64)
    numpy.cumsum(numpy.bincount(source, minlength=n), out=offsets[1:])
    return offsets, target


def best(repeat, walk, steps):
    """Steps by processor second, best of repeat; walk returns how many steps it made."""
    rate = 0.0
    for i in range(repeat):
        begin = time.process_time()
        made = walk(i, steps)
        rate = max(rate, made / (time.process_time() - begin))
    return rate


def adjacency_lists(n, edges):
    rows = [[] for _ in range(n)]
    for h, t in edges.tolist():
        rows[h].append(t)
        rows[t].append(h)

    def walk(seed, steps):
        r, made = random.Random(seed), 0
        draw = r.random
        while made < steps:
            v = r.randrange(n)
            for _ in range(LENGTH):
                row = rows[v]
                v = row[int(draw() * len(row))]
            made += LENGTH
        return made
    return walk


def networkx_walk(n, edges):
    """As users write it: one of the neighbours, however many statements lead there."""
    g = networkx.Graph()
    g.add_nodes_from(range(n))
    g.add_edges_from(edges.tolist())

    def walk(seed, steps):
        r, made = random.Random(seed), 0
        while made < steps:
            v = r.randrange(n)
            for _ in range(LENGTH):
                v = r.choice(list(g[v]))
            made += LENGTH
        return made
    return walk


def igraph_walk(n, edges):
    g = igraph.Graph(n=n, edges=edges.tolist())

    def walk(seed, steps):
        random.seed(seed)
        made = 0
        while made < steps:
            g.random_walk(random.randrange(n), LENGTH)
            made += LENGTH
        return made
    return walk


def numpy_walk(n, graph, walkers=200_000):
    offsets, target = graph
    degree = numpy.diff(offsets)

    def walk(seed, steps):
        r = numpy.random.default_rng(seed)
        rounds = max(LENGTH, steps // walkers)
        at = r.integers(0, n, walkers)
        at = at[degree[at] > 0]
        for _ in range(rounds):
            at = target[offsets[at] + (r.random(len(at), dtype=numpy.float32) * degree[at]).astype(numpy.int64)]
        return rounds * len(at)
    return walk


def ours(archive, large):
    if os.path.basename(archive) != "FB15k-237.tar.gz":
        sys.exit("kg/walk reads FB15k-237.tar.gz only: keep the archive as medium-fb15k237/FB15k-237.tar.gz")
    names = "Uniform$/^(fb15k237|random20M)$" if large else "Uniform$/^fb15k237$"
    out = subprocess.run(["go", "test", "-run", "^$", "-bench", names, "-benchtime", "1s", "-count", "3", "-cpu", "1", "./kg/walk"], cwd=REPO, check=True,
                         capture_output=True, text=True, timeout=600, env={**os.environ, "QUARRY_BENCH_DATA": str(pathlib.Path(archive).resolve().parent.parent)}).stdout
    rates = {}
    for name, rate in re.findall(r"^BenchmarkUniform/(\w+)\S*\s.*?([\d.]+) Msteps/cpu-s", out, re.M):
        rates[name] = max(rates.get(name, 0), float(rate) * 1e6)
    return rates


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("archive")
    p.add_argument("--steps", type=int, default=400_000, help="steps of one measurement; numpy makes 50 times as many")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--large", action="store_true")
    a = p.parse_args()

    n, edges = read(a.archive)
    print(f"FB15k-237: {n} entities, {len(edges)} statements; networkx {networkx.__version__}, igraph {igraph.__version__}, numpy {numpy.__version__}")
    mine = ours(a.archive, a.large)
    rows = [("kg/walk", mine["fb15k237"])]
    for name, make, steps in [("numpy batch", lambda: numpy_walk(n, csr(n, edges)), 50 * a.steps), ("igraph random_walk", lambda: igraph_walk(n, edges), a.steps),
                              ("adjacency lists", lambda: adjacency_lists(n, edges), a.steps), ("networkx neighbours", lambda: networkx_walk(n, edges), a.steps // 4)]:
        rows.append((name, best(a.repeat, make(), steps)))
    table("FB15k-237", rows)
    if a.large:
        n, m = 2_000_000, 20_000_000
        edges = numpy.random.default_rng(1).integers(0, n, (m, 2))
        table("random, 20 M statements", [("kg/walk", mine["random20M"]), ("numpy batch", best(a.repeat, numpy_walk(n, csr(n, edges)), 50 * a.steps))])


def table(graph, rows):
    print(f"{graph:28} {'M steps/cpu-s':>14} {'kg/walk is':>11}")
    for name, rate in rows:
        print(f"{name:28} {rate / 1e6:14.3f} {rows[0][1] / rate:10.1f}x")


if __name__ == "__main__":
    main()
