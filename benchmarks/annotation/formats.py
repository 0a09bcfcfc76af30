"""Measure reading and writing of annotation items.

Run ``python -m benchmarks.annotation.formats``.

Items are made with gold: an image pair with seven objects in two layers, or a passage of 300 tokens with nine
spans in three; for writing, also with the work of one person. Each reader and writer runs in a process of its
own, so that its peak memory is its own. Reading includes all checks.

Bars: 10,000 items a second from JSON lines, in memory that stays the same from 10,000 to 40,000 items (but
for their ids); every format of a single file written with 10,000 items in under 2 s of processor time.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from annotation.content.schemas import ItemRecord
from annotation.formats.coco import read_coco
from annotation.formats.faithful_nmn.reader import read_faithful_nmn
from annotation.formats.jsonl import read_jsonl, write_jsonl
from annotation.formats.label_studio import read_label_studio
from annotation.formats.registry import WRITERS
from annotation.formats.source import Source
from annotation.formats.texts import build_span, tokenize

ITEMS = 10_000
READ_PER_SECOND = 10_000
WRITE_SECONDS = 2.0
MORE_MEMORY_MB = 20.0  # from four times the items; 30,000 ids take less

BOXES = "equal(count(find[dogs {n}]), count(filter[black](find[dogs {n}])))"
SPANS = "find-max-num(find-num(filter[of the first half](find[field goals {n}])))"
WORDS = "kicked a 49 - yard field goal in the first quarter , then 👍🏽 Élodie ran".split()  # noqa: SIM905
BOX_FORMATS = ("jsonl", "labelstudio", "coco", "w3c", "parquet", "faithful-nmn")
SPAN_FORMATS = ("jsonl", "labelstudio", "w3c", "parquet", "brat")


def make_box_item(number: int, works: int) -> ItemRecord:
    """Return an image pair: five dogs, two of them chosen."""
    rng = random.Random(number)
    spans = []
    for index in range(5):
        left, top = round(rng.random() * 0.6, 4), round(rng.random() * 0.6, 4)
        box = [left, top, left + 0.25, top + 0.3]
        spans.append({"id": f"a{index}", "image": index % 2, "box": box})
    chosen = [{"id": f"c{index}", "ref": f"a{index}"} for index in range(2)]
    layers = {2: {"state": "done", "objects": spans}, 4: {"state": "done", "objects": chosen}}
    images = [{"name": f"{number}-{side}.png", "width": 640, "height": 480} for side in (0, 1)]
    return _make_item(
        number,
        works,
        layers,
        kind="boxes",
        program=BOXES,
        text=f"All {number % 50} are black.",
        images=images,
    )


def make_span_item(number: int, works: int) -> ItemRecord:
    """Return a passage: four events, three of them chosen, two numbers."""
    rng = random.Random(number)
    passage = " ".join(rng.choices(WORDS, k=300))
    tokens = tokenize(passage)

    def span(name: str, first: int, **more: Any) -> dict[str, Any]:
        built = build_span(name, tokens[first][0], tokens[first + 3][1], passage, tokens)
        return {**built.model_dump(), **more}

    events = [span(f"e{index}", 40 * index) for index in range(4)]
    chosen = [{"id": f"c{index}", "ref": f"e{index}"} for index in range(3)]
    numbers = [span(f"n{index}", 40 * index, links=[f"c{index}"]) for index in range(2)]
    layers = {
        node: {"state": "done", "objects": objects}
        for node, objects in ((3, events), (2, chosen), (1, numbers))
    }
    more = {"passage": passage, "tokens": tokens}
    return _make_item(number, works, layers, kind="spans", program=SPANS, text="How long was it?", **more)


def _make_item(number: int, works: int, layers: dict[int, Any], *, program: str, **fields: Any) -> ItemRecord:
    document = {"layers": layers}
    work = {
        "annotator": "ann",
        "document": document,
        "revision": 7,
        "started": "2026-03-01T09:00:00Z",
        "submitted": "2026-03-01T09:04:00Z",
    }
    values = {
        "external_id": f"item-{number}",
        "answer": True,
        "gold": document,
        "annotations": [work] * works,
    }
    return ItemRecord.model_validate({**values, "program": program.format(n=number % 50), **fields})


def generate_items(kind: str, count: int, works: int) -> Iterator[ItemRecord]:
    """Yield generated items of one kind."""
    make = make_box_item if kind == "boxes" else make_span_item
    return (make(number, works) for number in range(count))


# --- what runs in a process of its own ---------------------------------------------------------------


READERS: dict[str, Callable[[Source], Iterable[ItemRecord]]] = {
    "jsonl": read_jsonl,
    "labelstudio": read_label_studio,
    "coco": read_coco,
    "faithful-nmn": read_faithful_nmn,
}


def _make_source(name: str, path: Path) -> Source:
    if name != "faithful-nmn":
        return Source(path)
    examples = [path / "examples.jsonl"]
    return Source(path / "boxes.csv", programs=path / "programs.tsv", examples=examples)


def measure(job: str, name: str, kind: str, path: Path) -> dict[str, float]:
    """Return processor and clock seconds, peak memory in MB, and items."""
    held = list(generate_items(kind, ITEMS, 1)) if job == "write" else []
    start, wall = time.process_time(), time.perf_counter()
    if job == "write":
        WRITERS[name](held, path)
        count = len(held)
    else:
        count = sum(1 for _ in READERS[name](_make_source(name, path)))
    seconds, waited = time.process_time() - start, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"items": count, "seconds": seconds, "wall": waited, "peak_mb": peak}


def run_alone(*job: str) -> dict[str, float]:
    """Run a job in a fresh process and return its measurements."""
    command = [sys.executable, "-m", "benchmarks.annotation.formats", "--job", *job]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


# --- the table ---------------------------------------------------------------------------------------


def show(job: str, name: str, kind: str, measured: dict[str, float]) -> None:
    """Print the measurements of a job."""
    rate = measured["items"] / measured["seconds"]
    numbers = (
        f"{measured['items']:>8,.0f} {measured['seconds']:>9.2f} {measured['wall']:>8.2f} {rate:>12,.0f}"
    )
    print(f"{job:<6} {name:<13} {kind:<6} {numbers} {measured['peak_mb']:>8.0f}", flush=True)


def check_reading(folder: Path) -> bool:
    """Read JSON lines and the written files; return if the bars were met."""
    reached = True
    for kind in ("boxes", "spans"):
        peaks = []
        for count in (ITEMS, 4 * ITEMS):
            path = folder / f"{kind}-{count}.jsonl"
            write_jsonl(generate_items(kind, count, 0), path)
            measured = run_alone("read", "jsonl", kind, str(path))
            show("read", "jsonl", kind, measured)
            peaks.append(measured["peak_mb"])
            reached &= measured["items"] / measured["seconds"] >= READ_PER_SECOND
        reached &= peaks[1] - peaks[0] <= MORE_MEMORY_MB
    for name in ("labelstudio", "coco", "faithful-nmn"):
        show("read", name, "boxes", run_alone("read", name, "boxes", str(folder / f"boxes-{name}")))
    return reached


def check_writing(folder: Path) -> bool:
    """Write every format; whether all were quick enough."""
    reached = True
    for kind, names in (("boxes", BOX_FORMATS), ("spans", SPAN_FORMATS)):
        for name in names:
            measured = run_alone("write", name, kind, str(folder / f"{kind}-{name}"))
            show("write", name, kind, measured)
            if name != "brat":  # 40,000 small files: the file system's time, not ours
                reached &= measured["seconds"] < WRITE_SECONDS
    return reached


def main() -> int:
    """Print a table and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.annotation.formats", description="Formats.")
    parser.add_argument("--job", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job, name, kind, path = options.job
        print(json.dumps(measure(job, name, kind, Path(path))))
        return 0
    columns = f"{'items':>8} {'processor':>9} {'clock s':>8} {'items/s':>12} {'peak MB':>8}"
    print(f"{'':<6} {'format':<13} {'kind':<6} {columns}")
    with tempfile.TemporaryDirectory() as folder:
        written, read = check_writing(Path(folder)), check_reading(Path(folder))
    verdicts = {True: "reached", False: "MISSED"}
    print(f"bars: {READ_PER_SECOND:,} items/s from JSON lines in constant memory: {verdicts[read]}")
    print(f"      {ITEMS:,} items in every single file under {WRITE_SECONDS:.0f} s: {verdicts[written]}")
    return 0 if written and read else 1


if __name__ == "__main__":
    sys.exit(main())
