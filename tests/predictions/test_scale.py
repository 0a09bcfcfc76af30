"""Hot queries go by an index and do not grow in number with the questions.

Runs of 7,405 questions and four systems have 30,000 predictions and nine times as many reduced answers. A
query that looks at each for every slice, or one query for each question, would be felt.
"""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from jobs.actions import sliced_runs
from predictions.actions.predictions import RUNS, finish_run
from predictions.models import PredictionRun, ReducedAnswer
from predictions.queries.predictions import count_progress, estimate_missing_sizes, list_missing_questions
from predictions.queries.reductions import count_answered_inputs, find_pending_reductions
from predictions.tasks import enqueue_missing
from tests.studyapp.factories import make_dataset, make_run

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def begun(questions: int) -> PredictionRun:
    """A running run that lacks its last question, beside a finished one."""
    dataset = make_dataset(questions=questions)
    make_run(dataset=dataset)
    run = make_run(dataset=dataset)
    PredictionRun.objects.filter(pk=run.pk).update(status="running", finished_at=None)
    predictions = run.predictions.order_by("pk")
    predictions.last().delete()
    predictions.update(fact_probabilities=[["The Lost Harbour", 1, 0.9], ["Ada Brenn", 0, 0.1]])
    run.refresh_from_db()
    return run


@pytest.fixture
def only_by_index() -> Iterator[None]:
    """Let PostgreSQL read a table sequentially only if no index fits.

    Otherwise it would read all of a small table.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
        yield


def whole_tables(query: QuerySet) -> list[str]:
    """The steps of a query's plan that read a whole table or index."""
    steps = [line.strip() for line in query.explain().splitlines()]
    if connection.vendor == "postgresql":
        return [step for step in steps if "Seq Scan" in step]
    return [step for step in steps if "SCAN" in step and "CONSTANT ROW" not in step]


HOT: dict[str, Callable[[PredictionRun], QuerySet]] = {
    "what a slice lacks": lambda run: list_missing_questions(run).filter(pk__range=(1, 9)).order_by("pk"),
    "what a run lacks": lambda run: list_missing_questions(run).order_by("pk").values_list("pk"),
    "whether a run is complete": lambda run: (
        list_missing_questions(run).order_by("-pk").values_list("pk")[:1]
    ),
    "how many are predicted": lambda run: run.predictions.values("pk"),
    "how many failed": lambda run: run.failures.values("pk"),
    "predictions of a slice": lambda run: run.predictions.filter(pk__range=(1, 9)),
    "predictions of a batch of questions": lambda run: run.predictions.filter(
        question__gte=1, question__lte=9
    ).values("answer"),
    "reduced answers of a run": lambda run: ReducedAnswer.objects.filter(prediction__run=run),
    "reduced answers of a chunk": lambda run: ReducedAnswer.objects.filter(prediction__in=[1, 2, 3]),
}


@pytest.mark.parametrize("name", HOT)
def test_a_hot_query_reads_no_whole_table(name: str, only_by_index: None):
    assert whole_tables(HOT[name](begun(30))) == []


def test_a_query_without_an_index_would_be_found(only_by_index: None):
    assert whole_tables(begun(30).predictions.model.objects.filter(answer="Elsewhere")) != []


WORK: dict[str, Callable[[PredictionRun], object]] = {
    "enqueueing": enqueue_missing,
    "sizes": lambda run: list(estimate_missing_sizes(run)),
    "progress": count_progress,
    "completeness": RUNS.is_complete,
    "finishing": lambda run: finish_run(run_id=run.pk),
    "counting reduced answers": count_answered_inputs,
    "what FaRM lacks": lambda run: find_pending_reductions(run, tokens=10**9, most=10**9),
}


@pytest.mark.parametrize("name", WORK)
def test_the_number_of_queries_does_not_grow(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sliced_runs, "publish", lambda task, calls: None)

    def queries(run: PredictionRun) -> int:
        with CaptureQueriesContext(connection) as captured:
            WORK[name](run)
        return len(captured)

    assert 0 < queries(begun(150)) == queries(begun(5))
