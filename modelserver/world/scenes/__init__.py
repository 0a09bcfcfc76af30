"""Generated pairs of pictures with a true or false sentence about them.

Each has a program and gold boxes. Every example depends on nothing but the seed, the split and its
index. A sentence is made to fit a pair; then one thing about the pair changes, which leaves the sentence
true or makes it false. Only sentences that allow both are used, so that neither the words nor the fact
of a change reveals the label. A program belongs to one split, with all its examples.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from modelserver.world.items import SplitOptions, write_items, write_whole
from modelserver.world.names import SPLITS, Split, split_of
from modelserver.world.scenes.claims import KINDS_OF_CLAIMS
from modelserver.world.scenes.layout import Pair, Palette, change, draw_palette, lay_out
from modelserver.world.scenes.meaning import Unclear
from modelserver.world.scenes.painting import draw_ground
from modelserver.world.scenes.proposals import write_proposals
from modelserver.world.scenes.scene import Scene
from modelserver.world.scenes.statements import Claim, NoClaim

__all__ = ["Scene", "generate", "generate_further", "write_further", "write_scenes", "write_split"]

PAIRS, CLAIMS, CHANGES = 25, 30, 40  # tried for a kind of sentence; on a pair; on a claim
OTHERS, FURTHER = 4, 60  # for further statements: pairs of each sort to tell apart; tried for a kind


def generate(split: Split, n: int, seed: int) -> Iterator[Scene]:
    """Yield ``n`` examples of a split, half true, fixed by split and seed."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, not {split!r}")
    for index in range(n):
        yield _generate_scene(split, index, seed)


def _generate_scene(split: Split, index: int, seed: int) -> Scene:
    rng = random.Random(f"scenes/{seed}/{split}/{index}")
    # Of two examples in a row one is true; which one, a third thing decides that both know.
    first = random.Random(f"scenes/{seed}/{split}/{index // 2}/labels").random() < 0.5
    label = first == (index % 2 == 0)
    drawn = None
    while drawn is None:  # a split may hold hardly a program of a kind, so that another kind has its turn
        kind = rng.choice(tuple(KINDS_OF_CLAIMS))
        drawn = _draw_contrast(rng, kind, split)
    claim, after = drawn
    name, pair = after[label]
    sentence = rng.choice(claim.wordings)
    return Scene(
        name=f"scene-{seed}-{split}-{index:05d}",
        pair=pair,
        grounds=(draw_ground(rng), draw_ground(rng)),
        kind=kind,
        claim=claim,
        sentence=sentence[0].upper() + sentence[1:],
        label=label,
        change=name,
    )


Contrast = dict[bool, tuple[str, Pair]]  # by whether the claim is true of the pair: what changed, the pair


def _draw_contrast(rng: random.Random, kind: str, split: Split) -> tuple[Claim, Contrast] | None:
    """Return a claim with changed pairs of which it is true and false.

    The claim is of the given kind and split; each pair differs by one change.
    """
    for _ in range(PAIRS):
        choices = draw_palette(rng)
        before = lay_out(rng, choices)
        for _ in range(CLAIMS):
            try:
                claim = KINDS_OF_CLAIMS[kind](rng, before)
            except NoClaim:
                continue
            if split_of(str(claim.program)) == split and _evaluate_claim(claim, before):
                after = _change_pair(rng, before, choices, claim)
                if after:
                    return claim, after
                break
    return None


def _change_pair(rng: random.Random, pair: Pair, choices: Palette, claim: Claim) -> Contrast | None:
    """Return changed pairs: one fits the claim, the other does not."""
    contrast: Contrast = {}
    for _ in range(CHANGES):
        changed = change(pair, rng, choices)
        truth = _evaluate_claim(claim, changed[1]) if changed else None
        if changed and truth is not None:
            contrast.setdefault(truth, changed)
        if len(contrast) == 2:
            return contrast
    return None


def _evaluate_claim(claim: Claim, pair: Pair) -> bool | None:
    try:
        return claim.is_true_of(pair)
    except Unclear:
        return None


def generate_further(scene: Scene, split: Split, n: int) -> Iterator[Scene]:
    """Yield at most ``n`` further statements of a split about a scene's pair.

    Each is true of the pair and false of another one, or the reverse, as a coin decides: of the pair
    with one thing changed, or of one with the same kinds, colours and patterns. So no sentence reveals
    its label, but these labels are easier to see than that of the scene.
    """
    rng = random.Random(f"further/{scene.name}")
    shapes = [thing for thing in scene.pair if thing.is_shape]
    choices = Palette(*(tuple(sorted({getattr(t, name) for t in shapes})) for name in _LOOKS))
    near = [changed[1] for _ in range(OTHERS) if (changed := change(scene.pair, rng, choices))]
    far = [lay_out(rng, choices) for _ in range(OTHERS)]
    for number in range(n):
        label = rng.random() < 0.5
        if drawn := _draw_further_claim(rng, scene.pair, near, far, split, label):
            kind, claim = drawn
            sentence = rng.choice(claim.wordings)
            yield replace(
                scene,
                name=f"{scene.name}-{number + 1}",
                kind=kind,
                claim=claim,
                sentence=sentence[0].upper() + sentence[1:],
                label=label,
                change="",
            )


_LOOKS = ("kind", "colour", "pattern")


def _draw_further_claim(
    rng: random.Random, pair: Pair, near: list[Pair], far: list[Pair], split: Split, label: bool
) -> tuple[str, Claim] | None:
    """Return a kind and a claim that the pair makes true or false, or none."""
    kinds = tuple(KINDS_OF_CLAIMS)
    for kind in rng.sample(kinds, len(kinds)):
        for _ in range(FURTHER):
            other = rng.choice(near if near and rng.random() < 0.5 else far)
            fitting, unfitting = (pair, other) if label else (other, pair)
            try:
                claim = KINDS_OF_CLAIMS[kind](rng, fitting)
            except NoClaim:
                continue
            truths = _evaluate_claim(claim, fitting), _evaluate_claim(claim, unfitting)
            if truths == (True, False) and split_of(str(claim.program)) == split:
                return kind, claim
    return None


def write_split(folder: Path, split: Split, n: int, seed: int, *, proposals: bool = False) -> None:
    """Write ``SPLIT.jsonl``, its images and, if wanted, region proposals."""
    scenes = generate(split, n, seed)
    if proposals:
        scenes = write_proposals(folder, split, n, scenes)
    write_items(folder / f"{split}.jsonl", (_write_images(folder, split, scene) for scene in scenes))


def write_further(path: Path, split: Split, n: int, seed: int, statements: int) -> None:
    """Write ``statements`` `further` ones about each of a split's pairs.

    The pairs are those that `write_split` draws; ``extra`` names their scene, and there is no gold.
    """
    write_items(path, (
        {
            "external_id": statement.name,
            "program": str(statement.claim.program),
            "text": statement.sentence,
            "answer": statement.label,
            "extra": {"world": {"scene": scene.name, "sentence": statement.kind}},
        }
        for scene in generate(split, n, seed)
        for statement in generate_further(scene, split, statements)
    ))  # fmt: skip


def _write_images(folder: Path, split: Split, scene: Scene) -> dict[str, Any]:
    """Write the images of a scene, then return its record."""
    images = f"images/{split}"
    for name, image in zip(scene.file_names(images), scene.images, strict=True):
        with write_whole(folder / name) as partial:
            image.save(partial, "PNG", compress_level=3)
    return scene.record(images)


def write_scenes(*, options: SplitOptions, proposals: bool = False) -> None:
    """Generate pairs of pictures with sentences, programs and gold boxes.

    Args:
        options: Folder, seed and numbers of scenes.
        proposals: Also write boxes and features of regions, for models that
            need a detector.
    """
    options.write(partial(write_split, proposals=proposals))
