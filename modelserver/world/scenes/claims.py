"""Sentences about a pair of images with their programs, true of the pair.

There is one function per kind of sentence; it looks for something to say that is true of the pair, and
raises `NoClaim` if there is nothing. The wordings of a claim mean the same, and contain the words of
every argument.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from modelserver.world.calls import Call, call
from modelserver.world.scenes.layout import Pair
from modelserver.world.scenes.meaning import Unclear, evaluate_objects
from modelserver.world.scenes.nouns import FLAG_WORDS, INSIDE_WORDS, Noun, describe, draw_adjective
from modelserver.world.scenes.relations import check_relation
from modelserver.world.scenes.statements import (
    SIDES,
    Claim,
    NoClaim,
    claim,
    count_in_image,
    draw_noun,
    draw_noun_pair,
    draw_nouns,
    draw_quantity,
    limit_to_image,
    pick,
    require_quantity,
)
from modelserver.world.scenes.things import BOX, FLAG, PATTERNS, Thing

SPATIAL = ("left of", "right of", "directly above", "directly below", "touching", "overlapping")


def _exist_side(rng: random.Random, pair: Pair) -> Claim:
    side = rng.choice(SIDES)
    noun = draw_noun(rng, pair, SIDES.index(side))
    return claim(
        call("exist", limit_to_image(side, noun.find(1))),
        f"There is {noun.a()} in the {side} image.",
        f"The {side} image contains {noun.a()}.",
        f"{noun.a()} can be seen in the image on the {side}.",
    )


def _count_side(rng: random.Random, pair: Pair) -> Claim:
    side = rng.choice(SIDES)
    noun = draw_noun(rng, pair)
    quantity = require_quantity(rng, count_in_image(noun, pair, side))
    what = quantity.of(noun)
    return claim(
        quantity.compare_count(limit_to_image(side, noun.find(quantity.number))),
        f"There {quantity.be} {what} in the {side} image.",
        f"The {side} image shows {what}.",
        f"In the image on the {side} there {quantity.be} {what}.",
    )


def _count_total(rng: random.Random, pair: Pair) -> Claim:
    noun = draw_noun(rng, pair)
    quantity = require_quantity(rng, len(noun.select_fitting(pair)))
    what = quantity.of(noun)
    return claim(
        quantity.compare_count(noun.find(quantity.number)),
        f"There {quantity.be} {what} in the two images together.",
        f"Taken together, the two images show {what}.",
        f"Across both images there {quantity.be} {what} in total.",
    )


def _compare_sides(rng: random.Random, pair: Pair) -> Claim:
    noun = draw_noun(rng, pair)
    counts = [call("count", limit_to_image(side, noun.find())) for side in SIDES]
    lefts, rights = (count_in_image(noun, pair, side) for side in SIDES)
    what = noun.say()
    if lefts == rights:
        return claim(
            call("equal", *counts),
            f"The left image has the same number of {what} as the right image.",
            f"There are exactly as many {what} in the left image as in the right image.",
        )
    comparison, word = ("greater", "more") if lefts > rights else ("less", "fewer")
    return claim(
        call(comparison, *counts),
        f"There are {word} {what} in the left image than in the right image.",
        f"The left image shows {word} {what} than the right one.",
        f"Compared with the right image, the left image has {word} {what}.",
    )


def _compare_kinds(rng: random.Random, pair: Pair) -> Claim:
    more, less = sorted(draw_noun_pair(rng, pair), key=lambda noun: -len(noun.select_fitting(pair)))
    counts = call("count", more.find()), call("count", less.find())
    if len(more.select_fitting(pair)) == len(less.select_fitting(pair)):
        return claim(
            call("equal", *counts),
            f"Across both images there are exactly as many {more.say()} as {less.say()}.",
            f"The two images together show the same number of {more.say()} and {less.say()}.",
        )
    return claim(
        call("greater", *counts),
        f"Across both images there are more {more.say()} than {less.say()}.",
        f"In the two images together, {more.say()} outnumber {less.say()}.",
    )


def _claim_each_image(rng: random.Random, pair: Pair) -> Claim:
    what, be, statement = _draw_noun_in_an_image(rng, pair)
    return claim(
        call("in-each-image", statement),
        f"Each image contains {what}.",
        f"There {be} {what} in each of the two images.",
        f"Both images, each taken alone, show {what}.",
    )


def _claim_any_image(rng: random.Random, pair: Pair) -> Claim:
    what, be, statement = _draw_noun_in_an_image(rng, pair)
    return claim(
        call("in-at-least-one-image", statement),
        f"At least one of the images contains {what}.",
        f"There {be} {what} in at least one image.",
    )


def _draw_noun_in_an_image(rng: random.Random, pair: Pair) -> tuple[str, str, Call]:
    """Return a noun with how many of it an image has, its verb and program."""
    noun = draw_noun(rng, pair)
    n = count_in_image(noun, pair, rng.choice(SIDES))
    quantity = None if rng.random() < 0.4 else draw_quantity(rng, n)
    if quantity is None:
        return noun.a(), "is", call("exist", noun.find(1))
    return quantity.of(noun), quantity.be, quantity.compare_count(noun.find(quantity.number))


def _claim_image_contrast(rng: random.Random, pair: Pair) -> Claim:
    here = rng.choice((0, 1))
    noun, there = draw_nouns(rng, pair, here, 1 - here)
    if noun == there:
        raise NoClaim
    quantity = require_quantity(rng, count_in_image(noun, pair, SIDES[here]), least=1)
    first = quantity.compare_count(limit_to_image("one", noun.find(quantity.number)))
    second = call("exist", limit_to_image("other", there.find(1)))
    return claim(
        call("in-one-other-image", call("and", first, second)),
        f"One image contains {quantity.of(noun)} and the other image contains {there.a()}.",
        f"There {quantity.be} {quantity.of(noun)} in one image, and there is {there.a()} in the other.",
    )


def _claim_both_sides(rng: random.Random, pair: Pair) -> Claim:
    left, right = draw_nouns(rng, pair, 0, 1)
    return claim(
        call("and", *_build_existence_calls(left, right)),
        f"There is {left.a()} in the left image and {right.a()} in the right image.",
        f"The left image contains {left.a()}, and the right image contains {right.a()}.",
    )


def _claim_either_side(rng: random.Random, pair: Pair) -> Claim:
    """Say that at least one of two things is there; exactly one is."""
    left, right = draw_nouns(rng, pair, None, None)
    if bool(count_in_image(left, pair, "left")) == bool(count_in_image(right, pair, "right")):
        raise NoClaim
    return claim(
        call("or", *_build_existence_calls(left, right)),
        f"There is {left.a()} in the left image or {right.a()} in the right image, or both.",
        f"The left image contains {left.a()}, or the right image contains {right.a()}, or both do.",
    )


def _build_existence_calls(*nouns: Noun) -> list[Call]:
    return [
        call("exist", limit_to_image(side, noun.find(1))) for side, noun in zip(SIDES, nouns, strict=True)
    ]


def _pick_related_pair(rng: random.Random, pair: Pair) -> tuple[str, Thing, Thing]:
    relation = rng.choice(SPATIAL)
    shapes = [t for t in pair if t.is_shape]
    pairs = [(shape, other) for shape in shapes for other in shapes if check_relation(relation, shape, other)]
    return (relation, *pick(rng, pairs))


def _format_relation(relation: str) -> str:
    return f"to the {relation}" if relation in ("left of", "right of") else relation


def _claim_relation(rng: random.Random, pair: Pair) -> Claim:
    relation, thing, second_thing = _pick_related_pair(rng, pair)
    side, a, b = SIDES[thing.image], describe(rng, thing), describe(rng, second_thing)
    words = _format_relation(relation)
    related = call("with-relation", a.find(1), b.find(1), argument=relation)
    return claim(
        call("exist", limit_to_image(side, related)),
        f"In the {side} image there is {a.a()} {words} {b.a()}.",
        f"The {side} image contains {a.a()} that is {words} {b.a()}.",
    )


def _claim_related_pair_count(rng: random.Random, pair: Pair) -> Claim:
    return _claim_related_count(rng, pair, *_pick_related_pair(rng, pair))


def _claim_inside_count(rng: random.Random, pair: Pair) -> Claim:
    shape = pick(rng, [t for t in pair if t.is_shape and t.holder is not None])
    return _claim_related_count(rng, pair, "inside", shape, _find_holder(shape, pair))


def _find_holder(held: Thing, pair: Pair) -> Thing:
    return next(thing for thing in pair if thing.number == held.holder)


def _claim_related_count(rng: random.Random, pair: Pair, relation: str, thing: Thing, other: Thing) -> Claim:
    a, b = describe(rng, thing), describe(rng, other)
    nodes = {n: call("with-relation", a.find(n), b.find(1), argument=relation) for n in (1, 2)}
    words = f"{_format_relation(relation)} {b.a()}"
    try:
        related = evaluate_objects(nodes[2], pair)
    except Unclear as error:
        raise NoClaim from error
    quantity = require_quantity(rng, len(related), least=1)
    what = quantity.of(a)
    return claim(
        quantity.compare_count(nodes[1 if quantity.number == 1 else 2]),
        f"Across both images, {what} {quantity.be} {words}.",
        f"There {quantity.be} {what} {words}, counted over both images.",
    )


def _claim_contents(rng: random.Random, pair: Pair) -> Claim:
    """Count, among the shapes inside boxes, those of some look."""
    noun = describe(rng, pick(rng, [t for t in pair if t.kind == BOX]))
    contents = call("project", noun.find(), argument=INSIDE_WORDS)
    inside = evaluate_objects(contents, pair)
    if not inside:
        raise NoClaim
    word = draw_adjective(rng, list(inside))
    quantity = require_quantity(rng, sum(thing.looks(word) for thing in inside))
    return claim(
        quantity.compare_count(call("filter", contents, argument=word)),
        f"Of all {INSIDE_WORDS} {noun.say()}, {quantity.words} {quantity.be} {word}.",
        f"Among the {INSIDE_WORDS} {noun.say()}, {quantity.words} {quantity.be} {word}.",
        supposes=contents,
    )


def _claim_all_alike(rng: random.Random, pair: Pair) -> Claim:
    """Say that all of a kind in one image share a colour, pattern or size."""
    side = rng.choice(SIDES)
    noun = draw_noun(rng, pair, SIDES.index(side))
    things = [t for t in noun.select_fitting(pair) if SIDES[t.image] == side]
    word = draw_adjective(rng, things)
    if word in noun.adjectives or not all(thing.looks(word) for thing in things):
        raise NoClaim
    all_nodes = noun.find()
    whole, part = (
        limit_to_image(side, node) for node in (all_nodes, call("filter", all_nodes, argument=word))
    )
    what = noun.say()
    return claim(
        call("equal", call("count", whole), call("count", part)),
        f"All {what} in the {side} image are {word}.",
        f"In the {side} image, all {what} are {word}.",
        supposes=whole,
    )


def _claim_flag(rng: random.Random, pair: Pair) -> Claim:
    flag = pick(rng, [t for t in pair if t.kind == FLAG])
    side, box = SIDES[flag.image], describe(rng, _find_holder(flag, pair))
    flagged = call("filter", call("project", box.find(1), argument=FLAG_WORDS), argument=flag.colour)
    words = Noun(FLAG_WORDS, (flag.colour,)).a()
    related = call("with-relation", box.find(1), flagged, argument="with")
    return claim(
        call("exist", limit_to_image(side, related)),
        f"The {side} image contains {box.a()} with {words}.",
        f"There is {box.a()} with {words} in the {side} image.",
    )


def _claim_sum(rng: random.Random, pair: Pair) -> Claim:
    first, second = draw_noun_pair(rng, pair)
    quantity = require_quantity(
        rng, len(first.select_fitting(pair)) + len(second.select_fitting(pair)), least=2
    )
    if quantity.number < 2:
        raise NoClaim
    total = call("sum", call("count", first.find()), call("count", second.find()))
    what = quantity.of(first) + f" and {second.say()}"
    return claim(
        call(quantity.comparison, total, call(str(quantity.number))),
        f"Counted together over both images, there are {what}.",
        f"Added up, the two images show {what}.",
    )


def _claim_difference(rng: random.Random, pair: Pair) -> Claim:
    noun = draw_noun(rng, pair)
    more, less = rng.choice((SIDES, SIDES[::-1]))
    n = count_in_image(noun, pair, more) - count_in_image(noun, pair, less)
    if not 1 <= n <= 9:
        raise NoClaim
    sides = (call("count", limit_to_image(side, noun.find(n))) for side in (more, less))
    what = f"{noun.number(n).replace(' ', ' more ', 1)}"
    return claim(
        call("equal", call("difference", *sides), call(str(n))),
        f"The {more} image contains exactly {what} than the {less} image.",
        f"There {'is' if n == 1 else 'are'} exactly {what} in the {more} image than in the {less} one.",
    )


def _claim_times(rng: random.Random, pair: Pair) -> Claim:
    noun = draw_noun(rng, pair)
    more, less = rng.choice((SIDES, SIDES[::-1]))
    many, few = count_in_image(noun, pair, more), count_in_image(noun, pair, less)
    factor = many // few if few else 0
    if factor not in (2, 3) or many != factor * few:
        raise NoClaim
    times, what = {2: "twice", 3: "three times"}[factor], noun.say()
    sides = [limit_to_image(side, noun.find()) for side in (more, less)]
    ratio = call("division", *(call("count", side) for side in sides))
    return claim(
        call("equal", ratio, call(str(factor))),
        f"The {more} image has exactly {times} as many {what} as the {less} image.",
        f"There are exactly {times} as many {what} in the {more} image as in the {less} one.",
        supposes=sides[1],
    )


def _claim_both_words(rng: random.Random, pair: Pair) -> Claim:
    thing = rng.choice([t for t in pair if t.is_shape])
    words = [thing.size, *([thing.pattern] if thing.pattern != PATTERNS[0] else []), thing.colour]
    first, second = rng.sample(words, 2)
    noun = Noun(rng.choice(("shape", thing.kind)))
    parts = [Noun(noun.noun, (word,)) for word in (first, second)]
    quantity = require_quantity(rng, len(Noun(noun.noun, (first, second)).select_fitting(pair)), least=1)
    what, be = quantity.of(noun), quantity.be
    return claim(
        quantity.compare_count(call("intersect", *(part.find(quantity.number) for part in parts))),
        f"Across both images there {be} {what} that {be} both {first} and {second}.",
        f"The two images together show {what} that {be} both {first} and {second}.",
    )


def _claim_but_not(rng: random.Random, pair: Pair) -> Claim:
    side = rng.choice(SIDES)
    noun = describe(rng, pick(rng, [t for t in pair if t.is_shape and SIDES[t.image] == side]))
    word = draw_adjective(rng, [t for t in pair if t.is_shape])
    if word in noun.adjectives:
        raise NoClaim
    node = noun.find(1)
    rest = call("discard", node, call("filter", node, argument=word))
    return claim(
        call("exist", limit_to_image(side, rest)),
        f"There is {noun.a()} in the {side} image that is not {word}.",
        f"The {side} image contains {noun.a()} that is not {word}.",
    )


KINDS_OF_CLAIMS: dict[str, Callable[[random.Random, Pair], Claim]] = {
    "exist": _exist_side,
    "count": _count_side,
    "count-over-both": _count_total,
    "compare-images": _compare_sides,
    "compare-kinds": _compare_kinds,
    "each-image": _claim_each_image,
    "at-least-one-image": _claim_any_image,
    "one-other-image": _claim_image_contrast,
    "and": _claim_both_sides,
    "or": _claim_either_side,
    "relation": _claim_relation,
    "count-related": _claim_related_pair_count,
    "count-inside": _claim_inside_count,
    "contents": _claim_contents,
    "all": _claim_all_alike,
    "flag": _claim_flag,
    "sum": _claim_sum,
    "difference": _claim_difference,
    "times": _claim_times,
    "both": _claim_both_words,
    "not": _claim_but_not,
}
