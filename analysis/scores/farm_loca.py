"""Dependence of an answer on its explanation: FaRM, LocA and errors.

Only `error_propagation` needs gold answers. A fact is a (title, sentence
index); index -1 stands for a title, which is not a fact. Standard library
only: the site and the model server import this module.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Fact = tuple[str, int]
RELEVANCE_THRESHOLD = 0.33  # the reference implementation's bound on the probability of the relevant class
REMOVALS = (1, 2, 3, 4)  # a HotpotQA explanation has at most four facts
ANSWER_TYPES = ("span", "yes", "no", "label")


@dataclass(frozen=True)
class RemovalOrder:
    """Distinct facts in the order of their removal, most relevant first.

    Attributes:
        relevant: (title, sentence index) of the facts predicted relevant.
        irrelevant: The same of the others.
    """

    relevant: list[Fact]
    irrelevant: list[Fact]


@dataclass(frozen=True)
class Farm:
    """Fact-removal scores keyed by k, in [0, 1]; None without questions.

    Attributes:
        farm: c_rel[k] / (1 + c_irr[k]).
        c_rel: Share of all questions whose answer changes when up to k facts predicted relevant are removed.
        c_irr: The same for facts predicted irrelevant.
        questions: Number of questions.
    """

    farm: dict[int, float | None]
    c_rel: dict[int, float | None]
    c_irr: dict[int, float | None]
    questions: int


@dataclass(frozen=True)
class Loca:
    """Answer-location score; None without an answer of type span.

    Attributes:
        loca: inside / (1 + outside), which equals I / (A + O) on the counts A = `span_answers`, I =
            `inside_count`, O = `outside_count`.
        inside: Share of the span answers whose first and last token lie in one sentence that is predicted
            relevant, from 0 to 1.
        outside: The same for a sentence that is not predicted relevant. The rest lies in a title or across
            sentences.
        span_answers: Number of answers of type span.
        inside_count: Number of those inside.
        outside_count: Number of those outside.
    """

    loca: float | None
    inside: float | None
    outside: float | None
    span_answers: int
    inside_count: int
    outside_count: int


@dataclass(frozen=True)
class ErrorPropagation:
    """Share of exact matches with all gold facts predicted, and with none.

    Attributes:
        em_all_facts: Share of exact matches among the predictions that hold all gold facts, from 0 to 1; None
            if there is none.
        em_no_facts: The same among those that hold no gold fact.
        all_facts: Number of predictions that hold all gold facts.
        no_facts: Number of predictions that hold none.
        questions: Number of all questions.
    """

    em_all_facts: float | None
    em_no_facts: float | None
    all_facts: int
    no_facts: int
    questions: int


def removal_order(
    fact_probability: Iterable[Sequence[Any]],
    relevant: Iterable[Sequence[Any]] | None = None,
    *,
    threshold: float = RELEVANCE_THRESHOLD,
) -> RemovalOrder:
    """Order the facts predicted relevant and irrelevant by relevance.

    Each list decreases in predicted relevance.

    Args:
        fact_probability: (title, index, probability) of every fact, in the order
            of the context. On a tie the later listed fact goes first. Titles
            (negative index) are left out; a fact listed twice counts once, at its
            higher position.
        relevant: The facts predicted relevant; when None, those with a probability
            above `threshold`.
        threshold: In [0, 1].

    Returns:
        Facts (title, index), most relevant first.

    Raises:
        ValueError: An entry is malformed, a relevant fact has no probability, or the threshold is not
            from 0 to 1.

    Examples:
        >>> removal_order([("A", 0, 0.9), ("A", 1, 0.1), ("B", 0, 0.9)]).relevant
        [('B', 0), ('A', 0)]
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be from 0 to 1, not {threshold}")
    listed = [_parse_fact_probability(entry) for entry in fact_probability]
    listed.reverse()  # the sort is stable, so the later listed goes first on a tie
    listed.sort(key=lambda entry: -entry[1])
    probability: dict[Fact, float] = {}
    for fact, value in listed:
        if fact[1] >= 0:
            probability.setdefault(fact, value)
    if relevant is None:
        chosen = {fact for fact, value in probability.items() if value > threshold}
    else:
        chosen = {fact for fact in map(_parse_fact, relevant) if fact[1] >= 0}
        for fact in chosen - probability.keys():
            raise ValueError(f"relevant fact {fact!r} has no probability")
    return RemovalOrder(
        relevant=[fact for fact in probability if fact in chosen],
        irrelevant=[fact for fact in probability if fact not in chosen],
    )


def reduce_context(
    context: Sequence[Sequence[Any]], facts: Sequence[Sequence[Any]], k: int
) -> list[list[Any]]:
    """Remove the first k facts from a context, or all if there are fewer.

    Args:
        context: `[[title, [sentence, …]], …]`; it is not changed. Articles stay
            even when they become empty.
        facts: (title, index) in removal order (see `removal_order`). Indices count
            the sentences of the full context. If two articles share a title, both
            lose the sentence. Titles (negative index) stay and do not count. Facts
            that the context lacks count and remove nothing.
        k: Number of facts to remove.

    Returns:
        The context in the same form.

    Raises:
        ValueError: `k` is negative, or a fact is malformed.

    Examples:
        >>> reduce_context([["A", ["one", "two"]], ["B", ["three"]]], [("A", 1), ("B", 0)], k=1)
        [['A', ['one']], ['B', ['three']]]
    """
    if k < 0:
        raise ValueError(f"k must be 0 or more, not {k}")
    removable = [fact for fact in map(_parse_fact, facts) if fact[1] >= 0]
    removed = set(removable[:k])
    return [
        [title, [sentence for index, sentence in enumerate(sentences) if (title, index) not in removed]]
        for title, sentences in context
    ]


def farm(
    answers: Mapping[str, str],
    without_relevant: Mapping[int, Mapping[str, str]],
    without_irrelevant: Mapping[int, Mapping[str, str]],
) -> Farm:
    """Compute fact-removal scores for each k [1, section 4.2 and appendix F].

    Args:
        answers: Raw answer by question id, on the full context; yes and no count like any other answer.
        without_relevant: For each k the raw answers by question id, without up to k facts predicted relevant.
        without_irrelevant: The same without facts predicted irrelevant, for the same k.

    Returns:
        Scores from 0 to 1 for each k.

    Raises:
        ValueError: The two sides have different k, one is below 1, or an answer is missing or too many.

    References:
        1. Schuff, Adel and Vu (2020). F1 is Not Enough! Models and Evaluation Towards User-Centered
           Explainable Question Answering. EMNLP.
    """
    if wrong := [k for k in without_relevant if k < 1]:
        raise ValueError(f"without_relevant: k must be at least 1, not {wrong[0]}")
    if without_relevant.keys() != without_irrelevant.keys():
        raise ValueError(
            f"without_relevant has k = {sorted(without_relevant)}, "
            f"without_irrelevant has k = {sorted(without_irrelevant)}"
        )
    c_rel = {
        k: _compute_changed_share(answers, without_relevant[k], f"without_relevant[{k}]")
        for k in without_relevant
    }
    c_irr = {
        k: _compute_changed_share(answers, without_irrelevant[k], f"without_irrelevant[{k}]")
        for k in without_relevant
    }
    scores = {k: _discount_share(c_rel[k], c_irr[k]) for k in c_rel}
    return Farm(farm=scores, c_rel=c_rel, c_irr=c_irr, questions=len(answers))


def loca(records: Iterable[tuple[str, Any, Any, Collection[Any]]]) -> Loca:
    """Compute the answer-location score [1, section 4.3].

    Args:
        records: One (type, first fact, last fact, relevant facts) per question. The type is "span",
            "yes", "no" or "label"; the two facts hold the answer's first and last token, None for a token of
            a title.

    Returns:
        The score from 0 to 1, with its counts.

    Raises:
        ValueError: A type is unknown, or a fact is malformed.

    References:
        1. Schuff, Adel and Vu (2020). F1 is Not Enough! Models and Evaluation Towards User-Centered
           Explainable Question Answering. EMNLP.
    """
    spans = inside = outside = 0
    for answer_type, first, last, relevant in records:
        if answer_type not in ANSWER_TYPES:
            raise ValueError(f"type must be one of {', '.join(ANSWER_TYPES)}, not {answer_type!r}")
        if answer_type != "span":
            continue
        spans += 1
        sentence = _find_sentence(first, last)
        if sentence is None:
            continue
        if sentence in {_parse_fact(fact) for fact in relevant}:
            inside += 1
        else:
            outside += 1
    share_in = inside / spans if spans else None
    share_out = outside / spans if spans else None
    return Loca(_discount_share(share_in, share_out), share_in, share_out, spans, inside, outside)


def error_propagation(records: Iterable[tuple[bool, Collection[Any], Collection[Any]]]) -> ErrorPropagation:
    """Relate exact matches to the predicted facts [1, appendix E].

    Args:
        records: One (exact match, predicted facts, gold facts) per question; a fact is a (title, sentence
            index).

    Returns:
        Shares from 0 to 1, with their counts.

    Raises:
        ValueError: A question has no gold facts (such a prediction would hold all and none of them at once),
            or a fact is malformed.

    References:
        1. Schuff, Adel and Vu (2020). F1 is Not Enough! Models and Evaluation Towards User-Centered
           Explainable Question Answering. EMNLP.
    """
    all_facts, no_facts, questions = [], [], 0
    for matched, predicted, gold in records:
        gold_facts, predicted_facts = set(map(_parse_fact, gold)), set(map(_parse_fact, predicted))
        if not gold_facts:
            raise ValueError(f"record {questions}: gold facts may not be empty")
        questions += 1
        if gold_facts <= predicted_facts:
            all_facts.append(bool(matched))
        elif not gold_facts & predicted_facts:
            no_facts.append(bool(matched))
    return ErrorPropagation(
        _compute_share(all_facts), _compute_share(no_facts), len(all_facts), len(no_facts), questions
    )


def _compute_changed_share(before: Mapping[str, str], after: Mapping[str, str], name: str) -> float | None:
    if before.keys() != after.keys():
        odd = sorted(before.keys() ^ after.keys())
        raise ValueError(f"{name} and answers differ in {len(odd)} question ids, {odd[0]!r} among them")
    return _compute_share([after[question] != answer for question, answer in before.items()])


def _compute_share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def _discount_share(wanted: float | None, unwanted: float | None) -> float | None:
    return None if wanted is None or unwanted is None else wanted / (1 + unwanted)


def _find_sentence(first: Any, last: Any) -> Fact | None:
    """Return the sentence of both tokens; None across sentences or in a title."""
    if first is None or last is None or _parse_fact(first) != _parse_fact(last) or first[1] < 0:
        return None
    return _parse_fact(first)


def _parse_fact(fact: Any) -> Fact:
    match fact:
        case [str(title), int(index)]:
            return title, index
    raise ValueError(f"a fact must be (title, index), not {fact!r}")


def _parse_fact_probability(entry: Any) -> tuple[Fact, float]:
    match entry:
        case [str(title), int(index), int() | float() as probability] if not math.isnan(probability):
            return (title, index), float(probability)
    raise ValueError(f"a fact with its probability must be (title, index, probability), not {entry!r}")
