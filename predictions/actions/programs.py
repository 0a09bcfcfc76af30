"""Import executions of programs from an annotation project."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from foundation.errors import Conflict
from modelserver.wire.schema import SCHEMA_VERSION
from predictions.actions import events
from predictions.explanations.program_steps import STEPS, Step
from predictions.models import Dataset, Prediction, PredictionRun, System


@dataclass(frozen=True)
class ExecutionRecord:
    """The answer of a modular network to a question, and its steps.

    ``steps`` is None for a system without steps, such as an end-to-end baseline.
    """

    external_id: str
    answer: str
    steps: list[Step] | None


@transaction.atomic
def import_executions(
    *, records: Sequence[ExecutionRecord], dataset: Dataset, system: str, revision: str
) -> int:
    """Store executions as a finished run, all or none.

    Importing the same executions again changes nothing.

    Returns:
        The number of new executions.

    Raises:
        Conflict: An id is not in the dataset, or has another answer or other steps of this revision.
    """
    run, _made = PredictionRun.objects.get_or_create(
        dataset=dataset,
        system=System.objects.get_or_create(name=system)[0],
        revision=revision,
        defaults={
            "schema_version": SCHEMA_VERSION,
            "source": PredictionRun.Source.FILE,
            "status": PredictionRun.Status.DONE,
            "finished_at": timezone.now(),
        },
    )
    keys = dict(dataset.questions.values_list("external_id", "pk"))
    stored = {prediction.question_id: prediction for prediction in run.predictions.all()}
    new = []
    for record in records:
        if record.external_id not in keys:
            raise Conflict(f"{record.external_id}: {dataset} has no question of this id")
        key = keys[record.external_id]
        steps = None if record.steps is None else STEPS.dump_python(record.steps, mode="json")
        same = stored.get(key)
        if same is None:
            new.append(Prediction(run=run, question_id=key, answer=record.answer, facts=[], steps=steps))
        elif (same.answer, same.steps) != (record.answer, steps):
            raise Conflict(f"{record.external_id}: {run} has another execution of it")
    Prediction.objects.bulk_create(new)
    if new:
        named = {"dataset": dataset.name, "system": system, "revision": revision}
        events.record(kind="predictions_imported", by=None, data=named | {"added": len(new)})
    return len(new)
