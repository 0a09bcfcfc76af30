"""HotpotQA's answer, supporting-fact and joint scores.

The semantics are those of the official evaluation script. Standard library
only: the site and the model server import this module.

References:
    1. Yang et al. (2018). HotpotQA; its script `hotpot_evaluate_v1`.
    2. Schuff et al. (2020), section 4.1.
"""

import re
import string
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import add
from typing import Any, NamedTuple

ANSWER_KEYS = ("em", "f1", "prec", "recall")
FACT_KEYS = ("sp_em", "sp_f1", "sp_prec", "sp_recall")
JOINT_KEYS = ("joint_em", "joint_f1", "joint_prec", "joint_recall")
KEYS = ANSWER_KEYS + FACT_KEYS + JOINT_KEYS

_ARTICLES = frozenset({"a", "an", "the"})
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED_ANSWERS = (["yes"], ["no"], ["noanswer"])


class F1(NamedTuple):
    """Harmonic mean with its two parts, each in [0, 1].

    Attributes:
        f1: Harmonic mean of precision and recall.
        prec: Precision.
        recall: Recall.
    """

    f1: float
    prec: float
    recall: float


_NOTHING, _ALL = F1(0.0, 0.0, 0.0), F1(1.0, 1.0, 1.0)


def normalise_answer(text: str) -> str:
    """Normalise an answer as HotpotQA does.

    Lower case, without ASCII punctuation, without the words a, an, the, white
    space joined.

    Args:
        text: Answer as it is written.

    Returns:
        The words, joined by single spaces.

    Examples:
        >>> normalise_answer("The  Eiffel Tower!")
        'eiffel tower'
    """
    return " ".join(_split_tokens(text))


def _split_tokens(text: str) -> list[str]:
    """Return the words of `normalise_answer`."""
    bare = text.lower().translate(_NO_PUNCTUATION)
    if bare.isascii() and bare.isprintable():  # letters, digits and spaces: words end at spaces alone
        return [word for word in bare.split() if word not in _ARTICLES]
    return _ARTICLE.sub(" ", bare).split()


def exact_match(gold: str, predicted: str) -> bool:
    """Test whether two answers are equal after `normalise_answer`.

    Args:
        gold: Gold answer.
        predicted: Answer of the system.

    Returns:
        True if they are equal.
    """
    return _split_tokens(gold) == _split_tokens(predicted)


def answer_f1(gold: str, predicted: str) -> F1:
    """Compute F1, precision and recall of the answer's tokens, as a multiset.

    When one side is yes, no or noanswer and the other differs, all three are 0.
    With no common token they are 0 too, so two answers that are empty after
    normalisation match exactly and still have F1 0.

    Args:
        gold: Gold answer.
        predicted: Answer of the system.

    Returns:
        F1, precision and recall, each in [0, 1].
    """
    return _tokens_f1(_split_tokens(gold), _split_tokens(predicted))


def _tokens_f1(gold: list[str], predicted: list[str]) -> F1:
    if gold == predicted:
        return _ALL if gold else _NOTHING
    if gold in _CLOSED_ANSWERS or predicted in _CLOSED_ANSWERS:
        return _NOTHING
    ours, theirs = set(gold), set(predicted)
    common = len(ours & theirs)
    if common == 0:
        return _NOTHING
    if len(ours) < len(gold) or len(theirs) < len(predicted):  # a word that is repeated counts as often
        common = (Counter(gold) & Counter(predicted)).total()
    return _build_f1(common / len(predicted), common / len(gold))


def facts_f1(gold: Collection[Any], predicted: Collection[Any]) -> F1:
    """Compute F1, precision and recall of the set of predicted facts.

    Nothing predicted gives precision 0, and no gold facts recall 0: two empty sets match with F1 0.

    Args:
        gold: Gold facts, each a (title, sentence index).
        predicted: Facts of the system in the same form; those of another shape match nothing.

    Returns:
        F1, precision and recall, each in [0, 1].
    """
    return _sets_f1(_normalise_facts(gold), _normalise_facts(predicted))


def _sets_f1(gold: set[Any], predicted: set[Any]) -> F1:
    if gold == predicted:
        return _ALL if gold else _NOTHING
    hits = len(gold & predicted)
    return _build_f1(hits / len(predicted) if predicted else 0.0, hits / len(gold) if gold else 0.0)


def score_question(
    gold_answer: str, gold_facts: Collection[Any], answer: str | None, facts: Collection[Any] | None
) -> dict[str, float]:
    """Compute all twelve scores of one question.

    Args:
        gold_answer: Gold answer.
        gold_facts: Gold facts, each a (title, sentence index).
        answer: Answer of the system; None if it gave none: its four scores and the joint ones are then 0.
        facts: Facts of the system; None if it gave none: their four scores and the joint ones are then 0.

    Returns:
        The scores in [0, 1]: `em`, `f1`, `prec` and `recall` of the answer; `sp_em`, `sp_f1`, `sp_prec` and
        `sp_recall` of the facts; `joint_em`, `joint_f1`, `joint_prec` and `joint_recall` of both.
    """
    return dict(zip(KEYS, _compute_scores(gold_answer, gold_facts, answer, facts), strict=True))


def _compute_scores(
    gold_answer: str, gold_facts: Collection[Any], answer: str | None, facts: Collection[Any] | None
) -> tuple[float, ...]:
    """Return the scores of one question in the order of `KEYS`."""
    em = sp_em = joint_em = 0.0
    of_answer = of_facts = joint = _NOTHING
    if answer is not None:
        gold_tokens = _split_tokens(gold_answer)
        tokens = gold_tokens if answer == gold_answer else _split_tokens(answer)
        em, of_answer = float(gold_tokens == tokens), _tokens_f1(gold_tokens, tokens)
    if facts is not None:
        gold_set = _normalise_facts(gold_facts)
        chosen = gold_set if facts == gold_facts else _normalise_facts(facts)
        sp_em, of_facts = float(gold_set == chosen), _sets_f1(gold_set, chosen)
    if answer is not None and facts is not None:
        joint_em = em * sp_em
        joint = _build_f1(of_answer.prec * of_facts.prec, of_answer.recall * of_facts.recall)
    return (em, *of_answer, sp_em, *of_facts, joint_em, *joint)


def score(gold: Iterable[Mapping[str, Any]], predictions: Mapping[str, Any]) -> dict[str, float]:
    """Average each score over all gold questions.

    Args:
        gold: The official list, entries with `_id`, `answer` and `supporting_facts`.
        predictions: The official object, `{"answer": {id: text}, "sp": {id: [[title, index], …]}}`; other
            parts are ignored. A question without an answer or a fact list counts 0 for that part and for the
            joint one. Facts of another shape than [title, index] match nothing; `malformed_facts` lists them.

    Returns:
        The means in [0, 1], keyed as those of `score_question`.

    Raises:
        ValueError: There are no gold questions, or an entry is malformed; the message names entry and field.

    Examples:
        >>> gold = [{"_id": "q1", "answer": "Ed Wood", "supporting_facts": [["Ed Wood", 0]]}]
        >>> predictions = {"answer": {"q1": "the Ed Wood!"}, "sp": {"q1": [["Ed Wood", 0], ["Film", 1]]}}
        >>> score(gold, predictions)["joint_f1"]
        0.6666666666666666
    """
    totals, n = [0.0] * len(KEYS), 0
    for _, values in _score_questions(gold, predictions):
        totals, n = list(map(add, totals, values)), n + 1
    return {key: total / n for key, total in zip(KEYS, totals, strict=True)}


def score_each(
    gold: Iterable[Mapping[str, Any]], predictions: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield ID and scores of every gold question, in order.

    Their means are those of `score`.

    Args:
        gold: The official list, entries with `_id`, `answer` and `supporting_facts`.
        predictions: The official object, `{"answer": {id: text}, "sp": {id: [[title, index], …]}}`; other
            parts are ignored. A question without an answer or a fact list counts 0 for that part and for the
            joint one. Facts of another shape than [title, index] match nothing; `malformed_facts` lists them.

    Yields:
        ID, and the scores in [0, 1], keyed as those of `score_question`.

    Raises:
        ValueError: There are no gold questions, or an entry is malformed; the message names entry and field.
    """
    for question_id, values in _score_questions(gold, predictions):
        yield question_id, dict(zip(KEYS, values, strict=True))


def _score_questions(
    gold: Iterable[Mapping[str, Any]], predictions: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[float, ...]]]:
    answers, facts = _parse_predictions(predictions)
    n = 0
    for n, question in enumerate(gold, start=1):
        question_id, gold_answer, gold_facts = _parse_gold(question, n)
        answer = answers.get(question_id)
        if answer is not None and not isinstance(answer, str):
            raise ValueError(f"predictions: answer of {question_id!r} must be text, not {answer!r}")
        yield question_id, _compute_scores(gold_answer, gold_facts, answer, facts.get(question_id))
    if n == 0:
        raise ValueError("gold: holds no questions")


def _parse_predictions(predictions: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if not isinstance(predictions, Mapping) or not ({"answer", "sp"} & predictions.keys()):
        raise ValueError('predictions: must be an object with "answer", "sp" or both')
    answers, facts = predictions.get("answer", {}), predictions.get("sp", {})
    for name, part in (("answer", answers), ("sp", facts)):
        if not isinstance(part, Mapping):
            raise ValueError(f'predictions: "{name}" must be an object keyed by question id')
    return answers, facts


def _parse_gold(question: Mapping[str, Any], number: int) -> tuple[str, str, Collection[Any]]:
    if not isinstance(question, Mapping):
        raise ValueError(f"gold: entry {number} must be an object, not {type(question).__name__}")
    for field in ("_id", "answer", "supporting_facts"):
        if question.get(field) is None:
            raise ValueError(f'gold: entry {number} lacks "{field}"')
    if not isinstance(question["answer"], str):
        raise ValueError(f'gold: "answer" of entry {number} must be text')
    return question["_id"], question["answer"], question["supporting_facts"]


def malformed_facts(predictions: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """List predicted facts that are not [title, index] and so match nothing.

    Args:
        predictions: The official object; its ``sp`` is looked through.

    Returns:
        Question ID and fact of each, in the order of the predictions. A whole
        list that is not a list stands for itself.

    >>> malformed_facts({"sp": {"q1": [["Ed Wood", 0], ["Ed Wood", "0"]]}})
    [('q1', ['Ed Wood', '0'])]
    """
    malformed: list[tuple[str, Any]] = []
    for question_id, facts in _parse_predictions(predictions)[1].items():
        if isinstance(facts, str | Mapping) or not isinstance(facts, Collection):
            malformed.append((question_id, facts))
            continue
        malformed += [(question_id, fact) for fact in facts if not _is_fact(fact)]
    return malformed


def normalise_facts(facts: Any) -> tuple[list[tuple[str, int]], list[int]]:
    """Return predicted facts as titles and indices with the same scores.

    A fact that cannot match gets a title that no article has, and two that are equal for the official script
    get the same one.

    Args:
        facts: The list of a question, of any shape.

    Returns:
        The facts, and the places of those that are malformed.

    Examples:
        >>> normalise_facts([["Ed Wood", 0], ["Ed Wood"]])
        ([('Ed Wood', 0), ("malformed fact 1: ('Ed Wood',)", 0)], [1])
    """
    plain: list[tuple[str, int]] = []
    malformed: list[int] = []
    titles: dict[Any, str] = {}
    for position, fact in enumerate(facts if isinstance(facts, Iterable) else [facts]):
        if not _is_fact(fact) or not _is_index(fact[1]):
            malformed.append(position)
        match key := _make_hashable(fact):
            case (str() as title, int() | float() as index) if _is_index(index):
                plain.append((title, int(index)))
            case _:
                title = titles.setdefault(key, f"malformed fact {len(titles) + 1}: {repr(key)[:200]}")
                plain.append((title, 0))
    return plain, malformed


def _is_index(index: float) -> bool:
    return index >= 0 and (isinstance(index, int) or index.is_integer())


def _is_fact(fact: Any) -> bool:
    match fact:
        case [str(), int() | float()]:
            return not isinstance(fact[1], bool)
    return False


def _normalise_facts(facts: Any) -> set[Any]:
    """Return facts as tuples, which compare as in the official script.

    An index 0.0 equals 0, and "0" equals nothing.
    """
    try:
        return set(map(tuple, facts))
    except TypeError:  # the official script ends here; one bad fact must not cost all other scores
        if not isinstance(facts, Iterable):
            return {repr(facts)}
        return {_make_hashable(fact) for fact in facts}


def _make_hashable(fact: Any) -> Any:
    try:
        hash(pair := tuple(fact))
    except TypeError:
        return repr(fact)
    return pair


def _build_f1(prec: float, recall: float) -> F1:
    total = prec + recall
    return F1(2 * prec * recall / total if total > 0 else 0.0, prec, recall)
