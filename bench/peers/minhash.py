#!/usr/bin/env python3
"""Near-duplicate pairs by datasketch and by synth/near on the same texts in the same run, with ratios.

    minhash.py [--texts N] [--repeat R] [--seed S]

Texts are questions of made-up words, a fifth of them copies of another one with 0 to 2 words changed. Both sides cut
shingles of 5 characters, use 128 permutations, the same bands and rows, and confirm candidates by exact Jaccard
similarity >= 0.7. datasketch runs by the fastest way it offers: MinHash.generator (vectorised), its fastest scheme where
it has schemes, and an LSH of given bands and rows in memory. Times are processor seconds, best of R.

Each side draws its own permutations, so a pair near the threshold may be a candidate of one side only. Therefore the
truth is the union of both over all bands, and pairs only one side found are held against what the curve allows.
32 bands of 4 rows miss a pair of 0.7 once in 6,500: there the sets are equal but for a pair or two in 100,000 texts.

Needs datasketch (pip install datasketch) and go for synth/near.
"""
import argparse
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

try:
    import datasketch
except ImportError as e:
    sys.exit(f"{e.name} is missing: pip install datasketch, in a virtual environment, and run with its python")

REPO = pathlib.Path(__file__).resolve().parents[2]
JACCARD = 0.7
SYLLABLES = "ka lor min ve sta bri on tel mar qui dor fen gas hul ir jon pel ru sin tov".split()


def generate(n, seed):
    """Plain ASCII in lower case without digits, with single blanks: text that normalising leaves as it is."""
    r = random.Random(seed)
    words = sorted({"".join(r.choice(SYLLABLES) for _ in range(r.randint(1, 3))) for _ in range(6000)})
    out = []
    for _ in range(n):
        if out and r.random() < 0.2:
            text = r.choice(out).split(" ")
            for _ in range(r.randint(0, 2)):
                text[r.randrange(len(text))] = r.choice(words)
        else:
            text = [r.choice(words) for _ in range(r.randint(10, 20))]
        out.append(" ".join(text))
    return out


def shingles(text):
    return {text[i:i + 5].encode() for i in range(len(text) - 4)} or {text.encode()}


def jaccard(a, b):
    both = len(a & b)
    return both / (len(a) + len(b) - both)


def peer(texts, bands, rows):
    """Confirmed pairs, and processor seconds of cutting shingles, signatures, banding and confirming."""
    kind = {"scheme": "affine32"} if "scheme" in datasketch.MinHash.__init__.__code__.co_varnames else {}
    clock, spent, last = time.process_time, [], time.process_time()

    def lap():
        nonlocal last
        now = clock()
        spent.append(now - last)
        last = now

    sets = [shingles(t) for t in texts]
    lap()
    signatures = list(datasketch.MinHash.generator(sets, num_perm=128, **kind))
    lap()
    lsh = datasketch.MinHashLSH(num_perm=128, params=(bands, rows))
    candidates = []
    for i, m in enumerate(signatures):
        candidates.extend((j, i) for j in lsh.query(m))
        lsh.insert(i, m, check_duplication=False)
    lap()
    pairs = {(j, i) for j, i in candidates if jaccard(sets[j], sets[i]) >= JACCARD}
    lap()
    return pairs, spent


def ours(texts, repeat):
    """Confirmed pairs and processor seconds, by bands x rows."""
    with tempfile.TemporaryDirectory() as folder:
        source, found = os.path.join(folder, "texts.json"), os.path.join(folder, "pairs.json")
        with open(source, "w") as f:
            json.dump(texts, f)
        run = ["go", "test", "-run", "^$", "-bench", "^BenchmarkPairs$", "-benchtime", "1x", "-count", str(repeat), "-cpu", "1", "./synth/near"]
        out = subprocess.run(run, cwd=REPO, check=True, capture_output=True, text=True, timeout=900,
                             env={**os.environ, "GOMAXPROCS": "1", "QUARRY_NEAR_TEXTS": source, "QUARRY_NEAR_PAIRS": found}).stdout
        result = {}
        for name, us in re.findall(r"^BenchmarkPairs/(\w+)\S*\s.*?([\d.]+) cpu-us/text", out, re.M):
            with open(f"{found}.{name}") as f:
                pairs = {tuple(p) for p in json.load(f)}
            seconds = min(float(us) * len(texts) / 1e6, result.get(name, (None, math.inf))[1])
            result[name] = (pairs, seconds)
        return result


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--texts", type=int, default=20_000)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()

    texts = generate(a.texts, a.seed)
    print(f"{len(texts)} texts of {sum(map(len, texts)) / len(texts):.0f} characters on average; datasketch {datasketch.__version__}")
    mine = ours(texts, a.repeat)
    theirs = {}
    for name in mine:
        bands, rows = map(int, name.split("x"))
        runs = [peer(texts, bands, rows) for _ in range(a.repeat)]
        theirs[name] = (runs[0][0], min((r[1] for r in runs), key=sum))
    truth = set().union(*(v[0] for v in mine.values()), *(v[0] for v in theirs.values()))
    similarity = {(i, j): jaccard(shingles(texts[i]), shingles(texts[j])) for i, j in truth}

    fine = True
    for name, (pairs, seconds) in mine.items():
        bands, rows = map(int, name.split("x"))
        other, spent = theirs[name]
        total = sum(spent)
        print(f"\n{name}: synth/near {seconds:.2f} cpu-s, datasketch {total:.2f} cpu-s: {total / seconds:.1f}x "
              f"(datasketch: shingles {spent[0]:.2f}, signatures {spent[1]:.2f}, banding {spent[2]:.2f}, exact {spent[3]:.2f}; without shingles {(total - spent[0]) / seconds:.1f}x)")
        print(f"  pairs of s >= {JACCARD}: {len(pairs)} and {len(other)} of {len(truth)} known; same sets: {'yes' if pairs == other else 'no'}"
              f"; {len(pairs - other)} only by synth/near, {len(other - pairs)} only by datasketch")
        wrong = [p for p in pairs if similarity[p] < JACCARD]
        strong = {p for p in truth if similarity[p] >= 0.8}
        expect = sum(1 - (1 - similarity[p] ** rows) ** bands for p in truth)
        sigma = math.sqrt(sum(q * (1 - q) for q in (1 - (1 - similarity[p] ** rows) ** bands for p in truth)))
        print(f"  recall at s >= 0.8: {len(pairs & strong) / max(1, len(strong)):.4f} and {len(other & strong) / max(1, len(strong)):.4f}; "
              f"expected by the curve {expect:.1f} +- {sigma:.1f} pairs; falsely confirmed {len(wrong)}")
        fine = fine and not wrong and abs(len(pairs) - expect) <= 4 * sigma + 1
    sys.exit(0 if fine else "synth/near found other pairs than the curve allows")


if __name__ == "__main__":
    main()
