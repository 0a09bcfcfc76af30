"""Sentences about a pair of images with their programs, true of the pair.

There is one function per kind of sentence; it looks for something to say that is true of the pair, and
returns None if there is nothing. The wordings of a claim mean the same, and contain the words of every
argument.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from modelserver.world.calls import Call, call
from modelserver.world.scenes.layout import Pair
from modelserver.world.scenes.meaning import Unclear, evaluate
from modelserver.world.scenes.nouns import FLAG_WORDS, INSIDE_WORDS, Noun, adjective, describe
from modelserver.world.scenes.relations import holds
from modelserver.world.scenes.statements import (
    SIDES,
    Claim,
    draw_quantity,
    in_image,
    seen,
    some_noun,
    two_nouns,
)
from modelserver.world.scenes.things import BOX, FLAG, PATTERNS, Thing

SPATIAL = ("left of", "right of", "directly above", "directly below", "touching", "overlapping")


def _exist_side(rng: random.Random, pair: Pair) -> Claim | None:
    side = rng.choice(SIDES)
    noun = some_noun(rng, pair, SIDES.index(side))
    if not noun:
        return None
    return Claim(
        call("exist", in_image(side, noun.find(1))),
        (
            f"There is {noun.a()} in the {side} image.",
            f"The {side} image contains {noun.a()}.",
            f"{noun.a()} can be seen in the image on the {side}.",
        ),
    )


def _count_side(rng: random.Random, pair: Pair) -> Claim | None:
    side = rng.choice(SIDES)
    noun = some_noun(rng, pair)
    if not noun:
        return None
    quantity = draw_quantity(rng, seen(noun, pair, side))
    if not quantity:
        return None
    what = quantity.of(noun)
    return Claim(
        quantity.holds(in_image(side, noun.find(quantity.number))),
        (
            f"There {quantity.be} {what} in the {side} image.",
            f"The {side} image shows {what}.",
            f"In the image on the {side} there {quantity.be} {what}.",
        ),
    )


def _count_total(rng: random.Random, pair: Pair) -> Claim | None:
    noun = some_noun(rng, pair)
    quantity = draw_quantity(rng, len(noun.among(pair))) if noun else None
    if not noun or not quantity:
        return None
    what = quantity.of(noun)
    return Claim(
        quantity.holds(noun.find(quantity.number)),
        (
            f"There {quantity.be} {what} in the two images together.",
            f"Taken together, the two images show {what}.",
            f"Across both images there {quantity.be} {what} in total.",
        ),
    )


def _compare_sides(rng: random.Random, pair: Pair) -> Claim | None:
    noun = some_noun(rng, pair)
    if not noun:
        return None
    left, right = (call("count", in_image(side, noun.find())) for side in SIDES)
    lefts, rights = (seen(noun, pair, side) for side in SIDES)
    comparison = "greater" if lefts > rights else "less" if lefts < rights else "equal"
    word = {"greater": "more", "less": "fewer"}.get(comparison)
    what = noun.say()
    wordings: tuple[str, ...]
    if word is None:
        wordings = (
            f"The left image has the same number of {what} as the right image.",
            f"There are exactly as many {what} in the left image as in the right image.",
        )
    else:
        wordings = (
            f"There are {word} {what} in the left image than in the right image.",
            f"The left image shows {word} {what} than the right one.",
            f"Compared with the right image, the left image has {word} {what}.",
        )
    return Claim(call(comparison, left, right), wordings)


def _compare_kinds(rng: random.Random, pair: Pair) -> Claim | None:
    nouns = two_nouns(rng, pair)
    if not nouns:
        return None
    noun, other_noun = nouns
    n = len(noun.among(pair)) - len(other_noun.among(pair))
    if n < 0:
        noun, other_noun = other_noun, noun
    counts = call("count", noun.find()), call("count", other_noun.find())
    if n == 0:
        return Claim(
            call("equal", *counts),
            (
                f"Across both images there are exactly as many {noun.say()} as {other_noun.say()}.",
                f"The two images together show the same number of {noun.say()} and {other_noun.say()}.",
            ),
        )
    return Claim(
        call("greater", *counts),
        (
            f"Across both images there are more {noun.say()} than {other_noun.say()}.",
            f"In the two images together, {noun.say()} outnumber {other_noun.say()}.",
        ),
    )


def _in_images(rng: random.Random, pair: Pair, module: str) -> Claim | None:
    """Say of each image, or of at least one, how many of something it has."""
    noun = some_noun(rng, pair)
    if not noun:
        return None
    n = seen(noun, pair, rng.choice(SIDES))
    quantity = None if rng.random() < 0.4 else draw_quantity(rng, n)
    what = quantity.of(noun) if quantity else noun.a()
    statement = quantity.holds(noun.find(quantity.number)) if quantity else call("exist", noun.find(1))
    be = quantity.be if quantity else "is"
    wordings = {
        "in-each-image": (
            f"Each image contains {what}.",
            f"There {be} {what} in each of the two images.",
            f"Both images, each taken alone, show {what}.",
        ),
        "in-at-least-one-image": (
            f"At least one of the images contains {what}.",
            f"There {be} {what} in at least one image.",
        ),
    }
    return Claim(call(module, statement), wordings[module])


def _one_other(rng: random.Random, pair: Pair) -> Claim | None:
    here = rng.choice((0, 1))
    noun, there = some_noun(rng, pair, here), some_noun(rng, pair, 1 - here)
    if not noun or not there or noun == there:
        return None
    quantity = draw_quantity(rng, seen(noun, pair, SIDES[here]), least=1)
    if not quantity:
        return None
    first = quantity.holds(in_image("one", noun.find(quantity.number)))
    second = call("exist", in_image("other", there.find(1)))
    return Claim(
        call("in-one-other-image", call("and", first, second)),
        (
            f"One image contains {quantity.of(noun)} and the other image contains {there.a()}.",
            f"There {quantity.be} {quantity.of(noun)} in one image, and there is {there.a()} in the other.",
        ),
    )


def _and(rng: random.Random, pair: Pair) -> Claim | None:
    noun, other_noun = some_noun(rng, pair, 0), some_noun(rng, pair, 1)
    if not noun or not other_noun:
        return None
    return Claim(
        call("and", *_one_on_each_side(noun, other_noun)),
        (
            f"There is {noun.a()} in the left image and {other_noun.a()} in the right image.",
            f"The left image contains {noun.a()}, and the right image contains {other_noun.a()}.",
        ),
    )


def _or(rng: random.Random, pair: Pair) -> Claim | None:
    """Say that at least one of two things is there; exactly one is."""
    nouns = some_noun(rng, pair), some_noun(rng, pair)
    there = [bool(noun and seen(noun, pair, side)) for noun, side in zip(nouns, SIDES, strict=True)]
    left, right = nouns
    if not left or not right or there[0] == there[1]:
        return None
    return Claim(
        call("or", *_one_on_each_side(left, right)),
        (
            f"There is {left.a()} in the left image or {right.a()} in the right image, or both.",
            f"The left image contains {left.a()}, or the right image contains {right.a()}, or both do.",
        ),
    )


def _one_on_each_side(*nouns: Noun) -> list[Call]:
    return [call("exist", in_image(side, noun.find(1))) for side, noun in zip(SIDES, nouns, strict=True)]


def _related(rng: random.Random, pair: Pair) -> tuple[str, Thing, Thing] | None:
    relation = rng.choice(SPATIAL)
    shapes = [t for t in pair if t.is_shape]
    pairs = [(one, other) for one in shapes for other in shapes if holds(relation, one, other)]
    return (relation, *rng.choice(pairs)) if pairs else None


def _relation_text(relation: str) -> str:
    return f"to the {relation}" if relation in ("left of", "right of") else relation


def _relation_side(rng: random.Random, pair: Pair) -> Claim | None:
    drawn = _related(rng, pair)
    if not drawn:
        return None
    relation, thing, second_thing = drawn
    side, a, b = SIDES[thing.image], describe(rng, thing), describe(rng, second_thing)
    words = _relation_text(relation)
    related = call("with-relation", a.find(1), b.find(1), argument=relation)
    return Claim(
        call("exist", in_image(side, related)),
        (
            f"In the {side} image there is {a.a()} {words} {b.a()}.",
            f"The {side} image contains {a.a()} that is {words} {b.a()}.",
        ),
    )


def _relation_count(rng: random.Random, pair: Pair) -> Claim | None:
    drawn = _related(rng, pair)
    if not drawn:
        return None
    relation, a, b = drawn[0], describe(rng, drawn[1]), describe(rng, drawn[2])
    return _counted_related(rng, pair, relation, a, b)


def _inside_count(rng: random.Random, pair: Pair) -> Claim | None:
    held = [t for t in pair if t.is_shape and t.holder is not None]
    if not held:
        return None
    shape = rng.choice(held)
    a, b = describe(rng, shape), describe(rng, next(t for t in pair if t.number == shape.holder))
    return _counted_related(rng, pair, "inside", a, b)


def _counted_related(rng: random.Random, pair: Pair, relation: str, a: Noun, b: Noun) -> Claim | None:
    nodes = {n: call("with-relation", a.find(n), b.find(1), argument=relation) for n in (1, 2)}
    words = f"{_relation_text(relation)} {b.a()}"
    try:
        related = evaluate(nodes[2], pair)
    except Unclear:
        return None
    assert isinstance(related, tuple)
    quantity = draw_quantity(rng, len(related), least=1)
    if not quantity:
        return None
    what = quantity.of(a)
    return Claim(
        quantity.holds(nodes[1 if quantity.number == 1 else 2]),
        (
            f"Across both images, {what} {quantity.be} {words}.",
            f"There {quantity.be} {what} {words}, counted over both images.",
        ),
    )


def _contents(rng: random.Random, pair: Pair) -> Claim | None:
    """Count, among the shapes inside boxes, those of some look."""
    boxes = [t for t in pair if t.kind == BOX]
    if not boxes:
        return None
    noun = describe(rng, rng.choice(boxes))
    contents = call("project", noun.find(), argument=INSIDE_WORDS)
    inside = evaluate(contents, pair)
    assert isinstance(inside, tuple)
    if not inside:
        return None
    word = adjective(rng, list(inside))
    alike = [t for t in inside if word in (t.colour, t.pattern, t.size)]
    quantity = draw_quantity(rng, len(alike))
    if not quantity:
        return None
    return Claim(
        quantity.holds(call("filter", contents, argument=word)),
        (
            f"Of all {INSIDE_WORDS} {noun.say()}, {quantity.words} {quantity.be} {word}.",
            f"Among the {INSIDE_WORDS} {noun.say()}, {quantity.words} {quantity.be} {word}.",
        ),
        supposes=(contents,),
    )


def _all_alike(rng: random.Random, pair: Pair) -> Claim | None:
    """Say that all of a kind in one image share a colour, pattern or size."""
    side = rng.choice(SIDES)
    noun = some_noun(rng, pair, SIDES.index(side))
    if not noun:
        return None
    things = [t for t in noun.among(pair) if SIDES[t.image] == side]
    word = adjective(rng, things)
    if word in noun.adjectives or not all(word in (t.colour, t.pattern, t.size) for t in things):
        return None
    all_nodes = noun.find()
    whole, part = (in_image(side, node) for node in (all_nodes, call("filter", all_nodes, argument=word)))
    what = noun.say()
    return Claim(
        call("equal", call("count", whole), call("count", part)),
        (
            f"All {what} in the {side} image are {word}.",
            f"In the {side} image, all {what} are {word}.",
        ),
        supposes=(whole,),
    )


def _with_flag(rng: random.Random, pair: Pair) -> Claim | None:
    flags = [t for t in pair if t.kind == FLAG]
    if not flags:
        return None
    flag = rng.choice(flags)
    side, box = SIDES[flag.image], describe(rng, next(t for t in pair if t.number == flag.holder))
    flagged = call("filter", call("project", box.find(1), argument=FLAG_WORDS), argument=flag.colour)
    words = Noun(FLAG_WORDS, (flag.colour,)).a()
    related = call("with-relation", box.find(1), flagged, argument="with")
    return Claim(
        call("exist", in_image(side, related)),
        (
            f"The {side} image contains {box.a()} with {words}.",
            f"There is {box.a()} with {words} in the {side} image.",
        ),
    )


def _summed(rng: random.Random, pair: Pair) -> Claim | None:
    nouns = two_nouns(rng, pair)
    if not nouns:
        return None
    first, second = nouns
    quantity = draw_quantity(rng, len(first.among(pair)) + len(second.among(pair)), least=2)
    if not quantity or quantity.number < 2:
        return None
    total = call("sum", call("count", first.find()), call("count", second.find()))
    what = quantity.of(first) + f" and {second.say()}"
    return Claim(
        call(quantity.comparison, total, call(str(quantity.number))),
        (
            f"Counted together over both images, there are {what}.",
            f"Added up, the two images show {what}.",
        ),
    )


def _difference(rng: random.Random, pair: Pair) -> Claim | None:
    noun = some_noun(rng, pair)
    if not noun:
        return None
    more = rng.choice(SIDES)
    less = SIDES[1 - SIDES.index(more)]
    counts = {side: seen(noun, pair, side) for side in SIDES}
    n = counts[more] - counts[less]
    if not 1 <= n <= 9:
        return None
    sides = (call("count", in_image(side, noun.find(n))) for side in (more, less))
    what = f"{noun.number(n).replace(' ', ' more ', 1)}"
    return Claim(
        call("equal", call("difference", *sides), call(str(n))),
        (
            f"The {more} image contains exactly {what} than the {less} image.",
            f"There {'is' if n == 1 else 'are'} exactly {what} in the {more} image than in the {less} one.",
        ),
    )


def _times(rng: random.Random, pair: Pair) -> Claim | None:
    noun = some_noun(rng, pair)
    if not noun:
        return None
    more = rng.choice(SIDES)
    less = SIDES[1 - SIDES.index(more)]
    counts = {side: seen(noun, pair, side) for side in SIDES}
    factor_words = {2: "twice", 3: "three times"}
    factors = [n for n in factor_words if counts[more] == n * counts[less] > 0]
    if not factors:
        return None
    times, what = factor_words[factors[0]], noun.say()
    sides = {side: in_image(side, noun.find()) for side in SIDES}
    ratio = call("division", call("count", sides[more]), call("count", sides[less]))
    return Claim(
        call("equal", ratio, call(str(factors[0]))),
        (
            f"The {more} image has exactly {times} as many {what} as the {less} image.",
            f"There are exactly {times} as many {what} in the {more} image as in the {less} one.",
        ),
        supposes=(sides[less],),
    )


def _both_words(rng: random.Random, pair: Pair) -> Claim | None:
    thing = rng.choice([t for t in pair if t.is_shape])
    words = [thing.size, *([thing.pattern] if thing.pattern != PATTERNS[0] else []), thing.colour]
    first, second = rng.sample(words, 2)
    noun = Noun(rng.choice(("shape", thing.kind)))
    parts = [Noun(noun.noun, (word,)) for word in (first, second)]
    n = len(Noun(noun.noun, (first, second)).among(pair))
    quantity = draw_quantity(rng, n, least=1)
    if not quantity:
        return None
    both = call("intersect", *(part.find(quantity.number) for part in parts))
    what, be = quantity.of(noun), quantity.be
    return Claim(
        quantity.holds(both),
        (
            f"Across both images there {be} {what} that {be} both {first} and {second}.",
            f"The two images together show {what} that {be} both {first} and {second}.",
        ),
    )


def _but_not(rng: random.Random, pair: Pair) -> Claim | None:
    side = rng.choice(SIDES)
    shapes = [t for t in pair if t.is_shape and SIDES[t.image] == side]
    if not shapes:
        return None
    noun = describe(rng, rng.choice(shapes))
    word = adjective(rng, [t for t in pair if t.is_shape])
    if word in noun.adjectives:
        return None
    node = noun.find(1)
    rest = call("discard", node, call("filter", node, argument=word))
    return Claim(
        call("exist", in_image(side, rest)),
        (
            f"There is {noun.a()} in the {side} image that is not {word}.",
            f"The {side} image contains {noun.a()} that is not {word}.",
        ),
    )


KINDS_OF_CLAIMS: dict[str, Callable[[random.Random, Pair], Claim | None]] = {
    "exist": _exist_side,
    "count": _count_side,
    "count-over-both": _count_total,
    "compare-images": _compare_sides,
    "compare-kinds": _compare_kinds,
    "each-image": lambda rng, pair: _in_images(rng, pair, "in-each-image"),
    "at-least-one-image": lambda rng, pair: _in_images(rng, pair, "in-at-least-one-image"),
    "one-other-image": _one_other,
    "and": _and,
    "or": _or,
    "relation": _relation_side,
    "count-related": _relation_count,
    "count-inside": _inside_count,
    "contents": _contents,
    "all": _all_alike,
    "flag": _with_flag,
    "sum": _summed,
    "difference": _difference,
    "times": _times,
    "both": _both_words,
    "not": _but_not,
}
