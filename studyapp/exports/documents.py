"""The JSON files of a bundle: versions, rules, flow and model scores."""

from collections.abc import Iterator
from typing import Any

from analysis import __version__
from analysis.io.origin import commit
from analysis.scores.score_table import SCORES
from predictions.models import PredictionRun
from predictions.scores.score_document import ScoresDocument, SystemScores, build_scores_document
from predictions.scores.scoring import PARTS
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.questions.question import list_question_parts
from studyapp.definition.questions.scale_scores import list_score_columns
from studyapp.exports.rows import Tally
from studyapp.exports.study_data import StudyData
from studyapp.exports.writers import format_value
from studyapp.models import LaunchDecision, StudyVersion
from studyapp.queries.running import results
from studyapp.queries.running.results import Row

Document = dict[str, Any]


def build_study_version(data: StudyData) -> Document:
    """Return study_version.json."""
    sources = results.count_correctness(data.study)
    return {
        "study": data.study.slug,
        "title": data.study.title,
        "exported_by": f"touchstone {__version__}",
        "commit": commit(),
        "versions": [
            {
                "version": version.number,
                "hash": version.hash,
                "frozen_at": format_value(version.frozen_at.date() if data.public else version.frozen_at),
                "correctness": sources.get(version.number, []),
                "decisions": [
                    build_decision_part(row, public=data.public) for row in version.decisions.all()
                ],
                "published": _select_published_facts(version),
                **build_content_part(data.frozen[version.number]),
            }
            for version in data.versions
        ],
    }


def build_content_part(content: FrozenStudy) -> Document:
    """Return what study_version.json takes from the content of a version."""
    frozen = content.canonical()
    questions = {
        "item_questionnaire": list_question_parts(content.item_questionnaire),
        "pre_survey": list_question_parts(content.pre_survey),
        "post_survey": list_question_parts(content.post_survey),
    }
    return {
        "conditions": [
            {
                "name": condition.name,
                "label": condition.label,
                "system": condition.system,
                "ground_truth": condition.ground_truth,
                "explanation": condition.explanation,
                "represents": condition.represents,
                "group": condition.group or condition.name,
                **({} if condition.advice else {"advice": False}),
            }
            for condition in content.conditions
        ],
        "design": content.design,
        **({"task": frozen["task"]} if "task" in frozen else {}),
        **{
            part: [question.model_dump(mode="json") for question in asked]
            for part, asked in questions.items()
        },
        "scale_scores": list_score_columns(questions, content.scales),
        "definition": frozen,
    }


def build_decision_part(row: LaunchDecision, *, public: bool) -> Document:
    """Return a decision before the launch; the public variant names nobody."""
    by = row.made_by.username if row.made_by and not public else None
    at = row.made_at.date() if public else row.made_at
    return {"check": row.check_name, "reason": row.reason, "by": by, "at": format_value(at)}


def _select_published_facts(version: StudyVersion) -> Document | None:
    """Return the publication's facts about the study, without its scores.

    The scores are in scores.json.
    """
    if version.published is None:
        return None
    return {key: value for key, value in version.published.items() if key != "scores"}


def build_rules(data: StudyData, tally: Tally) -> Document:
    """Return rules.json, after ``tally`` has counted all trials.

    ``tally`` has counted all trials.
    """
    by_version = {str(version.number): data.rules(version.number) for version in data.versions}
    latest = by_version[str(data.versions[-1].number)]
    document: Document = {"rules": latest, "counts": dict(sorted(tally.counts.items()))}
    if any(of_version != latest for of_version in by_version.values()):
        document["by_version"] = by_version
    return document


def build_flow(data: StudyData) -> Document:
    """Return flow.json.

    Participants who were never assigned are counted by outcome, or as waiting while in progress.
    """
    names = list(
        dict.fromkeys(
            condition.group or condition.name
            for content in data.frozen.values()
            for condition in content.conditions
        )
    )
    modes: dict[str, Document] = {}
    for row in (row for row in results.count_flow(data.study) if row["mode"] in data.modes):
        mode = modes.setdefault(
            row["mode"],
            {
                "consented": 0,
                "not_assigned": dict.fromkeys(_NEVER_ASSIGNED, 0),
                "conditions": {name: _build_empty_flow() for name in names},
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


def _build_empty_flow() -> Document:
    return {"assigned": 0, "started": 0, "dropped_at": {}, "completed": 0, "withdrawn": 0, "active": 0}


def build_scores(data: StudyData) -> Document:
    """Return scores.json: scores of each system's newest run, and published."""
    entries: dict[str, Document] = {}
    datasets: set[str] = set()
    for condition in data.conditions:
        if condition.run is not None:
            entries[condition.run.system.name] = _run_scores(condition.run)
            datasets.add(condition.run.dataset.name)
        elif condition.system is not None:
            entries.setdefault(
                condition.system.name, _build_empty_scores("no scores of this system are known")
            )
    for published in _list_published_scores(data):
        entries.update(published["systems"])
        datasets.add(published["dataset"])
    document = ScoresDocument(
        dataset=datasets.pop() if len(datasets) == 1 else None,
        systems={name: SystemScores.model_validate(entries[name]) for name in sorted(entries)},
    )
    return document.model_dump(mode="json")


def build_question_score_rows(data: StudyData) -> Iterator[Row]:
    """Yield the rows of question_scores, by system.

    They are the questions of the runs whose scores are in scores.json.
    """
    runs = {
        condition.run.system.name: condition.run for condition in data.conditions if condition.run is not None
    }
    elsewhere = {name for published in _list_published_scores(data) for name in published["systems"]}
    for system in sorted(runs.keys() - elsewhere):
        for question_id, parts in results.read_question_scores(runs[system]):
            # Scores that an earlier version computed have fewer parts.
            given = dict(zip(PARTS, parts, strict=False))
            yield {"system": system, "question_id": question_id, **dict.fromkeys(PARTS), **given}


def _list_published_scores(data: StudyData) -> list[Document]:
    """Return the scores that publications give, oldest version first."""
    published = [(version.published or {}).get("scores") for version in data.versions]
    return [scores for scores in published if scores]


def _run_scores(run: PredictionRun) -> Document:
    systems: Document = build_scores_document([run])["systems"]
    if run.system.name in systems:
        return systems[run.system.name]
    command = f".venv/bin/python manage.py score --dataset {run.dataset.name} --system {run.system.name}"
    return {**_build_empty_scores(f"not computed yet; run: {command}"), "revision": run.revision}


def _build_empty_scores(reason: str) -> Document:
    keys = [score.key for score in SCORES]
    return {
        "revision": None,
        "n": None,
        "source": "none",
        "scores": dict.fromkeys(keys),
        "reasons": dict.fromkeys(keys, reason),
    }


def find_missing_scores(document: Document) -> dict[str, str]:
    """Return the reason for each system of a document without any score."""
    return {
        name: next(iter(entry["reasons"].values()), "")
        for name, entry in document["systems"].items()
        if all(value is None for value in entry["scores"].values())
    }
