"""What ``train visual-nmn`` and ``train lxmert`` take, and the data that they train on."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import Progress as Bar

from modelserver.modular.visual import folder
from modelserver.modular.visual.counting import COUNT_KINDS
from modelserver.modular.visual.network import Config
from modelserver.modular.visual.region_files import read_regions
from modelserver.modular.visual.scene_data import Example, read_items, read_scenes
from modelserver.training.visual_nmn import Recipe, Row, Trainer, train
from modelserver.wire.errors import UnreadableData, UnreadableWeights
from modelserver.world import Split
from modelserver.world.scenes import write_split

HIDDEN = 64
MOST = 16  # boxes that Graph-count looks at in an image: two for each of as many things as scenes have alike
PRETRAINING = "pretraining"  # folder, beside the splits, of scenes from another seed


@dataclass(frozen=True)
class Sizes:
    """How many scenes of each kind are generated, and with which seed; pretraining has the next seed."""

    train: int = 4000
    dev: int = 200
    test: int = 400
    pretraining: int = 3000
    seed: int = 1


@dataclass(frozen=True)
class Scenes:
    """What is trained and scored on."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]
    pretraining: list[Example]


def open_scenes(place: Path, sizes: Sizes) -> Scenes:
    """Read the scenes of a folder; what is not there yet is generated first."""
    splits: tuple[tuple[Path, Split, int, int], ...] = (
        (place, "train", sizes.train, sizes.seed),
        (place, "dev", sizes.dev, sizes.seed),
        (place, "test", sizes.test, sizes.seed),
        (place / PRETRAINING, "train", sizes.pretraining, sizes.seed + 1),
    )
    read = []
    for where, split, n, seed in splits:
        if not (where / f"{split}.jsonl").exists():
            sys.stderr.write(f"{where}: generating {n} scenes\n")
            write_split(where, split, n, seed, proposals=True)
        read.append(read_scenes(where, split, most=n))
    return Scenes(*read)


def add_arguments(parser: argparse.ArgumentParser, system: str) -> None:
    """Declare the arguments of ``train SYSTEM``."""
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="folder for the weights and the log")
    data_arguments(parser)
    text = "train on items with programs and answers, one a line, in place of scenes; needs --regions"
    add("--data", type=Path, metavar="FILE", help=text)
    add("--dev-data", type=Path, metavar="FILE", help="to choose the checkpoint on (default: every 20th)")
    add(
        "--regions",
        type=Path,
        metavar="PATH",
        help="region features of their images: a TSV or a folder",
    )
    if system == "visual-nmn":
        add("--count", choices=COUNT_KINDS, default="graph", help="count module (default: %(default)s)")
        add(
            "--contextual", action="store_true", help="modules read the whole sentence, not their words alone"
        )
        add("--partner", choices=("best", "any"), default="best", help="other box of a pair (default: best)")
        add("--no-pretraining", action="store_true", help="do not teach find and filter what to put out")
    add("--encoder", type=Path, metavar="FOLDER", help="pretrained LXMERT to start from (default: a new one)")
    add("--device", default="cpu", help="(default: %(default)s)")
    add("--resume", action="store_true", help="go on with the training in --out where it was killed")
    parser.set_defaults(command=run)


def data_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what every training here takes: scenes, schedule, sizes."""
    recipe, sizes = Recipe(), Sizes()

    def number(flag: str, default: int, text: str) -> None:
        parser.add_argument(flag, type=_positive, default=default, help=f"{text} (default: {default})")

    text = "folder of scenes with proposals; made when it is not there (default: %(default)s)"
    parser.add_argument("--scenes", type=Path, default=Path("build/visual-scenes"), help=text)
    number("--train", sizes.train, "scenes to train on")
    number("--dev", sizes.dev, "scenes to choose the checkpoint on")
    number("--test", sizes.test, "scenes to score on")
    number("--pretraining-scenes", sizes.pretraining, "scenes to teach find and filter on")
    number("--steps", recipe.steps, "batches to learn from")
    number("--pretraining-steps", recipe.pretraining, "batches of pretraining")
    number("--batch", recipe.batch, "statements in a batch")
    number("--check-every", recipe.check_every, "batches between checks")
    number("--hidden", HIDDEN, "hidden size of a new encoder")
    number("--threads", 1, "CPU threads")
    parser.add_argument("--rate", type=float, default=recipe.rate, help="of learning (default: %(default)g)")
    parser.add_argument("--seed", type=int, default=recipe.seed, help="of weights and order (default: 1)")


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def recipe_of(options: argparse.Namespace) -> Recipe:
    return Recipe(
        pretraining=options.pretraining_steps,
        steps=options.steps,
        batch=options.batch,
        rate=options.rate,
        check_every=options.check_every,
        seed=options.seed,
    )


def sizes_of(options: argparse.Namespace) -> Sizes:
    return Sizes(options.train, options.dev, options.test, options.pretraining_scenes)


def run(options: argparse.Namespace) -> int:
    """Train one network and write its folder; the exit status is 0."""
    torch.set_num_threads(options.threads)
    scenes = _open_items(options) if options.data else open_scenes(options.scenes, sizes_of(options))
    config = Config("lxmert")
    if options.system == "visual-nmn":
        config = Config("visual-nmn", options.count, not options.contextual, options.partner, MOST)
    recipe = recipe_of(options)
    if options.system == "lxmert" or options.no_pretraining:
        recipe = replace(recipe, pretraining=0)
    best = train_one(scenes, config, recipe, options)
    sys.stderr.write(f"{options.out}: the weights of step {best['step']:.0f}\n")
    return 0


def _open_items(options: argparse.Namespace) -> Scenes:
    """Read the items of ``--data``; those with gold boxes are pretrained on. Raises UnreadableData."""
    if options.regions is None:
        raise UnreadableData(f"{options.data}: its images need region features; name them with --regions")
    regions = read_regions(options.regions)
    items = read_items(options.data, regions)
    if options.dev_data:
        train_set, dev = items, read_items(options.dev_data, regions)
    else:
        train_set, dev = [each for i, each in enumerate(items) if i % 20], items[::20]
    if not train_set:
        raise UnreadableData(f"{options.data}: one item; without --dev-data at least two are needed")
    return Scenes(train_set, dev, [], [each for each in train_set if each.gold])


def train_one(
    scenes: Scenes, config: Config, recipe: Recipe, options: argparse.Namespace, out: Path | None = None
) -> Row:
    """Train the network of a configuration in ``out``, or the folder of the options; returns its best row."""
    torch.manual_seed(recipe.seed)
    features = scenes.train[0].regions[0].features.shape[1]
    if getattr(options, "encoder", None):
        encoder, tokenizer = folder.open_encoder(options.encoder)
        if encoder.config.visual_feat_dim != features:
            read = encoder.config.visual_feat_dim
            raise UnreadableWeights(f"{options.encoder}: reads {read} features a region, not {features}")
    else:
        sentences = [each.sentence for each in scenes.train]
        encoder, tokenizer = folder.new_encoder(sentences, hidden=options.hidden, features=features)
    network = folder.build(config, encoder, tokenizer).to(getattr(options, "device", "cpu"))
    trainer = Trainer(network, config, recipe, scenes.train, scenes.pretraining)
    with Bar(console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{config.system} {config.count}", total=trainer.total)

        def report(row: Row) -> None:
            bar.update(task, completed=row["step"])
            shown = {name: round(value, 4) if value is not None else None for name, value in row.items()}
            print(json.dumps(shown), flush=True)  # noqa: T201 - the log is the output of the command

        return train(trainer, scenes.dev, out or options.out, resume=options.resume, report=report)
