"""Train and score the cells of `benchmarks.models.trends`.

A cell is a system and a seed: commands of `modelserver` with small sizes, in a folder of its own. An
interrupted one goes on.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from analysis.counterfactuals.alignment import Record, alignments, judge
from analysis.counterfactuals.drafts import draft
from analysis.counterfactuals.instances import Instance
from analysis.counterfactuals.records import select_usable
from analysis.scores.hotpotqa import answer_f1
from benchmarks.models.reading import METHODS, compute_records
from modelserver.__main__ import main as modelserver
from modelserver.inputs.hotpot import parse_gold
from modelserver.registry import WEIGHTS, load_system
from modelserver.systems import heuristic
from modelserver.systems.heuristic import Choice, Selector
from modelserver.world import ARTICLES, Questions, Split, generate, write_split

Scores = dict[str, float]
TEST_SEED = 1
ENCODERS = {"small": "new:32x2-rotary", "medium": "new:48x2-rotary", "large": "new:64x2-rotary"}
# The questions of each training of an encoder, and its share of the data and of the steps.
STAGES: tuple[tuple[Questions, float], ...] = (("larger", 0.6), ("comparisons", 1.0))


@dataclass(frozen=True)
class Sizes:
    """Sizes of the cells, and the device of their commands."""

    questions: int = 3000
    reader_steps: int = 900
    test: int = 300
    scenes: int = 4000
    pretraining_scenes: int = 3000
    test_scenes: int = 400
    visual_steps: int = 400
    pretraining_steps: int = 700
    statements: int = 12
    label_steps: int = 4200
    games: int = 1500
    text_steps: int = 600
    comparisons: int = 32_000
    encoder_steps: int = 2500
    device: str = "cpu"


TINY = Sizes(80, 2, 30, 12, 8, 24, 2, 1, 2, 2, 30, 2, 40, 2)


def run_cell(name: str, seed: int, sizes: Sizes, work: Path) -> Scores:
    """Train and score a cell.

    Args:
        name: Kind and system, such as readers/qi2019.
        seed: Of weights and order.
        sizes: Numbers of examples and steps, and the device.
        work: Folder for data, weights and logs.

    Raises:
        RuntimeError: A command failed; its reason is on standard error.
    """
    torch.set_num_threads(1)  # cells may run side by side, one on each core
    kind, _, system = name.partition("/")
    return KINDS[kind](system, seed, sizes, work)


def _score_readers(system: str, seed: int, sizes: Sizes, work: Path) -> Scores:
    """Train a recurrent reader on the generated world, and score it with FaRM."""
    test, out = _prepare_world(work, "test", sizes.test), work / f"readers-{system}-{seed}"
    check = ["--check-every", str(max(1, sizes.reader_steps // 6)), "--seed", str(seed)]
    size = ["--train", str(sizes.questions), "--dev", str(sizes.test), "--steps", str(sizes.reader_steps)]
    device = ["--device", sizes.device]
    _run("train", system, "--out", str(out), *size, *check, *device, "--threads", "1", "--resume")
    printed = out / "scores.json"
    _run("evaluate", system, str(test), "--weights", str(out), "--farm", "--out", str(printed), *device)
    scores = json.loads(printed.read_text())
    wanted = (
        "f1", "sp_f1", "sp_prec", "sp_recall", "joint_f1", "farm_4", "c_rel_4", "c_irr_4", "loca",
        "loca_inside", "loca_outside", "em_all_facts", "em_no_facts",
    )  # fmt: skip
    kept = {key: scores[key] for key in wanted if scores[key] is not None}
    if kept.keys() >= {"em_all_facts", "em_no_facts"}:
        kept["em_lost"] = kept["em_all_facts"] - kept["em_no_facts"]
    return kept


def _score_visual(variant: str, seed: int, sizes: Sizes, work: Path) -> Scores:
    """Train and score a variant of visual-nmn over an LXMERT."""
    row = _compute_visual_row(variant, seed, sizes, work, "visual", ["--steps", str(sizes.visual_steps)])
    faithful = {"faithfulness": row["faithfulness"]["overall"]["f1"]} if "faithfulness" in row else {}
    return {"accuracy": row["accuracy"], **faithful}


def _from_labels(sizes: Sizes) -> list[str]:
    """Return the options of learning from the labels of statements."""
    learning = ["--new-encoder", "bilinear", "--statements", str(sizes.statements), "--curriculum", "0.57"]
    learning += ["--count-deviation", "1", "--batch-size", "64", "--learning-rate", "3e-3"]
    learning += ["--partner", "any", "--pair-places"]
    learning += ["--steps", str(sizes.label_steps)]
    return [*learning, "--check-every", str(max(1, sizes.label_steps // 7))]


def _score_labels(variant: str, seed: int, sizes: Sizes, work: Path, name: str = "labels") -> Scores:
    """Train and score a variant without attention, with further statements."""
    row = _compute_visual_row(variant, seed, sizes, work, name, _from_labels(sizes))
    scores = {"accuracy": row["accuracy"], "faithfulness": row["faithfulness"]["overall"]["f1"]}
    modules = ("with-relation", "project")
    return scores | {name: row["faithfulness"][name]["f1"] for name in modules if name in row["faithfulness"]}


def _score_longer(variant: str, seed: int, sizes: Sizes, work: Path) -> Scores:
    """Train and score as `_labels` does, in twice the steps."""
    return _score_labels(variant, seed, replace(sizes, label_steps=2 * sizes.label_steps), work, "longer")


def _score_visual_split(name: str, seed: int, sizes: Sizes, work: Path) -> Scores:
    """Train a variant on some programs, and score it on others."""
    split, _, variant = name.partition("/")
    learning = _from_labels(replace(sizes, label_steps=2 * sizes.label_steps))
    out = work / f"visual-split-{split}-{variant}-{seed}"
    options = [*_build_visual_options(seed, sizes, work), *learning]
    _run("visual-splits", "--out", str(out), "--splits", split, "--variants", variant, *options)
    row = json.loads((out / "splits.json").read_text())[split][variant]
    return {
        f"{score} {part}": row[part][score] for part in ("seen", "unseen") for score in ("accuracy", "f1")
    }


def _build_visual_options(seed: int, sizes: Sizes, work: Path) -> list[str]:
    """Return the options of both tables of visual networks."""
    options = ["--train", str(sizes.scenes), "--pretraining-scenes", str(sizes.pretraining_scenes)]
    options += ["--dev", str(sizes.test_scenes // 2), "--test", str(sizes.test_scenes)]
    options += ["--scenes", str(work / "scenes"), "--pretraining-steps", str(sizes.pretraining_steps)]
    return [*options, "--seed", str(seed), "--device", sizes.device, "--resume"]


def _compute_visual_row(
    variant: str, seed: int, sizes: Sizes, work: Path, name: str, learning: list[str]
) -> dict[str, Any]:
    """Return the row of a variant in the table of visual networks."""
    out = work / f"{name}-{variant}-{seed}"
    options = [*_build_visual_options(seed, sizes, work), *learning]
    _run("visual-table", "--out", str(out), "--variants", variant, *options)
    row: dict[str, Any] = json.loads((out / "table.json").read_text())[variant]
    return row


def _score_text(
    variant: str, seed: int, sizes: Sizes, work: Path, name: str = "text", *further: str
) -> Scores:
    """Train and score a variant of text-nmn on generated games."""
    size = ["--train", str(sizes.games), "--dev", str(sizes.test), "--test", str(sizes.test)]
    out = work / f"{name}-{variant}-{seed}"
    _run("text-table", "--out", str(out), "--variants", variant, "--seed", str(seed), "--resume", *size,
         "--steps", str(sizes.text_steps), "--device", sizes.device, *further)  # fmt: skip
    row = json.loads((out / "table.json").read_text())[variant]
    return {"f1": row["f1"], "loss": row["loss"]["overall"]}


def _score_text_split(variant: str, seed: int, sizes: Sizes, work: Path) -> Scores:
    """Train on the largest and the greater, score on their opposites."""
    return _score_text(variant, seed, sizes, work, "text-split", "--leave-out-smallest")


def _score_heuristics(selector: str, seed: int, sizes: Sizes, work: Path) -> Scores:
    """Score a rule that selects a sentence; the seed is of the questions."""
    gold = parse_gold(generate("test", sizes.test, seed), "world")
    choice = Choice(cast(Selector, selector))
    system = heuristic.load(
        WEIGHTS / "heuristic", torch.device("cpu"), name="heuristic", description="", choice=choice
    )
    answers = [prediction.answer for prediction in system.predict([example.item for example in gold])]
    pairs = zip(gold, answers, strict=True)
    return {"f1": float(np.mean([answer_f1(example.answer, answer).f1 for example, answer in pairs]))}


def _score_reasons(encoder: str, seed: int, sizes: Sizes, work: Path) -> Scores:
    """Train an encoder on comparisons; score counterfactuals and alignment.

    It learns from the questions for the larger value first: from both directions at once it hardly does.
    """
    start, out = ENCODERS[encoder], work / f"reasons-{encoder}-{seed}"
    chosen = ["--context", "facts", "--reasoning", "comparison", "--seed", str(seed), "--threads", "1"]
    # Few pieces, so that a name that was never seen is made of pieces that were, and can be looked up.
    learning = ["--vocabulary-size", "500", "--learning-rate", "2e-3", "--batch", "32", "--resume"]
    for questions, share in STAGES:
        count, steps = round(share * sizes.comparisons), round(share * sizes.encoder_steps)
        train, dev = (
            _prepare_world(work, "train", count, questions),
            _prepare_world(work, "dev", sizes.test, questions),
        )
        files = ["--train-file", str(train), "--dev-file", str(dev), "--format", "hotpotqa"]
        pace = ["--steps", str(steps), "--check-every", str(max(1, steps // 6)), "--device", sizes.device]
        ends = ["--encoder", start, "--out", start := str(out / questions)]
        _run("train", "extractive-qa", *ends, *files, *chosen, *learning, *pace)
    return compute_reason_scores(Path(start), draft_comparisons(4 * sizes.test))


def draft_comparisons(questions: int) -> list[Instance]:
    """Return counterfactuals of comparisons among generated test questions."""
    world = (dict(question) for question in generate("test", questions, TEST_SEED, 2))
    return select_usable(draft(world, extents=["facts"], steps=["comparison"]).instances)


def compute_reason_scores(weights: Path, instances: list[Instance]) -> Scores:
    """Return F1 on originals and counterfactuals, and alignment by method.

    Alignment is the share of all instances, and "aligned" that of the ones with both answers right, as only
    the source's table 4 can be read; "out" are swaps outside the training words.
    """
    torch.set_num_threads(1)
    system = load_system("extractive-qa", weights=weights)
    rows = [Record(**row) for row in compute_records(system, instances, METHODS, "world")]
    inside = [row for row in rows if row.distribution == "in" and row.method == METHODS[0]]
    outside = [row for row in rows if row.distribution == "out" and row.method == METHODS[0]]
    scores = {
        "f1": float(np.mean([row.original_f1 or 0.0 for row in inside])),
        "f1_in": float(np.mean([row.counterfactual_f1 or 0.0 for row in inside])),
        "f1_out": float(np.mean([row.counterfactual_f1 or 0.0 for row in outside])),
    }
    for alignment in alignments(judge(rows, rng=np.random.default_rng(1))):
        name = f"{alignment.group.method}{' out' * (alignment.group.distribution == 'out')}"
        scores[f"alignment {name}"] = alignment.score
        if alignment.among_answered is not None:
            scores[f"aligned {name}"] = alignment.among_answered
    return scores


def _prepare_world(work: Path, split: Split, count: int, questions: Questions = "all") -> Path:
    path = work / f"world-{questions}-{count}" / f"{split}.json"
    if not path.exists():
        write_split(path, split, count, TEST_SEED, ARTICLES if questions == "all" else 2, questions)
    return path


def _run(*words: str) -> None:
    """Run a command of the model server; it prints to standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        if modelserver(list(words)):
            raise RuntimeError(f"modelserver {' '.join(words)} failed")


KINDS: dict[str, Callable[[str, int, Sizes, Path], Scores]] = {
    "readers": _score_readers,
    "visual": _score_visual,
    "labels": _score_labels,
    "longer": _score_longer,
    "visual-split": _score_visual_split,
    "text": _score_text,
    "text-split": _score_text_split,
    "reasons": _score_reasons,
    "heuristics": _score_heuristics,
}
