"""Generated reports on fictional games, with questions of DROP's kinds.

Each has a question, its program and gold spans. Every example depends on nothing but the seed, the split
and its index. Names belong to one split each; some are in other scripts, and some reports hold emoji and
combining characters.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from modelserver.world.games.prose import tokenise
from modelserver.world.games.questions import ASKED, NothingToAsk
from modelserver.world.games.reports import tell
from modelserver.world.games.steps import build_gold
from modelserver.world.items import SplitOptions, write_items
from modelserver.world.names import SPLITS, Split

__all__ = ["generate", "write_games", "write_split"]


def generate(split: Split, n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield ``n`` items of an annotation project, fixed by split and seed."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, not {split!r}")
    for index in range(n):
        yield _generate_item(split, index, seed)


def _generate_item(split: Split, index: int, seed: int) -> dict[str, Any]:
    rng = random.Random(f"games/{seed}/{split}/{index}")
    kind = rng.choice(tuple(ASKED))
    while True:  # every kind finds something to ask in some report
        report = tell(rng, split)
        with suppress(NothingToAsk):
            question = ASKED[kind](rng, report)
            break
    tokens = tokenise(report.text)
    return {
        "external_id": f"game-{seed}-{split}-{index:05d}",
        "kind": "spans",
        "program": str(question.steps.program),
        "text": rng.choice(question.wordings),
        "passage": report.text,
        "tokens": [list(token) for token in tokens],
        "answer": question.answer,
        "gold": build_gold(question.steps, tokens),
        "extra": {"world": {"question": kind, "names": list(report.names)}},
    }


def write_split(folder: Path, split: Split, n: int, seed: int) -> None:
    """Write ``SPLIT.jsonl``, one item a line."""
    write_items(folder / f"{split}.jsonl", generate(split, n, seed))


def write_games(*, options: SplitOptions) -> None:
    """Generate game reports with questions, programs and gold spans."""
    options.write(write_split)
