"""Tests of the canonical form and its hash.

The same content gives the same hash, and any change gives another.
"""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from studyapp.definition.frozen.freezing import FrozenCondition, FrozenStudy, Shown, hash_canonical

FROZEN: dict[str, Any] = {
    "schema_version": 1,
    "title": "A study",
    "dataset": "world",
    "items_seed": 1,
    "items": [
        {"id": "q1", "question": "Who?", "gold_answer": "Ada", "context": [["A", ["One.", "Two."]]]},
        {"id": "q2", "question": "Where?", "gold_answer": "Kolwen", "context": [["B", ["Three."]]]},
    ],
    "conditions": [
        {
            "name": "a",
            "label": "A",
            "system": "s",
            "revision": "r1",
            "ground_truth": False,
            "weight": 1.0,
            "shown": {
                "q1": {"answer": "Ada", "facts": [["A", 0]]},
                "q2": {"answer": "Port", "facts": [["B", 0]]},
            },
        }
    ],
    "item_questionnaire": [
        {
            "key": "sure",
            "text": "I am sure.",
            "scale": {"points": 2, "labels": ["no", "yes"]},
            "role": "certainty",
            "required": True,
        }
    ],
    "post_survey": [{"key": "fine", "text": "Fine?", "scale": "yes_no", "role": None, "required": False}],
    "consent": "You take part.",
    "instructions": "Judge.",
    "rules": [
        {"name": "fast", "kind": "min_time", "clock": "server", "milliseconds": 15000},
        {"name": "slow", "kind": "max_time", "clock": "client_total", "milliseconds": 300000},
        {"name": "known", "kind": "answered", "question": "sure", "value": 2},
        {"name": "bad", "kind": "item", "item_id": "q2"},
    ],
    "order_seed": 7,
    "assignment_block": None,
    "stale_after_minutes": 60.0,
    "redirect_url": None,
}


NO_TEXTS: dict[str, Any] = {"title": None, "consent": None, "instructions": None} | {
    part: {}
    for part in ("screening", "comprehension", "pre_survey", "item", "post_survey", "attention", "labels")
}
YES = {"key": "adult", "text": "Adult?", "scale": "yes_no", "role": None, "required": True}
# The same with every field that came later, each with another value than its default.
LATER: dict[str, Any] = {
    **FROZEN,
    "title_for_participants": "A study of films",
    "language": "de",
    "translations": {"en": {**NO_TEXTS, "title": "In English", "consent": "Yes."}},
    "task": {
        "kind": "advice",
        "confidence": False,
        "time_limits": {"initial": 60, "final": None},
        "bonus": {"per_correct": 0.1, "currency": "GBP"},
    },
    "design": "within",
    "condition_order": "shuffled",
    "conditions": [
        {
            **FROZEN["conditions"][0],
            "explanation": "both",
            "group": "all conditions",
            "saliency": "occlusion, level word",
            "represents": True,
            "quota": 5,
            "advice": False,
            "shown": {
                "q1": {
                    "answer": "Ada",
                    "facts": [["A", 0]],
                    "question_tokens": [[0, 3, 2]],
                    "rationale": "Ada is named first.",
                    "changed_answer": "Ben",
                    "changed_correct": True,
                    "correct": True,
                    "options": ["Ada", "Ben"],
                    "tokens": [["A", 0, 0, 3, 2]],
                    "steps": [
                        {"module": "find", "argument": "dogs", "boxes": [[0, 0.1, 0.1, 0.3, 0.5, 0.9]]}
                    ],
                }
            },
        }
    ],
    "screening": [{**YES, "accept": [True]}],
    "instructions_page": True,
    "comprehension": {"questions": [{**YES, "correct": False}], "tries": 3},
    "practice": [{"id": "p", "question": "Who?", "gold_answer": "Ada", "context": []}],
    "attention": [
        {
            "id": "check",
            "kind": "instructed",
            "position": 1,
            "text": "Choose 2.",
            "item": None,
            "answer": None,
            "gold_answer": None,
            "context": None,
            "facts": None,
            "expected": {"sure": 2},
        }
    ],
    "pre_survey": [YES],
    "scales": [
        {
            "name": "grown_up",
            "items": ["adult"],
            "reverse": [],
            "range": [0.0, 100.0],
            "title": "",
            "higher": "",
            "source": "",
        }
    ],
    "random_order": ["item"],
    "participants": 40,
    "closes": "2030-06-30",
    "recruitment": {
        "platform": "generic",
        "parameter": "pid",
        "signed_urls": False,
        "outcomes": {"full": {"code": "C1", "url": "https://panel.example/?c={code}"}},
    },
    "privacy": {"withdrawal": "delete", "retain_until": "2030-12-31", "at_retention": "delete"},
    "plan": {
        "hypotheses": ["Explanations help."],
        "target": None,
        "baseline": None,
        "family": [["fp", "a", "b"]],
        "margins": {"fp": [-0.1, 0.1]},
        "scores": [],
        "coefficient": "pearson",
        "sign_share": 0.9,
        "rope": None,
        "participants": None,
        "interim_analyses": None,
        "alpha": 0.01,
        "resamples": 2000,
        "permutations": 9999,
        "seed": 1,
        "known": "",
        "authors": [],
    },
}


def paths(value, at=()):
    """The place of every leaf of a JSON value."""
    if isinstance(value, dict):
        return [path for key, part in value.items() for path in paths(part, (*at, key))]
    if isinstance(value, list):
        return [path for index, part in enumerate(value) for path in paths(part, (*at, index))]
    return [at]


def changed(value, path, change):
    if not path:
        return change(value)
    if isinstance(value, dict):
        return {
            key: changed(part, path[1:], change) if key == path[0] else part for key, part in value.items()
        }
    return [changed(part, path[1:], change) if n == path[0] else part for n, part in enumerate(value)]


def another(value):
    """A leaf of the same type with another value."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return "other" if value is None else f"{value} "


def test_it_works():
    study = FrozenStudy.model_validate(FROZEN)
    assert study.canonical() == FROZEN
    assert study.hash() == hash_canonical(FROZEN)
    assert len(study.hash()) == 64
    assert study.item("q2").gold_answer == "Kolwen"
    assert study.condition("a").shown["q2"].answer == "Port"


def test_the_hash_is_the_same_everywhere():
    """The hash was noted when the form was written.

    An accidental change of the form would orphan every stored hash.
    """
    assert hash_canonical(FROZEN) == "d7c4e8847c3652c0d15b58a4dc96fcb829f4874117fd87fc25c10d6c3d243781"


def test_order_of_keys_is_no_change():
    backwards = json.loads(json.dumps(FROZEN), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert list(backwards) == list(reversed(FROZEN))
    assert hash_canonical(backwards) == hash_canonical(FROZEN)


def test_every_field_is_stored():
    assert FROZEN.keys() == FrozenStudy.model_fields.keys() - FrozenStudy.LATER
    with_all = FrozenStudy.model_validate(LATER).canonical()
    assert with_all.keys() == FrozenStudy.model_fields.keys()
    assert with_all["conditions"][0].keys() == FrozenCondition.model_fields.keys()
    assert with_all["conditions"][0]["shown"]["q1"].keys() == Shown.model_fields.keys()


@pytest.mark.parametrize("field", sorted(FrozenStudy.LATER))
def test_later_fields_count_once_they_are_used(field):
    """A study without a later field keeps the hash from before the field."""
    plain = FrozenStudy.model_validate(FROZEN)
    assert field not in plain.canonical()
    used = FrozenStudy.model_validate({**FROZEN, field: LATER[field]})
    assert used.canonical()[field] == LATER[field]
    assert used.hash() != plain.hash()
    assert FrozenStudy.model_validate(used.canonical()) == used


@pytest.mark.parametrize("path", paths(FROZEN), ids=lambda path: ".".join(map(str, path)))
def test_any_change_gives_another_hash(path):
    mutant = changed(FROZEN, path, another)
    assert mutant != FROZEN
    assert hash_canonical(mutant) != hash_canonical(FROZEN)


@pytest.mark.parametrize("name", ["items", "conditions", "item_questionnaire", "rules"])
def test_order_and_number_count(name):
    parts = FROZEN[name]
    assert hash_canonical({**FROZEN, name: parts[:-1]}) != hash_canonical(FROZEN)
    if len(parts) > 1:
        assert hash_canonical({**FROZEN, name: parts[::-1]}) != hash_canonical(FROZEN)


def test_unknown_fields_are_refused():
    with pytest.raises(ValidationError, match="extra"):
        FrozenStudy.model_validate({**FROZEN, "extra": 1})


def test_no_number_is_no_json():
    with pytest.raises(ValueError, match="JSON"):
        hash_canonical({"weight": float("nan")})


@pytest.mark.parametrize("lookup", ["item", "condition"])
def test_unknown_names(lookup):
    with pytest.raises(KeyError, match="none"):
        getattr(FrozenStudy.model_validate(FROZEN), lookup)("none")


def test_a_truth_value_of_a_rule_stays_one():
    """In Python True equals 1, in the hash and in an export it must not."""
    rule = {"name": "known", "kind": "answered", "question": "k", "value": True}
    with_truth = FrozenStudy.model_validate({**FROZEN, "rules": [rule]}).canonical()
    assert with_truth["rules"][0]["value"] is True
    assert hash_canonical(with_truth) != hash_canonical({**FROZEN, "rules": [{**rule, "value": 1}]})
