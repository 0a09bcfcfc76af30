"""Generated reports on fictional games, with questions of DROP's kinds.

Each has a question, its program and gold spans. Every example depends on nothing but the seed, the split
and its index. Names belong to one split each; some are in other scripts, and some reports hold emoji and
combining characters.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modelserver.world import items
from modelserver.world.games.prose import tokenise
from modelserver.world.games.questions import ASKED
from modelserver.world.games.reports import tell
from modelserver.world.games.steps import gold
from modelserver.world.items import write_items
from modelserver.world.names import SPLITS, Split

__all__ = ["add_arguments", "generate", "run", "write_split"]


def generate(split: Split, n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield ``n`` items of an annotation project, fixed by split and seed."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, not {split!r}")
    for index in range(n):
        yield _item(split, index, seed)


def _item(split: Split, index: int, seed: int) -> dict[str, Any]:
    rng = random.Random(f"games/{seed}/{split}/{index}")
    kind, question = rng.choice(tuple(ASKED)), None
    while question is None:  # every kind finds something to ask in some report
        report = tell(rng, split)
        question = ASKED[kind](rng, report)
    tokens = tokenise(report.text)
    return {
        "external_id": f"game-{seed}-{split}-{index:05d}",
        "kind": "spans",
        "program": str(question.steps.program),
        "text": question.text,
        "passage": report.text,
        "tokens": [list(token) for token in tokens],
        "answer": question.answer,
        "gold": gold(question.steps, tokens),
        "extra": {"world": {"question": kind, "names": list(report.names)}},
    }


def write_split(folder: Path, split: Split, n: int, seed: int) -> None:
    """Write ``SPLIT.jsonl``, one item a line."""
    write_items(folder / f"{split}.jsonl", generate(split, n, seed))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    items.add_arguments(parser, (2000, 200, 200))


def run(args: argparse.Namespace) -> int:
    """Write the three splits; returns 0."""
    for split in SPLITS:
        write_split(args.out, split, getattr(args, split), args.seed)
        print(args.out / f"{split}.jsonl", getattr(args, split), "examples")  # noqa: T201
    return 0
