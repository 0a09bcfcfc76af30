"""Reading probes: store instances, query the model server, keep results."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from accounts.models import User
from analysis.counterfactuals.instances import Instance, Version, Weight
from analysis.counterfactuals.records import build_record
from foundation.batches import cut_batches
from foundation.errors import NotFound, RunFailed
from jobs.model_servers.gateway import explain_items, predict_items
from modelserver.wire.errors import InvalidRequest, ModelServerError, Unavailable
from modelserver.wire.schema import Explanation, ItemError, QAItem, QAPrediction, SaliencyOptions
from predictions.actions import events
from predictions.explanations.saliency import name_method
from predictions.models import Dataset, ReadingInstance, ReadingProbe, ReadingRecord, System
from predictions.queries.reading import list_pending

BATCH = 500

Why = Explanation | ItemError


@transaction.atomic
def store_instances(*, dataset: Dataset, instances: Sequence[Instance]) -> list[int]:
    """Store the instances that a dataset lacks.

    Returns:
        The keys of all instances, in their order.

    Raises:
        NotFound: The dataset lacks the question of an instance.
    """
    Dataset.objects.select_for_update(no_key=True).only("pk").get(pk=dataset.pk)  # one at a time
    keys: list[int] = []
    for batch in cut_batches(instances, BATCH):
        keys += _store_instances(dataset, batch)
    return keys


def _store_instances(dataset: Dataset, batch: Sequence[Instance]) -> list[int]:
    ids = {instance.question_id for instance in batch}
    questions = dict(dataset.questions.filter(external_id__in=ids).values_list("external_id", "pk"))
    for instance in batch:
        if instance.question_id not in questions:
            raise NotFound(
                f"{instance.id}: the dataset {dataset.name!r} has no question {instance.question_id!r}"
            )
    rows = [(questions[instance.question_id], compute_digest(instance), instance) for instance in batch]
    ReadingInstance.objects.bulk_create(
        [
            ReadingInstance(question_id=question, digest=name, content=instance.model_dump(mode="json"))
            for question, name, instance in rows
        ],
        ignore_conflicts=True,
    )
    stored = ReadingInstance.objects.filter(question__in=set(questions.values()))
    keys = {(question, name): key for key, question, name in stored.values_list("pk", "question", "digest")}
    return [keys[question, name] for question, name, _ in rows]


def compute_digest(instance: Instance) -> str:
    """Return 64 hex digits that change with anything in the instance."""
    text = json.dumps(instance.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@transaction.atomic
def start_probe(
    *,
    dataset: Dataset,
    system: str,
    revision: str,
    options: SaliencyOptions | None,
    instances: Sequence[int],
    by: User | None = None,
) -> ReadingProbe:
    """Return the probe with a record for each instance, to be enqueued.

    Stored results stay; failed records are tried again.
    """
    probe, created = ReadingProbe.objects.get_or_create(
        dataset=dataset,
        system=System.objects.get_or_create(name=system)[0],
        revision=revision,
        method=name_method(options),
        defaults={"saliency": None if options is None else options.model_dump(mode="json")},
    )
    ReadingProbe.objects.select_for_update(no_key=True).only("pk").get(pk=probe.pk)  # one at a time
    for at in range(0, len(instances), BATCH):
        rows = [ReadingRecord(probe=probe, instance_id=key) for key in instances[at : at + BATCH]]
        ReadingRecord.objects.bulk_create(rows, ignore_conflicts=True)
    probe.records.exclude(error="").update(error="")
    if created:
        data = {"dataset": dataset.name, "system": system, "revision": revision, "method": probe.method}
        events.record(kind="reading_probed", by=by, data=data)
    return probe


def compute_records(*, probe_id: int, first: int, last: int) -> int:
    """Compute what a probe lacks among the records ``first`` to ``last``.

    Calling it twice, or twice at once, stores nothing twice. The records keep any error but Unavailable.

    Returns:
        The number of records computed.

    Raises:
        Unavailable: The model server cannot answer now.
    """
    probe = ReadingProbe.objects.select_related("system", "dataset").get(pk=probe_id)
    records = list(list_pending(probe).filter(pk__range=(first, last)).select_related("instance"))
    if not records:
        return 0
    instances = [Instance.model_validate_json(json.dumps(record.instance.content)) for record in records]
    try:
        results = _compute_results(probe, instances)
    except Unavailable:
        raise
    except (ModelServerError, RunFailed) as error:  # no retry heals it now; the next start_probe forgets it
        results = [str(error)] * len(records)
    for row, result in zip(records, results, strict=True):
        _keep(row, result)
    return len(records)


def _compute_results(probe: ReadingProbe, instances: Sequence[Instance]) -> list[dict[str, Any] | str]:
    """Query the model server; return each instance's result or error.

    Each distinct text is sent once.
    """
    originals = {
        compute_text_key(instance.original): _build_item(instance.original) for instance in instances
    }
    items = originals | {
        compute_text_key(instance.counterfactual): _build_item(instance.counterfactual)
        for instance in instances
    }
    who = {"system": probe.system.name, "revision": probe.revision}
    answers = dict(zip(items, predict_items(items=list(items.values()), **who), strict=True))
    if probe.saliency is None:
        return [_build_result(probe, instance, answers, {}) for instance in instances]
    options = SaliencyOptions.model_validate(probe.saliency)
    try:
        explanations: Sequence[Why | str] = explain_items(
            items=list(originals.values()), options=options, **who
        )
    except InvalidRequest as error:  # the system has no saliency
        explanations = [str(error)] * len(originals)
    reasons = dict(zip(originals, explanations, strict=True))
    return [_build_result(probe, instance, answers, reasons) for instance in instances]


def compute_text_key(version: Version) -> str:
    """Return a key of a text, whatever its right answer."""
    text = json.dumps([version.question, version.context], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _build_item(version: Version) -> QAItem:
    return QAItem(id=compute_text_key(version), question=version.question, context=version.context)


def _build_result(
    probe: ReadingProbe,
    instance: Instance,
    answers: Mapping[str, QAPrediction | ItemError],
    reasons: Mapping[str, Why | str],
) -> dict[str, Any] | str:
    """Return the record of an instance, or the error."""
    given = []
    for name, version in (("original", instance.original), ("counterfactual", instance.counterfactual)):
        outcome = answers[compute_text_key(version)]
        if isinstance(outcome, ItemError):
            return f"{name}: {outcome.error}: {outcome.message}"
        given.append(outcome.answer)
    names = {
        "dataset": probe.dataset.name, "system": probe.system.name, "revision": probe.revision,
        "method": probe.method,
    }  # fmt: skip
    weights: list[Weight] | None = None
    why = reasons.get(compute_text_key(instance.original))
    if isinstance(why, str):
        names["no_saliency"] = why
    elif isinstance(why, Explanation):
        weights = [(token.article, token.index, token.start, token.end, token.score) for token in why.scores]
    elif why is not None and why.error == "prediction_failed":
        # It read nothing that has a logit: that cannot be tested, and counts as one that does not align.
        names["saliency_error"], weights = why.message, []
    elif why is not None:
        return f"saliency: {why.error}: {why.message}"
    return build_record(instance, names, (given[0], given[1]), weights)


def _keep(row: ReadingRecord, outcome: dict[str, Any] | str) -> None:
    """Store a result unless another worker has."""
    values = {"error": outcome} if isinstance(outcome, str) else {"result": outcome, "error": ""}
    ReadingRecord.objects.filter(pk=row.pk, result__isnull=True).update(**values)
