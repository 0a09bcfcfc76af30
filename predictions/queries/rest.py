"""Reads of the REST API: what a user sees of datasets and runs."""

import json
from collections.abc import Iterator

from django.db.models import Count, OuterRef, Q, QuerySet

from accounts.models import User
from accounts.policy_table import Act
from accounts.queries.workspaces import select_workspaces
from foundation.database.counting import build_count_column
from predictions.models import Dataset, Prediction, PredictionFailure, PredictionRun, Question, System


def list_visible_datasets(user: User, workspace: str | None = None) -> QuerySet[Dataset]:
    """Return the datasets that a user sees, with ``size`` in questions."""
    rows = Dataset.objects.filter(workspace__in=select_workspaces(user, Act.DATA_SEE))
    if workspace is not None:
        rows = rows.filter(workspace__slug=workspace)
    questions = Question.objects.filter(dataset=OuterRef("pk"))
    return rows.select_related("workspace").annotate(size=build_count_column(questions))


def list_visible_runs(user: User, workspace: str | None = None) -> QuerySet[PredictionRun]:
    """Return the runs that a user sees, with their counts of questions."""
    rows = PredictionRun.objects.filter(dataset__workspace__in=select_workspaces(user, Act.DATA_SEE))
    if workspace is not None:
        rows = rows.filter(dataset__workspace__slug=workspace)
    return annotate_counts(rows.select_related("dataset__workspace", "system"))


def annotate_counts(runs: QuerySet[PredictionRun]) -> QuerySet[PredictionRun]:
    """Return runs with ``size`` in questions, ``answered`` and ``failed``."""
    return runs.annotate(
        size=build_count_column(Question.objects.filter(dataset=OuterRef("dataset"))),
        answered=build_count_column(Prediction.objects.filter(run=OuterRef("pk"))),
        failed=build_count_column(PredictionFailure.objects.filter(run=OuterRef("pk"))),
    )


def list_visible_systems(user: User, workspace: str | None = None) -> QuerySet[System]:
    """Return the systems that ran on a dataset that a user sees."""
    return System.objects.filter(pk__in=list_visible_runs(user, workspace).values("system"))


def find_matching_questions(dataset: Dataset, words: str) -> QuerySet[Question]:
    """Return the questions with every word in their text or answer, or as ID."""
    rows = Question.objects.filter(dataset=dataset)
    for word in words.split():
        same_id = Q(dataset=dataset, external_id=word)  # as the index has it
        rows = rows.filter(same_id | Q(text__icontains=word) | Q(answer__icontains=word))
    return rows


QUESTION_COLUMNS = ("id", "question", "answer", "type", "level", "supporting_facts")


def build_question_rows(dataset: Dataset, words: str) -> Iterator[tuple[str, ...]]:
    """Yield the questions with some words as rows of a file."""
    fields = ("external_id", "text", "answer", "kind", "level", "supporting_facts")
    for *texts, facts in (
        find_matching_questions(dataset, words).order_by("pk").values_list(*fields).iterator()
    ):
        yield *texts, "" if facts is None else json.dumps(facts, ensure_ascii=False)


FAILURE_COLUMNS = ("question", "reason", "message")


def build_failure_rows(run: PredictionRun) -> Iterator[tuple[str, ...]]:
    """Yield the failures of a run as rows of a file."""
    rows = run.failures.order_by("kind", "pk").values_list("question__external_id", "kind", "message")
    yield from rows.iterator()


def group_failures(run: PredictionRun) -> Iterator[tuple[str, int, PredictionFailure]]:
    """Yield each kind of failure, its number and an example, frequent first."""
    counts = run.failures.values("kind").annotate(number=Count("pk")).order_by("-number", "kind")
    for row in counts:
        first = run.failures.filter(kind=row["kind"]).select_related("question").order_by("pk").first()
        assert first is not None  # counted just now, and only a new run deletes it
        yield row["kind"], row["number"], first
