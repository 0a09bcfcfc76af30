"""Probes of reading: storing instances, asking the model server about them, keeping what it said."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from django.db import transaction

from accounts.models import User
from analysis.counterfactuals.instances import Instance, Version, Weight
from analysis.counterfactuals.records import record
from foundation.errors import NotFound, RunFailed
from jobs.model_gateway import explain_items, predict_items
from modelserver.wire.errors import InvalidRequest, ModelServerError, Unavailable
from modelserver.wire.schema import Explanation, ItemError, QAItem, QAPrediction, SaliencyOptions
from predictions.actions import events
from predictions.models import Dataset, ReadingInstance, ReadingProbe, ReadingRecord, System
from predictions.queries.reading import pending
from predictions.saliency import method_name

BATCH = 500

Why = Explanation | ItemError


@transaction.atomic
def store_instances(*, dataset: Dataset, instances: Sequence[Instance]) -> list[int]:
    """Store what the dataset lacks of the instances and return the keys of all, in their order.

    Raises NotFound for an instance of a question that the dataset does not hold.
    """
    Dataset.objects.select_for_update(no_key=True).only("pk").get(pk=dataset.pk)  # one at a time
    keys: list[int] = []
    stream = iter(instances)
    while batch := list(islice(stream, BATCH)):
        keys += _stored(dataset, batch)
    return keys


def _stored(dataset: Dataset, batch: Sequence[Instance]) -> list[int]:
    ids = {one.question_id for one in batch}
    questions = dict(dataset.questions.filter(external_id__in=ids).values_list("external_id", "pk"))
    for one in batch:
        if one.question_id not in questions:
            raise NotFound(f"{one.id}: the dataset {dataset.name!r} has no question {one.question_id!r}")
    rows = [(questions[one.question_id], digest(one), one) for one in batch]
    ReadingInstance.objects.bulk_create(
        [
            ReadingInstance(question_id=question, digest=name, content=one.model_dump(mode="json"))
            for question, name, one in rows
        ],
        ignore_conflicts=True,
    )
    known = ReadingInstance.objects.filter(question__in=set(questions.values()))
    found = {(question, name): key for key, question, name in known.values_list("pk", "question", "digest")}
    return [found[question, name] for question, name, _ in rows]


def digest(instance: Instance) -> str:
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
    """Return the probe with a record for each instance; what has no result is then to be enqueued.

    Results that are there stay. Those that failed before are asked for again.
    """
    probe, made = ReadingProbe.objects.get_or_create(
        dataset=dataset,
        system=System.objects.get_or_create(name=system)[0],
        revision=revision,
        method=method_name(options),
        defaults={"saliency": None if options is None else options.model_dump(mode="json")},
    )
    ReadingProbe.objects.select_for_update(no_key=True).only("pk").get(pk=probe.pk)  # one at a time
    for at in range(0, len(instances), BATCH):
        rows = [ReadingRecord(probe=probe, instance_id=key) for key in instances[at : at + BATCH]]
        ReadingRecord.objects.bulk_create(rows, ignore_conflicts=True)
    probe.records.exclude(error="").update(error="")
    if made:
        data = {"dataset": dataset.name, "system": system, "revision": revision, "method": probe.method}
        events.record(kind="reading_probed", by=by, data=data)
    return probe


def compute_records(*, probe_id: int, first: int, last: int) -> int:
    """Compute what a probe still lacks among the records ``first`` to ``last``; return how many those were.

    Doing it twice, or twice at once, stores nothing twice. Raises Unavailable when the server cannot answer
    now; any other error is kept with the records.
    """
    probe = ReadingProbe.objects.select_related("system", "dataset").get(pk=probe_id)
    records = list(pending(probe).filter(pk__range=(first, last)).select_related("instance"))
    if not records:
        return 0
    instances = [Instance.model_validate_json(json.dumps(one.instance.content)) for one in records]
    try:
        found = _results(probe, instances)
    except Unavailable:
        raise
    except (ModelServerError, RunFailed) as error:  # no retry heals it now; the next start_probe forgets it
        found = [str(error)] * len(records)
    for row, result in zip(records, found, strict=True):
        _keep(row, result)
    return len(records)


def _results(probe: ReadingProbe, instances: Sequence[Instance]) -> list[dict[str, Any] | str]:
    """Ask the model server, each distinct text once, and return the result or error of each instance."""
    originals = {text_key(one.original): _item(one.original) for one in instances}
    items = originals | {text_key(one.counterfactual): _item(one.counterfactual) for one in instances}
    who = {"system": probe.system.name, "revision": probe.revision}
    answers = dict(zip(items, predict_items(items=list(items.values()), **who), strict=True))
    if probe.saliency is None:
        return [_result(probe, instance, answers, {}) for instance in instances]
    options = SaliencyOptions.model_validate(probe.saliency)
    try:
        told: Sequence[Why | str] = explain_items(items=list(originals.values()), options=options, **who)
    except InvalidRequest as error:  # the system has no saliency
        told = [str(error)] * len(originals)
    reasons = dict(zip(originals, told, strict=True))
    return [_result(probe, instance, answers, reasons) for instance in instances]


def text_key(version: Version) -> str:
    """Return what names a text, whatever its right answer: the same text is asked once."""
    text = json.dumps([version.question, version.context], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _item(version: Version) -> QAItem:
    return QAItem(id=text_key(version), question=version.question, context=version.context)


def _result(
    probe: ReadingProbe,
    instance: Instance,
    answers: Mapping[str, QAPrediction | ItemError],
    reasons: Mapping[str, Why | str],
) -> dict[str, Any] | str:
    """Return the record of an instance, or why there is none."""
    given = []
    for name, version in (("original", instance.original), ("counterfactual", instance.counterfactual)):
        outcome = answers[text_key(version)]
        if isinstance(outcome, ItemError):
            return f"{name}: {outcome.error}: {outcome.message}"
        given.append(outcome.answer)
    names = {
        "dataset": probe.dataset.name, "system": probe.system.name, "revision": probe.revision,
        "method": probe.method,
    }  # fmt: skip
    weights: list[Weight] | None = None
    why = reasons.get(text_key(instance.original))
    if isinstance(why, str):
        names["no_saliency"] = why
    elif isinstance(why, Explanation):
        weights = [(one.article, one.index, one.start, one.end, one.score) for one in why.scores]
    elif why is not None and why.error == "prediction_failed":
        # It read nothing that has a logit: that cannot be tested, and counts as one that does not align.
        names["saliency_error"], weights = why.message, []
    elif why is not None:
        return f"saliency: {why.error}: {why.message}"
    return record(instance, names, (given[0], given[1]), weights)


def _keep(row: ReadingRecord, found: dict[str, Any] | str) -> None:
    """Store a result unless somebody else has."""
    values = {"error": found} if isinstance(found, str) else {"result": found, "error": ""}
    ReadingRecord.objects.filter(pk=row.pk, result__isnull=True).update(**values)
