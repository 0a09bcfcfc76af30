"""Inter-annotator agreement on boxes, spans, numbers and truths.

The tests compare it with figures by hand, plain loops and a dense alpha, and cover undefined cases.
"""

from dataclasses import replace
from itertools import combinations, permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from analysis.gold_agreement import DRAWN, Group, Item, Node, agreement, nodes_of
from analysis.gold_agreement.agreement import NUMBERS, TRUTHS
from analysis.participants.krippendorff import krippendorff_alpha
from analysis.programs import parse
from tests.analysis.faithfulness.brute import overlap
from tests.analysis.gold_agreement.people import (
    CHAIN,
    FAR,
    FIND,
    HALF,
    WHOLE,
    box_item,
    random_items,
    span_item,
)

ALL = DRAWN
GIVEN = "given agreed children"
SEEDS = st.integers(0, 2**32 - 1)


def measured(items, kind="boxes", group=ALL):
    return {name: quantity.value for name, quantity in agreement(items, kind).groups[group].items()}


def test_boxes():
    # Ada's whole box and Ben's part of it overlap by 0.6; Ben's other box is his alone.
    values = measured([box_item("i", ada=[WHOLE], ben=[HALF, FAR])])
    assert values["f1_50"] == pytest.approx(2 / 3)
    assert values["f1_75"] == 0
    assert values["mean_iou"] == pytest.approx(0.6)
    assert values["agreed"] == 0
    assert measured([box_item("i", ada=[WHOLE], ben=[HALF])])["agreed"] == 1


def test_objects_are_pooled_over_items_and_people():
    items = [box_item("i", ada=[WHOLE, FAR], ben=[WHOLE], cleo=[]), box_item("j", ada=[FAR], ben=[FAR])]
    metrics = agreement(items, "boxes").groups[ALL]
    # Pairs of people: 2 of 3 boxes, 0 of 2, 0 of 1, and 2 of 2.
    assert metrics["f1_50"].value == pytest.approx((2 + 2) / (3 + 2 + 1 + 2))
    assert (metrics["f1_50"].n, metrics["agreed"].value) == (4, 0.25)


def test_the_best_matching_is_taken_and_not_the_first():
    # Ben's first box overlaps both of Ada's; only the right choice matches both.
    ada = [(0, 0, 10, 10), (0, 3, 10, 13)]
    ben = [(0, 2, 10, 12), (0, 5, 10, 15)]
    assert measured([box_item("i", ada=ada, ben=ben)])["f1_50"] == 1
    greedy = overlap((0, 3, 10, 13), (0, 2, 10, 12))
    assert greedy > overlap(ada[0], ben[0])  # matching the best pair first would leave the others alone
    assert overlap(ada[0], ben[1]) < 0.5


def test_images_are_compared_apart():
    items = [Item("i", (FIND,), {"ada": {0: [(0, WHOLE)]}, "ben": {0: [(1, WHOLE)]}})]
    assert measured(items)["f1_50"] == 0


def test_spans():
    values = measured([span_item("i", ada=[(0, 4), (6, 8)], ben=[(0, 4), (7, 10)])], "spans")
    assert values["exact_f1"] == 0.5
    assert values["overlap_f1"] == 1
    assert values["token_f1"] == pytest.approx(2 * 5 / (6 + 7))
    assert values["agreed"] == 0


def test_token_alpha_by_hand():
    # Four tokens, two people: marked by both, by one, by one, by none.
    alpha = measured([span_item("i", 4, ada=[(0, 2)], ben=[(0, 1), (2, 3)])], "spans")["token_alpha"]
    observed, marked, unmarked = 2 / 1, 4, 4
    assert alpha == pytest.approx(1 - (8 - 1) * observed / (marked * unmarked))
    table = [[1, 1, 0, 0], [1, 0, 1, 0]]
    assert alpha == pytest.approx(krippendorff_alpha(table, "nominal").value)


def dense(items, drawn=True):
    """Return the marks of each person on each token, and the numbers.

    They are those of all nodes that are drawn, or of all that are computed.
    """
    people = sorted({who for item in items for who in item.objects})
    marks, numbers = [], []
    for item in items:
        for node in (node for node in item.nodes if (node.index > 0) == drawn):
            table = np.full((len(people), item.tokens), np.nan)
            node_numbers = np.full(len(people), np.nan)
            for row, who in enumerate(people):
                spans = item.objects.get(who, {}).get(node.index)
                value = item.values.get(who, {}).get(node.index)
                if spans is not None or value is not None:
                    table[row] = 0
                    node_numbers[row] = len(spans or ()) if value is None else value
                for start, end in spans or ():
                    table[row, start:end] = 1
            marks.append(table)
            numbers.append(node_numbers)
    return np.concatenate(marks, axis=1), np.array(numbers).T


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_alphas_agree_with_a_table_of_all_tokens(seed):
    items = random_items(seed, "spans", missing=0.3)
    alphas = measured(items, "spans")
    marks, numbers = dense(items)
    present = np.where(np.isnan(numbers), np.nan, numbers > 0)
    for name, table, metric in (
        ("token_alpha", marks, "nominal"),
        ("presence_alpha", present, "nominal"),
        ("count_alpha", numbers, "interval"),
        ("count_alpha_ordinal", numbers, "ordinal"),
    ):
        expected = krippendorff_alpha(table, metric).value
        assert alphas[name] == (None if expected is None else pytest.approx(expected))
    values = krippendorff_alpha(dense(items, drawn=False)[1], "interval").value
    assert measured(items, "spans", NUMBERS).get("count_alpha") == (values and pytest.approx(values))


@pytest.mark.parametrize("seed", range(5))
def test_alphas_agree_with_the_krippendorff_package(seed):
    items = random_items(seed, "spans", items=30, missing=0.2)
    alphas = measured(items, "spans")
    marks, numbers = dense(items)
    for name, table, level in (
        ("token_alpha", marks, "nominal"),
        ("presence_alpha", np.where(np.isnan(numbers), np.nan, numbers > 0), "nominal"),
        ("count_alpha", numbers, "interval"),
        ("count_alpha_ordinal", numbers, "ordinal"),
        ("count_alpha_ratio", numbers, "ratio"),
    ):
        expected = krippendorff.alpha(table, level_of_measurement=level)
        assert alphas[name] == pytest.approx(expected, abs=1e-12), name


@pytest.mark.parametrize("seed", range(5))
def test_kappas_agree_with_scikit_learn(seed):
    items = random_items(seed, "spans", items=30, missing=0.2)
    values = measured(items, "spans")
    marks, numbers = dense(items)
    for name, table in (("token", marks), ("presence", np.where(np.isnan(numbers), np.nan, numbers > 0))):
        kappas = []
        for pair in combinations(table, 2):
            first, second = np.array(pair)[:, ~np.isnan(pair).any(axis=0)]
            kappas.append(cohen_kappa_score(first, second))
        assert values[f"{name}_cohen"] == pytest.approx(np.mean(kappas), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_kappas_agree_with_statsmodels(seed):
    items = random_items(seed, "spans", missing=0)
    marks, numbers = dense(items)
    values = measured(items, "spans")
    for name, table in (("token", marks), ("presence", (numbers > 0).astype(float))):
        counts, _categories = aggregate_raters(table.T)
        assert values[f"{name}_fleiss"] == pytest.approx(fleiss_kappa(counts))
        kappas = [cohens_kappa(cross(first, second)).kappa for first, second in combinations(table, 2)]
        assert values[f"{name}_cohen"] == pytest.approx(np.mean(kappas))
    pairs = {group.name: metrics for group, metrics in agreement(items, "spans").groups.items()}
    assert pairs["ada – ben"]["token_cohen"].value == pytest.approx(cohens_kappa(cross(*marks[:2])).kappa)


def cross(first, second):
    return np.array([[np.sum((first == a) & (second == b)) for b in (0, 1)] for a in (0, 1)])


def test_what_is_computed_raises_no_figure_of_what_is_drawn():
    # Both count one object, but never the same one.
    items = [chain(f"i{number}", ada=([WHOLE], [WHOLE], 1), ben=([FAR], [FAR], 1)) for number in range(3)]
    groups = agreement(items, "boxes").groups
    assert groups[DRAWN]["agreed"].value == 0
    assert groups[NUMBERS]["agreed"].value == 1
    truth = [Item("i", (FIND,), {}, {"ada": {0: True}, "ben": {0: True}})]
    truth.append(Item("j", (FIND,), {}, {"ada": {0: True}, "ben": {0: False}}))
    truth_groups = agreement(truth, "boxes").groups
    assert NUMBERS not in truth_groups
    assert truth_groups[TRUTHS]["agreed"].value == 0.5
    assert truth_groups[TRUTHS]["truth_cohen"].value == 0
    assert truth_groups[TRUTHS]["truth_fleiss"].value == pytest.approx((0.5 - 0.625) / 0.375)


def test_intervals_of_kappas_come_from_the_bootstrap():
    items = random_items(4, "spans", items=20)
    metrics = agreement(items, "spans", rng=np.random.default_rng(1), resamples=200).groups[DRAWN]
    for name in ("token_cohen", "token_fleiss", "count_alpha_ratio", "presence_alpha"):
        quantity = metrics[name]
        assert quantity.interval is not None
        assert quantity.value is not None
        assert quantity.interval.low < quantity.value < quantity.interval.high


def brute(items, kind, above):
    """Count matched and all objects of all pairs, by every assignment."""
    hits = total = 0
    for item in items:
        for node in item.nodes:
            drawn = [
                item.objects[who][node.index]
                for who in sorted(item.objects)
                if node.index in item.objects[who]
            ]
            for first, second in combinations(drawn, 2):
                few, many = sorted((first, second), key=len)
                hits += max(
                    sum(same(a, b, kind, above) for a, b in zip(few, chosen, strict=True))
                    for chosen in permutations(many, len(few))
                )
                total += len(first) + len(second)
    return 2 * hits, total


def same(first, second, kind, above):
    if kind == "boxes":
        return first[0] == second[0] and overlap(first[1], second[1]) > above
    return overlap((first[0], 0, first[1], 1), (second[0], 0, second[1], 1)) > above


@settings(max_examples=60, deadline=None)
@given(
    SEEDS, st.sampled_from([("boxes", "f1_50", 0.5), ("boxes", "f1_75", 0.75), ("spans", "overlap_f1", 0.0)])
)
def test_matching_is_optimal(seed, case):
    kind, name, above = case
    items = random_items(seed, kind, items=3)
    hits, total = brute(items, kind, above)
    assert measured(items, kind)[name] == (pytest.approx(hits / total) if total else None)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from(["boxes", "spans"]))
def test_it_does_not_matter_who_is_who(seed, kind):
    items = random_items(seed, kind)
    renamed = [
        replace(
            item,
            objects={swapped(who): by_node for who, by_node in item.objects.items()},
            values={swapped(who): by_node for who, by_node in item.values.items()},
        )
        for item in reversed(items)
    ]
    first, second = (
        {
            group: metrics
            for group, metrics in agreement(variant, kind).groups.items()
            if group.by != "pair of people"
        }
        for variant in (items, renamed)
    )
    assert set(first) == set(second)
    for group, metrics in first.items():
        for name, quantity in metrics.items():
            other = second[group][name]
            assert (other.n, other.value) == (
                quantity.n,
                quantity.value if quantity.value is None else pytest.approx(quantity.value),
            )


def swapped(who):
    return {"ada": "cleo", "cleo": "ada"}.get(who, who)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_mirror_images_agree_alike(seed):
    def mirrored(boxes):
        return [
            (image, (10 - right, 10 - low, 10 - left, 10 - top)) for image, (left, top, right, low) in boxes
        ]

    items = random_items(seed, "boxes")
    others = [
        replace(
            item,
            objects={
                who: {n: mirrored(d) for n, d in by_node.items()} for who, by_node in item.objects.items()
            },
        )
        for item in items
    ]
    for name, value in measured(items).items():
        assert measured(others)[name] == (value if value is None else pytest.approx(value))


def chain(name, **people):
    """Return an item: find, filter over it and their count.

    people: annotator to (boxes, boxes, count).
    """
    objects = {
        who: {2: [(0, b) for b in find_boxes], 1: [(0, b) for b in filter_boxes]}
        for who, (find_boxes, filter_boxes, _) in people.items()
    }
    return Item(name, CHAIN, objects, {who: {0: count} for who, (_, _, count) in people.items()})


def test_groups_and_given_agreed_children():
    items = [
        chain("same find", ada=([WHOLE, FAR], [WHOLE], 1), ben=([WHOLE, FAR], [FAR], 1)),
        chain("other find", ada=([WHOLE], [WHOLE], 1), ben=([FAR], [FAR], 2)),
    ]
    groups = agreement(items, "boxes").groups
    assert groups[Group("module", "find")]["f1_50"].value == pytest.approx(4 / 6)
    assert groups[Group("depth", "2")]["f1_50"] == groups[Group("module", "find")]["f1_50"]
    assert Group("depth", "0") not in groups  # nobody draws there
    assert groups[Group("module", "filter")]["f1_50"].value == 0
    assert groups[Group(GIVEN, "filter")]["agreed"].n == 1  # only where the find is agreed on
    assert Group(GIVEN, "find") not in groups
    assert Group(GIVEN, "count") not in groups
    assert groups[Group("module", "count")]["agreed"].value == 0.5
    assert groups[Group(GIVEN, "all")]["agreed"].value == 0


def test_a_child_that_nobody_annotates_is_looked_through():
    nodes = (Node(2, "find", 2), Node(1, "in-left-image", 1, (2,)), Node(0, "filter", 0, (1,)))
    boxes = {2: [(0, WHOLE)], 0: [(0, WHOLE)]}
    items = [Item("i", nodes, {"ada": boxes, "ben": {**boxes, 0: []}})]
    groups = agreement(items, "boxes").groups
    assert groups[Group(GIVEN, "filter")]["agreed"].n == 1
    items = [Item("i", nodes, {"ada": boxes, "ben": {2: [], 0: []}})]
    assert Group(GIVEN, "filter") not in agreement(items, "boxes").groups


def test_the_first_node_where_two_people_part():
    items = [
        chain("below", ada=([WHOLE], [WHOLE], 1), ben=([FAR], [FAR], 2), cleo=([HALF], [HALF], 1)),
        chain("above", ada=([WHOLE], [WHOLE], 1), ben=([WHOLE], [], 0)),
    ]
    annotator_agreement = agreement(items, "boxes")
    parted = {
        (parting.item, parting.first, parting.second): (parting.node, parting.module)
        for parting in annotator_agreement.partings
    }
    assert parted == {
        ("below", "ada", "ben"): (2, "find"),
        ("below", "ada", "cleo"): (None, None),
        ("below", "ben", "cleo"): (2, "find"),
        ("above", "ada", "ben"): (1, "filter"),
    }
    assert annotator_agreement.count_parting_modules() == {"find": 2, None: 1, "filter": 1}


def test_undefined_with_a_reason():
    def reasons(items, kind="boxes"):
        metrics = agreement(items, kind, rng=np.random.default_rng(1), resamples=20).groups[ALL]
        assert all(quantity.interval is None for quantity in metrics.values() if quantity.value is None)
        return {name: quantity.reason for name, quantity in metrics.items() if quantity.value is None}

    nobody = [box_item("i", ada=[], ben=[]), box_item("j", ada=[], ben=[])]
    same = "all values are the same, so chance agreement is complete"
    beyond_chance = (
        "presence_cohen",
        "presence_alpha",
        "presence_fleiss",
        "count_alpha",
        "count_alpha_ordinal",
    )
    assert reasons(nobody) == {
        "f1_50": "nobody drew anything",
        "f1_75": "nobody drew anything",
        "mean_iou": "no two objects overlap by more than one half",
        "count_alpha_ratio": same,
        **dict.fromkeys(beyond_chance, same),
    }
    assert measured(nobody)["agreed"] == 1
    alone = [box_item("i", ada=[WHOLE]), box_item("j", ben=[WHOLE])]
    assert set(reasons(alone).values()) == {"no two people annotated the same node"}
    assert reasons([])["f1_50"] == "no two people annotated the same node"
    assert set(reasons([span_item("i", ada=[], ben=[])], "spans").values()) == {
        "nobody drew anything",
        "all values are the same, so chance agreement is complete",
    }
    everything = [span_item("i", 4, ada=[(0, 4)], ben=[(0, 4)])]
    assert reasons(everything, "spans")["token_alpha"].startswith("all values are the same")


def test_a_node_left_out_is_not_one_with_nothing():
    items = [Item("i", (FIND,), {"ada": {0: []}, "ben": {}}), box_item("j", ada=[WHOLE], ben=[WHOLE])]
    agreed = agreement(items, "boxes").groups[ALL]["agreed"]
    assert (agreed.n, agreed.value) == (1, 1)


def test_intervals_resample_items():
    items = random_items(5, "boxes", items=60)
    groups = agreement(items, "boxes", rng=np.random.default_rng(1), resamples=400).groups
    again = agreement(items, "boxes", rng=np.random.default_rng(1), resamples=400).groups
    for name in ("f1_50", "mean_iou", "agreed", "count_alpha"):
        quantity = groups[ALL][name]
        low, high = quantity.interval.bounds
        assert low < quantity.value < high  # type: ignore[operator]
        assert again[ALL][name].interval == quantity.interval
    narrow = groups[ALL]["f1_50"].interval
    wide = groups[Group("module", "find")]["f1_50"].interval
    assert narrow.high - narrow.low < wide.high - wide.low


def test_nodes_of_a_program_are_its_distinct_subtrees_bottom_up():
    program = parse("equal(count(find[dogs]), count(filter[black](find[dogs])))", kind="boxes")
    assert [(node.index, node.module, node.depth, node.children) for node in nodes_of(program)] == [
        (2, "find", 2, ()),
        (1, "count", 1, (2,)),
        (4, "filter", 2, (2,)),
        (3, "count", 1, (4,)),
        (0, "equal", 0, (1, 3)),
    ]


@pytest.mark.parametrize(
    "kind, objects, problem",
    [
        ("boxes", {"ada": {0: [(0, (0, 0, 1))]}}, "item 'i', ada, node 0: .* is not of boxes"),
        ("boxes", {"ada": {0: [(0, (1, 0, 1, 1))]}}, "covers nothing"),
        ("boxes", {"ada": {7: []}}, "item 'i', ada: there is no node 7"),
        ("spans", {"ada": {0: [(3, 3)]}}, "covers nothing"),
        ("spans", {"ada": {0: [(3, 11)]}}, "leaves the 10 tokens"),
        ("spans", {"ada": {0: [5]}}, "is not of spans"),
    ],
)
def test_malformed_objects_are_named(kind, objects, problem):
    with pytest.raises(ValueError, match=problem):
        agreement([Item("i", (FIND,), objects, tokens=10)], kind)


def test_a_node_twice_is_refused():
    with pytest.raises(ValueError, match="has a node twice"):
        agreement([Item("i", (FIND, FIND), {})], "boxes")
