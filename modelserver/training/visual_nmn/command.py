"""The commands ``train visual-nmn`` and ``train lxmert``, and their data."""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, Unpack

import torch
from cyclopts import Parameter

from analysis.io.command_line import BadUsage, only_with, only_without
from modelserver.inputs import encoders
from modelserver.modular.visual import folder
from modelserver.modular.visual.counting import CountKind, Impossible
from modelserver.modular.visual.execution import Partner
from modelserver.modular.visual.network import Config, Encoder, Positions
from modelserver.modular.visual.region_files import read_regions
from modelserver.modular.visual.regions import Regions
from modelserver.modular.visual.scene_data import Example, read_further, read_items, read_scenes
from modelserver.training.loop import Row, require_free, train_with_progress
from modelserver.training.options import (
    WITH_TRAIN_FILE,
    WITHOUT_TRAIN_FILE,
    Compute,
    Count,
    Data,
    DevCount,
    Hub,
    Output,
    Start,
    TrainCount,
    TrainFile,
    extract_options,
    hold_out,
    options_of_command,
)
from modelserver.training.tables import TableOptions
from modelserver.training.visual_nmn.trainer import Recipe, Trainer
from modelserver.wire.errors import UnreadableData, UnreadableWeights
from modelserver.world import Split
from modelserver.world.scenes import generate, write_further, write_split

HIDDEN = 64
MOST_REGIONS = 16  # boxes that Graph-count reads in an image: two for each of the alike things of a scene
PRETRAINED_RATE = 5e-5  # of LXMERT in fine-tuning on NLVR2 (Tan and Bansal 2019)
UNSUPERVISED = "no item to pretrain on has gold boxes and learns only find and filter"
WITH_PRETRAINING_DATA, WITH_PRETRAINING = only_with("--pretraining-data"), only_without("--no-pretraining")
WITHOUT_ENCODER = only_without("--encoder")
PRETRAINING = "pretraining"  # folder, beside the splits, of scenes from another seed


@dataclass(frozen=True)
class Scenes:
    """Examples to train and score on."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]
    pretraining: list[Example]


@options_of_command
class SceneOptions(Data, Compute, Recipe, Hub):
    """Data, schedule and sizes of any training of a network over images.

    Attributes:
        train: Number of generated training scenes.
        dev: Number of generated dev scenes.
        train_file: Train on these items instead of scenes, one JSON object a
            line with a program and an answer; needs --regions. --data is the
            same option.
        dev_file: Choose the best weights on these items; by default on every
            20th of --train-file.
        scenes: Folder of scenes with proposals; generated if missing, refused if
            of another seed or too few.
        test: Number of generated test scenes.
        pretraining_scenes: Number of generated scenes to pretrain on.
        regions: Region features of the items' images, in a form of visual-nmn.md.
        pretraining_data: Pretrain on these items with gold boxes; by default
            on those of --train-file that have them.
        pretraining_regions: Region features of their images; those of
            --regions by default.
        statements: Statements about each pair of generated training scenes;
            the further ones are learned from by their labels alone.
        most_modules: Leave out training items with longer programs.
        encoder: Pretrained LXMERT to start from, a folder or an id of the hub
            (with --allow-hub); a new one by default.
        new_encoder: Kind of a new encoder: an LXMERT, or one without attention
            that learns from labels alone.
        hidden: Hidden size of a new encoder.
        graph_regions: Most probable regions of an image that Graph-count
            reads, or all.
        impossible: Regions of probability 0 in Graph-count: apart from all
            others, or alike as in the code of its authors.
        partner: Box that a module with pairs looks at: the most probable other
            one, or any.
        positions: Words alone stay where they are in the sentence, whose other
            words are zeroed, or are shifted to its front.
        pair_places: Modules with pairs also see where the boxes lie to each other.
    """

    train: TrainCount = 4000
    dev: DevCount = 200
    train_file: Annotated[TrainFile | None, Parameter(name=("--train-file", "--data"))] = None
    dev_file: Annotated[Path | None, Parameter(group=WITH_TRAIN_FILE)] = None
    scenes: Annotated[Path, Parameter(group=WITHOUT_TRAIN_FILE)] = Path("build/visual-scenes")
    test: Annotated[Count, Parameter(group=WITHOUT_TRAIN_FILE)] = 400
    pretraining_scenes: Annotated[Count, Parameter(group=WITHOUT_TRAIN_FILE)] = 3000
    regions: Annotated[Path | None, Parameter(group=WITH_TRAIN_FILE)] = None
    pretraining_data: Annotated[
        Path | None, Parameter(group=(WITH_TRAIN_FILE, WITH_PRETRAINING_DATA, WITH_PRETRAINING))
    ] = None
    pretraining_regions: Annotated[Path | None, Parameter(group=WITH_PRETRAINING_DATA)] = None
    statements: Annotated[Count, Parameter(group=WITHOUT_TRAIN_FILE)] = 1
    most_modules: Annotated[Count | None, Parameter(group=WITH_TRAIN_FILE)] = None
    encoder: Annotated[str | None, Parameter(group=WITHOUT_ENCODER)] = None
    new_encoder: Annotated[folder.NewEncoder, Parameter(group=WITHOUT_ENCODER)] = "lxmert"
    hidden: Annotated[Count, Parameter(group=WITHOUT_ENCODER)] = HIDDEN
    graph_regions: Literal["all"] | Count = MOST_REGIONS
    impossible: Impossible = "apart"
    partner: Partner = "best"
    positions: Positions = "kept"
    pair_places: bool = False

    def recipe(self, *, pretrained: bool) -> Recipe:
        """Return the recipe, without pretraining unless it is ``pretrained``."""
        return extract_options(
            self,
            Recipe,
            pretraining=self.pretraining if pretrained else 0,
            encoder_rate=self.encoder_rate or (PRETRAINED_RATE if self.encoder else None),
        )

    def extend_config(self, config: Config) -> Config:
        """Return a configuration with what these options add to it."""
        most = None if self.graph_regions == "all" else self.graph_regions
        return replace(
            config,
            most=most,
            impossible=self.impossible,
            partner=self.partner,
            positions=self.positions,
            pair_places=self.pair_places,
        )

    def open_scenes(self, test_file: Path | None = None) -> Scenes:
        """Read the items of --train-file, or else scenes.

        Args:
            test_file: Items to test on, with regions of --regions.

        Raises:
            BadUsage: There are no --regions.
            UnreadableData: A file is malformed, or holds too little.
        """
        if self.train_file is not None:
            return _open_items(self, self.train_file, test_file)
        return self._open_generated()

    def _open_generated(self) -> Scenes:
        """Read the scenes; generate missing ones first.

        Raises:
            UnreadableData: The folder has scenes of another seed, or too few.
        """
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
            examples = read_scenes(scenes, split, most=n)
            if len(examples) < n or examples[0].id != next(generate(split, 1, seed)).name:
                raise UnreadableData(
                    f"{scenes}: {split}.jsonl does not hold {n} scenes of seed {seed}; "
                    "name another folder with --scenes, where they are generated"
                )
            parts.append(examples)
        if self.statements > 1:
            parts[0] += self._load_further_statements()
        return Scenes(*parts)

    def _load_further_statements(self) -> list[Example]:
        """Read further statements about training pairs; generate missing ones."""
        n, of_each = self.train, self.statements - 1
        path = self.scenes / f"train.further-{self.world_seed}-{n}x{of_each}.jsonl"
        if not path.exists():
            sys.stderr.write(f"{path}: generating {n} x {of_each} statements\n")
            write_further(path, "train", n, self.world_seed, of_each)
        return read_further(self.scenes, "train", path)


@options_of_command
class ScoredOptions(SceneOptions, TableOptions):
    """Everything that a table of trained variants takes.

    Attributes:
        test_file: Score on these items instead of scenes; with --train-file.
    """

    test_file: Annotated[Path | None, Parameter(group=WITH_TRAIN_FILE)] = None


@options_of_command
class TrainOptions(SceneOptions, Output):
    """Everything that training lxmert takes."""


@options_of_command
class ModularTrainOptions(TrainOptions):
    """Everything that training visual-nmn takes.

    Attributes:
        count: Count module.
        contextual: Modules read the whole sentence, not their words alone.
        no_pretraining: Do not teach find and filter their gold boxes.
    """

    count: CountKind = "graph"
    contextual: bool = False
    no_pretraining: Annotated[bool, Parameter(group=WITH_PRETRAINING)] = False


def lxmert(*, options: TrainOptions) -> None:
    """Train the end-to-end baseline over images."""
    _train(options, Config("lxmert"), options.recipe(pretrained=False))


def visual_nmn(*, options: ModularTrainOptions) -> None:
    """Train the modular network over images."""
    config = Config("visual-nmn", options.count, not options.contextual)
    _train(options, config, options.recipe(pretrained=not options.no_pretraining))


def _train(options: TrainOptions, config: Config, recipe: Recipe) -> None:
    require_free(options.out, **options.start)
    train_one(options.open_scenes(), config, recipe, options, options.out, **options.start)


def _open_items(options: SceneOptions, path: Path, test_file: Path | None) -> Scenes:
    """Read items; those with gold boxes are pretrained on.

    Raises:
        BadUsage: There are no --regions.
        UnreadableData: A file is malformed, or holds too little.
    """
    if options.regions is None:
        raise BadUsage(f"{path}: its images need region features; name them with --regions")
    regions = read_regions(options.regions)
    items = read_items(path, regions)
    if options.dev_file:
        train_set, dev = items, read_items(options.dev_file, regions)
    else:
        train_set, dev = hold_out(path, items)
    most = options.most_modules
    train_set = [example for example in train_set if most is None or len(example.modules) <= most]
    if not train_set:
        raise UnreadableData(f"{path}: no item to train on has at most {most} modules")
    test = read_items(test_file, regions) if test_file else []
    return Scenes(train_set, dev, test, _read_pretraining_items(options, train_set, regions))


def _read_pretraining_items(
    options: SceneOptions, train_set: list[Example], regions: Mapping[str, Regions]
) -> list[Example]:
    """Return the items with gold boxes to pretrain on.

    Raises:
        UnreadableData: --pretraining-data is malformed, or has no gold boxes.
    """
    path = options.pretraining_data
    if path is None:
        return [example for example in train_set if example.gold]
    own = options.pretraining_regions
    examples = read_items(path, read_regions(own) if own else regions)
    if not any(example.gold for example in examples):
        raise UnreadableData(f"{path}: no item has gold boxes to pretrain on")
    widths = [dataset[0].regions[0].features.shape[1] for dataset in (train_set, examples)]
    if widths[0] != widths[1]:
        raise UnreadableData(
            f"{own}: its regions have {widths[1]} features, those of the task have {widths[0]}"
        )
    return [example for example in examples if example.gold]


def require_lxmert(options: SceneOptions) -> None:
    """Raise BadUsage if a new encoder is not an LXMERT."""
    if options.new_encoder != "lxmert":
        raise BadUsage("lxmert answers from the output of an LXMERT: --new-encoder lxmert")


def train_one(
    scenes: Scenes,
    config: Config,
    recipe: Recipe,
    options: SceneOptions,
    out: Path,
    **start: Unpack[Start],
) -> Row:
    """Train the network of a configuration.

    Args:
        scenes: To train on, and to choose the best weights on.
        config: Of the network.
        recipe: Schedule and seed.
        options: The encoder to start from, device and threads.
        out: Folder of the run.
        start: Continue or replace a run, see `train`.

    Returns:
        The log row of the best weights.
    """
    device = options.apply()
    if config.system == "lxmert":
        require_lxmert(options)
    torch.manual_seed(recipe.seed)
    features = scenes.train[0].regions[0].features.shape[1]
    model: Encoder
    if options.encoder is not None:
        where = encoders.find_folder(options.encoder, allow_hub=options.allow_hub)
        model, tokenizer = folder.open_encoder(where)
        name = encoders.hash_files(where)
        if model.config.visual_feat_dim != features:
            expected = model.config.visual_feat_dim
            raise UnreadableWeights(f"{options.encoder}: reads {expected} features a region, not {features}")
    else:
        sentences = [example.sentence for example in scenes.train]
        new = folder.create_bilinear_encoder if options.new_encoder == "bilinear" else folder.create_encoder
        model, tokenizer = new(sentences, hidden=options.hidden, features=features)
        name = f"{options.new_encoder}, {options.hidden}"
    config = options.extend_config(config)
    network = folder.build(config, model, tokenizer).to(device)
    source = {"encoder": name, "regions": _hash_regions(scenes)}
    trainer = Trainer(network, config, recipe, scenes.train, scenes.pretraining, source=source)
    if recipe.pretraining and not trainer.first:
        sys.stderr.write(f"{UNSUPERVISED}: there is no pretraining\n")
    return train_with_progress(trainer, scenes.dev, out, **start)


def _hash_regions(scenes: Scenes) -> str:
    """Return hex digits that tell detectors apart by one image each."""
    total = hashlib.sha256()
    for part in (scenes.train, scenes.pretraining):
        for example in part[:1]:
            total.update(example.regions[0].features.tobytes())
    return total.hexdigest()
