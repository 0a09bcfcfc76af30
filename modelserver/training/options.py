"""Options that all training commands share, each declared once.

Modules whose options other modules extend have no postponed annotations:
cyclopts would look up the names of inherited fields in the extending module.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, TypeVar, dataclass_transform

import torch
from cyclopts import Group, Parameter
from cyclopts.validators import Number, mutually_exclusive

from analysis.io.command_line import only_with, only_without
from modelserver.inputs.devices import Device
from modelserver.inputs.selection import Context, Reasoning, Selection
from modelserver.wire.errors import UnreadableData
from modelserver.world.names import Split

HELD_OUT = 20  # without a dev file, one example in this many becomes dev


def check_positive(_: type, value: float | None) -> None:
    """Refuse a number that is not above 0 and finite.

    Raises:
        ValueError: It is not.
    """
    if value is not None and not 0 < value < math.inf:
        raise ValueError("must be above 0")


Count = Annotated[int, Parameter(validator=Number(gte=1))]
Whole = Annotated[int, Parameter(validator=Number(gte=0))]
Positive = Annotated[float, Parameter(validator=check_positive)]
Rate = Annotated[float, Parameter(validator=(check_positive, Number(lt=1)))]
BatchSize = Annotated[Count, Parameter(name=("--batch-size", "--batch"))]
LearningRate = Annotated[Rate, Parameter(name=("--learning-rate", "--rate"))]
EncoderRate = Annotated[Rate, Parameter(name=("--encoder-learning-rate", "--encoder-rate"))]
ScheduleName = Literal["linear", "linear-to-zero", "cosine", "constant"]
WITH_TRAIN_FILE, WITHOUT_TRAIN_FILE = only_with("--train-file"), only_without("--train-file")
WITHOUT_DEV_FILE, WITHOUT_TEST_FILE = only_without("--dev-file"), only_without("--test-file")
TrainCount = Annotated[Count, Parameter(group=WITHOUT_TRAIN_FILE)]
DevCount = Annotated[Count, Parameter(group=(WITHOUT_TRAIN_FILE, WITHOUT_DEV_FILE))]
TestCount = Annotated[Count, Parameter(group=WITHOUT_TEST_FILE)]
TrainFile = Annotated[Path, Parameter(group=(WITH_TRAIN_FILE, WITHOUT_TRAIN_FILE))]
DevFile = Annotated[Path, Parameter(group=WITHOUT_DEV_FILE)]
TestFile = Annotated[Path, Parameter(group=WITHOUT_TEST_FILE)]
NOT_AN_OPTION = Parameter(parse=False)  # a field of a recipe that commands leave as it is

Example = TypeVar("Example")
Options = TypeVar("Options")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def options_of_command(cls: type[Options]) -> type[Options]:
    """Make a frozen dataclass whose fields are the options of a command."""
    return Parameter(name="*")(dataclass(frozen=True)(cls))


def extract_options(options: Any, part: type[Options], **changes: Any) -> Options:
    """Return what a base class of options declares, with changes if any."""
    values = {option.name: getattr(options, option.name) for option in fields(part)}  # type: ignore[arg-type]
    return part(**values | changes)


_START = Group(validator=mutually_exclusive)


class Start(TypedDict, total=False):
    """The arguments of `train` that say how to start.

    With ``resume`` an interrupted run continues and a finished one stays as it is; ``overwrite`` replaces
    either.
    """

    resume: bool
    overwrite: bool


@options_of_command
class Folder:
    """A folder for results.

    Attributes:
        out: Folder for the results.
    """

    out: Path


@options_of_command
class Output(Folder):
    """The folder of a run.

    Attributes:
        out: Folder for weights, configuration, log and learning curves.
        resume: Continue the interrupted training in --out from its last check.
        overwrite: Replace a finished or interrupted training in --out.
    """

    resume: Annotated[bool, Parameter(group=_START)] = False
    overwrite: Annotated[bool, Parameter(group=_START)] = False

    @property
    def start(self) -> "Start":
        """Return the arguments of `train` that say how to start."""
        return Start(resume=self.resume, overwrite=self.overwrite)


@options_of_command
class Data:
    """Examples to learn from, and to choose the best weights on.

    Attributes:
        train: Number of generated training examples.
        dev: Number of generated dev examples.
        world_seed: Seed of the generated examples.
        train_file: Train on this file instead of generated examples.
        dev_file: Choose the best weights on this file; by default on every
            20th example of --train-file, if there is one.
    """

    train: TrainCount = 8000
    dev: DevCount = 400
    world_seed: Annotated[int, Parameter(group=WITHOUT_TRAIN_FILE)] = 1
    train_file: TrainFile | None = None
    dev_file: DevFile | None = None

    def open_examples(
        self, read: Callable[[Path], list[Example]], generate: Callable[[Split, int, int], list[Example]]
    ) -> tuple[list[Example], list[Example]]:
        """Return training and dev examples.

        Args:
            read: Reads the examples of a file.
            generate: Generates those of a split, by its number and the seed.

        Raises:
            UnreadableData: A file is malformed, or holds too few examples.
        """
        if self.train_file is None:
            train_set = generate("train", self.train, self.world_seed)
        else:
            train_set = read(self.train_file)
        if self.dev_file is not None:
            return train_set, read(self.dev_file)
        if self.train_file is not None:
            return hold_out(self.train_file, train_set)
        return train_set, generate("dev", self.dev, self.world_seed)


@options_of_command
class Selecting:
    """The questions to learn from and to choose weights on.

    Attributes:
        context: Part of their contexts: all, the supporting facts, or the
            paragraphs of these.
        reasoning: Take the questions with comparing words alone.
    """

    context: Context = "whole"
    reasoning: Reasoning | None = None

    @property
    def selection(self) -> Selection:
        """Return both choices."""
        return Selection(self.context, self.reasoning)


@options_of_command
class Hub:
    """Access to a model hub.

    Attributes:
        allow_hub: Download the encoder from the hub if it is not a folder.
    """

    allow_hub: bool = False


@options_of_command
class Compute:
    """Device and threads of a training.

    Attributes:
        device: cpu, cuda, cuda:1 …
        threads: CPU threads; the same number repeats exactly.
    """

    device: Device = "cpu"
    threads: Count = 1

    def apply(self) -> torch.device:
        """Set torch's threads. Return the device."""
        torch.set_num_threads(self.threads)
        return torch.device(self.device)


def hold_out(path: Path, examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Return training and dev examples of one file: every 20th is for dev.

    Raises:
        UnreadableData: There are too few examples.
    """
    if len(examples) < HELD_OUT:
        raise UnreadableData(
            f"{path}: {len(examples)} examples; without --dev-file at least {HELD_OUT} are needed"
        )
    return [e for i, e in enumerate(examples) if i % HELD_OUT], list(examples[::HELD_OUT])
