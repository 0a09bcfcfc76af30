"""The command ``correlate``: human measures and model scores from tables.

Each table is a CSV file with a header: the first column names the systems, every other column is a measure or
a score. An empty cell is a missing value. Measures and scores that are known by key or label bring their
better direction and label. A table of human measures whose second column is `participant` has a row per
system and participant; participants are averaged, and resampled for confidence intervals.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from cyclopts import Parameter, Token

from ..io.errors import InputError
from ..io.table_columns import Column
from ..io.tabular_files import read_csv_header, read_table
from ..io.whole_files import hash_file
from ..participants.estimates import average_participants
from ..participants.measures import Measure
from ..participants.tasks import find_measure
from ..planning.declared_plan import Plan, load_plan
from ..report.build import build_correlation_report
from ..report.page import write_page
from ..scores.score_table import Score, find_score
from ..stats.arrays import Array
from ..stats.bootstrap import draw_counts
from ..stats.rank_agreement import Direction
from ..study.human_vs_model import Quantity, Relation, Relations, relate
from .options import Count, print_json

# Names of a second column that make it a table of participants.
PARTICIPANT = ("participant", "participant_id")


def _parse_directions(_type: object, tokens: Sequence[Token]) -> list[tuple[str, Direction]]:
    directions: list[tuple[str, Direction]] = []
    for token in tokens:
        column, _, direction = token.value.rpartition("=")
        if not column or direction not in ("higher", "lower"):
            raise ValueError(f"{token.value!r} is not COLUMN=higher or COLUMN=lower")
        directions.append((column, "higher" if direction == "higher" else "lower"))
    return directions


def write_correlations(
    *,
    human: Path,
    model: Path,
    out: Path,
    plan: Path | None = None,
    wanted: Annotated[
        Sequence[tuple[str, Direction]], Parameter(converter=_parse_directions, n_tokens=1)
    ] = (),
    seed: Count = 1,
    resamples: Count = 2000,
    json: bool = False,
) -> None:
    """Relate human measures to model scores from two plain tables.

    Args:
        human: CSV of measures by system, or by system and participant.
        model: CSV of scores by system.
        out: Folder for the page, with the rank table and correlations.
        plan: Declared plan (JSON): scores, coefficient and the share from which on a sign counts.
        wanted: Better direction of a column that is not known by name, as COLUMN=higher or COLUMN=lower;
            may be repeated.
        seed: Seed of the permutations and of the bootstrap.
        resamples: Bootstrap replicates of participants.
        json: Print JSON instead of the path of the page.
    """
    rng = np.random.default_rng(seed)
    relations = relate_tables(human, model, dict(wanted), rng=rng, resamples=resamples)
    sources = {path.name: hash_file(path) for path in (human, model, plan) if path is not None}
    declared = load_plan(plan) if plan else Plan(seed=seed)
    page = build_correlation_report(relations, sources, declared)
    report = str(write_page(page, out)[0])
    if json:
        pairs = [_build_relation_json(relation) for relation in relations.pairs.values()]
        print_json({"report": report, "systems": relations.systems, "pairs": pairs})
    else:
        sys.stdout.write(f"{report}\n")


def _build_relation_json(relation: Relation) -> dict[str, Any]:
    return {
        "measure": relation.measure.key,
        "score": relation.score.key,
        "n": relation.n,
        "rank": relation.rank and relation.rank.sign,
        "sign_share": relation.sign_share,
        "desirable": relation.desirable,
        "correlations": {name: asdict(found) for name, found in relation.correlations.items()},
        "reason": relation.reason,
    }


def relate_tables(
    human: Path,
    model: Path,
    wanted: Mapping[str, Direction],
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
) -> Relations:
    """Relate every measure to every score, over the systems in both tables.

    Args:
        human: CSV of measures.
        model: CSV of scores.
        wanted: Better direction by column name; overrides the directions known by name.
        rng: Draws permutations and the bootstrap.
        resamples: Bootstrap replicates of the participants, if `human` has them.

    Raises:
        InputError: A table cannot be used; the message names file, line and column.
    """
    by_participant = _has_participant_column(human)
    people, scores = _read(human, keys=2 if by_participant else 1), _read(model)
    named = people.index.get_level_values(0).unique()
    systems = [str(name) for name in named if name in scores.index]
    if len(systems) < 2:
        shared = "1 system" if systems else "no system"
        raise InputError(model, f"shares {shared} with {human}; at least 2 are needed")
    for name in wanted:
        if name not in people and name not in scores:
            raise InputError(human, f"no column {name!r} here nor in {model}")
    if by_participant:
        measures = _average_measures(people, systems, wanted, rng, resamples)
    else:
        measures = [
            _build_quantity(str(name), own, wanted, find_measure(str(name)))
            for name, own in people.loc[systems].items()
        ]
    return relate(
        systems,
        measures,
        [
            _build_quantity(str(name), own, wanted, find_score(str(name)))
            for name, own in scores.loc[systems].items()
        ],
        rng=rng,
    )


def _has_participant_column(path: Path) -> bool:
    header = read_csv_header(path)
    return len(header) > 2 and header[1].strip().lower() in PARTICIPANT


def _average_measures(
    people: pd.DataFrame,
    systems: Sequence[str],
    wanted: Mapping[str, Direction],
    rng: np.random.Generator,
    resamples: int,
) -> list[Quantity]:
    """Average each measure over the participants of a system.

    Replicates resample participants within their system, or all together if any participant judged several
    systems.
    """
    names = people.index.get_level_values(1)
    together = bool(names[people.index.get_level_values(0).isin(systems)].duplicated().any())
    everybody = pd.Index(names.unique())
    drawn = draw_counts(rng, len(everybody), resamples) if together else np.zeros((0, resamples))
    measures = []
    rows = [people.loc[system] for system in systems]
    weights = [
        drawn[everybody.get_indexer(own.index)] if together else draw_counts(rng, len(own), resamples)
        for own in rows
    ]
    for name in people.columns:
        definition = find_measure(str(name))
        geometric = bool(definition and definition.geometric)
        values = [own[name].to_numpy(float)[:, None] for own in rows]
        means = [average_participants(v, np.ones(v.shape), geometric=geometric)[0] for v in values]
        draws = [_compute_draws(v, w, geometric=geometric) for v, w in zip(values, weights, strict=True)]
        measure = _build_quantity(str(name), pd.Series(means), wanted, definition)
        measures.append(replace(measure, replicates=np.column_stack(draws) if resamples else None))
    return measures


def _compute_draws(values: Array, weights: Array, *, geometric: bool) -> Array:
    """Compute the mean in every replicate; NaN for fewer than two values."""
    if np.count_nonzero(~np.isnan(values)) < 2:
        return np.full(weights.shape[1], np.nan)
    return average_participants(np.broadcast_to(values, weights.shape), weights, geometric=geometric)


def _read(path: Path, keys: int = 1) -> pd.DataFrame:
    """Read the numbers of a table by its first column, or first two."""
    header = read_csv_header(path)
    if len(header) < 2:
        raise InputError(path, "needs a column that names the systems and at least one with values")
    named = header[:keys]
    columns = [
        *(Column(name, "text", required=True, filled=True) for name in named),
        *(Column(name, "number") for name in header[keys:]),
    ]
    table = read_table(path, columns)
    table.check_unique(named)
    return table.frame.set_index(named if keys > 1 else named[0])


def _build_quantity(
    name: str, values: pd.Series, wanted: Mapping[str, Direction], definition: Measure | Score | None
) -> Quantity:
    direction = wanted.get(name, definition.wanted if definition else None)
    return Quantity(name, definition.label if definition else name, direction, values.to_numpy(float))
