"""Bundles of tasks other than verification, with planted effects."""

import numpy as np

from tests.analysis.bundles import write_bundle

WHEN = "2026-01-02T10:00:00Z"
ADVISED = {"control": None, "plain": "sys-1", "facts": "sys-1"}
EXPLANATIONS = {"control": "none", "plain": "none"}


def advice_study(folder, *, arms=None, people=10, items=12, seed=1, gives_up=None, takes=0.6, **more):
    """Write a study of advice: own answer, advice, final answer.

    gives_up: by condition, the chance that wrong advice replaces a right first answer; takes: that right
    advice replaces a wrong one.
    """
    rng = np.random.default_rng(seed)
    arms = ADVISED if arms is None else arms
    gives_up = gives_up or {}
    right = rng.random(items) < 0.6
    trials, participants = [], []
    for arm, system in arms.items():
        for person in range(people):
            base = {"participant_id": f"{arm}-{person:03d}", "mode": "live", "version": 1, "condition": arm}
            participants.append(base | {"status": "completed", "items_submitted": items})
            for item in range(items):
                advice = None if system is None else bool(right[item])
                trials.append(
                    base
                    | {"item_id": f"item-{item:02d}", "position": item + 1, "submitted_at": WHEN}
                    | _advised(rng, advice, gives_up.get(arm, 0.5), takes)
                    | {"server_ms": int(rng.lognormal(10.5, 0.5))}
                )
    settings = {"explanations": EXPLANATIONS, "task": {"kind": "advice"}, "item_questions": [], "rules": []}
    return write_bundle(folder, arms, trials, participants, [], **(settings | more))


def _advised(rng, right, gives_up, takes):
    """One trial. right: the advice is correct, None without advice."""
    first = bool(rng.random() < 0.6)
    agreed = None if right is None else (first and right) or (not first and not right and rng.random() < 0.3)
    switched = agreed is False and rng.random() < (takes if right else gives_up)
    sure = int(rng.integers(1, 5))
    return {
        "initial_answer": "a", "final_answer": "a", "advice": None if right is None else "a",
        "initial_correct": first, "final_correct": right if switched else first, "system_correct": right,
        "initial_agrees": agreed, "final_agrees": None if right is None else bool(agreed or switched),
        "initial_confidence": sure, "final_confidence": sure + int(rng.integers(0, 2)),
        "initial_server_ms": 12_000, "final_server_ms": 8_000, "timed_out": None,
    }  # fmt: skip


CHANGED = {"plain": "sys-1", "facts": "sys-1"}


def counterfactual_study(folder, *, arms=None, people=10, items=12, seed=1, tells=None, right=None, **more):
    """Write a study of counterfactuals.

    Participants predict the answer to a changed item, or say "cannot tell".
    tells, right: by condition, the chance of a prediction, and that it is right.
    """
    rng = np.random.default_rng(seed)
    arms = CHANGED if arms is None else arms
    trials, participants = [], []
    for arm in arms:
        for person in range(people):
            base = {"participant_id": f"{arm}-{person:03d}", "mode": "live", "version": 1, "condition": arm}
            participants.append(base | {"status": "completed", "items_submitted": items})
            for item in range(items):
                has_prediction = bool(rng.random() < (tells or {}).get(arm, 0.7))
                is_right = bool(rng.random() < (right or {}).get(arm, 0.6)) if has_prediction else None
                trials.append(
                    base
                    | {"item_id": f"item-{item:02d}", "position": item + 1, "submitted_at": WHEN}
                    | {"cannot_tell": not has_prediction, "predicted_answer": "a" if has_prediction else None}
                    | {"system_answer": "b" if is_right is False else "a", "prediction_right": is_right}
                    | {"options": 4, "system_correct": item % 2 == 0, "timed_out": None}
                    | {"source_item_id": f"source-{item:02d}", "change": "comparison"}
                    | {"server_ms": int(rng.lognormal(10.5, 0.5))}
                )
    task = {"kind": "counterfactual"}
    settings = {"explanations": EXPLANATIONS, "task": task, "item_questions": [], "rules": []}
    return write_bundle(folder, arms, trials, participants, [], **(settings | more))


def simulation_study(folder, *, arms=None, people=10, per_block=8, seed=1, learns=None, options=2, **more):
    """Write a study of simulation.

    Participants predict the system's answers before and after a learning block.
    learns: by condition, what the learning block adds to the chance of a right prediction.
    """
    rng = np.random.default_rng(seed)
    arms = CHANGED if arms is None else arms
    trials, participants = [], []
    blocks = [block for block in ("before", "learning", "after") for _ in range(per_block)]
    for arm in arms:
        for person in range(people):
            base = {"participant_id": f"{arm}-{person:04d}", "mode": "live", "version": 1, "condition": arm}
            participants.append(base | {"status": "completed", "items_submitted": len(blocks)})
            ability = rng.normal(0.5, 0.1)
            for item, block in enumerate(blocks):
                chance = ability + (block != "before") * (learns or {}).get(arm, 0.1)
                answer, is_right = ("yes", "no")[item % 2], bool(rng.random() < chance)
                trials.append(
                    base
                    | {"item_id": f"item-{item:02d}", "position": item + 1, "submitted_at": WHEN}
                    | {"block": block, "system_answer": answer, "prediction_right": is_right}
                    | {"predicted_answer": answer if is_right else ("no", "yes")[item % 2]}
                    | {"options": options, "system_correct": item % 4 < 2, "timed_out": None}
                    | {"server_ms": int(rng.lognormal(10.5, 0.5))}
                )
    task = {"kind": "simulation"}
    settings = {"explanations": EXPLANATIONS, "task": task, "item_questions": [], "rules": []}
    return write_bundle(folder, arms, trials, participants, [], **(settings | more))


COMPARED = {"plain": "sys-1", "facts": "sys-1", "other": "sys-2"}
CRITERIA = [{"key": "clear", "text": "Which is clearer?"}, {"key": "useful", "text": "Which is more useful?"}]


def preference_study(
    folder, *, arms=None, people=12, items=12, seed=1, logs=None, lean=0.0, ties=0.5, **more
):
    """Write a study of preference.

    Each item shows two conditions side by side, and every pair comes equally often.
    logs: by condition, the logarithm of its strength. lean: what the left side adds. ties: Davidson's ν.
    """
    rng = np.random.default_rng(seed)
    arms = COMPARED if arms is None else arms
    logs = {"plain": -0.5, "facts": 0.5} if logs is None else logs
    pairs = [(left, right) for left in arms for right in arms if left != right]
    trials, participants = [], []
    for person in range(people):
        base = {"participant_id": f"p-{person:03d}", "mode": "live", "version": 1, "condition": None}
        participants.append(base | {"status": "completed", "items_submitted": items})
        for item in range(items):
            left, right = pairs[(item + person) % len(pairs)]
            trials.append(
                base
                | {"item_id": f"item-{item:02d}", "position": item + 1, "submitted_at": WHEN}
                | {
                    "left_condition": left,
                    "right_condition": right,
                    "system_correct": None,
                    "timed_out": None,
                }
                | {
                    f"preferred_{criterion['key']}": _preferred(
                        rng, logs.get(left, 0.0) + lean, logs.get(right, 0.0), ties
                    )
                    for criterion in CRITERIA
                }
                | {"server_ms": int(rng.lognormal(10.5, 0.5))}
            )
    task = {"kind": "preference", "of": "explanation", "criteria": CRITERIA, "ties": True}
    settings = {"explanations": EXPLANATIONS, "task": task, "item_questions": [], "rules": []}
    return write_bundle(folder, arms, trials, participants, [], **(settings | more))


def _preferred(rng, left, right, ties):
    """One answer by Davidson's model."""
    weights = np.exp([left, right, (left + right) / 2]) * [1, 1, ties]
    return ("left", "right", "tie")[rng.choice(3, p=weights / weights.sum())]
