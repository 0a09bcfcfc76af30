"""Bundles of simulated studies whose participants see several conditions."""

import json
from pathlib import Path

import numpy as np

from benchmarks.statistics.within import simulate_rotated_trials
from tests.analysis.bundles import POST_KEYS, write_bundle


def within_study(folder: Path, *, groups=None, people=8, items=12, seed=1, effect=0.0, declared=True, **more):
    """Write a bundle of `people` participants per group.

    Participants see all conditions of their group. groups: name to {condition: system}.
    declared: whether the frozen definition names the groups and participants name theirs.
    """
    groups = groups or {"all conditions": {"one": "sys-1", "two": "sys-2", "three": "sys-3"}}
    rng, trials, participants, post = np.random.default_rng(seed), [], [], []
    correct = rng.random(items) < 0.6
    for number, (group, arms) in enumerate(groups.items()):
        rows = simulate_rotated_trials(
            rng, people=people, items=items, conditions=tuple(arms), effect=effect, prefix=f"p{number}"
        )
        base = {"mode": "live", "version": 1}
        alone = next(iter(arms)) if len(arms) == 1 else None
        for participant_id in rows["participant_id"].unique():
            participant = {"participant_id": participant_id, **base, "condition": alone}
            participants.append(
                participant
                | {"status": "completed", "items_submitted": items}
                | ({"group": group} if declared else {})
            )
            post.append(participant | {key: int(rng.integers(1, 6)) for key in POST_KEYS})
        for row in rows.to_dict("records"):
            trials.append({
                "participant_id": row["participant_id"], "condition": row["condition"], **base,
                "item_id": row["item_id"], "position": row["position"],
                "submitted_at": "2026-01-02T10:00:00Z", "server_ms": int(1000 * row["seconds"]) + 15_000,
                "rated_correct": bool(row["answer"]), "known_before": bool(rng.random() < 0.03),
                "certainty": int(row["rating"]), "helpfulness": int(row["rating"]),
                "system_correct": bool(correct[int(row["item_id"][1:])]),
            })  # fmt: skip
    conditions = {name: system for arms in groups.values() for name, system in arms.items()}
    write_bundle(folder, conditions, trials, participants, post, **more)
    if declared:
        path = folder / "study_version.json"
        document = json.loads(path.read_text("utf-8"))
        group_of = {name: group for group, arms in groups.items() for name in arms}
        for arm in document["versions"][0]["conditions"]:
            arm["group"] = group_of[arm["name"]]
        path.write_text(json.dumps(document), "utf-8")
    return folder
