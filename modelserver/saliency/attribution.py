"""Occlusion, Integrated Gradients and gradient times input.

They work for anything that turns rows of numbers into a score. Sources: Sundararajan, Taly and Yan 2017
(Integrated Gradients, eq. 1 and 3, completeness: prop. 1), Zeiler and Fergus 2014 and Li, Monroe and
Jurafsky 2016 (occlusion), Shrikumar et al. 2017 (gradient times input); the choice of target, baseline
and norm follows Ray Choudhury, Rogers and Augenstein 2022.

Nothing here changes a model: gradients are computed for the rows alone, so that no parameter accumulates
any; there are no hooks; and training or evaluation mode stays as it is, even on errors. Sizes in the
comments:

    n rows that a subject's words became, each of d numbers; U units (tokens or words); J jobs of a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from modelserver.inputs.features import IN_TITLE, Ints, tokenise
from modelserver.wire.errors import PredictionFailed
from modelserver.wire.schema import Explanation, QAItem, SaliencyOptions, SaliencyScore

IN_QUESTION = -1  # article number of a question's token
PASS_TOKENS = 4_096  # of the jobs of one pass, the longest times their number; one job alone may have more


@dataclass(frozen=True)
class Subject:
    """One item with the number that is explained, as a system prepares it.

    ``first`` and ``last`` are the rows of the tokens whose logits are explained. ``cost`` is how many
    tokens a pass reads. ``inner`` is what the system's ``scores`` needs besides.
    """

    item: QAItem
    rows: Tensor  # [n, d] what the model makes of its words
    baseline: Tensor  # [n, d] the same without a word in any place
    places: Ints  # [n, 4] article (IN_QUESTION), sentence (IN_TITLE), code points
    first: int
    last: int
    cost: int
    inner: Any = None


class Explainable(Protocol):
    """A system whose answers these methods explain."""

    def explainable(self, items: Sequence[QAItem], options: SaliencyOptions) -> Sequence[Subject]:
        """Return a subject for each item.

        Of ``options``, target and baseline matter. Raises PredictionFailed if nothing was read that has
        a logit, InvalidRequest for a baseline that the system lacks.
        """
        ...

    def scores(
        self, subjects: Sequence[Subject], rows: Sequence[Tensor], hidden: Sequence[Ints | None]
    ) -> Tensor:
        """Return the explained number of each subject with these rows, [J].

        The same subject may occur several times. ``hidden`` names the rows that must look unknown, even
        if a model compares words by other means than their rows; None changes no such comparison. The
        result must follow from ``rows`` by torch operations that have gradients.
        """
        ...


@dataclass(frozen=True, eq=False)
class Job:
    """A subject, by number, with other rows, made when their pass begins."""

    number: int
    subject: Subject
    rows: Callable[[], Tensor]
    hidden: Ints | None = None


def explain(
    system: Explainable, items: Sequence[QAItem], options: SaliencyOptions, *, revision: str
) -> list[Explanation]:
    """Explain the items in shared passes; ``revision`` is the system's.

    Raises PredictionFailed and InvalidRequest as ``explainable`` does, and PredictionFailed if a score
    is not a finite number.
    """
    subjects = list(system.explainable(items, options)) if items else []
    units = [_assign_units(subject, options.level) for subject in subjects]
    attributions = METHODS[options.method](system, subjects, units, options)
    return [
        _build_explanation(revision, subject, of, attribution, options)
        for subject, of, attribution in zip(subjects, units, attributions, strict=True)
    ]


@dataclass(frozen=True)
class Attribution:
    """The result of a method for one subject."""

    scores: np.ndarray  # [U]
    value: float
    baseline_value: float | None = None
    delta: float | None = None


# --- the three methods --------------------------------------------------------------------------------


def occlusion(
    system: Explainable, subjects: Sequence[Subject], units: Sequence[Ints], options: SaliencyOptions
) -> list[Attribution]:
    """Return each subject's drop in score when a unit is set to the baseline.

    This takes 1 + U forward passes.
    """
    jobs = [Job(number, subject, partial(_get_rows, subject)) for number, subject in enumerate(subjects)]
    for number, (subject, unit) in enumerate(zip(subjects, units, strict=True)):
        for rows in np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1]):
            jobs.append(Job(number, subject, partial(_mask_rows, subject, rows), rows))
    values: list[list[float]] = [[] for _ in subjects]
    with torch.no_grad():
        for part in split_into_passes(jobs):
            scored = _score_rows(system, part, [job.rows() for job in part])
            for job, value in zip(part, scored.double().tolist(), strict=True):
                values[job.number].append(value)
    return [Attribution(scores[0] - np.array(scores[1:]), scores[0]) for scores in values]


def _get_rows(subject: Subject) -> Tensor:
    return subject.rows


def _mask_rows(subject: Subject, rows: Ints) -> Tensor:
    masked = subject.rows.clone()
    index = torch.from_numpy(rows).to(masked.device)
    masked[index] = subject.baseline[index]
    return masked


def integrated_gradients(
    system: Explainable, subjects: Sequence[Subject], units: Sequence[Ints], options: SaliencyOptions
) -> list[Attribution]:
    """Return (x - baseline) times the mean gradient between them.

    The mean is along the straight line, by Gauss-Legendre quadrature. It takes ``steps`` forward and
    backward passes, and two forward passes for ``delta``.
    """
    nodes, weights = np.polynomial.legendre.leggauss(options.steps)
    fractions = (nodes + 1) / 2  # from [-1, 1] to [0, 1]
    jobs = [
        Job(number, s, partial(torch.lerp, s.baseline, s.rows, float(fraction)))
        for number, s in enumerate(subjects)
        for fraction in fractions
    ]
    mean = [torch.zeros_like(subject.rows, dtype=torch.float64) for subject in subjects]
    left = [iter(weights / 2) for _ in subjects]
    for job, gradient, _ in _compute_gradients(system, jobs):
        mean[job.number] += next(left[job.number]) * gradient
    ends = _score_ends(system, subjects)
    attributions = []
    for subject, unit, gradient, (value, base) in zip(subjects, units, mean, ends, strict=True):
        attributed = (subject.rows - subject.baseline).double() * gradient
        delta = float(attributed.sum()) - (value - base)
        attributions.append(
            Attribution(summarise_by_unit(attributed, unit, options.summary), value, base, delta)
        )
    return attributions


def _score_ends(system: Explainable, subjects: Sequence[Subject]) -> list[tuple[float, float]]:
    """Return the score of each subject and of its baseline."""
    jobs = [Job(number, s, rows.clone) for number, s in enumerate(subjects) for rows in (s.rows, s.baseline)]
    values: list[float] = []
    with torch.no_grad():
        for part in split_into_passes(jobs):
            values += _score_rows(system, part, [job.rows() for job in part]).double().tolist()
    return list(zip(values[::2], values[1::2], strict=True))


def gradient_x_input(
    system: Explainable, subjects: Sequence[Subject], units: Sequence[Ints], options: SaliencyOptions
) -> list[Attribution]:
    """Return x times its gradient; one forward and one backward pass."""
    jobs = [Job(number, subject, partial(_get_rows, subject)) for number, subject in enumerate(subjects)]
    return [
        Attribution(
            summarise_by_unit(job.subject.rows.double() * gradient, units[job.number], options.summary), value
        )
        for job, gradient, value in _compute_gradients(system, jobs)
    ]


METHODS = {
    "integrated-gradients": integrated_gradients,
    "occlusion": occlusion,
    "gradient-x-input": gradient_x_input,
}


# --- passes and sums ----------------------------------------------------------------------------------


def split_into_passes(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Cut jobs into passes, in order.

    A pass has at most PASS_TOKENS with padding, or one job.
    """
    part: list[Job] = []
    longest = 0
    for job in jobs:
        longest = max(longest, job.subject.cost)
        if part and (len(part) + 1) * longest > PASS_TOKENS:
            yield part
            part, longest = [], job.subject.cost
        part.append(job)
    if part:
        yield part


def _score_rows(system: Explainable, part: Sequence[Job], rows: Sequence[Tensor]) -> Tensor:
    scored = system.scores([job.subject for job in part], rows, [job.hidden for job in part])
    if scored.shape != (len(part),):  # a system may be user code
        raise ValueError(f"scores gave numbers of the shape {tuple(scored.shape)}, not {(len(part),)}")
    return scored


def _compute_gradients(system: Explainable, jobs: Sequence[Job]) -> Iterator[tuple[Job, Tensor, float]]:
    """Yield each job with its gradient, [n, d] in 64 bits, and its score."""
    for part in split_into_passes(jobs):
        rows = [job.rows().detach().requires_grad_() for job in part]
        with torch.enable_grad():
            scored = _score_rows(system, part, rows)
            gradients = torch.autograd.grad(scored.sum(), rows)
        for job, gradient, value in zip(part, gradients, scored.tolist(), strict=True):
            yield job, gradient.double(), value


def summarise_by_unit(attributed: Tensor, units: Ints, summary: str) -> np.ndarray:
    """Return one number per unit, [U], from attributions [n, d].

    ``l1`` sums absolute values, ``l2`` is the root of the sum of squares, ``dot`` sums with signs, so
    that all units together give the sum of the attributions, as completeness requires.
    """
    numbers = {"l1": attributed.abs(), "l2": attributed.square(), "dot": attributed}[summary]
    sums = np.bincount(units, weights=numbers.sum(1).cpu().numpy(), minlength=int(units.max(initial=-1)) + 1)
    return np.sqrt(sums) if summary == "l2" else sums


def _assign_units(subject: Subject, level: str) -> Ints:
    """Return the unit of each row, [n], counted from 0.

    That is the row itself, or the word in which its text begins. A token outside any word, such as white
    space, is a unit by itself.
    """
    if level == "token":
        return np.arange(len(subject.places))
    keys: list[tuple[int, ...]] = []
    starts: dict[tuple[int, int], Ints] = {}
    ends: dict[tuple[int, int], Ints] = {}
    for row, (article, sentence, start, _) in enumerate(subject.places.tolist()):
        where = (article, sentence)
        if where not in starts:
            words = tokenise(select_text(subject.item, article, sentence))
            starts[where] = np.array([word.start for word in words], dtype=np.int64)
            ends[where] = np.array([word.end for word in words], dtype=np.int64)
        word = int(np.searchsorted(starts[where], start, side="right")) - 1
        inside = word >= 0 and start < ends[where][word]
        keys.append((*where, word, -1) if inside else (*where, start, row))
    numbers: dict[tuple[int, ...], int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def select_text(item: QAItem, article: int, sentence: int) -> str:
    """Return the question, a title or a sentence of an item."""
    if article == IN_QUESTION:
        return item.question
    title, sentences = item.context[article]
    return title if sentence == IN_TITLE else sentences[sentence]


def _build_explanation(
    revision: str, subject: Subject, units: Ints, attribution: Attribution, options: SaliencyOptions
) -> Explanation:
    if not np.isfinite(attribution.scores).all() or not np.isfinite(attribution.value):
        raise PredictionFailed("the saliency is not a finite number: the system's weights are damaged")
    count = len(attribution.scores)
    start = np.full(count, np.iinfo(np.int64).max)
    end = np.zeros(count, dtype=np.int64)
    np.minimum.at(start, units, subject.places[:, 2])
    np.maximum.at(end, units, subject.places[:, 3])
    _, row = np.unique(units, return_index=True)
    return Explanation(
        id=subject.item.id,
        revision=revision,
        options=options,
        scores=[
            _build_score(subject, int(r), (int(a), int(b)), float(s))
            for r, a, b, s in zip(row, start, end, attribution.scores, strict=True)
        ],
        first=int(units[subject.first]),
        last=int(units[subject.last]),
        value=attribution.value,
        baseline_value=attribution.baseline_value,
        delta=attribution.delta,
    )


def _build_score(subject: Subject, row: int, span: tuple[int, int], score: float) -> SaliencyScore:
    article, sentence = subject.places[row, :2].tolist()
    asked = article == IN_QUESTION
    return SaliencyScore(
        article=None if asked else article,
        title=None if asked else subject.item.context[article][0],
        index=None if asked or sentence == IN_TITLE else sentence,
        start=span[0],
        end=span[1],
        score=score,
    )
