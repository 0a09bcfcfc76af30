"""Levels of the tests of conditions, for both targets, and of the models.

Nothing differs in these studies. About these items, items act alike in all conditions; about items like
these, also unlike, and systems are then right on items of their own: other items would average that out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from analysis.models.gee_logistic import gee_logistic
from analysis.models.linear_mixed import mixed_log_time
from analysis.models.ordinal_logit import ordinal_logit
from analysis.participants.estimates import Estimates, estimate
from analysis.participants.measures import MEASURES
from analysis.participants.trial_grid import Grid
from analysis.stats.results import TARGETS, Finding
from analysis.study.comparisons import compare, omnibus

from ._crossed_studies import Rate, Size, World, build_trials

SIZES = tuple(Size(people, items) for items in (10, 25) for people in (8, 10, 20, 40))
KEYS = ("agreement", "over_estimation", "time_geometric", "certainty")
MEASURED = [measure for measure in MEASURES if measure.key in KEYS]
FOUR = ("a", "b", "c", "d")
OWN_ITEM_SD = 0.5
BATCH = 20
MOST_MIXED = 0.075
DISAGREE = "studies in which an interval and its p disagree"
Outcome = dict[str, float | None]  # p by label


def run_comparisons(rng: np.random.Generator, size: Size) -> Outcome:
    """Compare conditions that are alike, between and within participants."""
    p: Outcome = {}
    disagreed = 0
    for design in ("between", "within"):
        alike, unlike = (
            _estimate_measures(rng, size, design, items_differ) for items_differ in (False, True)
        )
        for key in KEYS:
            pair = compare(alike, key, "a", "b", rng=rng, permutations=199)
            for target in TARGETS:
                disagreed += _is_contradictory(pair.about(target), 1.0 if key == "time_geometric" else 0.0)
            p[f"these items: {key}, {design}"] = pair.these_items.p
            p[f"items like these, acting alike: {key}, {design}"] = pair.items_like_these.p
        for tested in omnibus(unlike, KEYS, FOUR[:2]):  # of two conditions, it is the comparison
            p[f"items like these, acting unlike: {tested.measure.key}, {design}"] = tested.p(
                "items_like_these"
            )
        names = FOUR if design == "between" else FOUR[:3]
        of_alike, of_unlike = (omnibus(estimates, KEYS, names) for estimates in (alike, unlike))
        for first, second in zip(of_alike, of_unlike, strict=True):
            label = f"{len(names)} conditions: {first.measure.key}, {design}"
            p[f"these items, {label}"] = first.p("these_items")
            p[f"items like these, acting alike, {label}"] = first.p("items_like_these")
            p[f"items like these, acting unlike, {label}"] = second.p("items_like_these")
    return p | {DISAGREE: 0.0 if disagreed else 1.0}


def run_marginal_models(rng: np.random.Generator, size: Size) -> Outcome:
    """Fit the marginal models to conditions that are alike."""
    p: Outcome = {}
    for design in ("between", "within"):
        grids = _simulate_grids(rng, size, design, items_differ=False)
        for name, model, outcome in (
            ("GEE", gee_logistic, "correctness_rating"),
            ("ordinal model", ordinal_logit, "certainty"),
        ):
            p[f"{name}, two conditions, {design}"] = model(build_trials(grids[:2], outcome)).joint_p
            p[f"{name}, {len(grids)} conditions jointly, {design}"] = model(
                build_trials(grids, outcome)
            ).joint_p
    return p


def run_mixed_model(rng: np.random.Generator, size: Size) -> Outcome:
    """Fit the mixed model of log time to conditions that are alike."""
    p: Outcome = {}
    for items_differ in (False, True):
        grids = _simulate_grids(rng, size, "between", items_differ)
        words = "unlike" if items_differ else "alike"
        model = mixed_log_time(build_trials(grids, "seconds"), position=False)
        p[f"mixed model, items acting {words}, two of 4 conditions"] = (
            None if model.reason else model.contrasts[0].p
        )
        p[f"mixed model, items acting {words}, 4 conditions jointly"] = model.joint_p
    return p


STUDIES = {"comparisons": run_comparisons, "marginal": run_marginal_models, "mixed": run_mixed_model}


def _simulate_grids(rng: np.random.Generator, size: Size, design: str, items_differ: bool) -> list[Grid]:
    world = World(rng, size.items, OWN_ITEM_SD if items_differ else 0.0)
    if design == "within":
        return world.simulate_within(size.people, FOUR[:3])
    return [world.condition(size.people, name) for name in FOUR]


def _estimate_measures(rng: np.random.Generator, size: Size, design: str, items_differ: bool) -> Estimates:
    return estimate(_simulate_grids(rng, size, design, items_differ), MEASURED, rng=rng, resamples=0)


def _is_contradictory(finding: Finding, nothing: float) -> bool:
    """Test if the interval holds no difference although p rejects it, or not."""
    if finding.p is None or finding.interval is None:
        return False
    low, high = finding.interval
    return (low <= nothing <= high) == (finding.p <= 1 - finding.level)


def estimate_levels(
    kind: str,
    sizes: Sequence[Size],
    studies: int,
    *,
    store: Path | None = None,
    seed: int = 5,
    alpha: float = 0.05,
) -> list[Rate]:
    """Return how often each test rejects at `alpha`.

    store: file of finished batches; those in it are not simulated again.
    """
    rates = []
    for size in sizes:
        totals: dict[str, list[int]] = {}
        for counts in _simulate_batches(kind, size, studies, store, seed, alpha):
            for label, (hits, defined, missing) in counts.items():
                total = totals.setdefault(label, [0, 0, 0])
                totals[label] = [total[0] + hits, total[1] + defined, total[2] + missing]
        rates += [Rate(label, size, *total) for label, total in totals.items()]
    return rates


def _simulate_batches(
    kind: str, size: Size, studies: int, store: Path | None, seed: int, alpha: float
) -> Iterator[Mapping[str, Sequence[int]]]:
    """Yield hits, studies and undefined ones by label, for each batch."""
    done = _read_stored_counts(store)
    for batch in range(-(-studies // BATCH)):
        name = f"{kind} {size.people} {size.items} {seed} {batch}"
        if name not in done:
            rng = np.random.default_rng([seed, *size, batch])
            results = [STUDIES[kind](rng, size) for _ in range(min(BATCH, studies - batch * BATCH))]
            counts = {
                label: _count_rejections([result[label] for result in results], alpha) for label in results[0]
            }
            if store is not None:
                with store.open("a") as file:
                    file.write(json.dumps({"batch": name, "counts": counts}) + "\n")
            done[name] = counts
        yield done[name]


def _read_stored_counts(store: Path | None) -> dict[str, Mapping[str, Sequence[int]]]:
    if store is None or not store.exists():
        return {}
    batches = map(json.loads, store.read_text().splitlines())
    return {batch["batch"]: batch["counts"] for batch in batches}


def _count_rejections(values: Sequence[float | None], alpha: float) -> list[int]:
    defined = [value for value in values if value is not None]
    return [sum(value <= alpha for value in defined), len(defined), len(values) - len(defined)]
