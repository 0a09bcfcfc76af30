"""The training loop: early stopping, best weights, checkpoints, curves.

A trainer knows its network, its data and its optimiser; `train` decides when
to evaluate, keeps the best weights, writes the checkpoint, the log and the
learning curves, and stops early. At each check the checkpoint is written
first, because an interrupted run rewrites the other files from it.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar, Unpack

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from analysis.io.whole_files import format_json_lines, replace_file
from modelserver.evaluation.progress import progress_bar
from modelserver.inputs.data_files import read_json, read_records
from modelserver.training import checkpoint, curves
from modelserver.training.options import ScheduleName, Start
from modelserver.wire.errors import ModelServerError, UnreadableData

STATE = "training.safetensors"  # checkpoint of an unfinished run, in its folder
LOG = "log.jsonl"
SETTINGS = "settings.json"  # of a finished run
CURVES = "curves.svg"
FINISHED = ("config.json", LOG)  # a folder with one of them, and without STATE, holds a finished run


class Diverged(ModelServerError, code="diverged"):
    """The loss of a training is no longer a finite number."""


Row = dict[str, float | None]
Example = TypeVar("Example")


class Trainer(ABC, Generic[Example]):
    """A network in training: its data, optimiser and schedule.

    Attributes:
        title: Name of the system, shown in the progress bar and the curves.
        selection: The dev score by which `train` chooses the best weights.
        steps: Steps done so far.
        total_steps: Steps after which training ends.
        check_every: Steps between evaluations.
        patience: Checks without a better score after which training stops
            early; None trains to the end.
        model: The parameters that a checkpoint holds.
        optimiser: Its state is part of a checkpoint.
    """

    title: str
    selection: str
    steps: int
    total_steps: int
    check_every: int
    patience: int | None = None
    model: nn.Module
    optimiser: torch.optim.Optimizer

    @abstractmethod
    def step(self) -> float | None:
        """Learn from one batch. Return its loss, None if it teaches nothing."""

    @abstractmethod
    def evaluate(self, dev: Sequence[Example]) -> Row:
        """Return the scores of the current weights on the dev examples."""

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Return everything but dev that a resumed run must share with this."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the current weights as a folder that can be served."""

    def descend(self, loss: Tensor, *, clip: float, pace: float) -> float:
        """Take one step down the gradient of a loss; return the loss.

        Args:
            loss: A number.
            clip: Largest norm of the gradient.
            pace: Share of the learning rate that each group of the
                optimiser's parameters has as ``full``.
        """
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), clip)
        for group in self.optimiser.param_groups:
            group["lr"] = group["full"] * pace
        self.optimiser.step()
        return loss.item()

    def describe(self, example: Example) -> str:
        """Return everything about an example that matters to a training."""
        return repr(example)

    def go_to(self, step: int) -> None:
        """Prepare for loading a checkpoint that was written at a step."""
        self.steps = step

    def is_check(self) -> bool:
        """Return whether the weights are evaluated after this step."""
        return self.steps % self.check_every == 0 or self.steps == self.total_steps

    def is_candidate(self, row: Row) -> bool:
        """Return whether the weights of a log row may be kept as the best."""
        return True


def hash_examples(examples: Iterable[Example], describe: Callable[[Example], str] = repr) -> str:
    """Return hex digits that change with any of the examples."""
    total = hashlib.sha256()
    for example in examples:
        total.update(describe(example).encode())
    return total.hexdigest()


def train(
    trainer: Trainer[Example],
    dev: Sequence[Example],
    out: Path,
    *,
    report: Callable[[Row], None] = lambda row: None,
    advance: Callable[[int], None] = lambda steps: None,
    **start: Unpack[Start],
) -> Row:
    """Train to the end; leave the best weights, log and curves in a folder.

    Args:
        trainer: Not started yet.
        dev: Examples on which the best weights are chosen.
        out: Folder for weights, settings.json, log.jsonl and curves.svg.
        report: Called with the log row of each check.
        advance: Called with the number of steps done since the last call.
        start: How to start. A resumed run continues from its last check; one
            that never reached a check starts again.

    Returns:
        The log row of the best weights: step, mean training loss since the
        row before, wall and processor time so far in seconds, dev scores.

    Raises:
        UnreadableData: The folder holds another run and neither ``resume``
            nor ``overwrite`` applies, it holds a run with other settings, or
            it cannot be written.
    """
    make_room(out, **start)
    settings = {**trainer.settings(), "dev": hash_examples(dev, trainer.describe)}
    if (out / LOG).exists() and not (out / STATE).exists():
        return _find_best_row(trainer, _read_finished_log(trainer, out, settings))
    rows: list[Row] = []
    if (out / STATE).exists():
        rows = _restore(trainer, out, settings)
    advance(trainer.steps)
    wall, processor, losses = time.perf_counter(), time.process_time(), list[float]()
    if rows:
        wall -= rows[-1]["seconds"] or 0.0
        processor -= rows[-1]["processor_seconds"] or 0.0
    while trainer.steps < trainer.total_steps and not _is_stopped_early(trainer, rows):
        loss = trainer.step()
        if loss is not None and not math.isfinite(loss):
            raise Diverged(f"step {trainer.steps}: the loss is {loss}; train with a lower learning rate")
        losses += [] if loss is None else [loss]
        advance(1)
        if not trainer.is_check():
            continue
        row: Row = {"step": trainer.steps, "loss": float(np.mean(losses)) if losses else None}
        row["seconds"] = time.perf_counter() - wall
        row["processor_seconds"] = time.process_time() - processor
        row |= trainer.evaluate(dev)
        rows, losses = [*rows, row], []
        with _name_folder_in_errors(out):
            checkpoint.write(out / STATE, trainer.model, trainer.optimiser, rows, settings)
            _publish(trainer, rows, out)
        report(row)
    with _name_folder_in_errors(out):
        replace_file(out / SETTINGS, json.dumps(settings, indent=2) + "\n")
        (out / STATE).unlink(missing_ok=True)
    return _find_best_row(trainer, rows)


def print_row(row: Row) -> None:
    """Print a log row as one line of JSON, rounded to four digits."""
    rounded = {name: None if value is None else round(value, 4) for name, value in row.items()}
    print(json.dumps(rounded), flush=True)  # noqa: T201 - the log is the output of the command


def train_with_progress(
    trainer: Trainer[Example],
    dev: Sequence[Example],
    out: Path,
    *,
    report: Callable[[Row], None] = print_row,
    **start: Unpack[Start],
) -> Row:
    """Train as `train` does, with a progress bar on standard error.

    Each check prints its log row on standard output unless ``report`` takes
    it. Returns the row of the best weights.
    """
    with progress_bar(f"{trainer.title}: training", trainer.total_steps) as advance:
        best = train(trainer, dev, out, report=report, advance=advance, **start)
    sys.stderr.write(f"{out}: the weights of step {best['step']:.0f}\n")
    return best


def require_free(out: Path, *, resume: bool = False, overwrite: bool = False) -> None:
    """Refuse a folder that holds a run, before anything is computed.

    Raises:
        UnreadableData: ``out`` holds an unfinished run that is neither
            resumed nor overwritten, or finished weights that are neither
            overwritten nor, with their log and settings, left alone by
            ``resume``.
    """
    if overwrite:
        return
    if (out / STATE).exists():
        if not resume:
            raise UnreadableData(
                f"{out}: holds an unfinished training; add --resume, or --overwrite to start again"
            )
    elif any((out / name).exists() for name in FINISHED) and not (
        resume and (out / LOG).exists() and (out / SETTINGS).exists()
    ):
        raise UnreadableData(
            f"{out}: holds a model already; name another folder, or add --overwrite to replace it"
        )


def require_new(path: Path, *, resume: bool = False, overwrite: bool = False) -> None:
    """Raise UnreadableData for results that exist and may not be replaced."""
    if path.exists() and not (resume or overwrite):
        raise UnreadableData(
            f"{path}: exists already; add --resume to continue it, or --overwrite to replace it"
        )


def make_room(out: Path, **start: Unpack[Start]) -> None:
    """Create the folder of a run, or clear what `train` would continue from.

    Old weights stay until the first check of the new run replaces them.

    Raises:
        UnreadableData: As `require_free`, or the folder cannot be written.
    """
    require_free(out, **start)
    with _name_folder_in_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
        if start.get("overwrite"):
            (out / STATE).unlink(missing_ok=True)
            (out / LOG).unlink(missing_ok=True)


def group_by_rate(
    model: nn.Module, encoder: nn.Module | None, *, rate: float, encoder_rate: float
) -> list[dict[str, Any]]:
    """Return a model's parameters in groups by their full learning rate.

    Those of the encoder inside it, if any, are the second group.
    """
    slow = [] if encoder is None else list(encoder.parameters())
    inside = set(slow)
    others = [parameter for parameter in model.parameters() if parameter not in inside]
    groups: list[dict[str, Any]] = [{"params": others, "full": rate}]
    return [*groups, {"params": slow, "full": encoder_rate}] if slow else groups


def compute_cosine_pace(step: int, warm_up: int, total: int) -> float:
    """Return the share of the full learning rate at a step, in (0, 1].

    It rises linearly during the warm-up, then falls to 2 % along half a cosine.
    """
    if step < warm_up:
        return (step + 1) / warm_up
    progress = min(1.0, (step - warm_up) / max(1, total - warm_up))
    return 0.02 + 0.98 * (1 + math.cos(math.pi * progress)) / 2


def compute_schedule_pace(step: int, schedule: ScheduleName, warm_up: int, total: int) -> float:
    """Return the share of the full learning rate at a step, in (0, 1].

    It rises linearly during the warm-up, if any, then falls by the schedule: to a tenth, to zero
    after the last step, as `compute_cosine_pace`, or not at all.
    """
    if schedule == "cosine":
        return compute_cosine_pace(step, warm_up, total)
    rise = (step + 1) / max(1, warm_up)
    if schedule == "linear-to-zero":
        return min(rise, max(0.0, (total - step) / max(1, total - warm_up)))
    return min(1.0, rise) * (1 - 0.9 * step / total if schedule == "linear" else 1.0)


def _restore(trainer: Trainer[Any], out: Path, settings: Mapping[str, Any]) -> list[Row]:
    """Load the checkpoint. Return the log rows up to it."""
    state = checkpoint.read(out / STATE, settings)
    trainer.go_to(int(state.rows[-1]["step"] or 0))
    state.load(trainer.model, trainer.optimiser)
    with _name_folder_in_errors(out):
        _publish(trainer, state.rows, out)
    return state.rows


def _read_finished_log(trainer: Trainer[Any], out: Path, settings: Mapping[str, Any]) -> list[Row]:
    """Return the log rows of a finished training with these settings."""

    def row_of(value: dict[str, float | None]) -> Row:
        return {**value, trainer.selection: value[trainer.selection]}

    then, rows = read_json(out / SETTINGS), read_records(out / LOG, row_of)
    if not isinstance(then, dict) or not rows:
        raise UnreadableData(f"{out}: its settings or log are damaged; add --overwrite to train again")
    checkpoint.require_same(out / SETTINGS, then, settings)
    return rows


def _publish(trainer: Trainer[Any], rows: list[Row], out: Path) -> None:
    """Write the weights if they are the best so far, the log and the curves."""
    if trainer.is_candidate(rows[-1]) and rows[-1] is _find_best_row(trainer, rows):
        trainer.save(out)
    replace_file(out / LOG, format_json_lines(rows))
    curves.draw(out / CURVES, rows, trainer.title)


def _find_best_row(trainer: Trainer[Any], rows: Sequence[Row]) -> Row:
    """Return the first candidate row with the highest score."""
    return max(rows, key=lambda row: (trainer.is_candidate(row), row[trainer.selection] or 0.0))


def _is_stopped_early(trainer: Trainer[Any], rows: Sequence[Row]) -> bool:
    """Return whether the last checks of a run bettered nothing."""
    if trainer.patience is None or not rows or not trainer.is_candidate(rows[-1]):
        return False
    best = _find_best_row(trainer, rows)
    return len(rows) - 1 - next(i for i, row in enumerate(rows) if row is best) >= trainer.patience


@contextmanager
def _name_folder_in_errors(out: Path) -> Iterator[None]:
    """Name the folder in errors of writing to it."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableData(f"{out}: cannot be written: {reason}") from error
