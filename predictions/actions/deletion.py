"""Delete datasets and runs that nothing refers to."""

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from foundation.errors import Conflict
from predictions.actions import events
from predictions.models import (
    Dataset,
    Prediction,
    PredictionFailure,
    PredictionRun,
    Question,
    QuestionScore,
    ReducedAnswer,
)
from predictions.queries.uses import list_dataset_uses, list_run_uses


def delete_dataset(*, dataset: Dataset, by: User | None = None) -> None:
    """Delete a dataset with its questions.

    Raises:
        Conflict: Something refers to it; the message names it.
    """
    _refuse_used(list_dataset_uses(dataset))
    try:
        with transaction.atomic():
            _delete_rows(Question.objects.filter(dataset=dataset))
            dataset.delete()
            events.record(kind="dataset_deleted", by=by, data={"dataset": dataset.name})
    except (ProtectedError, IntegrityError) as error:
        raise _build_conflict() from error


def delete_run(*, run: PredictionRun, by: User | None = None) -> None:
    """Delete a run with its predictions, failures and scores.

    Raises:
        Conflict: Something refers to it, or it is running; the message names it.
    """
    if run.status == PredictionRun.Status.RUNNING:
        raise Conflict(_("The run is in progress. Cancel it first."))
    _refuse_used(list_run_uses(run))
    data = events.describe_run(run)
    try:
        with transaction.atomic():
            _delete_rows(QuestionScore.objects.filter(score__run=run))
            _delete_rows(ReducedAnswer.objects.filter(prediction__run=run))
            _delete_rows(Prediction.objects.filter(run=run))
            _delete_rows(PredictionFailure.objects.filter(run=run))
            run.delete()
            events.record(kind="run_deleted", by=by, data=data)
    except (ProtectedError, IntegrityError) as error:
        raise _build_conflict() from error


def _delete_rows(rows: QuerySet[Any]) -> None:
    """Delete rows in one statement; the database refuses those in use.

    Django would load 100,000 rows, and ask each table that can refer to them.
    """
    rows._raw_delete(rows.db)


def _refuse_used(uses: Sequence[str]) -> None:
    if uses:
        raise Conflict(
            _("It cannot be deleted, because it is used by: %(uses)s.") % {"uses": ", ".join(uses)}
        )


def _build_conflict() -> Conflict:
    # The database keeps what began to refer to it after the check.
    return Conflict(_("Something began to use it just now. Load the page again."))
