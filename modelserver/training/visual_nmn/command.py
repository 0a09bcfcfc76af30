"""The commands ``train visual-nmn`` and ``train lxmert``, and their data."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

import torch

from modelserver.modular.visual import folder
from modelserver.modular.visual.counting import CountKind
from modelserver.modular.visual.network import Config, Positions
from modelserver.modular.visual.region_files import read_regions
from modelserver.modular.visual.scene_data import Example, read_items, read_scenes
from modelserver.training.loop import Row, require_free, train_with_progress
from modelserver.training.options import (
    HELD_OUT,
    BatchSize,
    Compute,
    Count,
    Data,
    LearningRate,
    Output,
    Start,
    options_of_command,
)
from modelserver.training.visual_nmn.trainer import Recipe, Trainer
from modelserver.wire.errors import UnreadableData, UnreadableWeights
from modelserver.world import Split
from modelserver.world.scenes import write_split

HIDDEN = 64
MOST = 16  # boxes that Graph-count reads in an image: two for each of the alike things of a scene
PRETRAINING = "pretraining"  # folder, beside the splits, of scenes from another seed


@dataclass(frozen=True)
class Scenes:
    """Examples to train and score on."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]
    pretraining: list[Example]


@options_of_command
class SceneOptions(Compute):
    """Scenes, schedule and sizes of any training of a network over images.

    Attributes:
        scenes: Folder of scenes with proposals; generated if missing.
        train: Number of generated training scenes.
        dev: Number of generated dev scenes.
        test: Number of generated test scenes.
        world_seed: Seed of the generated scenes.
        pretraining_scenes: Number of generated scenes to pretrain on.
        steps: Training steps after pretraining.
        pretraining_steps: Steps of pretraining.
        batch_size: Statements in a step.
        check_every: Steps between evaluations on dev.
        patience: Checks without better accuracy after which training stops
            early; by default it never does.
        hidden: Hidden size of a new encoder.
        learning_rate: Learning rate of new weights.
        seed: Seed of weights and order.
    """

    scenes: Path = Path("build/visual-scenes")
    train: Count = 4000
    dev: Count = 200
    test: Count = 400
    world_seed: int = 1
    pretraining_scenes: Count = 3000
    steps: Count = Recipe.steps
    pretraining_steps: Count = Recipe.pretraining
    batch_size: BatchSize = Recipe.batch
    check_every: Count = Recipe.check_every
    patience: Count | None = Recipe.patience
    hidden: Count = HIDDEN
    learning_rate: LearningRate = Recipe.rate
    seed: int = Recipe.seed

    def recipe(self, *, pretrained: bool) -> Recipe:
        """Return the recipe, without pretraining unless it is ``pretrained``."""
        return Recipe(
            pretraining=self.pretraining_steps if pretrained else 0,
            steps=self.steps,
            batch=self.batch_size,
            rate=self.learning_rate,
            check_every=self.check_every,
            patience=self.patience,
            seed=self.seed,
        )

    def open_scenes(self) -> Scenes:
        """Read the scenes; generate missing ones first."""
        splits: tuple[tuple[Path, Split, int, int], ...] = (
            (self.scenes, "train", self.train, self.world_seed),
            (self.scenes, "dev", self.dev, self.world_seed),
            (self.scenes, "test", self.test, self.world_seed),
            (self.scenes / PRETRAINING, "train", self.pretraining_scenes, self.world_seed + 1),
        )
        parts = []
        for scenes, split, n, seed in splits:
            if not (scenes / f"{split}.jsonl").exists():
                sys.stderr.write(f"{scenes}: generating {n} scenes\n")
                write_split(scenes, split, n, seed, proposals=True)
            parts.append(read_scenes(scenes, split, most=n))
        return Scenes(*parts)


@options_of_command
class TrainOptions(SceneOptions, Data, Output):
    """Everything that training lxmert takes.

    Attributes:
        train_file: Train on these items instead of scenes, one JSON object a
            line with a program and an answer; needs --regions.
        dev_file: Choose the best weights on these items; by default on every
            20th of --train-file.
        regions: Region features of their images, in a form of visual-nmn.md.
        encoder: Folder of a pretrained LXMERT to start from; a new one by
            default.
    """

    regions: Path | None = None
    encoder: Path | None = None


@options_of_command
class ModularTrainOptions(TrainOptions):
    """Everything that training visual-nmn takes.

    Attributes:
        count: Count module.
        contextual: Modules read the whole sentence, not their words alone.
        positions: Words alone stay where they are in the sentence, whose other
            words are zeroed, or are shifted to its front.
        partner: Other box of a pair.
        no_pretraining: Do not teach find and filter their gold boxes.
    """

    count: CountKind = "graph"
    contextual: bool = False
    positions: Positions = "kept"
    partner: Literal["best", "any"] = "best"
    no_pretraining: bool = False


def lxmert(*, options: TrainOptions) -> None:
    """Train the end-to-end baseline over images."""
    _train(options, Config("lxmert"), options.recipe(pretrained=False))


def visual_nmn(*, options: ModularTrainOptions) -> None:
    """Train the modular network over images.

    With --positions shifted, by the recipe of the shipped weights.
    """
    config = Config(
        "visual-nmn", options.count, not options.contextual, options.partner, MOST, options.positions
    )
    _train(options, config, options.recipe(pretrained=not options.no_pretraining))


def _train(options: TrainOptions, config: Config, recipe: Recipe) -> None:
    require_free(options.out, **options.start)
    scenes = _open_items(options, options.train_file) if options.train_file else options.open_scenes()
    train_one(scenes, config, recipe, options, options.out, encoder=options.encoder, **options.start)


def _open_items(options: TrainOptions, path: Path) -> Scenes:
    """Read items; those with gold boxes are pretrained on.

    Raises:
        UnreadableData: A file is malformed, or holds too little.
    """
    if options.regions is None:
        raise UnreadableData(f"{path}: its images need region features; name them with --regions")
    regions = read_regions(options.regions)
    items = read_items(path, regions)
    if options.dev_file:
        train_set, dev = items, read_items(options.dev_file, regions)
    else:
        train_set, dev = [each for i, each in enumerate(items) if i % HELD_OUT], items[::HELD_OUT]
    if not train_set:
        raise UnreadableData(f"{path}: one item; without --dev-file at least two are needed")
    return Scenes(train_set, dev, [], [each for each in train_set if each.gold])


def train_one(
    scenes: Scenes,
    config: Config,
    recipe: Recipe,
    options: SceneOptions,
    out: Path,
    *,
    encoder: Path | None = None,
    **start: Unpack[Start],
) -> Row:
    """Train the network of a configuration.

    Args:
        scenes: To train on, and to choose the best weights on.
        config: Of the network.
        recipe: Schedule and seed.
        options: Hidden size of a new encoder, device and threads.
        out: Folder of the run.
        encoder: Folder of a pretrained encoder; None for a new one.
        start: Continue or replace a run, see `train`.

    Returns:
        The log row of the best weights.
    """
    device = options.apply()
    torch.manual_seed(recipe.seed)
    features = scenes.train[0].regions[0].features.shape[1]
    if encoder is not None:
        model, tokenizer = folder.open_encoder(encoder)
        if model.config.visual_feat_dim != features:
            expected = model.config.visual_feat_dim
            raise UnreadableWeights(f"{encoder}: reads {expected} features a region, not {features}")
    else:
        sentences = [each.sentence for each in scenes.train]
        model, tokenizer = folder.new_encoder(sentences, hidden=options.hidden, features=features)
    network = folder.build(config, model, tokenizer).to(device)
    trainer = Trainer(network, config, recipe, scenes.train, scenes.pretraining)
    return train_with_progress(trainer, scenes.dev, out, **start)
