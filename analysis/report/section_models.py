"""Section on models of single trials."""

from typing import NamedTuple

from ..models.bayesian_logistic import BayesModel, Posterior
from ..models.trial_model import Contrast, Model
from ..study.analysis import Study
from ..study.inference import MOST_BAYES_TRIALS, MOST_TRIALS, Inference
from .page import Block, Points, Section, Text
from .tables import Cell, Column, Table, interval, number, p_text, value_cell


def models_section(study: Study, inference: Inference) -> Section:
    """Show models of single trials that respect their participants."""
    titles = {condition.name: condition.title for condition in study.conditions}
    intro = (
        "Trials of one participant, and trials on one item, depend on each other. None of these models "
        "treats trials as independent. They check the comparisons above under other assumptions."
    )
    blocks: list[Block] = [Text(intro)]
    if inference.too_many:
        blocks.append(
            Text(
                f"Not fitted: {inference.too_many:,} trials exceed the limit of {MOST_TRIALS:,} for "
                "models here. refit.R, beside this page, fits the same models with lme4 and ordinal.",
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
        blocks += [Text("Refused because the data do not support an estimate:"), Points(refused)]
    assumed = dict.fromkeys(s for model in fitted.values() for s in (*model.assumptions, *model.notes))
    if assumed:
        blocks += [Text("Assumptions and notes:"), Points(list(assumed))]
    blocks.append(Text("refit.R, beside this page, refits the models in R with lme4 and ordinal."))
    return Section("models", "Models of single trials", blocks)


def _bayes_blocks(inference: Inference, titles: dict[str, str]) -> list[Block]:
    if "Rated correct" in inference.models and not inference.bayes:
        text = f"Bayesian models are fitted to at most {MOST_BAYES_TRIALS:,} trials, and left out here."
        return [Text(text, "note")]
    posteriors = {label: model for label, model in inference.bayes.items() if not model.reason}
    if not posteriors:
        return []
    rows = [(label, contrast) for label, model in posteriors.items() for contrast in model.contrasts]
    columns = [
        Column("", heading="Outcome", cell=lambda row: _label_cell(row[0], row[1], titles)),
        Column("", lambda row: number(row[1].mean), "Log odds, posterior mean"),
        Column("", lambda row: interval(row[1].interval), "95 % credible"),
        Column("", lambda row: _share(row[1].above), "Probability above 0"),
    ]
    caption = "Bayesian logistic models with crossed participants and items"
    notes = [next(iter(posteriors.values())).method]
    return [Table.from_columns("bayes", caption, rows, columns, notes)]


def _models_table(fitted: dict[str, Model], titles: dict[str, str]) -> Table:
    rows = [
        _Effect(label, model, effect, decimals)
        for label, model in fitted.items()
        for effect, decimals in (*((one, 2) for one in model.contrasts), (model.position, 3))
        if effect is not None
    ]
    columns = [
        Column("outcome", "label", "Outcome", lambda row: _label_cell(row.label, row.effect, titles)),
        Column("model", "model.method"),
        Column("scale", "model.scale"),
        Column("first", "effect.first"),
        Column("second", "effect.second"),
        Column(
            "estimate",
            "effect.estimate",
            "Estimate",
            lambda row: value_cell(row.effect.estimate, row.effect.interval, 1, row.decimals),
        ),
        Column("standard_error", "effect.standard_error"),
        Column("low high", "effect.interval"),
        Column("p", "effect.p", "p", lambda row: p_text(row.effect.p)),
        Column("trials", "model.trials"),
        Column("participants", "model.participants"),
    ]
    scales = [f"{label}: {model.scale}; {model.method}." for label, model in fitted.items()]
    return Table.from_columns("models", "Effects of conditions", rows, columns, scales)


class _Effect(NamedTuple):
    """An effect of a model, of conditions or of the position."""

    label: str
    model: Model
    effect: Contrast
    decimals: int


def _label_cell(label: str, effect: Contrast | Posterior, titles: dict[str, str]) -> Cell:
    if effect.second not in titles:
        return Cell(label, detail="per position in the order")
    return Cell(label, detail=f"{titles[effect.second]} − {titles[effect.first]}")


def _share(value: float) -> str:
    return ">\u00a00.999" if value > 0.999 else "<\u00a00.001" if value < 0.001 else f"{value:.3f}"
