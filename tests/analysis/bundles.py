"""Bundles of planted studies and of the released study of 2020."""

import csv
import json
from typing import Any

import numpy as np

from tests.analysis.data import real_data

LIKERT = ("strong_disagree", "disagree", "neutral", "agree", "strong_agree")
FIVE = {"points": 5, "labels": ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]}
ITEM_QUESTIONS: list[dict[str, Any]] = [
    {"key": "rated_correct", "text": "Is it correct?", "scale": "yes_no", "role": "correctness_rating"},
    {"key": "known_before", "text": "Did you know it?", "scale": "yes_no", "role": "known_before"},
    {"key": "certainty", "text": "I am confident.", "scale": FIVE, "role": "certainty"},
    {"key": "helpfulness", "text": "It helps.", "scale": FIVE, "role": "helpfulness"},
]
POST_QUESTIONS: list[dict[str, Any]] = [
    {"key": key, "text": f"About {key}.", "scale": FIVE, "role": key}
    for key in ("trust", "relevant_information", "irrelevant_information", "satisfaction")
]
for question in ITEM_QUESTIONS + POST_QUESTIONS:
    question["required"] = True
POST_KEYS = [question["key"] for question in POST_QUESTIONS]


def rules(clock="server"):
    """Return the exclusion rules of the 2020 study."""
    return [
        {"name": "too-fast", "kind": "min_time", "clock": clock, "milliseconds": 15_000},
        {"name": "too-slow", "kind": "max_time", "clock": clock, "milliseconds": 300_000},
        {"name": "known-before", "kind": "answered", "question": "known_before", "value": True},
    ]


def write_bundle(folder, conditions, trials, participants, post, **more):
    """Write rows (dicts) as a bundle; None is a missing value.

    conditions: name to system or None. more: rules, scores, published, flow, version, item_questions,
    explanations (by condition, facts where left out), task (options; verification where left out).
    """
    folder.mkdir(parents=True, exist_ok=True)
    _csv(folder / "trials.csv", trials)
    _csv(folder / "participants.csv", participants)
    if post:
        _csv(folder / "post_survey.csv", post)
    arms = [
        {"name": name, "label": name, "system": system, "ground_truth": system is None and "task" not in more}
        | ({"advice": False} if system is None and "task" in more else {})
        | ({"explanation": more["explanations"].get(name, "facts")} if "explanations" in more else {})
        for name, system in conditions.items()
    ]
    version = {
        "version": more.get("version", 1),
        "hash": "0" * 64,
        "frozen_at": "2026-01-02T00:00:00Z",
        "conditions": arms,
        "item_questionnaire": more.get("item_questions", ITEM_QUESTIONS),
        "post_survey": POST_QUESTIONS if post else [],
        "published": more.get("published"),
        "definition": {},
    }
    if "task" in more:
        version["task"] = more["task"]
    study = {"study": "a-study", "title": "A study & its title", "versions": [version]}
    _json(folder / "study_version.json", study)
    _json(folder / "rules.json", {"rules": more.get("rules", rules())})
    if "flow" in more:
        _json(folder / "flow.json", more["flow"])
    if more.get("scores"):
        _json(folder / "scores.json", scores_file(more["scores"]))
    return folder


def scores_file(systems):
    """scores.json for {system: {score: value}}; a null value gets a reason."""
    return {
        "schema_version": 1,
        "dataset": "test",
        "systems": {
            system: {
                "revision": "1",
                "n": 100,
                "source": "computed",
                "scores": scores,
                "reasons": {key: f"no {key} here" for key, value in scores.items() if value is None},
            }
            for system, scores in systems.items()
        },
    }


def planted_study(
    folder, *, arms=None, people=6, items=8, seed=1, mode="live", accuracy=0.6, trust_in_system=0.75, **more
):
    """Write a study with random answers.

    It has `people` participants per condition, and `items` items each.
    """
    rng = np.random.default_rng(seed)
    arms = {"one": "sys-1", "two": "sys-2", "three": "sys-3", "truth": None} if arms is None else arms
    trials, participants, post = [], [], []
    for arm, system in arms.items():
        correct = np.ones(items) if system is None else rng.random(items) < accuracy
        for person in range(people):
            participant_id = f"{arm}-{person:03d}"
            base = {"participant_id": participant_id, "mode": mode, "version": 1, "condition": arm}
            participants.append(base | {"status": "completed", "items_submitted": items})
            post.append(base | {key: int(rng.integers(1, 6)) for key in POST_KEYS})
            for item in range(items):
                believed = rng.random() < (trust_in_system if correct[item] else 1 - trust_in_system)
                trials.append(
                    base
                    | {
                        "item_id": f"item-{item:02d}",
                        "position": item + 1,
                        "submitted_at": "2026-01-02T10:00:00Z",
                        "server_ms": int(rng.lognormal(10.8, 0.6)),
                        "rated_correct": bool(believed),
                        "known_before": bool(rng.random() < 0.02),
                        "certainty": int(rng.integers(1, 6)),
                        "helpfulness": int(rng.integers(1, 6)),
                        "system_correct": bool(correct[item]),
                    }
                )
    return write_bundle(folder, arms, trials, participants, post, **more)


RELEASED_SYSTEMS = {
    "Qi-2019": "Qi-2019",
    "Select & Forget": "S&F",
    "regularized": "reg.",
    "ground truth": None,
}
NAMES_IN_TABLE = {
    "em": "Answer-EM", "f1": "Answer-F1", "prec": "Answer-P", "recall": "Answer-R",
    "sp_em": "SP-EM", "sp_f1": "SP-F1", "sp_prec": "SP-P", "sp_recall": "SP-R",
    "joint_em": "Joint-EM", "joint_f1": "Joint-F1", "joint_prec": "Joint-P", "joint_recall": "Joint-R",
    "farm_4": "FaRM(4)", "c_rel_4": "c_rel(4)", "c_irr_4": "c_irr(4)",
    "loca": "LocA", "loca_inside": "I", "loca_outside": "O",
}  # fmt: skip


def released_study(folder):
    """Write the released study of Schuff et al. 2020 as a bundle.

    Skip the test if its file is absent.
    """
    trials, participants, post = [], [], []
    with real_data("user_study/data.jsonl").open(encoding="utf-8") as lines:
        people = [json.loads(line) for line in lines]
    for person in people:
        base = {
            "participant_id": str(person["subject_id"]),
            "mode": "live",
            "version": 1,
            "condition": person["condition"],
        }
        ratings = person["per_question_ratings"]
        participants.append(base | {"status": "completed", "items_submitted": 25})
        survey = person["post_questionnaire_ratings"]
        keys = ("trust", "enough_details", "irrelevant_details", "satisfied")
        post.append(
            base | {key: 1 + LIKERT.index(survey[old]) for key, old in zip(POST_KEYS, keys, strict=True)}
        )
        for index, item in enumerate(ratings["question_ids"]):
            trials.append(
                base
                | {
                    "item_id": item,
                    "position": index + 1,
                    "submitted_at": None,
                    "client_total_ms": ratings["completion_times(ms)"][index],
                    "rated_correct": ratings["answer_correct_ratings"][index] == "yes",
                    "known_before": ratings["answer_known_before"][index] == "yes",
                    "certainty": 1 + LIKERT.index(ratings["certainty_ratings"][index]),
                    "helpfulness": 1 + LIKERT.index(ratings["helpfulness_ratings"][index]),
                    "system_correct": None,
                }
            )
    published = {"excluded_percent": 12.1, "note": "Two whole questions may have been dropped as well."}
    return write_bundle(
        folder,
        RELEASED_SYSTEMS,
        trials,
        participants,
        post,
        rules=rules("client_total"),
        published=published,
        scores=published_scores(),
    )


def published_scores():
    """Return Table 2 of Schuff et al. 2020 as fractions, by system."""
    rows = json.loads(real_data("paper_tables/xqa_model_scores.json").read_text("utf-8"))["rows"]
    return {
        system: {key: rows[name][system] / 100 for key, name in NAMES_IN_TABLE.items()}
        | {f"farm_{k}": None for k in (1, 2, 3)}
        for system in rows["LocA"]
    }


def _csv(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)


def _cell(value):
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else value


def _json(path, value):
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
