"""Section on models of single trials."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pandas as pd

from ...models.bayesian_logistic import PRIOR_FACTORS, BayesModel, Posterior
from ...models.trial_model import Contrast, Model
from ...participants.exclusion_rules import CLOCK_COLUMNS
from ...participants.study_version import Points as Scale
from ...study.analysis import Study
from ...study.inference import MOST_BAYES_TRIALS, MOST_TRIALS, Inference, name_outcome
from ..page import Block, Points, Section, Text
from ..r_script import ESTIMATES, RIGHT, read_estimates, render_study_script
from ..tables import Cell, Column, Table, format_interval, format_number, format_p, format_value_cell

TITLE = "Models of single trials"
SPREAD = "standard deviation, "
NOT_READ = {
    "not run": "refit.R, beside this page, fits the mixed models again with lme4 and ordinal: "
    "Rscript refit.R BUNDLE. The next report shows its estimates here.",
    "out of date": f"{ESTIMATES} in the bundle is not shown: an earlier script wrote it, or the data have "
    "changed since. Run refit.R, beside this page, again.",
}


@dataclass(frozen=True)
class _Effect:
    """An effect on an outcome, of conditions or of the position.

    marginal: averaged over participants, about these items. mixed: for one
    participant, about items like these. refit: R's row of the mixed one.
    """

    label: str
    first: str
    second: str
    marginal: Contrast | None
    mixed: Contrast | None
    model: Model
    refit: Mapping[str, float] | None

    @property
    def difference(self) -> float | None:
        """Ours minus R's."""
        return self.mixed.estimate - self.refit["estimate"] if self.mixed and self.refit else None

    @property
    def decimals(self) -> int:
        """Decimals of the estimates: an effect of one place is small."""
        return 3 if self.mixed is self.model.position else 2


def build_models_section(study: Study, inference: Inference) -> Section:
    """Show models of single trials that respect their participants."""
    titles = study.titles
    intro = (
        "Trials of one participant, and trials on one item, depend on each other. None of these models "
        "treats trials as independent. Marginal models are about these items and average over participants; "
        "mixed models are about one participant and items like these, so their effects are farther from 0."
    )
    blocks: list[Block] = [Text(intro)]
    if inference.too_many:
        text = (
            f"Not fitted: {inference.too_many:,} trials exceed the limit of {MOST_TRIALS:,} for "
            "models here. refit.R, beside this page, fits the same models with lme4 and ordinal."
        )
        return Section("models", TITLE, [*blocks, Text(text, "note")])
    estimates = read_estimates(study.bundle.path, render_study_script(study))
    refits = _index_refits(study, estimates) if isinstance(estimates, pd.DataFrame) else {}
    every = [*inference.models.items(), *inference.mixed.items()]
    fitted = [(label, model) for label, model in every if not model.reason]
    if fitted:
        blocks.append(
            _tabulate_effects(list(_pair_effects(inference, refits)), fitted, titles, with_r=bool(refits))
        )
    if crossed := {label: model for label, model in inference.mixed.items() if not model.reason}:
        blocks.append(_tabulate_spreads(crossed))
    blocks.append(
        Text(NOT_READ[estimates]) if isinstance(estimates, str) else _describe_r_estimates(estimates)
    )
    blocks += _build_bayes_blocks(inference, titles)
    everything: list[tuple[str, Model | BayesModel]] = [*every, *inference.bayes.items()]
    refused = [f"{label}, {model.method}: {model.reason}." for label, model in everything if model.reason]
    if refused:
        blocks += [Text("Refused because the data do not support an estimate:"), Points(refused)]
    assumed = dict.fromkeys(sentence for _, model in fitted for sentence in model.assumptions)
    noted = [f"{label}: {sentence}" for label, model in fitted for sentence in model.notes]
    if assumed:
        blocks += [Text("Assumptions and notes:"), Points([*assumed, *noted])]
    return Section("models", TITLE, blocks)


def _pair_effects(
    inference: Inference, refits: Mapping[tuple[str, str], Mapping[str, float]]
) -> Iterator[_Effect]:
    """Pair the marginal and the mixed model of each outcome."""
    for label in dict.fromkeys([*inference.models, *inference.mixed]):
        marginal, mixed = (models.get(label) for models in (inference.models, inference.mixed))
        own, crossed = (_index_by_pair(model) for model in (marginal, mixed))
        for pair in dict.fromkeys([*own, *crossed]):
            model = mixed if mixed and pair in crossed else marginal
            assert model is not None
            reference = model.contrasts[0].first if model.contrasts else ""
            term = f"condition{pair[1]}" if pair[0] == reference else ""
            refit = refits.get((label, "position" if pair not in _list_contrast_pairs(model) else term))
            yield _Effect(label, *pair, own.get(pair), crossed.get(pair), model, refit)


def _list_contrast_pairs(model: Model) -> set[tuple[str, str]]:
    return {(contrast.first, contrast.second) for contrast in model.contrasts}


def _index_by_pair(model: Model | None) -> dict[tuple[str, str], Contrast]:
    if model is None:
        return {}
    every = [*model.contrasts, *([model.position] if model.position else [])]
    return {(contrast.first, contrast.second): contrast for contrast in every}


def _index_refits(study: Study, estimates: pd.DataFrame) -> dict[tuple[str, str], Mapping[str, float]]:
    """Return R's rows by the label of the outcome and the term."""
    rating = study.version.question("correctness_rating")
    labels = {
        question.key: name_outcome(question)
        for question in study.version.item_questionnaire
        if isinstance(question.scale, Scale)
    }
    labels |= {RIGHT: "Right rating"} | ({rating.key: "Rated correct"} if rating else {})
    labels |= {CLOCK_COLUMNS[study.clock]: "Completion time"} if study.clock else {}
    rows = estimates[estimates["term"].notna()].to_dict("records")
    numbers = ("estimate", "standard_error")
    return {
        (labels[row["outcome"]], row["term"]): {name: float(row[name]) for name in numbers}
        for row in rows
        if row["outcome"] in labels
    }


def _describe_r_estimates(estimates: pd.DataFrame) -> Text:
    """Say where R's estimates come from, and what its fits complained of."""
    warned = estimates[estimates["message"].notna()].drop_duplicates(["outcome", "message"])
    complaints = "".join(f" {row['outcome']}: {row['message']}." for row in warned.to_dict("records"))
    return Text(
        f"R's estimates are those of {ESTIMATES} in the bundle, which refit.R wrote (lmer, glmer, clmm); the "
        f"difference is ours minus R's.{complaints}"
    )


def _build_bayes_blocks(inference: Inference, titles: dict[str, str]) -> list[Block]:
    if "Rated correct" in inference.models and not inference.bayes:
        text = f"Bayesian models are fitted to at most {MOST_BAYES_TRIALS:,} trials, and left out here."
        return [Text(text, "note")]
    posteriors = {label: model for label, model in inference.bayes.items() if not model.reason}
    if not posteriors:
        return []
    rows = [(label, contrast) for label, model in posteriors.items() for contrast in model.contrasts]
    columns = [
        Column(
            "outcome", lambda row: row[0], "Outcome", lambda row: _format_label_cell(row[0], row[1], titles)
        ),
        Column("first", lambda row: row[1].first),
        Column("second", lambda row: row[1].second),
        Column(
            "mean",
            lambda row: row[1].mean,
            "Log odds, posterior mean",
            lambda row: format_number(row[1].mean),
        ),
        Column("sd", lambda row: row[1].sd),
        Column("error", lambda row: row[1].error),
        Column(
            "low high",
            lambda row: row[1].interval,
            "95 % credible",
            lambda row: format_interval(row[1].interval),
        ),
        Column(
            "above",
            lambda row: row[1].above,
            "Probability above 0",
            lambda row: _format_probability(row[1].above),
        ),
        Column(
            "halved_prior doubled_prior",
            lambda row: row[1].under_priors,
            "Mean under half and double the prior",
            lambda row: " and ".join(format_number(mean) for mean in row[1].under_priors),
        ),
    ]
    rope = next(iter(posteriors.values())).rope
    if rope:
        heading = f"Probability within {format_interval(rope)}"
        columns.append(
            Column(
                "inside", lambda row: row[1].inside, heading, lambda row: _format_probability(row[1].inside)
            )
        )
    caption = "Bayesian logistic models with crossed participants and items"
    return [Table.from_columns("bayes", caption, rows, columns, _list_bayes_notes(posteriors))]


def _list_bayes_notes(posteriors: dict[str, BayesModel]) -> list[str]:
    first = next(iter(posteriors.values()))
    error = max(contrast.error for model in posteriors.values() for contrast in model.contrasts)
    effective = min(model.effective for model in posteriors.values())
    r_hat = max(model.r_hat for model in posteriors.values())
    factors = " and ".join(f"{factor:g}" for factor in PRIOR_FACTORS)
    return [
        f"{first.method}.",
        *first.assumptions,
        f"Diagnostics: {first.draws:,} draws, at least {effective:,.0f} effective, split R-hat at most "
        f"{r_hat:.3f}, Monte Carlo error of a mean at most {error:.3f}. The other priors multiply the "
        f"standard deviation of effects by {factors}.",
        *([] if first.rope else ["No region of practical equivalence was declared (rope in the plan)."]),
    ]


def _tabulate_effects(
    effects: list[_Effect], fitted: list[tuple[str, Model]], titles: dict[str, str], *, with_r: bool
) -> Table:
    columns = [
        Column("outcome", "label", "Outcome", lambda row: _format_label_cell(row.label, row, titles)),
        Column("first"),
        Column("second"),
        *_build_contrast_columns("marginal", "These items"),
        *_build_contrast_columns("mixed", "Items like these"),
        Column("trials", "model.trials"),
        Column("participants", "model.participants"),
    ]
    if with_r:
        columns += [
            Column("r_estimate", lambda row: row.refit and row.refit["estimate"], "R", _format_r_cell),
            Column("r_standard_error", lambda row: row.refit and row.refit["standard_error"]),
            Column("r_difference", "difference", "Ours − R", lambda row: _format_signed(row.difference)),
        ]
    outcomes: dict[str, list[str]] = {}
    for label, model in fitted:
        outcomes.setdefault(f"{model.method}, {model.scale}", []).append(label)
    notes = [f"{method}: {', '.join(labels)}." for method, labels in outcomes.items()]
    return Table.from_columns("models", "Effects of conditions", effects, columns, notes)


def _build_contrast_columns(name: str, heading: str) -> list[Column]:
    def cell(row: _Effect) -> Cell | str:
        contrast: Contrast | None = getattr(row, name)
        return format_value_cell(contrast.estimate, contrast.interval, 1, row.decimals) if contrast else "–"

    def p_cell(row: _Effect) -> str:
        contrast: Contrast | None = getattr(row, name)
        return format_p(contrast.p) if contrast else "–"

    return [
        Column(f"{name}_estimate", f"{name}.estimate", heading, cell),
        Column(f"{name}_standard_error", f"{name}.standard_error"),
        Column(f"{name}_low {name}_high", f"{name}.interval"),
        Column(f"{name}_p", f"{name}.p", "p", p_cell),
    ]


def _tabulate_spreads(crossed: dict[str, Model]) -> Table:
    """Show the standard deviations of the mixed models' random effects."""
    names = dict.fromkeys(
        name.removeprefix(SPREAD) for model in crossed.values() for name in model.details if SPREAD in name
    )

    def spread(name: str, row: tuple[str, Model]) -> float | None:
        return row[1].details.get(SPREAD + name)

    def cell(name: str, row: tuple[str, Model]) -> str:
        value = spread(name, row)
        return "–" if value is None else format_number(value)

    columns = [Column("outcome", lambda row: row[0], "Outcome", is_text=True)]
    for name in names:
        key, heading = name.replace(" ", "_"), name[:1].upper() + name[1:]
        columns.append(Column(key, partial(spread, name), heading, partial(cell, name)))
    caption = "Standard deviations of the mixed models' random effects"
    return Table.from_columns("model_spreads", caption, list(crossed.items()), columns)


def _format_r_cell(row: _Effect) -> str:
    if row.refit is None:
        return "–"
    return f"{row.refit['estimate']:.{row.decimals}f} ({row.refit['standard_error']:.{row.decimals}f})"


def _format_signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}".replace("-", "−")


def _format_label_cell(label: str, effect: _Effect | Posterior, titles: dict[str, str]) -> Cell:
    if effect.second not in titles:
        return Cell(label, detail="per position in the order")
    return Cell(label, detail=f"{titles[effect.second]} − {titles[effect.first]}")


def _format_probability(value: float) -> str:
    return ">\u00a00.999" if value > 0.999 else "<\u00a00.001" if value < 0.001 else f"{value:.3f}"
