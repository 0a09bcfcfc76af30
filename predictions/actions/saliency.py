"""Compute saliency weights of words for the predictions of a run."""

from django.db import transaction

from accounts.models import User
from foundation.errors import Conflict, RunFailed
from foundation.messages import say
from jobs.model_servers.gateway import explain_items
from modelserver.wire.errors import ModelServerError, Unavailable
from modelserver.wire.schema import ItemError, SaliencyOptions
from predictions.actions import events
from predictions.explanations.saliency import extract_question_weights, extract_weights, name_method
from predictions.models import Prediction, PredictionRun
from predictions.queries.saliency import LACKS_WEIGHTS, list_without_weights


@transaction.atomic
def start_saliency(*, run: PredictionRun, options: SaliencyOptions, by: User | None = None) -> PredictionRun:
    """Request weights by these options; enqueue what lacks them afterwards.

    Errors are tried again.

    Raises:
        Conflict: The run has weights of another origin, and a run must not mix two kinds.
    """
    run = (
        PredictionRun.objects.select_for_update(no_key=True)
        .select_related("dataset", "system")
        .get(pk=run.pk)
    )
    requested = options.model_dump(mode="json")
    if run.source == PredictionRun.Source.FILE:
        raise Conflict(
            say("%(run)s: the predictions came from a file; nobody knows the system that made them", run=run)
        )
    if run.saliency is None:
        if run.predictions.filter(explanation_weights__isnull=False).exists():
            raise Conflict(
                say("%(run)s: the system gave explanation weights of its own with its predictions", run=run)
            )
        run.saliency = requested
        run.save(update_fields=["saliency"])
        data = events.describe_run(run) | {"method": name_method(options)}
        events.record(kind="saliency_started", by=by, data=data)
    elif run.saliency != requested:
        raise Conflict(
            say(
                "%(run)s: its predictions have saliency by %(there)r already",
                run=run,
                there=run.saliency_method,
            )
        )
    run.predictions.exclude(saliency_error="").update(saliency_error="")
    return run


def compute_weights(*, run_id: int, first: int, last: int) -> int:
    """Compute the weights that predictions ``first`` to ``last`` lack.

    Calling it twice, or twice at once, stores nothing twice. The predictions keep any error but Unavailable.

    Returns:
        The number of predictions computed.

    Raises:
        Unavailable: The model server cannot answer now.
    """
    run = PredictionRun.objects.select_related("system").get(pk=run_id)
    lacking = list(list_without_weights(run).filter(pk__range=(first, last)).select_related("question"))
    if not lacking or run.saliency is None:
        return 0
    options = SaliencyOptions.model_validate(run.saliency)
    items = [row.question.wire() for row in lacking]
    try:
        explanations = explain_items(
            system=run.system.name, revision=run.revision, items=items, options=options
        )
    except Unavailable:
        raise
    except (ModelServerError, RunFailed) as error:  # no retry heals it now
        explanations = [
            ItemError(id=item.id, error="prediction_failed", message=str(error)) for item in items
        ]
    for prediction, item, why in zip(lacking, items, explanations, strict=True):
        rows = Prediction.objects.filter(LACKS_WEIGHTS, pk=prediction.pk)
        if isinstance(why, ItemError):
            rows.update(saliency_error=why.message)
        else:
            rows.update(
                explanation_weights=[list(row) for row in extract_weights(item.context, why)],
                question_weights=[list(row) for row in extract_question_weights(why)],
            )
    return len(lacking)
