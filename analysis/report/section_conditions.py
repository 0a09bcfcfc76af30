"""The report's sections on differences between conditions: declared comparisons, and models of trials."""

from collections.abc import Sequence

from ..models.bayesian_logistic import BayesModel
from ..models.trial_model import Contrast, Model
from ..participants.measures import Measure
from ..stats.results import Finding
from ..study.analysis import Study
from ..study.comparisons import Comparison
from ..study.inference import MOST_BAYES_TRIALS, MOST_TRIALS, Inference
from .page import Block, Points, Section, Text
from .section_participants import FORMATS
from .tables import Cell, Table, interval, number

TIMES = "Completion time"
HOW_TESTED = {  # whether the same participants saw both conditions
    False: "p comes from {permutations} permutations of participants between the two conditions (all of them "
    "where they are fewer). Hedges' g is a difference in standard deviations between participants; "
    "superiority is the probability that a participant of the second condition has the higher value. Each "
    "participant counts once.",
    True: "Conditions that the same participants saw are compared within them: the difference is the mean of "
    "the changes of those who have both values, so it may differ from that of the two means; participants "
    "are resampled with both conditions; p comes from {permutations} random swaps of the two conditions "
    "within participants (all of them up to 15 participants). Hedges' g is the mean change in average "
    "standard deviations of the two conditions; superiority is the share of participants with the higher "
    "value in the second, ties half.",
}


def differences_section(study: Study, inference: Inference) -> Section:
    """Every comparison of the family, with interval, test, correction and effect size."""
    family = inference.family
    titles = {arm.name: arm.title for arm in study.conditions}
    blocks: list[Block] = [Text(_what_is_compared(inference)), Text(_how_compared(study, inference))]
    shown = [one for one in family.comparisons if not one.reason]
    if shown:
        blocks.append(_differences_table(shown, titles, _data(family.comparisons), inference.plan.alpha))
    if margins := [one for one in shown if one.equivalence is not None]:
        blocks.append(_equivalence_table(margins, titles))
    refused = dict.fromkeys(
        f"{_pair(one, titles)} in {_lower(one.measure.label)}: {one.reason}."
        for one in family.comparisons
        if one.reason
    )
    if refused:
        blocks += [Text("Not compared:"), Points(list(refused))]
    assumed = dict.fromkeys(
        sentence for one in shown for found in (one.bca, one.permutation) for sentence in found.assumptions
    )
    if assumed:
        blocks += [Text("What this assumes:"), Points(list(assumed))]
    return Section("differences", "Differences between conditions", blocks)


def models_section(study: Study, inference: Inference) -> Section:
    """Models of single trials that respect whose they are, and what they refuse."""
    titles = {arm.name: arm.title for arm in study.conditions}
    intro = (
        "Trials of one person, and trials on one item, belong together. These models say so: none treats "
        "trials as independent. They are a check on the comparisons above, with other assumptions."
    )
    blocks: list[Block] = [Text(intro)]
    if inference.too_many:
        blocks.append(
            Text(
                f"Not fitted: {inference.too_many:,} trials are more than the {MOST_TRIALS:,} that are "
                "fitted here. refit.R, beside this page, fits the same models with lme4 and ordinal.",
                "note",
            )
        )
        return Section("models", "Models of single trials", blocks)
    fitted = {label: model for label, model in inference.models.items() if not model.reason}
    if fitted:
        blocks.append(_models_table(fitted, titles))
    blocks += _bayes_blocks(inference, titles)
    everything: list[tuple[str, Model | BayesModel]] = [*inference.models.items(), *inference.bayes.items()]
    refused = [f"{label}, {model.method}: {model.reason}." for label, model in everything if model.reason]
    if refused:
        blocks += [Text("Refused, because no honest number could be given:"), Points(refused)]
    assumed = dict.fromkeys(s for model in fitted.values() for s in (*model.assumptions, *model.notes))
    if assumed:
        blocks += [Text("What they assume, and what to know about these fits:"), Points(list(assumed))]
    blocks.append(Text("refit.R, beside this page, refits the models in R with lme4 and ordinal."))
    return Section("models", "Models of single trials", blocks)


def _bayes_blocks(inference: Inference, titles: dict[str, str]) -> list[Block]:
    if "Rated correct" in inference.models and not inference.bayes:
        text = f"Bayesian models are fitted to at most {MOST_BAYES_TRIALS:,} trials, and left out here."
        return [Text(text, "note")]
    posteriors = {label: model for label, model in inference.bayes.items() if not model.reason}
    if not posteriors:
        return []
    rows = [
        [
            Cell(label, detail=f"{titles[one.second]} − {titles[one.first]}"),
            Cell(number(one.mean)),
            Cell(interval(one.interval)),
            Cell(_share(one.above)),
        ]
        for label, model in posteriors.items()
        for one in model.contrasts
    ]
    header = ["Outcome", "Log odds, posterior mean", "95 % credible", "Probability above 0"]
    caption = "Bayesian logistic models with crossed participants and items"
    return [Table("bayes", caption, header, rows, [next(iter(posteriors.values())).method])]


def _what_is_compared(inference: Inference) -> str:
    size = inference.family.size
    if inference.declared:
        return (
            f"The plan declared {size} comparisons before the data; they are confirmatory. p is corrected "
            f"over this family by Holm's method, alpha {inference.plan.alpha:g}."
        )
    return (
        f"No family was declared (report --plan), so all {size} pairs of conditions and main measures are "
        "compared, and all of it is exploratory: it can suggest, and not confirm. p is corrected over all of "
        "them by Holm's method."
    )


def _how_compared(study: Study, inference: Inference) -> str:
    intervals = (
        f"Intervals are BCa intervals of {study.options.resamples} two-way bootstrap replicates; those of a "
        "ratio, for times, are of the ratio. "
        if study.options.resamples
        else "No intervals were asked for. "
    )
    paired = {one.paired for one in inference.family.comparisons}
    return intervals + " ".join(
        words.format(permutations=f"{inference.plan.permutations:,}")
        for is_paired, words in HOW_TESTED.items()
        if is_paired in paired
    )


def _differences_table(
    shown: Sequence[Comparison], titles: dict[str, str], data: Sequence[Sequence[object]], alpha: float
) -> Table:
    rows = []
    for one in shown:
        factor, decimals = _scale(one.measure)
        rows.append(
            [
                Cell(_name(one.measure), detail=_pair(one, titles)),
                _finding_cell(one.bca, factor, decimals),
                Cell(_p(one.p)),
                Cell(
                    _p(one.adjusted_p),
                    "marked" if one.adjusted_p is not None and one.adjusted_p <= alpha else "",
                ),
                _finding_cell(one.hedges_g, 1, 2),
                _finding_cell(one.superiority, 100, 0),
            ]
        )
    header = ["Measure", "Difference", "p", "p, Holm", "Hedges' g", "Superiority (%)"]
    notes = ["Shares are in percentage points. A geometric mean is compared as a ratio, second by first."]
    return Table(
        "differences", "Second condition minus first", header, rows, notes, _DATA_HEADER, data, wide=True
    )


def _equivalence_table(shown: Sequence[Comparison], titles: dict[str, str]) -> Table:
    rows = []
    for one in shown:
        found = one.equivalence
        assert found is not None
        factor, decimals = _scale(one.measure)
        verdict = found.reason or ("equivalent" if found.equivalent else "not shown to be equivalent")
        rows.append(
            [
                Cell(_name(one.measure), detail=_pair(one, titles)),
                Cell(interval((found.margin[0] * factor, found.margin[1] * factor), decimals)),
                _finding_cell(found, factor, decimals),
                Cell(_p(found.p)),
                Cell(verdict),
            ]
        )
    header = ["Measure", "Margin", "Difference, 90 %", "p", "Two one-sided tests"]
    return Table("equivalence", "Equivalence within the declared margins", header, rows, words=(4,))


def _models_table(fitted: dict[str, Model], titles: dict[str, str]) -> Table:
    rows, data = [], []
    for label, model in fitted.items():
        for one in model.contrasts:
            rows.append(
                [
                    Cell(label, detail=f"{titles[one.second]} − {titles[one.first]}"),
                    Cell(number(one.estimate), detail=interval(one.interval)),
                    Cell(_p(one.p)),
                ]
            )
            data.append(
                (label, model.method, model.scale, *_contrast_row(one), model.trials, model.participants)
            )
        if model.position is not None:
            one = model.position
            rows.append(
                [
                    Cell(label, detail="per place in the order"),
                    Cell(number(one.estimate, 3), detail=interval(one.interval, 3)),
                    Cell(_p(one.p)),
                ]
            )
            data.append(
                (label, model.method, model.scale, *_contrast_row(one), model.trials, model.participants)
            )
    header = ["Outcome", "Estimate", "p"]
    names = (
        "outcome", "model", "scale", "first", "second", "estimate", "standard_error", "low", "high", "p",
        "trials", "participants",
    )  # fmt: skip
    scales = [f"{label}: {model.scale}; {model.method}." for label, model in fitted.items()]
    return Table("models", "Effects of conditions", header, rows, scales, names, data)


def _contrast_row(one: Contrast) -> tuple[object, ...]:
    return one.first, one.second, one.estimate, one.standard_error, *one.interval, one.p


_DATA_HEADER = (
    "measure", "first", "second", "first_value", "second_value", "difference", "bca_low", "bca_high",
    "percentile_low", "percentile_high", "p", "p_holm", "hedges_g", "hedges_g_low", "hedges_g_high",
    "cliffs_delta", "cliffs_delta_low", "cliffs_delta_high", "superiority", "ratio", "ratio_low",
    "ratio_high", "first_n", "second_n", "paired", "reason",
)  # fmt: skip


def _data(comparisons: Sequence[Comparison]) -> Sequence[Sequence[object]]:
    return [
        (
            one.measure.key, one.first, one.second, *one.values, one.bca.estimate, *_bounds(one.bca),
            *_bounds(one.percentile), one.p, one.adjusted_p, one.hedges_g.estimate, *_bounds(one.hedges_g),
            one.cliffs_delta.estimate, *_bounds(one.cliffs_delta), one.superiority.estimate,
            one.ratio.estimate if one.ratio else None, *(_bounds(one.ratio) if one.ratio else (None, None)),
            *one.bca.n, one.paired, one.reason,
        )
        for one in comparisons
    ]  # fmt: skip


def _bounds(found: Finding) -> tuple[float | None, float | None]:
    return found.interval or (None, None)


def _finding_cell(found: Finding, factor: float, decimals: int) -> Cell:
    if found.estimate is None:
        return Cell("refused", "missing", found.reason)
    bounds = found.interval
    scaled = (bounds[0] * factor, bounds[1] * factor) if bounds else None
    return Cell(number(found.estimate * factor, decimals), detail=interval(scaled, decimals))


def _scale(measure: Measure) -> tuple[float, int]:
    """Factor and decimals of a difference; a ratio has no unit."""
    if measure.geometric:
        return 1, 2
    shown = FORMATS[measure.unit]
    return shown.factor, shown.decimals


def _name(measure: Measure) -> str:
    return measure.label + (" (ratio)" if measure.geometric else FORMATS[measure.unit].suffix)


def _pair(one: Comparison, titles: dict[str, str]) -> str:
    return f"{titles[one.second]} {'by' if one.measure.geometric else '−'} {titles[one.first]}"


def _p(p: float | None) -> str:
    if p is None:
        return "–"
    return "<\u00a00.001" if p < 0.001 else f"{p:.3f}"


def _share(value: float) -> str:
    return ">\u00a00.999" if value > 0.999 else "<\u00a00.001" if value < 0.001 else f"{value:.3f}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
