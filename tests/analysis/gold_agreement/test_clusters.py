"""Clusters of objects of several people, for adjudication."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.gold_agreement import box_clusters, span_clusters
from tests.analysis.gold_agreement.people import random_boxes, random_spans

SEEDS = st.integers(0, 2**32 - 1)


def test_boxes_of_three_people():
    clusters = box_clusters(
        {
            "ada": [(0, (0.0, 0.0, 1.0, 1.0)), (0, (3.0, 3.0, 4.0, 4.0))],
            "ben": [(0, (0.1, 0.0, 1.1, 1.0))],
            "cleo": [(1, (0.0, 0.0, 1.0, 1.0)), (0, (0.2, 0.1, 1.0, 1.0))],
        }
    )
    assert [dict(cluster.members) for cluster in clusters] == [
        {"ada": 0, "ben": 0, "cleo": 1},
        {"ada": 1},
        {"cleo": 0},
    ]
    assert clusters[0].median == (0, (0.1, 0.0, 1.0, 1.0))
    assert clusters[2].median[0] == 1


def test_the_two_that_fit_best_are_joined_first():
    near, nearer = (0, (0.0, 0.0, 1.0, 0.8)), (0, (0.0, 0.0, 1.0, 0.9))
    (both, alone) = sorted(
        box_clusters({"ada": [near, nearer], "ben": [(0, (0.0, 0.0, 1.0, 1.0))]}),
        key=lambda cluster: -len(cluster.members),
    )
    assert dict(both.members) == {"ada": 1, "ben": 0}
    assert dict(alone.members) == {"ada": 0}


def test_a_chain_of_overlaps_is_no_cluster():
    boxes = [(0, (0.0, 0.0, 1.0, top)) for top in (0.3, 0.55, 1.0)]
    clusters = box_clusters(dict(zip("abc", ([box] for box in boxes), strict=True)))
    assert sorted(len(cluster.members) for cluster in clusters) == [1, 2]


def test_spans_take_what_most_people_chose():
    clusters = span_clusters({"ada": [(0, 4), (8, 9)], "ben": [(1, 4)], "cleo": [(1, 4)], "dee": [(2, 3)]})
    assert [cluster.median for cluster in clusters] == [(1, 4), (8, 9)]
    assert dict(clusters[0].members) == {"ada": 0, "ben": 0, "cleo": 0, "dee": 0}
    (tied,) = span_clusters({"ada": [(0, 10)], "ben": [(2, 6)], "cleo": [(2, 7)]})
    assert tied.median == (2, 7)  # each was chosen once; this one overlaps the others most
    (pair,) = span_clusters({"ada": [(0, 3)], "ben": [(0, 2)]})
    assert pair.median == (0, 2)  # both overlap the other alike: the shorter


def test_nothing_gives_nothing():
    assert box_clusters({}) == []
    assert span_clusters({"ada": [], "ben": []}) == []


@settings(max_examples=80, deadline=None)
@given(SEEDS, st.sampled_from([(box_clusters, random_boxes), (span_clusters, random_spans)]))
def test_every_object_is_in_one_cluster_and_nobody_is_twice(seed, case):
    find_clusters, draw = case
    rng = np.random.default_rng(seed)
    objects = {who: draw(rng) for who in "abcd"}
    clusters = find_clusters(objects)
    placed = sorted((who, index) for cluster in clusters for who, index in cluster.members.items())
    assert placed == sorted((who, index) for who, drawn in objects.items() for index in range(len(drawn)))
    backwards = find_clusters(dict(reversed(objects.items())))
    assert [(dict(cluster.members), cluster.median) for cluster in backwards] == [
        (dict(cluster.members), cluster.median) for cluster in clusters
    ]


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_medians_lie_among_their_members(seed):
    rng = np.random.default_rng(seed)
    objects = {who: random_boxes(rng) for who in "abc"}
    for cluster in box_clusters(objects):
        members = np.array([objects[who][index][1] for who, index in cluster.members.items()])
        assert (members.min(axis=0) <= cluster.median[1]).all()
        assert (cluster.median[1] <= members.max(axis=0)).all()
        assert {objects[who][index][0] for who, index in cluster.members.items()} == {cluster.median[0]}


@pytest.mark.parametrize("people", [2, 3, 4])
def test_people_who_drew_the_same_share_all_clusters(people):
    boxes = [(0, (0.0, 0.0, 1.0, 1.0)), (0, (0.0, 0.1, 1.0, 1.1)), (1, (0.0, 0.0, 1.0, 1.0))]
    clusters = box_clusters({str(who): boxes for who in range(people)})
    assert [cluster.median for cluster in clusters] == boxes
    assert all(
        len(cluster.members) == people and len(set(cluster.members.values())) == 1 for cluster in clusters
    )
