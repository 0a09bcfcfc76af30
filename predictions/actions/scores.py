"""Scores of a run: the reduced inputs of FaRM that the model server answers, and the scores themselves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from analysis.scores.farm_loca import REMOVALS
from foundation.errors import RunFailed
from jobs.model_gateway import predict_items, served_system
from modelserver.wire.errors import ModelServerError
from modelserver.wire.schema import ItemError, QAItem, QAPrediction
from predictions import scoring
from predictions.actions import events
from predictions.models import Prediction, PredictionRun, QuestionScore, ReducedAnswer, Score
from predictions.queries.reductions import reduced, with_known_answers, with_question

SCHEMA_VERSION = 1
BATCH = 500


def farm_obstacle(run: PredictionRun) -> str | None:
    """Why FaRM cannot be had for these predictions, whatever is served; None when they do for it."""
    if run.source == PredictionRun.Source.FILE:
        if not run.predictions.exclude(fact_probabilities=None).exists():
            return "the predictions came from a file without fact probabilities"
        return "the predictions came from a file, so no served system is known to be the one that made them"
    unknown = run.predictions.filter(fact_probabilities=None).count()
    if unknown:
        return f"the system gave no fact probabilities for {unknown} questions"
    return None


def server_obstacle(run: PredictionRun) -> str | None:
    """Why the model server cannot answer reduced inputs for a run now; None when it can."""
    try:
        served = served_system(run.system.name)
    except ModelServerError as error:
        return str(error)
    if served.revision != run.revision:
        return (
            f"the model server serves {run.system.name} in revision {served.revision}, and the "
            f"predictions are of revision {run.revision}"
        )
    return None


def compute_reductions(*, run_id: int, first: int, last: int) -> int:
    """Answer what is still unanswered of the reduced inputs of the predictions ``first`` to ``last``.

    Returns how many inputs that were. Doing it twice, or twice at once, stores nothing twice. Raises what
    `predict_items` raises.
    """
    run = PredictionRun.objects.select_related("system").get(pk=run_id)
    lacking = _unanswered(run, first, last)
    if lacking:
        outcomes = predict_items(
            system=run.system.name, revision=run.revision, items=[item for _, _, item in lacking]
        )
        _store(
            [
                _row(prediction, digest, outcome)
                for (prediction, digest, _), outcome in zip(lacking, outcomes, strict=True)
            ]
        )
    return len(lacking)


def _unanswered(run: PredictionRun, first: int, last: int) -> list[tuple[Prediction, str, QAItem]]:
    predictions = list(with_question(run).filter(pk__range=(first, last)))
    known = set(
        ReducedAnswer.objects.filter(prediction__in=predictions).values_list("prediction_id", "digest")
    )
    return [
        (prediction, digest, QAItem(id=f"{prediction.pk}:{digest}", question=text, context=context))
        for prediction, text in ((one, one.question.text) for one in predictions)
        for digest, context in sorted(reduced(prediction).contexts.items())
        if (prediction.pk, digest) not in known
    ]


def _row(prediction: Prediction, digest: str, outcome: QAPrediction | ItemError) -> ReducedAnswer:
    if isinstance(outcome, ItemError):
        return ReducedAnswer(
            prediction=prediction, digest=digest, error=f"{outcome.error}: {outcome.message}"
        )
    return ReducedAnswer(prediction=prediction, digest=digest, answer=outcome.answer)


@transaction.atomic
def _store(rows: list[ReducedAnswer]) -> None:
    ReducedAnswer.objects.bulk_create(rows, ignore_conflicts=True)


@transaction.atomic
def retry_failed_reductions(*, run: PredictionRun) -> int:
    """Forget the reduced inputs that could not be answered, so that they are asked again; return how many."""
    deleted, _ = ReducedAnswer.objects.filter(prediction__run=run, answer=None).delete()
    return deleted


def score_run(*, run: PredictionRun, farm_reason: str | None, by: User | None = None) -> Score:
    """Compute and store the scores of a run, and what each question adds to them.

    ``farm_reason`` says why FaRM is left out, None that it is not. The standard scores are means over all
    questions of the dataset; one without prediction counts 0.
    FaRM and LocA are over the predicted ones. Raises RunFailed when reduced inputs are unanswered.
    """
    standard = scoring.Standard()
    parts = {question: standard.add(one) for question, one in _scored(run)}
    scores, answers = standard.scores(), _Answers()
    if farm_reason is None:
        farm = _farm(run, answers)
        scores.add(farm.values, "")
        scores.reasons |= farm.reasons
    else:
        scores.refuse(scoring.FARM_KEYS, farm_reason)
    known = scoring.known_parts(scores)
    rows = (
        (question, (*own, *answers.changed.get(question, scoring.UNKNOWN_CHANGES)))
        for question, own in parts.items()
    )
    return _save(run, standard.questions, scores, _only(known, rows), by)


def _only(
    known: tuple[bool, ...], rows: Iterable[tuple[int, scoring.Parts]]
) -> Iterator[tuple[int, list[float | None]]]:
    """The parts of the scores that are given, the others as None."""
    for question, parts in rows:
        yield question, [part if kept else None for part, kept in zip(parts, known, strict=True)]


@transaction.atomic
def _save(
    run: PredictionRun,
    n: int,
    scores: scoring.Scores,
    parts: Iterable[tuple[int, list[float | None]]],
    by: User | None,
) -> Score:
    score, _ = Score.objects.update_or_create(
        run=run,
        defaults={
            "schema_version": SCHEMA_VERSION,
            "n": n,
            "values": {key: scores.values[key] for key in scoring.KEYS},
            "reasons": {key: scores.reasons[key] for key in scoring.KEYS if key in scores.reasons},
            "computed_at": timezone.now(),
        },
    )
    score.questions.all().delete()
    rows = (QuestionScore(score=score, question_id=question, parts=own) for question, own in parts)
    while batch := list(islice(rows, BATCH)):
        QuestionScore.objects.bulk_create(batch)
    data = {"dataset": run.dataset.name, "system": run.system.name, "revision": run.revision}
    events.record(kind="run_scored", by=by, data=data)
    return score


def _scored(run: PredictionRun) -> Iterator[tuple[int, scoring.Scored]]:
    """Every question (key) of the run's dataset with its prediction, a batch in memory at a time."""
    questions = run.dataset.questions.order_by("pk").values_list("pk", "answer", "supporting_facts")
    stream = questions.iterator(chunk_size=BATCH)
    while batch := list(islice(stream, BATCH)):
        columns = ("question_id", "answer", "facts", "answer_type", "location")
        within = run.predictions.filter(question__gte=batch[0][0], question__lte=batch[-1][0])
        predicted = {row[0]: row[1:] for row in within.values_list(*columns)}
        for key, gold_answer, gold_facts in batch:
            yield key, scoring.Scored(gold_answer, gold_facts, *predicted.get(key, ()))


@dataclass
class _Answers:
    """Raw answers by question: on the full context, and for each k without facts of either kind.

    ``changed`` has for each question (key) whether its answer changed, 0 or 1 as `scoring.CHANGE_PARTS`.
    """

    full: dict[str, str] = field(default_factory=dict)
    relevant: dict[int, dict[str, str]] = field(default_factory=lambda: {k: {} for k in REMOVALS})
    irrelevant: dict[int, dict[str, str]] = field(default_factory=lambda: {k: {} for k in REMOVALS})
    changed: dict[int, scoring.Parts] = field(default_factory=dict)


def _farm(run: PredictionRun, answers: _Answers) -> scoring.Scores:
    """The scores of removed facts; ``answers`` is filled."""
    failed: list[str] = []
    for prediction, known in with_known_answers(run):
        failed += _collect(prediction, known, answers)
    if failed:
        scores = scoring.Scores()
        scores.refuse(
            scoring.FARM_KEYS, f"the system could not answer {len(failed)} reduced inputs; first: {failed[0]}"
        )
        return scores
    return scoring.farm_scores(answers.full, answers.relevant, answers.irrelevant)


def _collect(prediction: Prediction, known: dict[str, ReducedAnswer], answers: _Answers) -> list[str]:
    """Add the answers of one prediction; return the errors of the inputs that have none."""
    forms = reduced(prediction)
    if not forms.contexts.keys() <= known.keys():
        raise RunFailed(
            f"question {prediction.question.external_id} has reduced inputs without an answer yet"
        )
    errors = [known[digest].error for digest in forms.contexts if known[digest].answer is None]
    texts = {digest: known[digest].answer or "" for digest in forms.contexts} | {
        forms.full: prediction.answer
    }
    question = prediction.question.external_id
    answers.full[question] = prediction.answer
    for k in REMOVALS:
        answers.relevant[k][question] = texts[forms.relevant[k]]
        answers.irrelevant[k][question] = texts[forms.irrelevant[k]]
    answers.changed[prediction.question_id] = tuple(
        int(texts[digests[k]] != prediction.answer)
        for digests in (forms.relevant, forms.irrelevant)
        for k in REMOVALS
    )
    return errors
