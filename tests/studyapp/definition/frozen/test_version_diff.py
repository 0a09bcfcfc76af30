"""Tests of comparing two frozen studies."""

from studyapp.definition.frozen.version_diff import Difference, find_differences


def test_it_works():
    before = {"title": "A", "items": [{"id": "q1"}, {"id": "q2"}], "rules": [{"name": "fast", "ms": 1}]}
    after = {"title": "B", "items": [{"id": "q1"}, {"id": "q3"}], "rules": [{"name": "fast", "ms": 2}]}
    assert find_differences(before, after) == [
        Difference(("title",), "changed", "A", "B"),
        Difference(("items", "q2"), "removed", before={"id": "q2"}),
        Difference(("items", "q3"), "added", after={"id": "q3"}),
        Difference(("rules", "fast", "ms"), "changed", 1, 2),
    ]


def test_the_same_has_no_difference():
    assert find_differences({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}) == []


def test_another_order_of_named_things_is_one_difference():
    rows = [{"id": "a"}, {"id": "b"}, {"id": "c"}]
    assert find_differences({"items": rows}, {"items": rows[::-1]}) == [
        Difference(("items",), "moved", ["a", "b", "c"], ["c", "b", "a"])
    ]


def test_lists_without_names_are_compared_whole():
    assert find_differences({"facts": [["t", 0]]}, {"facts": [["t", 1]]}) == [
        Difference(("facts",), "changed", [["t", 0]], [["t", 1]])
    ]
    twice = [{"id": "a"}, {"id": "a"}]
    assert find_differences(twice, [{"id": "a"}]) == [Difference((), "changed", twice, [{"id": "a"}])]


def test_a_field_that_is_new_is_added():
    assert find_differences({}, {"language": "de"}) == [Difference(("language",), "added", after="de")]


def test_null_is_a_value():
    assert find_differences({"a": None}, {"a": 1}) == [Difference(("a",), "changed", None, 1)]
