"""A pre-registration has the frozen design and names open decisions.

Impossible plans raise an error.
"""

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from analysis.io.errors import AnalysisError, InputError
from analysis.planning.declared_plan import Plan, load_plan
from analysis.planning.frozen_version import load_frozen
from analysis.planning.populations import Assumed
from analysis.planning.power import simulate_power
from analysis.planning.preregistration import preregistration
from analysis.stats.sequential import boundaries
from tests.analysis.bundles import planted_study, rules

FAMILY = (("agreement", "one", "two"), ("time_geometric", "one", "two"))


def frozen_study(folder, *, right_hash=True, **more):
    """Write a bundle whose version holds a definition, with its hash."""
    planted_study(folder)
    path = folder / "study_version.json"
    document = json.loads(path.read_text("utf-8"))
    definition = {
        "dataset": "world",
        "items_seed": 2020,
        "items": [{"id": f"q{i}", "question": "Wo – Ü?"} for i in range(25)],
        "conditions": [{"name": "one", "revision": "r1", "weight": 2.0}, {"name": "two"}],
        "rules": rules(),
        "order_seed": 7,
        "assignment_block": None,
    } | more
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["versions"][0] |= {
        "definition": definition,
        "hash": hashlib.sha256(text.encode()).hexdigest() if right_hash else "f" * 64,
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return folder


def full_plan(**more):
    values: dict[str, Any] = {
        "hypotheses": ("People agree more with two than with one.",),
        "family": FAMILY,
        "margins": {"agreement": (-0.05, 0.05)},
        "scores": ("loca", "joint_f1"),
        "participants": 40,
        "power": simulate_power(
            Assumed(0.1, residual_sd=0.3),
            effects=[0, 0.1],
            participants=40,
            items=25,
            simulations=200,
            rng=np.random.default_rng(1),
        ),
        "known": "nothing",
        "authors": ("A. Author",),
    }
    return Plan(**values | more)


def test_it_works(tmp_path):
    frozen = load_frozen(frozen_study(tmp_path / "study"))
    text = preregistration(frozen, full_plan())
    assert frozen.verified is True
    for part in (
        "# Pre-registration: A study & its title",
        frozen.version.hash,
        "gives this hash",
        "People agree more",
        "- **one** (`one`): answers and facts of `sys-1`, revision `r1`, weight 2",
        "(`truth`): gold answers",
        "Items: 25 of `world`, drawn with the seed 2020",
        "`rated_correct`: “Is it correct?” yes or no; read as correctness_rating",
        "40 participants per condition who complete, 160 in all.",
        "`too-fast`: below 15 s",
        "`known-before`: question known_before answered yes",
        "Confirmatory family of 2 comparisons",
        "- Agreement: two against one",
        "Agreement: conditions count as equivalent within -0.05 to 0.05",
        "| Agreement | `agreement` | share of trials rated correct | – | confirmatory |",
        "| Trust | `trust` | post survey | higher | exploratory |",
        "over 3 systems, without p values",
    ):
        assert part in text, part
    assert "Left open" not in text
    assert "Not stated" not in text
    assert text == preregistration(frozen, full_plan())


def test_what_is_left_open_is_named(tmp_path):
    planted_study(tmp_path / "study")
    frozen = load_frozen(tmp_path / "study")
    text = preregistration(frozen, Plan())
    parts = ("hypotheses", "family of confirmatory", "number of participants", "exclusion rules", "margins")
    for part in (*parts, "items", "known of the data"):
        assert part in text.split("## Left open")[1]
    assert frozen.verified is None
    assert "no definition to check" in text
    assert "analysed once" in text
    assert "No comparison is confirmatory" in text
    assert "## Exclusions" not in text


def test_interim_analyses_are_in_the_text(tmp_path):
    plan = full_plan(family=FAMILY[:1], interim_analyses=boundaries([0.5, 1.0]), target="these_items")
    text = preregistration(load_frozen(frozen_study(tmp_path / "study")), plan)
    assert "| 1 | 50.0 % | 2.9626 |" in text
    assert "cost 0.4 % more" in text
    assert "against the boundary of that analysis" in text
    assert "analysed once" not in text


def test_target_and_baseline_are_in_the_text(tmp_path):
    frozen = load_frozen(frozen_study(tmp_path / "study"))
    text = preregistration(frozen, full_plan())
    assert "The claim is about items like these" in text
    assert "quasi-F over participants and items" in text
    text = preregistration(frozen, full_plan(target="these_items"))
    assert "The claim is about these items." in text
    assert "permutations of participants between the two conditions" in text
    text = preregistration(frozen, Plan(baseline="one"))
    assert "all are exploratory, each condition against one." in text


def test_interim_analyses_make_these_items_the_target_of_a_plan_file(tmp_path):
    path = tmp_path / "plan.json"
    for fields, target in (
        ({}, "items_like_these"),
        ({"interim_analyses": {"fractions": [1.0]}}, "these_items"),
        ({"looks": {"fractions": [1.0]}}, "these_items"),  # the name until 0.1
    ):
        path.write_text(json.dumps(fields), encoding="utf-8")
        assert load_plan(path).target == target
    path.write_text(json.dumps({"interim_analyses": {"fractions": [1.0]}, "target": "items_like_these"}))
    with pytest.raises(InputError, match=r"target: the tests of interim analyses are about these_items"):
        load_plan(path)


def test_a_wrong_hash_is_told(tmp_path):
    frozen = load_frozen(frozen_study(tmp_path / "study", right_hash=False))
    assert frozen.verified is False
    assert "does **not** give this hash" in preregistration(frozen, Plan())


def test_no_rules_and_blocks(tmp_path):
    frozen = load_frozen(frozen_study(tmp_path / "study", rules=[], assignment_block=2))
    text = preregistration(frozen, Plan())
    assert "No trial is excluded." in text
    assert "each condition 2 times" in text


def test_the_text_is_of_one_version(tmp_path):
    folder = frozen_study(tmp_path / "study")
    path = folder / "study_version.json"
    document = json.loads(path.read_text("utf-8"))
    document["versions"].append(document["versions"][0] | {"version": 2, "hash": "2" * 64})
    path.write_text(json.dumps(document), encoding="utf-8")
    assert load_frozen(folder).version.version == 2
    assert load_frozen(folder, 1).verified is True
    with pytest.raises(InputError, match=r"no version 3; it has \[1, 2\]"):
        load_frozen(folder, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"family": (("beauty", "one", "two"),), "margins": {}}, "'beauty'"),
        ({"family": (("agreement", "one", "four"),)}, "'four'; the study has"),
        ({"family": (("agreement", "one", "one"),)}, "with itself"),
        ({"family": (*FAMILY, FAMILY[0])}, "twice"),
        ({"margins": {"trust": (-1, 1)}}, "not in the family"),
        ({"margins": {"agreement": (0.1, 0.2)}}, "margin of 'agreement'"),
        ({"margins": {"time_geometric": (-0.1, 0.1)}}, "margin of 'time_geometric'"),
        ({"participants": 1}, "too few"),
        ({"interim_analyses": boundaries([1.0])}, "interim analyses test one"),
        (
            {"interim_analyses": boundaries([1.0]), "family": FAMILY[:1], "alpha": 0.01},
            "interim analyses spend",
        ),
        ({"baseline": "truth"}, "the baseline 'truth' is not one of"),
    ],
)
def test_an_impossible_plan_is_refused(tmp_path, change, words):
    frozen = load_frozen(frozen_study(tmp_path / "study"))
    with pytest.raises(AnalysisError, match=words):
        preregistration(frozen, full_plan(**change))


def test_a_malformed_file_is_named(tmp_path):
    folder = frozen_study(tmp_path / "study", rules=[{"name": "r", "kind": "sleepy"}])
    with pytest.raises(InputError, match=r"study_version\.json.*rules\.0"):
        load_frozen(folder)
    (folder / "study_version.json").write_text('{"study": "s"}', encoding="utf-8")
    with pytest.raises(InputError, match="title"):
        load_frozen(folder)
    (folder / "study_version.json").unlink()
    with pytest.raises(InputError):
        load_frozen(folder)


def test_a_simulation_names_its_blocks(tmp_path):
    folder = frozen_study(tmp_path / "study")
    path = folder / "study_version.json"
    document = json.loads(path.read_text("utf-8"))
    blocks = {"before": 6, "learning": 4, "after": 6}
    document["versions"][0]["task"] = {"kind": "simulation", "blocks": blocks, "ask": "correct"}
    path.write_text(json.dumps(document), encoding="utf-8")
    text = preregistration(load_frozen(folder), Plan())
    assert (
        "Items by block: before 6, learning 4, after 6. Predicted is whether its answer is correct." in text
    )
    assert "drawn for each participant" in text
