"""The JSON files of a bundle: frozen versions, exclusion rules with their counts, flow, model scores."""

from collections.abc import Iterator
from typing import Any

from analysis.scores.score_table import SCORES
from predictions.models import PredictionRun
from predictions.score_document import ScoresDocument, SystemScores, scores_document
from predictions.scoring import PARTS
from studyapp.exports.rows import StudyData, Tally
from studyapp.exports.writers import text
from studyapp.models import Condition, StudyVersion
from studyapp.queries import results
from studyapp.queries.results import Row

Document = dict[str, Any]


def study_version(data: StudyData) -> Document:
    """study_version.json."""
    arms: dict[int, list[Condition]] = {}
    for condition in data.conditions:
        arms.setdefault(condition.version_id, []).append(condition)
    return {
        "study": data.study.slug,
        "title": data.study.title,
        "versions": [_version(data, version, arms.get(version.pk, [])) for version in data.versions],
    }


def _version(data: StudyData, version: StudyVersion, arms: list[Condition]) -> Document:
    frozen = version.frozen
    return {
        "version": version.number,
        "hash": version.hash,
        "frozen_at": text(version.frozen_at.date() if data.public else version.frozen_at),
        "conditions": [
            {
                "name": arm.name,
                "label": arm.label,
                "system": arm.system.name if arm.system else None,
                "ground_truth": arm.is_ground_truth,
                "explanation": data.frozen[version.number].condition(arm.name).explanation,
                "group": data.frozen[version.number].condition(arm.name).group or arm.name,
            }
            for arm in arms
        ],
        "design": data.frozen[version.number].design,
        "item_questionnaire": frozen["item_questionnaire"],
        "pre_survey": frozen.get("pre_survey", []),
        "post_survey": frozen["post_survey"],
        "published": _published(version),
        "definition": frozen,
    }


def _published(version: StudyVersion) -> Document | None:
    """Return what a publication says of the study; the scores it gives stand in scores.json."""
    if version.published is None:
        return None
    return {key: value for key, value in version.published.items() if key != "scores"}


def rules(data: StudyData, tally: Tally) -> Document:
    """rules.json.

    ``tally`` has counted all trials.
    """
    by_version = {str(version.number): version.frozen["rules"] for version in data.versions}
    latest = data.versions[-1].frozen["rules"]
    document: Document = {"rules": latest, "counts": dict(sorted(tally.counts.items()))}
    if any(of_version != latest for of_version in by_version.values()):
        document["by_version"] = by_version
    return document


def flow(data: StudyData) -> Document:
    """flow.json.

    Who was never assigned is counted by outcome, and as waiting while still on the way.
    """
    names = list(
        dict.fromkeys(arm.group or arm.name for content in data.frozen.values() for arm in content.conditions)
    )
    modes: dict[str, Document] = {}
    for row in results.flow_counts(data.study):
        mode = modes.setdefault(
            row["mode"],
            {
                "consented": 0,
                "not_assigned": dict.fromkeys(_NEVER_ASSIGNED, 0),
                "conditions": {name: _no_flow() for name in names},
            },
        )
        mode["consented"] += row["n"]
        if row["group"]:
            _count_assigned(mode["conditions"][row["group"]], row)
        else:
            why = row["outcome"] or ("withdrawn" if row["status"] == "withdrawn" else "waiting")
            mode["not_assigned"][why] += row["n"]
    return {"modes": modes}


_NEVER_ASSIGNED = ("waiting", "screened_out", "failed_comprehension", "full", "withdrawn")


def _count_assigned(condition: Document, row: Row) -> None:
    condition["assigned"] += row["n"]
    condition["started"] += row["started"]
    condition[row["status"]] = condition.get(row["status"], 0) + row["n"]
    if row["status"] != "completed":
        dropped = condition["dropped_at"]
        submitted = str(row["items_submitted"])
        dropped[submitted] = dropped.get(submitted, 0) + row["n"]


def _no_flow() -> Document:
    return {"assigned": 0, "started": 0, "dropped_at": {}, "completed": 0, "withdrawn": 0, "active": 0}


def scores(data: StudyData) -> Document:
    """scores.json: of each system in the study the scores of its newest run, and what was published."""
    entries: dict[str, Document] = {}
    datasets: set[str] = set()
    for condition in data.conditions:
        if condition.run is not None:
            entries[condition.run.system.name] = _run_scores(condition.run)
            datasets.add(condition.run.dataset.name)
        elif condition.system is not None:
            entries.setdefault(condition.system.name, _no_scores("nobody gave scores of this system"))
    for published in _published_scores(data):
        entries.update(published["systems"])
        datasets.add(published["dataset"])
    document = ScoresDocument(
        dataset=datasets.pop() if len(datasets) == 1 else None,
        systems={name: SystemScores.model_validate(entries[name]) for name in sorted(entries)},
    )
    return document.model_dump(mode="json")


def question_scores(data: StudyData) -> Iterator[Row]:
    """question_scores: the questions of the runs whose scores stand in scores.json, by system."""
    runs = {arm.run.system.name: arm.run for arm in data.conditions if arm.run is not None}
    elsewhere = {name for published in _published_scores(data) for name in published["systems"]}
    for system in sorted(runs.keys() - elsewhere):
        for question_id, parts in results.question_scores(runs[system]):
            yield {"system": system, "question_id": question_id, **dict(zip(PARTS, parts, strict=True))}


def _published_scores(data: StudyData) -> list[Document]:
    """Return the scores that publications give, oldest version first."""
    found = [(version.published or {}).get("scores") for version in data.versions]
    return [scores for scores in found if scores]


def _run_scores(run: PredictionRun) -> Document:
    found: Document = scores_document([run])["systems"]
    if run.system.name in found:
        return found[run.system.name]
    command = f"manage.py score --dataset {run.dataset.name} --system {run.system.name}"
    return {**_no_scores(f"not computed yet; run: {command}"), "revision": run.revision}


def _no_scores(reason: str) -> Document:
    keys = [score.key for score in SCORES]
    return {
        "revision": None,
        "n": None,
        "source": "none",
        "scores": dict.fromkeys(keys),
        "reasons": dict.fromkeys(keys, reason),
    }


def missing_scores(document: Document) -> dict[str, str]:
    """Systems of a scores document that have no score at all, with the reason."""
    return {
        name: next(iter(entry["reasons"].values()), "")
        for name, entry in document["systems"].items()
        if all(value is None for value in entry["scores"].values())
    }
