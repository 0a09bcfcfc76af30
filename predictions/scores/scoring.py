"""The scores of a run from its predictions. Pure.

All scores are fractions in [0, 1], those of erasure in [-1, 1]; a missing score has a reason. The keys are
those of ``scores.json``. Source: Yang et al. 2018 for the standard scores; Schuff et al. 2020, §4.2, §4.3 and
App. E for FaRM, LocA and error propagation; DeYoung et al. 2020, §4, for comprehensiveness and sufficiency.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.scores import farm_loca, hotpotqa
from analysis.scores.erasure import DIFFERENCES, Probabilities, erasure

FARM_KEYS = tuple(f"{name}_{k}" for name in ("farm", "c_rel", "c_irr") for k in farm_loca.REMOVALS)
LOCA_KEYS = ("loca", "loca_inside", "loca_outside")
PROPAGATION_KEYS = ("em_all_facts", "em_no_facts")
ERASURE_KEYS = DIFFERENCES
KEYS = hotpotqa.KEYS + FARM_KEYS + LOCA_KEYS + PROPAGATION_KEYS + ERASURE_KEYS
# The contribution of one question to the scores: its standard scores, whether its answer is a span and where
# it lies (0 or 1), whether it changes when facts are taken away (0 or 1), and the fall of its probability
# then. Error propagation is not over all questions.
PLACE_PARTS = ("span_answer", "inside", "outside")
CHANGE_PARTS = tuple(f"{name}_{k}" for name in ("c_rel", "c_irr") for k in farm_loca.REMOVALS)
PARTS = hotpotqa.KEYS + PLACE_PARTS + CHANGE_PARTS + ERASURE_KEYS
Parts = tuple[float | None, ...]
UNKNOWN_PLACE: Parts = (None,) * len(PLACE_PARTS)
UNKNOWN_CHANGES: Parts = (None,) * len(CHANGE_PARTS)
UNKNOWN_ERASURE: Parts = (None,) * len(ERASURE_KEYS)


@dataclass
class Scores:
    """Values by key; a value that is None has its reason under the same key."""

    values: dict[str, float | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def add(self, values: Mapping[str, float | None], reason: str) -> None:
        """Add values; ``reason`` is why those that are None are so."""
        self.values |= values
        self.reasons |= {key: reason for key, value in values.items() if value is None}

    def refuse(self, keys: Iterable[str], reason: str) -> None:
        """Set scores to None for a reason."""
        self.add(dict.fromkeys(keys), reason)


@dataclass(frozen=True, slots=True)
class Scored:
    """A question with its prediction.

    Attributes:
        gold_facts: None if unknown.
        answer: None without a prediction, as ``facts``.
        answer_type: None if the system reports none.
        location: The wire form of ``AnswerLocation``, or None.
    """

    gold_answer: str
    gold_facts: list[Any] | None
    answer: str | None = None
    facts: list[Any] | None = None
    answer_type: str | None = None
    location: dict[str, Any] | None = None


class Standard:
    """Standard scores, LocA and error propagation, question by question."""

    def __init__(self) -> None:
        self.questions = 0
        self._totals = dict.fromkeys(hotpotqa.KEYS, 0.0)
        self._without_gold_facts = 0
        self._unlocated = 0
        self._locations: list[tuple[str, Any, Any, list[Any]]] = []
        self._propagation: list[tuple[bool, list[Any], list[Any]]] = []

    def add(self, scored: Scored) -> Parts:
        """Count a question; return its standard scores and `PLACE_PARTS`.

        A question without prediction counts 0 in the standard scores and has no answer location.
        """
        self.questions += 1
        gold_facts = scored.gold_facts or []
        scores = hotpotqa.score_question(scored.gold_answer, gold_facts, scored.answer, scored.facts)
        for key, value in scores.items():
            self._totals[key] += value
        self._without_gold_facts += scored.gold_facts is None
        standard = tuple(scores[key] for key in hotpotqa.KEYS)
        if scored.answer is None or scored.facts is None:
            return (*standard, *UNKNOWN_PLACE)
        if gold_facts:
            self._propagation.append((bool(scores["em"]), scored.facts, gold_facts))
        if scored.answer_type is None or (scored.answer_type == "span" and scored.location is None):
            self._unlocated += 1
            return (*standard, *UNKNOWN_PLACE)
        location = scored.location or {}
        record = (scored.answer_type, location.get("first"), location.get("last"), scored.facts)
        self._locations.append(record)
        loca = farm_loca.loca([record])
        return (*standard, loca.span_answers, loca.inside_count, loca.outside_count)

    def scores(self) -> Scores:
        """Return the scores over all questions added, at least one."""
        scores = Scores()
        means = {key: total / self.questions for key, total in self._totals.items()}
        scores.add({key: means[key] for key in hotpotqa.ANSWER_KEYS}, "")
        fact_keys = hotpotqa.FACT_KEYS + hotpotqa.JOINT_KEYS
        if self._without_gold_facts:
            reason = f"the gold facts of {self._without_gold_facts} of {self.questions} questions are unknown"
            scores.refuse(fact_keys + PROPAGATION_KEYS, reason)
        else:
            scores.add({key: means[key] for key in fact_keys}, "")
            self._add_propagation(scores)
        self._add_loca(scores)
        return scores

    def _add_propagation(self, scores: Scores) -> None:
        result = farm_loca.error_propagation(self._propagation)
        scores.add({"em_all_facts": result.em_all_facts}, "no prediction holds all gold facts")
        scores.add({"em_no_facts": result.em_no_facts}, "no prediction holds none of the gold facts")

    def _add_loca(self, scores: Scores) -> None:
        if self._unlocated:
            total = len(self._locations) + self._unlocated
            reason = f"the predictions do not tell where {self._unlocated} of {total} answers lie"
            scores.refuse(LOCA_KEYS, reason)
            return
        result = farm_loca.loca(self._locations)
        values = {"loca": result.loca, "loca_inside": result.inside, "loca_outside": result.outside}
        scores.add(values, "no predicted answer is a span")


def find_given_parts(scores: Scores) -> tuple[bool, ...]:
    """Return which of `PARTS` belong to a score that is given."""
    score_of = dict.fromkeys(PLACE_PARTS, "loca")
    return tuple(scores.values.get(score_of.get(part, part)) is not None for part in PARTS)


def compute_farm_scores(
    answers: Mapping[str, str],
    without_relevant: Mapping[int, Mapping[str, str]],
    without_irrelevant: Mapping[int, Mapping[str, str]],
) -> Scores:
    """Return FaRM, c_rel and c_irr for each k from the raw answers.

    See ``analysis.scores.farm_loca.farm``.
    """
    result = farm_loca.farm(answers, without_relevant, without_irrelevant)
    scores = Scores()
    for name in ("farm", "c_rel", "c_irr"):
        values = {f"{name}_{k}": value for k, value in getattr(result, name).items()}
        scores.add(values, "there is no prediction")
    return scores


def compute_erasure_scores(questions: Iterable[Probabilities]) -> Scores:
    """Return comprehensiveness and sufficiency of explanations.

    See ``analysis.scores.erasure``.
    """
    result = erasure(questions)
    scores = Scores()
    scores.add({key: getattr(result, key) for key in ERASURE_KEYS}, "there is no prediction")
    return scores
