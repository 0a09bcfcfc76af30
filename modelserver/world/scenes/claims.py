"""Sentences about a pair of images, each with the program that it stands for, made to fit a given pair.

One function a kind of sentence; it looks for something to say that is true of the pair, and returns None
where it finds nothing. The wordings of a claim mean the same, and hold the words of every argument.
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
    one, other = nouns
    n = len(one.among(pair)) - len(other.among(pair))
    if n < 0:
        one, other = other, one
    counts = call("count", one.find()), call("count", other.find())
    if n == 0:
        return Claim(
            call("equal", *counts),
            (
                f"Across both images there are exactly as many {one.say()} as {other.say()}.",
                f"The two images together show the same number of {one.say()} and {other.say()}.",
            ),
        )
    return Claim(
        call("greater", *counts),
        (
            f"Across both images there are more {one.say()} than {other.say()}.",
            f"In the two images together, {one.say()} outnumber {other.say()}.",
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
    one, other = some_noun(rng, pair, here), some_noun(rng, pair, 1 - here)
    if not one or not other or one == other:
        return None
    quantity = draw_quantity(rng, seen(one, pair, SIDES[here]), least=1)
    if not quantity:
        return None
    first = quantity.holds(in_image("one", one.find(quantity.number)))
    second = call("exist", in_image("other", other.find(1)))
    return Claim(
        call("in-one-other-image", call("and", first, second)),
        (
            f"One image contains {quantity.of(one)} and the other image contains {other.a()}.",
            f"There {quantity.be} {quantity.of(one)} in one image, and there is {other.a()} in the other.",
        ),
    )


def _and(rng: random.Random, pair: Pair) -> Claim | None:
    one, other = some_noun(rng, pair, 0), some_noun(rng, pair, 1)
    if not one or not other:
        return None
    return Claim(
        call("and", *_one_on_each_side(one, other)),
        (
            f"There is {one.a()} in the left image and {other.a()} in the right image.",
            f"The left image contains {one.a()}, and the right image contains {other.a()}.",
        ),
    )


def _or(rng: random.Random, pair: Pair) -> Claim | None:
    """Say of two things that one at least is there, which is so of one alone."""
    nouns = some_noun(rng, pair), some_noun(rng, pair)
    there = [bool(noun and seen(noun, pair, side)) for noun, side in zip(nouns, SIDES, strict=True)]
    one, other = nouns
    if not one or not other or there[0] == there[1]:
        return None
    return Claim(
        call("or", *_one_on_each_side(one, other)),
        (
            f"There is {one.a()} in the left image or {other.a()} in the right image, or both.",
            f"The left image contains {one.a()}, or the right image contains {other.a()}, or both do.",
        ),
    )


def _one_on_each_side(*nouns: Noun) -> list[Call]:
    return [call("exist", in_image(side, noun.find(1))) for side, noun in zip(SIDES, nouns, strict=True)]


def _related(rng: random.Random, pair: Pair) -> tuple[str, Thing, Thing] | None:
    relation = rng.choice(SPATIAL)
    shapes = [t for t in pair if t.is_shape]
    pairs = [(one, other) for one in shapes for other in shapes if holds(relation, one, other)]
    return (relation, *rng.choice(pairs)) if pairs else None


def _said(relation: str) -> str:
    return f"to the {relation}" if relation in ("left of", "right of") else relation


def _relation_side(rng: random.Random, pair: Pair) -> Claim | None:
    found = _related(rng, pair)
    if not found:
        return None
    relation, one, other = found
    side, a, b = SIDES[one.image], describe(rng, one), describe(rng, other)
    words = _said(relation)
    related = call("with-relation", a.find(1), b.find(1), argument=relation)
    return Claim(
        call("exist", in_image(side, related)),
        (
            f"In the {side} image there is {a.a()} {words} {b.a()}.",
            f"The {side} image contains {a.a()} that is {words} {b.a()}.",
        ),
    )


def _relation_count(rng: random.Random, pair: Pair) -> Claim | None:
    found = _related(rng, pair)
    if not found:
        return None
    relation, a, b = found[0], describe(rng, found[1]), describe(rng, found[2])
    return _counted_related(rng, pair, relation, a, b)


def _inside_count(rng: random.Random, pair: Pair) -> Claim | None:
    held = [t for t in pair if t.is_shape and t.holder is not None]
    if not held:
        return None
    one = rng.choice(held)
    a, b = describe(rng, one), describe(rng, next(t for t in pair if t.number == one.holder))
    return _counted_related(rng, pair, "inside", a, b)


def _counted_related(rng: random.Random, pair: Pair, relation: str, a: Noun, b: Noun) -> Claim | None:
    nodes = {n: call("with-relation", a.find(n), b.find(1), argument=relation) for n in (1, 2)}
    words = f"{_said(relation)} {b.a()}"
    try:
        found = evaluate(nodes[2], pair)
    except Unclear:
        return None
    assert isinstance(found, tuple)
    quantity = draw_quantity(rng, len(found), least=1)
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
    """Say that everything of a kind in one image has a colour, a pattern or a size."""
    side = rng.choice(SIDES)
    noun = some_noun(rng, pair, SIDES.index(side))
    if not noun:
        return None
    things = [t for t in noun.among(pair) if SIDES[t.image] == side]
    word = adjective(rng, things)
    if word in noun.adjectives or not all(word in (t.colour, t.pattern, t.size) for t in things):
        return None
    found = noun.find()
    whole, part = (in_image(side, node) for node in (found, call("filter", found, argument=word)))
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
    one, other = nouns
    quantity = draw_quantity(rng, len(one.among(pair)) + len(other.among(pair)), least=2)
    if not quantity or quantity.number < 2:
        return None
    total = call("sum", call("count", one.find()), call("count", other.find()))
    what = quantity.of(one) + f" and {other.say()}"
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
    said = {2: "twice", 3: "three times"}
    found = [n for n in said if counts[more] == n * counts[less] > 0]
    if not found:
        return None
    times, what = said[found[0]], noun.say()
    sides = {side: in_image(side, noun.find()) for side in SIDES}
    ratio = call("division", call("count", sides[more]), call("count", sides[less]))
    return Claim(
        call("equal", ratio, call(str(found[0]))),
        (
            f"The {more} image has exactly {times} as many {what} as the {less} image.",
            f"There are exactly {times} as many {what} in the {more} image as in the {less} one.",
        ),
        supposes=(sides[less],),
    )


def _both_words(rng: random.Random, pair: Pair) -> Claim | None:
    thing = rng.choice([t for t in pair if t.is_shape])
    words = [thing.size, *([thing.pattern] if thing.pattern != PATTERNS[0] else []), thing.colour]
    one, other = rng.sample(words, 2)
    noun = Noun(rng.choice(("shape", thing.kind)))
    parts = [Noun(noun.noun, (word,)) for word in (one, other)]
    n = len(Noun(noun.noun, (one, other)).among(pair))
    quantity = draw_quantity(rng, n, least=1)
    if not quantity:
        return None
    both = call("intersect", *(part.find(quantity.number) for part in parts))
    what, be = quantity.of(noun), quantity.be
    return Claim(
        quantity.holds(both),
        (
            f"Across both images there {be} {what} that {be} both {one} and {other}.",
            f"The two images together show {what} that {be} both {one} and {other}.",
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
    found = noun.find(1)
    rest = call("discard", found, call("filter", found, argument=word))
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
