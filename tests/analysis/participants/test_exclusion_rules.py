"""Exclusion rules as data."""

import math

import pytest

from analysis.io.errors import AnalysisError
from analysis.participants.exclusion_rules import MinTime, apply_rules, parse_rules
from tests.analysis.bundles import rules


def trial(condition="a", item="q1", **values):
    return {"condition": condition, "item_id": item} | values


def test_it_works():
    trials = [
        trial(server_ms=14_999, known_before=True),
        trial(server_ms=15_000, known_before=False),
        trial("b", server_ms=300_000),
        trial("b", server_ms=300_001),
        trial("b", known_before=True),
    ]
    exclusions = apply_rules(rules(), trials)
    assert exclusions.names == [("too-fast", "known-before"), (), (), ("too-slow",), ("known-before",)]
    assert exclusions.as_counts() == {
        "total_trials": 5,
        "excluded": 3,
        "percent": 60.0,
        "by_rule": {"too-fast": 1, "too-slow": 1, "known-before": 2},
        "by_condition": {"a": {"trials": 2, "excluded": 1}, "b": {"trials": 3, "excluded": 2}},
        "overlap": {"too-fast;known-before": 1},
        "clocks": {"too-fast": {"none": 1, "server": 4}, "too-slow": {"none": 1, "server": 4}},
        "hits_by_clock": {"too-fast": {"server": 1}, "too-slow": {"server": 1}},
    }
    assert exclusions.only_by_rule == {"too-fast": 0, "too-slow": 1, "known-before": 1}


@pytest.mark.parametrize("missing", [None, math.nan, "no key"])
def test_a_missing_value_never_excludes(missing):
    values = {} if missing == "no key" else {"server_ms": missing, "known_before": missing}
    assert apply_rules(rules(), [trial(**values)]).names == [()]


def test_a_rule_reads_its_own_clock_and_the_servers_where_the_browser_told_no_time():
    rule = {"name": "r", "kind": "min_time", "clock": "client_visible", "milliseconds": 10}
    trials = [
        trial(client_visible_ms=9, server_ms=99),
        trial(client_visible_ms=11, server_ms=1),
        trial(client_visible_ms=None, server_ms=9),
        trial(client_visible_ms=math.nan, server_ms=10),
        trial(client_total_ms=1),
    ]
    exclusions = apply_rules([rule], trials)
    assert exclusions.names == [("r",), (), ("r",), (), ()]
    assert exclusions.clocks == {"r": {"client_visible": 2, "server": 2, "none": 1}}
    assert exclusions.hits_by_clock == {"r": {"client_visible": 1, "server": 1}}


PEOPLE = {
    "a": {"attention_failed": 2, "comprehension_tries": 1, "alike_items": 2, "duplicate_text": True},
    "b": {"attention_failed": 1.0, "comprehension_tries": 2.0, "alike_items": 6.0, "duplicate_answers": 1.0},
    "c": {"attention_failed": math.nan, "alike_items": None},
}


@pytest.mark.parametrize(
    ("rule", "hit"),
    [
        ({"kind": "failed_attention", "at_least_failed": 2}, "a"),
        ({"kind": "failed_attention", "at_least_failed": 1}, "ab"),
        ({"kind": "comprehension_tries", "at_least_tries": 2}, "b"),
        ({"kind": "straight_lining", "at_least_items": 2}, "ab"),
        ({"kind": "straight_lining", "at_least_percent": 100}, "b"),  # all 2 items of a are too few
        ({"kind": "duplicate_answers", "of": "all"}, "b"),
        ({"kind": "duplicate_answers", "of": "text"}, "a"),
    ],
)
def test_rules_about_participants(rule, hit):
    trials = [
        trial(participant_id=person)
        for person, items in {"a": 2, "b": 6, "c": 1}.items()
        for _ in range(items)
    ]
    exclusions = apply_rules([{"name": "r", **rule}], trials, PEOPLE)
    assert exclusions.people == dict.fromkeys(hit, ("r",))
    assert exclusions.people_by_rule == {"r": {"": len(hit), "a": len(hit)}}
    assert [names == ("r",) for names in exclusions.names] == [row["participant_id"] in hit for row in trials]


def test_rules_about_participants_come_after_those_about_trials_and_are_counted_by_condition():
    rules = [
        {"name": "many", "kind": "excluded_trials", "more_than_percent": 50},
        {"name": "fast", "kind": "min_time", "clock": "server", "milliseconds": 10},
        {"name": "hand", "kind": "by_hand", "participants": ["x", "y"]},
    ]
    trials = [
        trial("a", participant_id="x", server_ms=1),
        trial("b", participant_id="x", server_ms=1),
        trial("b", participant_id="x", server_ms=99),
        trial("b", participant_id="y", server_ms=1),
        trial("b", participant_id="y", server_ms=99),
    ]
    exclusions = apply_rules(rules, trials)
    assert exclusions.names == [
        ("many", "fast", "hand"), ("many", "fast", "hand"), ("many", "hand"), ("fast", "hand"), ("hand",),
    ]  # fmt: skip
    assert exclusions.people == {"x": ("many", "hand"), "y": ("hand",)}
    assert exclusions.as_counts()["participants"] == {
        "excluded": 2,
        "by_rule": {"many": {"": 1, "a": 1, "b": 1}, "hand": {"": 2, "a": 1, "b": 2}},
        "overlap": {"many;hand": 1},
    }


@pytest.mark.parametrize(("answer", "hit"), [(1.0, True), (True, True), (0.0, False), (False, False)])
def test_truth_values_as_floats_or_booleans(answer, hit):
    rule = {"name": "known", "kind": "answered", "question": "k", "value": True}
    assert apply_rules([rule], [trial(k=answer)]).excluded == hit


def test_an_answer_on_a_scale():
    rule = {"name": "attention", "kind": "answered", "question": "k", "value": 3}
    assert apply_rules([rule], [trial(k=3.0), trial(k=1.0)]).names == [("attention",), ()]


@pytest.mark.parametrize(
    ("bounds", "hit"),
    [
        ({"at_least": 10}, [False, True, True, True]),
        ({"at_most": 10}, [True, True, False, False]),
        ({"at_least": 10, "at_most": 20}, [False, True, True, False]),
    ],
)
def test_a_number_within_bounds(bounds, hit):
    parsed_rules = parse_rules([{"name": "n", "kind": "answered_number", "question": "years", **bounds}])
    trials = [trial(years=years) for years in (9.5, 10, 20.0, 21)]
    assert [names == ("n",) for names in apply_rules(parsed_rules, trials).names] == hit
    assert apply_rules(parsed_rules, [trial(years=None), trial(years=math.nan), trial()]).excluded == 0


def test_a_number_has_a_bound():
    with pytest.raises(AnalysisError, match="at_least"):
        parse_rules([{"name": "n", "kind": "answered_number", "question": "years"}])


def test_a_whole_item_can_be_dropped():
    rule = {"name": "q2-is-wrong", "kind": "item", "item_id": "q2"}
    assert apply_rules([rule], [trial(item="q1"), trial(item="q2")]).by_rule == {"q2-is-wrong": 1}


def test_no_trials_and_no_rules():
    assert apply_rules(rules(), []).percent is None
    exclusions = apply_rules([], [trial()])
    assert (exclusions.excluded, exclusions.percent, exclusions.as_counts()["overlap"]) == (0, 0, {})


def test_rules_may_be_parsed_already():
    parsed = parse_rules(rules())
    assert isinstance(parsed[0], MinTime)
    assert apply_rules(parsed, [trial(server_ms=1)]).excluded == 1


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"name": "r", "kind": "sleepy"}, r"rules\.0: .*'sleepy'"),
        ({"name": "r", "kind": "min_time", "clock": "server"}, r"rules\.0\.min_time\.milliseconds"),
        ({"name": "r", "kind": "min_time", "clock": "sun", "milliseconds": 1}, r"rules\.0\.min_time\.clock"),
        ({"name": "a;b", "kind": "item", "item_id": "q"}, r"rules\.0\.item\.name"),
        ({"name": "r", "kind": "item", "item_id": "q", "only": "a"}, r"rules\.0\.item\.only"),
    ],
)
def test_a_malformed_rule_is_named(rule, words):
    with pytest.raises(AnalysisError, match=words):
        apply_rules([rule], [])


def test_two_rules_may_not_share_a_name():
    rule = {"name": "same", "kind": "item", "item_id": "q"}
    with pytest.raises(AnalysisError, match="2 rules have the name 'same'"):
        parse_rules([rule, rule])
