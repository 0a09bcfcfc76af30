"""Comprehensiveness and sufficiency of an explanation.

They compare the probability p(a|C) of a system's answer a to the whole context C with that to a context
without its facts F, and with that to its facts alone. Standard library only: the site imports this module.

References:
    1. DeYoung et al. (2020). ERASER: A Benchmark to Evaluate Rationalized NLP Models, section 4.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .farm_loca import REMOVALS

# Keys of scores.json. Differences of probabilities lie in [-1, 1], other scores in [0, 1].
DIFFERENCES = ("comprehensiveness", "sufficiency", "comprehensiveness_aopc", "sufficiency_aopc")


@dataclass(frozen=True)
class Probabilities:
    """Probabilities of the answer to one question, each in [0, 1].

    Attributes:
        whole: With the whole context.
        without: Without all facts.
        only: With the facts alone.
        without_first: For each k of `REMOVALS`, without the k most relevant facts.
        only_first: For each k, with the k most relevant facts alone.
    """

    whole: float
    without: float
    only: float
    without_first: Mapping[int, float]
    only_first: Mapping[int, float]


@dataclass(frozen=True)
class Erasure:
    """Means over questions, in [-1, 1]; None without questions.

    High comprehensiveness and low sufficiency speak for the explanation.
    """

    comprehensiveness: float | None
    sufficiency: float | None
    comprehensiveness_aopc: float | None
    sufficiency_aopc: float | None
    questions: int


def erasure(questions: Iterable[Probabilities]) -> Erasure:
    """Return the means over questions of the four scores.

    For one question, with F_k the k most relevant facts (all, if there are fewer):

    - comprehensiveness = p(a|C) - p(a|C without F)
    - sufficiency = p(a|C) - p(a|F)
    - AOPC of either = the mean over k = 1..4 of the same with F_k for F.

    Reference 1 takes bins of shares of the tokens, and counts an empty bin as well; here a step is a fact,
    and there is no empty step.

    Raises:
        ValueError: A probability is not in [0, 1], or one for a k is missing.

    Examples:
        >>> k = {1: 0.5, 2: 0.25, 3: 0.25, 4: 0.25}
        >>> one = Probabilities(0.75, without=0.25, only=0.5, without_first=k, only_first=k)
        >>> erasure([one]).comprehensiveness, erasure([one]).comprehensiveness_aopc
        (0.5, 0.4375)
    """
    rows = [score_erased_question(question) for question in questions]
    if not rows:
        return Erasure(None, None, None, None, 0)
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return Erasure(means[0], means[1], means[2], means[3], len(rows))


def score_erased_question(of: Probabilities) -> tuple[float, float, float, float]:
    """Return the scores of one question, in the order of `DIFFERENCES`.

    Raises:
        ValueError: As in `erasure`.
    """
    given = [of.whole, of.without, of.only, *of.without_first.values(), *of.only_first.values()]
    if not all(0 <= p <= 1 for p in given):
        raise ValueError("questions: a probability is not between 0 and 1")
    if missing := [k for k in REMOVALS if k not in of.without_first or k not in of.only_first]:
        raise ValueError(f"questions: no probability for k = {missing[0]}")
    steps = len(REMOVALS)
    return (
        of.whole - of.without,
        of.whole - of.only,
        sum(of.whole - of.without_first[k] for k in REMOVALS) / steps,
        sum(of.whole - of.only_first[k] for k in REMOVALS) / steps,
    )
