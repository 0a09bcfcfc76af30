"""Module-wise faithfulness of spans: attention outside the gold spans.

The loss of a node with gold spans S and attention p over tokens is
I = −Σ_{s in S} ln max(Σ_{t in s} p_t, 1e-20), ends exclusive, not divided by
the number of spans; lower is better. If one gold list stands for two outputs,
such as the two finds of a comparison, their attentions are first merged by
element-wise maximum; the merged sum over a span may exceed 1, and its part of
the loss then lies below 0.

Reported are the mean over questions of the sum over their modules (`overall`),
the sum over instances of a module by their number, with the groups of Table 2,
and the mean over all instances (`micro`). The released script leaves find-num
and find-date in beside their group find-arg, so that its micro average counts
them twice (`micro_reference`); the overall values published in Table 2 are
reproduced by that.

References:
    1. Subramanian et al. (2020), section 3.2.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..stats.arrays import Array
from ..stats.bootstrap_sums import Quantity, Tally, compute_mean, quantities
from .examples import MatchError, normalise_module_name
from .overlap import Index, list_range_members

LEAST = 1e-20  # attention on a span below it counts as this much
OVERALL, MICRO, MICRO_REFERENCE = "overall", "micro", "micro_reference"
# Name in a file, with how many outputs it stands for and the module it is of.
NAMES: dict[str, tuple[str, int]] = {
    "find-events": ("find", 1),
    "find-one-event": ("find", 1),
    "find-two-events": ("find", 2),
    "after-filter-events": ("filter", 1),
    "after-max-event": ("find-max-num", 1),
    "after-min-event": ("find-min-num", 1),
    "max-pattn": ("find-max-num", 1),
    "min-pattn": ("find-min-num", 1),
    "find-nums": ("find-num", 1),
    "ground-two-nums": ("find-num", 2),
    "ground-two-dates": ("find-date", 2),
}
GROUPS = {"min-max": ("find-min-num", "find-max-num"), "find-arg": ("find-num", "find-date")}  # of Table 2


@dataclass(frozen=True)
class GoldSpans:
    """Gold of a question: per scored node its name and its spans.

    Attributes:
        id: Unique among the questions.
        modules: Name of each scored node and its spans in tokens, n × 2, end exclusive.
    """

    id: str
    modules: tuple[tuple[str, Index], ...]


@dataclass(frozen=True)
class SpanOutput:
    """A system's attentions for a question, in the order of the gold.

    Attributes:
        id: ID of the question.
        modules: Name of each node and its attentions, attentions × tokens.
        goes_on: There may be further modules, without gold, after those of the gold.
    """

    id: str
    modules: tuple[tuple[str, Array], ...]
    goes_on: bool = False

    def cut_to(self, gold: GoldSpans) -> "SpanOutput":
        """Leave out the modules after those of the gold, if it goes on.

        Args:
            gold: Gold of the same question.

        Returns:
            The output, without the modules after those of the gold.
        """
        paired = sum(resolve_module(name)[1] for name, _ in gold.modules)
        return replace(self, modules=self.modules[:paired]) if self.goes_on else self


@dataclass(frozen=True)
class SpanScore:
    """A mean loss in nats.

    n: questions for `overall`, instances for all others.
    """

    loss: float
    n: int


@dataclass(frozen=True)
class WorstQuestion:
    """A question with its loss and the node that adds most to it, if any."""

    id: str
    loss: float
    place: int | None  # words: allow - a field that the package publishes
    module: str | None
    module_loss: float | None


@dataclass(frozen=True)
class SpanScores:
    """Losses of one system.

    Attributes:
        examples: IDs of the questions.
        question: Of every scored node the index of its question in `examples`, shape (nodes,).
        module: Name of every scored node.
        place: Index of every scored node in the gold's list, shape (nodes,).
        loss: Of every scored node, in nats, shape (nodes,).
    """

    examples: tuple[str, ...]
    question: Index
    module: tuple[str, ...]
    place: Index  # words: allow - a field that the package publishes
    loss: Array

    @cached_property
    def tallies(self) -> dict[str, Tally]:
        """Mean losses as sums over questions, with their divisors.

        By name: `overall`, the two micro-averages, every module and Table 2's groups; rows in the order of
        `examples`.
        """
        every = self._sums(dict.fromkeys(self.module))
        per_question = np.stack([every[:, 0], np.ones(len(self.examples))], axis=1)
        arguments = self._sums(GROUPS["find-arg"])
        tallies = {
            OVERALL: _build_tally(per_question),
            MICRO: _build_tally(every),
            MICRO_REFERENCE: _build_tally(every + arguments),
        }
        for name in dict.fromkeys(self.module):
            tallies[name] = _build_tally(self._sums([name]))
        for name, members in GROUPS.items():
            if set(members) & set(self.module):
                tallies[name] = _build_tally(self._sums(members))
        return tallies

    def table(self) -> dict[str, SpanScore]:
        """Tabulate mean losses: overall, micro, every module, Table 2's groups.

        Returns:
            Scores in nats by name, those with an instance.
        """
        return {name: SpanScore(tally.value, tally.n) for name, tally in self.tallies.items() if tally.n}

    def intervals(
        self, *, rng: np.random.Generator, resamples: int = 2000, level: float = 0.95
    ) -> dict[str, Quantity]:
        """Compute mean losses with BCa intervals of a bootstrap over questions.

        Args:
            rng: Source of random numbers.
            resamples: Number of bootstrap replicates; 0 gives no intervals.
            level: Of the confidence intervals.

        Returns:
            Mean losses in nats, keyed as `tallies`.

        Raises:
            ValueError: `resamples` is negative.
        """
        return quantities(self.tallies, rng=rng, resamples=resamples, level=level)

    def list_worst(self, most: int | None = None) -> list[WorstQuestion]:
        """List questions from the highest loss down, each with its worst node.

        Args:
            most: Number of questions to list; None for all.

        Returns:
            Questions with their loss in nats and their worst node.
        """
        totals = self.tallies[OVERALL].sums[:, 0]
        worst = []
        for question in np.argsort(-totals, kind="stable")[:most]:
            own = np.flatnonzero(self.question == question)
            node = own[np.argmax(self.loss[own])] if len(own) else None
            most_lossy: tuple[int | None, str | None, float | None] = (None, None, None)
            if node is not None:
                most_lossy = int(self.place[node]), self.module[node], float(self.loss[node])
            worst.append(WorstQuestion(self.examples[question], float(totals[question]), *most_lossy))
        return worst

    def _sums(self, modules: Iterable[str]) -> Array:
        """Sum losses and instances of some modules: questions × 2."""
        chosen = np.isin(self.module, list(modules))
        questions, size = self.question[chosen], len(self.examples)
        losses = np.bincount(questions, self.loss[chosen], minlength=size)
        return np.stack([losses, np.bincount(questions, minlength=size)], axis=1).astype(float)


def score_spans(
    gold: Sequence[GoldSpans], outputs: Mapping[str, SpanOutput], *, partial: bool = False
) -> SpanScores:
    """Score a system's attentions against gold spans.

    Outputs pair with the gold lists by position; if a gold list stands for two
    outputs, such as `find-two-events`, either both follow one another, or one is given, already
    merged or as two rows.

    Args:
        gold: The questions.
        outputs: By ID, of every gold question; others are left out.
        partial: Leave out gold questions without output instead of failing.

    Returns:
        Losses of every scored node, in nats.

    Raises:
        MatchError: Gold and outputs do not fit together.

    Examples:
        >>> gold = GoldSpans("q", (("find", np.array([[0, 1]])),))
        >>> output = SpanOutput("q", (("find", np.array([[0.5, 0.5]])),))
        >>> round(score_spans([gold], {"q": output}).table()["overall"].loss, 3)
        0.693
    """
    kept = [example for example in gold if not partial or example.id in outputs]
    question, indices, modules, attentions, spans = [], [], [], [], []
    for number, example in enumerate(kept):
        if example.id not in outputs:
            raise MatchError("there is no output", example.id)
        for index, attention in enumerate(_merge_attentions(example, outputs[example.id].cut_to(example))):
            question.append(number)
            indices.append(index)
            modules.append(resolve_module(example.modules[index][0])[0])
            attentions.append(attention)
            spans.append(_check_spans(example, index, len(attention)))
    return SpanScores(
        examples=tuple(example.id for example in kept),
        question=np.array(question, dtype=np.int64),
        module=tuple(modules),
        place=np.array(indices, dtype=np.int64),
        loss=_compute_losses(attentions, spans),
    )


def resolve_module(name: str) -> tuple[str, int]:
    """Return a file name's module, and the number of outputs it stands for.

    Examples:
        >>> resolve_module("ground-two-dates"), resolve_module("find_num")
        (('find-date', 2), ('find-num', 1))
    """
    plain = normalise_module_name(name)
    return NAMES.get(plain, (plain, 1))


def _merge_attentions(gold: GoldSpans, output: SpanOutput) -> list[Array]:
    """Merge the attentions that belong to one gold list by maximum."""
    counts = [resolve_module(name)[1] for name, _ in gold.modules]
    if len(output.modules) == len(gold.modules):
        counts = [1] * len(gold.modules)
    elif len(output.modules) != sum(counts):
        wanted = f"{len(counts)}" + (f" (or {sum(counts)}, unmerged)" if sum(counts) > len(counts) else "")
        raise MatchError(f"there are {len(output.modules)} modules, gold has {wanted}", gold.id, "modules")
    merged, start = [], 0
    for (name, _), count in zip(gold.modules, counts, strict=True):
        parts = output.modules[start : start + count]
        for index, (output_name, _) in enumerate(parts, start):
            if resolve_module(output_name.rstrip("0123456789"))[0] != resolve_module(name)[0]:
                problem = f"the output is of {output_name!r}, gold of {name!r}"
                raise MatchError(problem, gold.id, f"module {index}")
        rows = [row for _, attention in parts for row in np.atleast_2d(attention)]
        if len({len(row) for row in rows}) != 1:
            problem = "attentions to be merged must be over the same tokens"
            raise MatchError(problem, gold.id, f"module {start}")
        merged.append(np.maximum.reduce(rows))
        if not (merged[-1] >= 0).all():
            raise MatchError("an attention is negative or NaN", gold.id, f"module {start}")
        start += count
    return merged


def _check_spans(gold: GoldSpans, index: int, tokens: int) -> Index:
    """Return a gold list's spans; MatchError for one outside the attention."""
    name, spans = gold.modules[index]
    for start, end in spans:
        if not 0 <= start < end <= tokens:
            problem = f"the span [{start}, {end}] does not lie within {tokens} tokens"
            raise MatchError(problem, gold.id, f"module {index} ({name})")
    return spans


def _compute_losses(attentions: Sequence[Array], spans: Sequence[Index]) -> Array:
    """Compute the losses of nodes: −Σ over spans of the log attention."""
    lengths = np.array([len(attention) for attention in attentions], dtype=np.int64)
    counts = [len(own) for own in spans]
    if not sum(counts):
        return np.zeros(len(spans))
    node = np.repeat(np.arange(len(spans)), counts)
    starts, ends = np.concatenate([own for own in spans if len(own)]).T
    _, tokens = list_range_members((np.cumsum(lengths) - lengths)[node] + starts, ends - starts)
    first = np.cumsum(ends - starts) - (ends - starts)
    sums = np.add.reduceat(np.concatenate(attentions)[tokens], first)
    losses: Array = -np.log(np.maximum(sums, LEAST))
    return np.bincount(node, losses, minlength=len(spans)).astype(float)


def _build_tally(sums: Array) -> Tally:
    return Tally(sums, compute_mean, int(sums[:, 1].sum()), "no question has this module")
