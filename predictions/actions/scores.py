"""Scores of a run, and the reduced inputs that FaRM needs."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from analysis.scores.erasure import Probabilities, score_erased_question
from analysis.scores.farm_loca import REMOVALS
from foundation.batches import cut_batches
from foundation.errors import RunFailed
from jobs.model_servers.gateway import find_served_system, predict_items
from modelserver.wire.errors import ModelServerError
from modelserver.wire.schema import ItemError, QAItem, QAPrediction
from predictions.actions import events
from predictions.models import Prediction, PredictionRun, QuestionScore, ReducedAnswer, Score
from predictions.queries.reductions import list_with_questions, read_with_answers, reduce_prediction
from predictions.scores import scoring
from predictions.scores.farm_contexts import Reductions

SCHEMA_VERSION = 1
BATCH = 500


def find_farm_obstacle(run: PredictionRun) -> str | None:
    """Return why FaRM is impossible for these predictions, or None.

    The reason does not depend on what the model server serves.
    """
    if run.source == PredictionRun.Source.FILE:
        if not run.predictions.exclude(fact_probabilities=None).exists():
            return "the predictions came from a file without fact probabilities"
        return "the predictions came from a file, so no served system is known to be the one that made them"
    unknown = run.predictions.filter(fact_probabilities=None).count()
    if unknown:
        return f"the system gave no fact probabilities for {unknown} questions"
    return None


def find_server_obstacle(run: PredictionRun) -> str | None:
    """Return why the server cannot answer reduced inputs now, or None."""
    try:
        served = find_served_system(run.system.name)
    except ModelServerError as error:
        return str(error)
    if served.revision != run.revision:
        return (
            f"the model server serves {run.system.name} in revision {served.revision}, and the "
            f"predictions are of revision {run.revision}"
        )
    return None


def compute_reductions(*, run_id: int, first: int, last: int) -> int:
    """Answer the reduced inputs of the predictions ``first`` to ``last``.

    Calling it twice, or twice at once, stores nothing twice. Raises as `predict_items`.

    Returns:
        The number of inputs answered.
    """
    run = PredictionRun.objects.select_related("system").get(pk=run_id)
    lacking = _list_unanswered_inputs(run, first, last)
    if lacking:
        outcomes = predict_items(
            system=run.system.name, revision=run.revision, items=[item for _, _, item in lacking]
        )
        _store(
            [
                _build_row(prediction, digest, outcome)
                for (prediction, digest, _), outcome in zip(lacking, outcomes, strict=True)
            ]
        )
    return len(lacking)


def _list_unanswered_inputs(
    run: PredictionRun, first: int, last: int
) -> list[tuple[Prediction, str, QAItem]]:
    predictions = list(list_with_questions(run).filter(pk__range=(first, last)))
    answered = set(
        ReducedAnswer.objects.filter(prediction__in=predictions).values_list("prediction_id", "digest")
    )
    return [
        (
            prediction,
            digest,
            QAItem(
                id=f"{prediction.pk}:{digest}",
                question=question.text,
                context=context,
                target=None if prediction.answer_logprob is None else prediction.answer,
                labels=tuple(question.labels),
            ),
        )
        for prediction, question in ((prediction, prediction.question) for prediction in predictions)
        for digest, context in sorted(reduce_prediction(prediction).contexts.items())
        if (prediction.pk, digest) not in answered
    ]


def _build_row(prediction: Prediction, digest: str, outcome: QAPrediction | ItemError) -> ReducedAnswer:
    if isinstance(outcome, ItemError):
        return ReducedAnswer(
            prediction=prediction, digest=digest, error=f"{outcome.error}: {outcome.message}"
        )
    return ReducedAnswer(
        prediction=prediction, digest=digest, answer=outcome.answer, target_logprob=outcome.target_logprob
    )


@transaction.atomic
def _store(rows: list[ReducedAnswer]) -> None:
    ReducedAnswer.objects.bulk_create(rows, ignore_conflicts=True)


@transaction.atomic
def retry_failed_reductions(*, run: PredictionRun) -> int:
    """Delete the errors of reduced inputs, so that they are tried again.

    Returns:
        The number of errors deleted.
    """
    deleted, _ = ReducedAnswer.objects.filter(prediction__run=run, answer=None).delete()
    return deleted


def score_run(*, run: PredictionRun, farm_reason: str | None, by: User | None = None) -> Score:
    """Compute and store the scores of a run, overall and by question.

    The standard scores are means over all questions of the dataset; a question without prediction counts 0.
    FaRM and LocA are over the predicted questions.

    Args:
        run: The run.
        farm_reason: Why FaRM is left out, or None to include it.
        by: The user who asked for the scores.

    Raises:
        RunFailed: Reduced inputs have no answer yet.
    """
    standard = scoring.Standard()
    parts = {question: standard.add(prediction) for question, prediction in _read_scoring_inputs(run)}
    scores, answers = standard.scores(), _Answers()
    if farm_reason is None:
        farm = _compute_farm(run, answers)
        scores.add(farm.values, "")
        scores.reasons |= farm.reasons
        erased = answers.erasure()
        scores.add(erased.values, "")
        scores.reasons |= erased.reasons
    else:
        scores.refuse(scoring.FARM_KEYS + scoring.ERASURE_KEYS, farm_reason)
    given = scoring.find_given_parts(scores)
    rows = (
        (
            question,
            (
                *own,
                *answers.changed.get(question, scoring.UNKNOWN_CHANGES),
                *answers.erased.get(question, scoring.UNKNOWN_ERASURE),
            ),
        )
        for question, own in parts.items()
    )
    return _save(run, standard.questions, scores, _blank_missing_parts(given, rows), by)


def _blank_missing_parts(
    given: tuple[bool, ...], rows: Iterable[tuple[int, scoring.Parts]]
) -> Iterator[tuple[int, list[float | None]]]:
    """Replace the parts of scores that are not given by None."""
    for question, parts in rows:
        yield question, [part if kept else None for part, kept in zip(parts, given, strict=True)]


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
    for batch in cut_batches(rows, BATCH):
        QuestionScore.objects.bulk_create(batch)
    events.record(kind="run_scored", by=by, data=events.describe_run(run))
    return score


def _read_scoring_inputs(run: PredictionRun) -> Iterator[tuple[int, scoring.Scored]]:
    """Yield each question's key and prediction, one batch in memory."""
    questions = run.dataset.questions.order_by("pk").values_list("pk", "answer", "supporting_facts")
    for batch in cut_batches(questions.iterator(chunk_size=BATCH), BATCH):
        columns = ("question_id", "answer", "facts", "answer_type", "location")
        within = run.predictions.filter(question__gte=batch[0][0], question__lte=batch[-1][0])
        predicted = {row[0]: row[1:] for row in within.values_list(*columns)}
        for key, gold_answer, gold_facts in batch:
            yield key, scoring.Scored(gold_answer, gold_facts, *predicted.get(key, ()))


@dataclass
class _Answers:
    """Raw answers by question, with and without facts, for each k.

    ``changed`` holds for each question (key) whether its answer changed, as `scoring.CHANGE_PARTS`, and
    ``erased`` by how much its probability fell, as `scoring.ERASURE_KEYS`. ``probabilities`` are those of
    the answers with and without facts, and ``unknown`` counts predictions of which one is missing.
    """

    full: dict[str, str] = field(default_factory=dict)
    relevant: dict[int, dict[str, str]] = field(default_factory=lambda: {k: {} for k in REMOVALS})
    irrelevant: dict[int, dict[str, str]] = field(default_factory=lambda: {k: {} for k in REMOVALS})
    changed: dict[int, scoring.Parts] = field(default_factory=dict)
    erased: dict[int, scoring.Parts] = field(default_factory=dict)
    probabilities: list[Probabilities] = field(default_factory=list)
    unknown: int = 0

    def erasure(self) -> scoring.Scores:
        """Return comprehensiveness and sufficiency, or why they are not known."""
        if not self.unknown:
            return scoring.compute_erasure_scores(self.probabilities)
        scores = scoring.Scores()
        if not self.probabilities:
            reason = "the system gives no probability of its answers"
        else:
            reason = f"the system gave no probability for {self.unknown} questions"
        scores.refuse(scoring.ERASURE_KEYS, reason)
        return scores


def _compute_farm(run: PredictionRun, answers: _Answers) -> scoring.Scores:
    """Return the scores of removed facts, and fill ``answers``."""
    failed: list[str] = []
    for prediction, reduced_answers in read_with_answers(run):
        failed += _collect(prediction, reduced_answers, answers)
    if failed:
        scores = scoring.Scores()
        scores.refuse(
            scoring.FARM_KEYS, f"the system could not answer {len(failed)} reduced inputs; first: {failed[0]}"
        )
        return scores
    return scoring.compute_farm_scores(answers.full, answers.relevant, answers.irrelevant)


def _collect(
    prediction: Prediction, reduced_answers: dict[str, ReducedAnswer], answers: _Answers
) -> list[str]:
    """Add the answers of a prediction; return errors of unanswered inputs."""
    forms = reduce_prediction(prediction)
    if not forms.contexts.keys() <= reduced_answers.keys():
        raise RunFailed(
            f"question {prediction.question.external_id} has reduced inputs without an answer yet"
        )
    errors = [
        reduced_answers[digest].error for digest in forms.contexts if reduced_answers[digest].answer is None
    ]
    texts = {digest: reduced_answers[digest].answer or "" for digest in forms.contexts} | {
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
    _add_probabilities(prediction, forms, reduced_answers, answers)
    return errors


def _add_probabilities(
    prediction: Prediction, forms: Reductions, reduced_answers: dict[str, ReducedAnswer], answers: _Answers
) -> None:
    logs = {digest: reduced_answers[digest].target_logprob for digest in forms.contexts}
    logs[forms.full] = prediction.answer_logprob
    wanted = {forms.full, forms.without, *forms.only.values(), *forms.relevant.values()}
    p = {digest: math.exp(log) for digest, log in logs.items() if log is not None}
    if not wanted <= p.keys():
        answers.unknown += 1
        return
    probabilities = Probabilities(
        p[forms.full],
        without=p[forms.without],
        only=p[forms.only[0]],
        without_first={k: p[digest] for k, digest in forms.relevant.items()},
        only_first={k: p[forms.only[k]] for k in REMOVALS},
    )
    answers.probabilities.append(probabilities)
    answers.erased[prediction.question_id] = score_erased_question(probabilities)
