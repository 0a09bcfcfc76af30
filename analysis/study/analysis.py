"""Analysis of a study: retained trials, measures, and systems."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..io.errors import AnalysisError
from ..participants.allocation import Allocation, allocate
from ..participants.bundle import MODES, Bundle, Scores, SystemScores
from ..participants.condition_grids import build_condition_grids, measure_stream
from ..participants.estimates import Estimates, estimate
from ..participants.exclusion_rules import CLOCK_COLUMNS, PERSON_COLUMNS, Clock, Exclusions, apply_rules
from ..participants.measures import Measure, build_own_measures, build_scale_measures
from ..participants.study_version import Condition, Points, Version
from ..participants.tasks import TASKS, Task
from ..participants.time_by_certainty import TimeAtCertainty, time_at_certainty
from ..participants.trial_grid import Grid, choose_clock
from ..scores.per_question import check_agreement, score_replicates
from ..scores.score_table import SCORES, Score
from ..stats.arguments import check_count
from ..stats.arrays import split_into_chunks
from ..stats.streams import derive_stream
from .human_vs_model import Quantity, Relations, relate
from .systems import choose_representatives, is_comparable

ROWS_AT_ONCE = 50_000


@dataclass(frozen=True)
class Options:
    """Options of an analysis; mode and version None choose by default.

    Attributes:
        seed: Of all random numbers.
        resamples: Number of bootstrap replicates; 0 gives no confidence intervals.
        mode: "live", "pilot" or "bot"; None for the first of these with a trial.
        version: Number of a version; None for the newest with a trial.
    """

    seed: int = 1
    resamples: int = 2000
    mode: str | None = None
    version: int | None = None

    def __post_init__(self) -> None:
        check_count(self.seed, 0, "seed")
        check_count(self.resamples, 0, "resamples")


@dataclass(frozen=True)
class View:
    """The study over one set of trials: the retained ones, or all."""

    trials: pd.DataFrame
    grids: list[Grid]
    estimates: Estimates
    relations: Relations
    times: list[TimeAtCertainty]


@dataclass(frozen=True)
class Study:
    """Everything that the report says, as numbers.

    Attributes:
        bundle: Bundle of the study.
        options: As they were given.
        version: The version that is analysed.
        mode: The mode that is analysed.
        other_modes: Number of submitted trials in each mode that is left out.
        other_versions: Number of submitted trials in each version that is left out.
        withdrawn: Number of participants who withdrew, and do not count.
        people: Participants who count: of the mode and version, with a trial or a survey, not withdrawn.
        allocation: The conditions that they saw.
        trials: Submitted trials; `condition` is the left one if a trial shows two.
        clock: The clock whose time the measures use; None if no clock has a value.
        exclusions: Trials and participants that the rules hit.
        scores: Model scores by system.
        unused_scores: Systems with scores that no condition shows.
        systems: One condition for each system, in order (`analysis.study.systems.choose_representatives`).
        retained: The trials that no rule hits, of participants whom no rule about participants hits; it may
            be empty.
        everything: All submitted trials.
        grids: Builds the grids of a set of retained trials, one per condition.
    """

    bundle: Bundle
    options: Options
    version: Version
    mode: str
    other_modes: dict[str, int]
    other_versions: dict[int, int]
    withdrawn: int
    people: pd.DataFrame
    allocation: Allocation
    trials: pd.DataFrame
    clock: Clock | None
    exclusions: Exclusions
    scores: dict[str, SystemScores]
    unused_scores: list[str]
    systems: list[Condition]
    retained: View
    everything: View
    grids: Callable[[pd.DataFrame], list[Grid]]

    @property
    def conditions(self) -> list[Condition]:
        """Conditions of the version, in their order."""
        return self.version.conditions

    @property
    def titles(self) -> dict[str, str]:
        """Titles of the conditions by name."""
        return self.version.titles

    @property
    def task(self) -> Task:
        """Return what participants did in a trial."""
        return TASKS[self.version.task.kind]


def analyse(
    bundle: Bundle,
    options: Options,
    scores: Scores | None = None,
    question_scores: pd.DataFrame | None = None,
    advance: Callable[[int], None] = lambda replicates: None,
) -> Study:
    """Analyse one mode and one version of the study.

    Args:
        bundle: Bundle of the study.
        options: Mode and version to analyse, and how.
        scores: Model scores to use instead of the bundle's own.
        question_scores: Part of each question in the scores, to use instead of the bundle's own, which
            belongs to its own scores.
        advance: Is called with the number of replicates finished since the last call, for a progress bar;
            there are 2 × `resamples` of them.

    Returns:
        Trials, exclusions, estimates and relations to scores.

    Raises:
        AnalysisError: Nothing was submitted in the mode and version, or the questions do not give the scores.
    """
    mode = options.mode or choose_mode(bundle)
    version = bundle.version(choose_version(bundle, mode, options.version))
    people, withdrawn = _select_people(bundle, mode, version.version)
    trials = bundle.trials[bundle.trials["participant_id"].isin(people["participant_id"])]
    if trials.empty:
        raise AnalysisError(
            f"{bundle.path}: no trial was submitted in mode {mode}, version {version.version}"
        )
    trials = trials.reset_index(drop=True)
    allocation = allocate(version, people, trials)
    if TASKS[version.task.kind].pairs:  # the flow and the rules count a trial once
        trials = trials.assign(condition=trials["left_condition"])
    clock = choose_clock(bundle.rules, trials)
    exclusions = apply_rules(bundle.rules, _iterate_trials(trials, version), _select_person_facts(people))
    kept = trials[[not names for names in exclusions.names]]
    used = scores or bundle.scores
    systems = choose_representatives(version.conditions)
    system_scores = used.systems if used else {}
    questions = question_scores if scores or question_scores is not None else bundle.question_scores
    replicates = _score_replicates(questions, system_scores, systems, options)
    members = allocation.membership()
    left = members[~members["participant_id"].isin(exclusions.people)]
    items = tuple(sorted(trials["item_id"].unique()))
    view = _Viewer(bundle, options, version, items, clock, systems, system_scores, replicates, advance)
    retained = view(kept, left)
    if len(kept) == len(trials) and len(left) == len(members):
        everything = retained
        advance(options.resamples)
    else:
        everything = view(trials, members)
    return Study(
        bundle=bundle,
        options=options,
        version=version,
        mode=mode,
        other_modes=_count_others(bundle.trials["mode"], mode),
        other_versions=_count_others(bundle.trials["version"].astype(int), version.version),
        withdrawn=withdrawn,
        people=people,
        allocation=allocation,
        trials=trials,
        clock=clock,
        exclusions=exclusions,
        scores=system_scores,
        unused_scores=sorted(system_scores.keys() - {condition.system for condition in systems}),
        systems=systems,
        retained=retained,
        everything=everything,
        grids=partial(view.grids, members=left),
    )


def choose_mode(bundle: Bundle) -> str:
    """Return the first of live, pilot, bot in which a trial was submitted."""
    present = set(bundle.trials["mode"])
    for mode in MODES:
        if mode in present:
            return mode
    raise AnalysisError(f"{bundle.path}: no trial was submitted")


def choose_version(bundle: Bundle, mode: str, wanted: int | None = None) -> int:
    """Return the wanted version, or the newest with a trial in the mode."""
    numbers = [version.version for version in bundle.study.versions]
    if wanted is not None and wanted not in numbers:
        raise AnalysisError(f"{bundle.path}: the study has no version {wanted}; it has {numbers}")
    present = bundle.trials.loc[bundle.trials["mode"] == mode, "version"]
    if present.empty:
        raise AnalysisError(f"{bundle.path}: no trial was submitted in mode {mode}")
    return int(present.max()) if wanted is None else wanted


def _iterate_trials(trials: pd.DataFrame, version: Version) -> Iterator[dict[Any, Any]]:
    """Yield the trials as the rules read them, some in memory at a time."""
    answers = [question.key for question in version.item_questionnaire]
    read = trials[["participant_id", "condition", "item_id", "flags", *CLOCK_COLUMNS.values(), *answers]]
    for rows in split_into_chunks(len(read), ROWS_AT_ONCE):
        yield from read.iloc[rows].to_dict("records")


def _select_person_facts(people: pd.DataFrame) -> dict[str, dict[Any, Any]]:
    """Return the facts that rules about participants read."""
    facts = people[["participant_id", *PERSON_COLUMNS]].to_dict("records")
    return {row["participant_id"]: {name: row[name] for name in PERSON_COLUMNS} for row in facts}


def _score_replicates(
    questions: pd.DataFrame | None,
    system_scores: dict[str, SystemScores],
    systems: Sequence[Condition],
    options: Options,
) -> dict[str, np.ndarray]:
    """Compute replicates of each score over questions, resamples × systems.

    None without questions or resamples.
    """
    if questions is None:
        return {}
    check_agreement(questions, {name: entry.scores for name, entry in system_scores.items()})
    if not options.resamples:
        return {}
    rng = derive_stream(np.random.default_rng(options.seed), "scores")
    names = [condition.system or "" for condition in systems]
    return score_replicates(questions, names, rng=rng, resamples=options.resamples)


@dataclass(frozen=True)
class _Viewer:
    """Builds a view of a set of trials; views share the seed and all else."""

    bundle: Bundle
    options: Options
    version: Version
    items: tuple[str, ...]
    clock: Clock | None
    systems: list[Condition]
    scores: dict[str, SystemScores]
    score_draws: dict[str, np.ndarray]
    advance: Callable[[int], None]

    def __call__(self, trials: pd.DataFrame, members: pd.DataFrame) -> View:
        rng = np.random.default_rng(self.options.seed)
        grids, resamples = self.grids(trials, members), self.options.resamples
        version = self.version
        task = TASKS[version.task.kind]
        measures = [*task.measures, *task.own_measures(version.task)]
        if not task.pairs:  # their questions are about two conditions, and so about none
            measures += build_own_measures(version.item_questionnaire, version.post_survey)
            measures += build_scale_measures(version.scale_scores)
        estimates = estimate(
            grids,
            measures,
            rng=measure_stream(self.options.seed),
            resamples=resamples,
            advance=self.advance,
        )
        titles = [condition.title for condition in self.systems]
        relations = relate(titles, self._human(estimates), self._model(), rng=derive_stream(rng, "relations"))
        times = time_at_certainty(
            grids, self._levels(), rng=derive_stream(rng, "time at certainty"), resamples=resamples
        )
        return View(trials, grids, estimates, relations, times)

    def grids(self, trials: pd.DataFrame, members: pd.DataFrame) -> list[Grid]:
        """Build the grids of a set of trials, one per condition."""
        post = self.bundle.post_survey
        return build_condition_grids(self.version, trials, members, post, clock=self.clock, items=self.items)

    def _levels(self) -> int:
        question = self.version.question("certainty")
        return question.scale.points if question and isinstance(question.scale, Points) else 1

    def _human(self, estimates: Estimates) -> list[Quantity]:
        columns = [estimates.conditions.index(condition.name) for condition in self.systems]
        human = []
        for measure in estimates.measures:
            values = [estimates.get(measure.key, condition.name).value for condition in self.systems]
            if any(value is not None for value in values):
                draws = estimates.replicates[measure.key][:, columns]
                human.append(_build_quantity(measure, values, draws if len(draws) else None))
        return human

    def _model(self) -> list[Quantity]:
        model = []
        for score in SCORES:
            entries = [
                self.scores.get(condition.system or "") if is_comparable(condition, score) else None
                for condition in self.systems
            ]
            values = [entry.scores.get(score.key) if entry else None for entry in entries]
            if any(value is not None for value in values):
                model.append(_build_quantity(score, values, self.score_draws.get(score.key)))
        return model


def _build_quantity(
    source: Measure | Score, values: Sequence[float | None], draws: np.ndarray | None
) -> Quantity:
    numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
    return Quantity(source.key, source.label, source.wanted, numbers, draws, source.headline)


def _select_people(bundle: Bundle, mode: str, version: int) -> tuple[pd.DataFrame, int]:
    """Return participants who count, and how many withdrew.

    Withdrawing takes back the consent to be analysed.
    """
    people = bundle.participants
    people = people[(people["mode"] == mode) & (people["version"] == version)]
    withdrawn = people["status"] == "withdrawn"
    assigned = people["condition"].notna() | people["group"].notna()
    started = people["participant_id"].isin(bundle.trials["participant_id"])
    if bundle.post_survey is not None:
        started |= people["participant_id"].isin(bundle.post_survey["participant_id"])
    return people[started & ~withdrawn].reset_index(drop=True), int((withdrawn & assigned).sum())


def _count_others(values: pd.Series, chosen: object) -> dict:
    counts = values[values != chosen].value_counts().sort_index()
    return {value: int(count) for value, count in counts.items()}
