"""Reads of judged answers: queue, next answer, inter-annotator agreement."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db.models import Count, F, Q, QuerySet

from accounts.models import User
from analysis.participants.krippendorff import Alpha, krippendorff_alpha
from analysis.scores import hotpotqa
from predictions.models import Prediction, PredictionRun, Question
from studyapp.models import Item, JudgedAnswer, Judgement, Stimulus, Study, StudyVersion
from studyapp.queries.design.decisions import hash_answer, read_verdicts
from studyapp.queries.design.designs import Design
from studyapp.queries.design.item_pools import PlannedCondition

RESAMPLES = 2000
SEED = 1  # of the interval, so that a page says the same twice
Answer = tuple[int, str]  # key of the question, text of the answer


@dataclass(frozen=True)
class QueueCounts:
    """Progress of judging the answers of a run that missed the gold answer.

    ``disagreed`` have two judgements that differ and are not settled. ``proposed`` have a verdict that a
    program proposed, which decides nothing; it is counted for one run alone.
    """

    answers: int = 0
    unjudged: int = 0
    judged_once: int = 0
    disagreed: int = 0
    settled: int = 0
    proposed: int = 0


@dataclass(frozen=True)
class JudgeAgreement:
    """Agreement of two judges: pairs, share of equal judgements, alpha.

    ``share`` is None without any. With two judges whose order changes from answer to answer, Krippendorff's
    alpha is the nominal coefficient for two raters of which Scott's pi is the large-sample form.
    """

    pairs: int
    share: float | None
    alpha: Alpha


@dataclass(frozen=True)
class ConditionCorrectness:
    """Correctness of the answers that a condition shows, in items.

    ``one_judge`` have the verdict of one judge only; ``waiting`` are in the queue without a verdict that
    counts. ``near_misses`` of these and of the ones not queued share a word with the gold answer.
    """

    condition: str
    label: str
    run: PredictionRun
    exact: int = 0
    correct: int = 0
    wrong: int = 0
    one_judge: int = 0
    waiting: int = 0
    not_queued: int = 0
    near_misses: int = 0

    @property
    def judged(self) -> int:
        """The number of answers with a verdict of judges."""
        return self.correct + self.wrong + self.one_judge

    @property
    def unjudged(self) -> int:
        """The number of answers that are wrong by exact match alone."""
        return self.waiting + self.not_queued

    @property
    def answers(self) -> int:
        """The number of answers shown."""
        return self.exact + self.judged + self.unjudged


GOLD, EXACT_MATCH, ONE_JUDGE, TWO_JUDGES = "gold", "exact match", "one judge", "two judges"
SOURCES = (GOLD, EXACT_MATCH, ONE_JUDGE, TWO_JUDGES, "third judge", "discussion")


@dataclass(frozen=True)
class Verdict:
    """The correctness of a shown answer and its source.

    ``source`` is as `Stimulus.judged_by` has it; ``row`` is the answer in the queue, if it is there.
    """

    exact_match: bool
    f1: float
    is_correct: bool
    source: str
    row: JudgedAnswer | None = None

    @property
    def is_open(self) -> bool:
        """True for a near-miss that counts as wrong, because nobody judged it.

        Yes, no and labels share no word with another one.
        """
        return self.source == EXACT_MATCH and not self.exact_match and self.f1 > 0


def determine_verdict(question: Question, answer: str, judged: Mapping[Answer, JudgedAnswer]) -> Verdict:
    """Return the correctness of a system's answer.

    The gold answer is correct. Another one is what two judges agreed on or settled, else what the only judge
    said, else wrong.
    """
    exact = hotpotqa.exact_match(question.answer, answer)
    # Labels that share a word, such as "true" and "half true", are other labels all the same.
    f1 = float(exact) if question.labels else hotpotqa.answer_f1(question.answer, answer).f1
    row = None if exact else judged.get((question.pk, answer))
    if row is not None and row.is_correct is not None:
        return Verdict(exact, f1, row.is_correct, name_decision_source(row), row)
    given = list(row.judgements.all()) if row is not None else []
    if len(given) == 1:
        return Verdict(exact, f1, given[0].is_correct, ONE_JUDGE, row)
    return Verdict(exact, f1, exact, EXACT_MATCH, row)


def find_missed_answers(run: PredictionRun) -> Iterator[Answer]:
    """Yield the answers of a run that miss the gold answer.

    An empty answer cannot be judged.
    """
    rows = Prediction.objects.filter(run=run).exclude(answer="")
    for question, answer, gold in rows.values_list("question_id", "answer", "question__answer").iterator():
        if not hotpotqa.exact_match(gold, answer):
            yield question, answer


def find_missed_answers_of_design(plan: Design) -> Iterator[Answer]:
    """Yield the answers shown by a design that miss the gold answer."""
    for _condition, question, answer in _list_system_answers(plan):
        if answer and not hotpotqa.exact_match(question.answer, answer):
            yield question.pk, answer


def _list_system_answers(plan: Design) -> Iterator[tuple[PlannedCondition, Question, str]]:
    """Yield condition, question and answer of each answer of a system shown."""
    for condition in plan.conditions:
        if condition.run is not None:
            shown = plan.content.condition(condition.definition.name).shown
            for question in plan.questions:
                yield condition, question, shown[question.external_id].answer or ""


# A queued answer is one of a prediction's run.
_IS_OF_RUN = Q(question__predictions__answer=F("answer")) | Q(from_people=True)


def queue(run: PredictionRun) -> QuerySet[JudgedAnswer]:
    """Return the queued answers of a run, and people's to its questions."""
    # Both conditions in one filter: they are about the same prediction.
    return JudgedAnswer.objects.filter(_IS_OF_RUN, question__predictions__run=run)


def queue_counts() -> dict[int, QueueCounts]:
    """Return the counts of every run that has a queue, by its key."""
    rows = (
        JudgedAnswer.objects.filter(_IS_OF_RUN)
        .annotate(run=F("question__predictions__run"), given=Count("judgements"))
        .values_list("run", "given", "is_correct")
    )
    counts: dict[int, QueueCounts] = {}
    for run, given, decided in rows:
        counts[run] = _add_to_counts(counts.get(run, QueueCounts()), given, decided)
    return counts


def count_queue(run: PredictionRun) -> QueueCounts:
    """Return the counts of one run."""
    counts = QueueCounts()
    rows = queue(run).annotate(given=Count("judgements")).values_list("given", "is_correct")
    for given, decided in rows:
        counts = _add_to_counts(counts, given, decided)
    return replace(counts, proposed=queue(run).filter(proposals__isnull=False).distinct().count())


def _add_to_counts(counts: QueueCounts, given: int, decided: bool | None) -> QueueCounts:
    name = "settled" if decided is not None else ("unjudged", "judged_once", "disagreed")[given]
    return replace(counts, answers=counts.answers + 1, **{name: getattr(counts, name) + 1})


def find_next_answer(run: PredictionRun, judge: User) -> JudgedAnswer | None:
    """Return an answer that this judge has to judge next.

    Answers that lack only one judgement come first. The order is that of the digests, so that it reveals
    nothing about the answers.
    """
    return (
        queue(run)
        .filter(is_correct__isnull=True)
        .exclude(pk__in=Judgement.objects.filter(judge=judge).values("judged"))
        .annotate(given=Count("judgements"))
        .filter(given__lt=2)
        .select_related("question")
        .order_by("-given", "digest", "pk")
        .first()
    )


def find_waiting_answers(judge: User) -> QuerySet[JudgedAnswer]:
    """Return undecided answers, without those that wait for another judge."""
    own = Judgement.objects.filter(judge=judge).values("judged")
    rows = JudgedAnswer.objects.filter(is_correct__isnull=True).annotate(given=Count("judgements"))
    return rows.exclude(pk__in=own, given__lt=2)


def count_waiting(runs: QuerySet[PredictionRun], judge: User) -> int:
    """Count the answers of runs that wait for this judge."""
    rows = JudgedAnswer.objects.filter(_IS_OF_RUN, question__predictions__run__in=runs)
    return rows.filter(pk__in=find_waiting_answers(judge).values("pk")).distinct().count()


def list_disagreements(run: PredictionRun) -> list[JudgedAnswer]:
    """Return answers whose two judgements differ, with both judgements.

    Only now can a judge see what another one said.
    """
    return list(
        queue(run)
        .filter(is_correct__isnull=True)
        .annotate(given=Count("judgements"))
        .filter(given=2)
        .select_related("question")
        .prefetch_related("judgements__judge")
        .order_by("digest", "pk")
    )


def list_settled_answers(run: PredictionRun) -> list[JudgedAnswer]:
    """Return the answers of a run with their decisions, the latest first."""
    rows = queue(run).filter(is_correct__isnull=False).select_related("question", "settled_by")
    return list(rows.order_by("-settled_at", "-pk"))


def judge_agreement(run: PredictionRun) -> JudgeAgreement:
    """Compute the agreement of two judges before disagreements were settled."""
    rows = Judgement.objects.filter(judged__in=queue(run)).values_list("judged", "place", "is_correct")
    given: dict[int, dict[int, bool]] = {}
    for judged, number, verdict in rows:
        given.setdefault(judged, {})[number] = verdict
    pairs = [(both[1], both[2]) for _key, both in sorted(given.items()) if len(both) == 2]
    ratings = np.array(pairs, dtype=float).reshape(-1, 2).T
    alpha = krippendorff_alpha(ratings, "nominal", rng=np.random.default_rng(SEED), resamples=RESAMPLES)
    share = float((ratings[0] == ratings[1]).mean()) if pairs else None
    return JudgeAgreement(len(pairs), share, alpha)


def find_decisions(answers: Iterable[Answer]) -> dict[Answer, JudgedAnswer]:
    """Return the queued ones of these answers, by question and answer."""
    answer_of = {(question, hash_answer(answer)): (question, answer) for question, answer in answers}
    rows = JudgedAnswer.objects.filter(question__in={question for question, _digest in answer_of})
    rows = rows.prefetch_related("judgements")
    queued = {(row.question_id, row.digest): row for row in rows}
    return {answer_of[key]: row for key, row in queued.items() if key in answer_of}


def read_decided_answers(study: Study) -> dict[tuple[int, str], bool]:
    """Return what judges decided about answers to a study's questions."""
    questions = Item.objects.filter(version__study=study, question__isnull=False)
    return read_verdicts(questions.values_list("question", flat=True))


def name_decision_source(decision: JudgedAnswer) -> str:
    """Return the source of a settled answer's correctness, as stored."""
    return TWO_JUDGES if decision.settled_how == JudgedAnswer.How.AGREEMENT else decision.settled_how


@dataclass(frozen=True)
class ShownAnswer:
    """An answer that a condition of a design shows for an item."""

    condition: PlannedCondition
    question: Question
    answer: str
    verdict: Verdict

    @property
    def key(self) -> str:
        """A name of the answer that fits into a recorded decision."""
        return f"{self.question.pk}/{hash_answer(self.answer)[:16]}"


def list_shown_answers(plan: Design) -> list[ShownAnswer]:
    """Return the answers of systems that a launch would freeze, by condition."""
    judged = find_decisions(find_missed_answers_of_design(plan))
    return [
        ShownAnswer(condition, question, answer, determine_verdict(question, answer, judged))
        for condition, question, answer in _list_system_answers(plan)
    ]


def count_design_correctness(plan: Design) -> list[ConditionCorrectness]:
    """Return the correctness that a launch would freeze, by condition."""
    shown = list_shown_answers(plan)
    rows = []
    for condition in plan.conditions:
        if condition.run is None:
            continue
        verdicts = [answer.verdict for answer in shown if answer.condition is condition]
        counts = Counter(_classify_verdict(verdict) for verdict in verdicts)
        written = condition.definition
        near = sum(verdict.is_open for verdict in verdicts)
        rows.append(
            ConditionCorrectness(written.name, written.label, condition.run, near_misses=near, **counts)
        )
    return rows


def _classify_verdict(verdict: Verdict) -> str:
    if verdict.exact_match:
        return "exact"
    if verdict.source == EXACT_MATCH:
        return "not_queued" if verdict.row is None else "waiting"
    if verdict.source == ONE_JUDGE:
        return "one_judge"
    return "correct" if verdict.is_correct else "wrong"


def build_empty_verdicts(condition: str) -> dict[str, Any]:
    """Return the counts of a condition without answers, as bundles have them."""
    counts = dict.fromkeys(("answers", "correct", "exact_match", "near_misses"), 0)
    return {"condition": condition, **counts, "sources": {}}


def add_verdict(counts: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Count an answer."""
    sources = counts["sources"]
    return {
        **counts,
        "answers": counts["answers"] + 1,
        "correct": counts["correct"] + verdict.is_correct,
        "exact_match": counts["exact_match"] + verdict.exact_match,
        "sources": {**sources, verdict.source: sources.get(verdict.source, 0) + 1},
        "near_misses": counts["near_misses"] + verdict.is_open,
    }


def count_judges(answers: Iterable[ShownAnswer]) -> int:
    """Count the people who judged any of these answers."""
    rows = {answer.verdict.row.pk for answer in answers if answer.verdict.row is not None}
    return Judgement.objects.filter(judged__in=rows).values("judge").distinct().count()


def find_later_decisions(version: StudyVersion) -> list[tuple[Stimulus, JudgedAnswer]]:
    """Return decisions about a version's answers that came after its launch."""
    stimuli = Stimulus.objects.filter(
        Q(decision__isnull=True) | Q(judged_by=ONE_JUDGE),
        condition__run__isnull=False,
        condition__version=version,
        exact_match=False,
        shown_answer__isnull=False,
        item__question__isnull=False,
    ).select_related("item", "condition")
    rows: dict[Answer, list[Stimulus]] = {}
    for row in stimuli:
        if row.item.question_id and row.shown_answer:
            rows.setdefault((row.item.question_id, row.shown_answer), []).append(row)
    judged = find_decisions(rows)
    return [
        (stimulus, decision)
        for key, decision in judged.items()
        if decision.is_correct is not None
        for stimulus in rows[key]
    ]
