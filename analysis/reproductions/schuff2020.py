"""Claims of Schuff et al. (2020), computed from the released ratings.

The release has the ratings and times of 40 participants. It has neither the systems' answers nor whether they
are right: measures that need it cannot be computed again. But a correlation does not depend on the level, so
that rows of correlations follow from the differences that the paper's text prints, and two more from these
together with the released agreement.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..io.schuff2020_release import GROUND_TRUTH, Release, read_release
from ..participants.bundle import load_bundle
from ..participants.measures import MEASURES
from ..report.page import Block
from ..report.plots.distributions import draw_boxes_figure, draw_likert_figure
from ..report.plots.intervals import SCALE, draw_certainty_figure, draw_condition_figure
from ..scores.score_table import SCORES, STANDARD_GROUPS
from ..stats.correlations import correlate
from ..stats.rank_agreement import Direction, desirability, rank_relation
from ..study.analysis import Options, Study, analyse
from .claims import Basis, Claim, build_cell_claims
from .published import Value, load_paper
from .schuff2020_bundle import DROPPED_QUESTIONS, write_bundle

PAPER = load_paper("schuff2020")
SCORE_GRID, PEARSON = PAPER.grids["model_scores"], PAPER.grids["pearson"]
SYSTEMS = SCORE_GRID.columns[:3]  # the fourth was not in the study
LABELS = {score.key: score.label for score in SCORES} | {measure.key: measure.label for measure in MEASURES}
STANDARD = tuple(score.key for score in SCORES if score.group in STANDARD_GROUPS)
PROPOSED = tuple(key for key in PEARSON.columns if key not in STANDARD)
TEXT_ROWS = ("fraction_correct", "over_estimation", "fp", "fn")  # that follow from section 6.5
BASES: dict[str, Basis] = {
    "time_mean": "release",
    **dict.fromkeys(TEXT_ROWS, "paper"),
    **dict.fromkeys(("tp", "tn"), "both"),
}
LEVELS = range(1, 6)  # of certainty
LOWER = ("over_estimation", "time_mean", "fp", "fn")  # that the paper wants low
ROUNDED = 0.01  # for coefficients of numbers that the paper prints with two digits

NO_CORRECTNESS = (
    "The release does not say whether the systems' answers were right, nor which answers were shown, so that "
    "this measure cannot be computed."
)
NO_OUTPUTS = "The release has no predictions of the systems."
NO_DEMOGRAPHICS = "The release has no age and no gender."
ALL_QUESTIONS = (
    "The rows of true positives and true negatives reproduce without the two questions only, as the table of "
    "standard scores has them."
)
NO_SCORE = "The paper does not print FaRM(1) of the systems."
EXCHANGED = (
    "The twelve standard cells of this row reproduce. The proposed ones fit only if the human values of "
    "Qi-2019 and Select & Forget change places, as the next table shows; that contradicts the paper's text."
)
IMPLIED = (
    "Agreement minus the published over-estimation is the accuracy of the system. It gives whole numbers of "
    "right answers without the two questions only."
)
FINDINGS = (
    "The three exclusion rules of the paper discard 4.30 % of the released responses, not 12.10 %.",
    f"Without two whole questions, {' and '.join(DROPPED_QUESTIONS)}, exactly 12.10 % are discarded. So they "
    "are without other pairs, but only without this one do the 24 correlations of true positives and true "
    "negatives with the standard scores fit, and whole numbers of right answers (17, 19 and 18 of 23). "
    "The paper does not mention it.",
    "The correlations of over-estimation, completion time, false positives and false negatives with the "
    "proposed scores fit only if the human values of Qi-2019 and Select & Forget change places.",
    "Figure 2d shows means over trials. Means over participants do not fall at each level of certainty.",
    "User precision, recall and F1, figures 2a to 2c and figure 4 need to know which answers were right, "
    "which the release does not say.",
)


@dataclass(frozen=True)
class Ratings:
    """The released ratings, analysed by the paper's three rules.

    Attributes:
        study: Without the trials that the rules exclude.
        fewer: The same, without two whole questions as well.
    """

    release: Release
    study: Study
    fewer: Study


def read(path: Path, bundle: Path, *, seed: int = 1, resamples: int = 2000) -> Ratings:
    """Read the release, write its bundle and analyse it.

    Args:
        path: The released file, `data.jsonl`.
        bundle: Folder to write the bundle into.
        seed: Seed of the bootstrap of the figures.
        resamples: Bootstrap replicates; 0 for no confidence intervals.

    Raises:
        InputError: A line is malformed, or the folder cannot be written.
    """
    release = read_release(path)
    loaded = load_bundle(write_bundle(release, bundle))
    kept = loaded.trials[~loaded.trials["item_id"].isin(DROPPED_QUESTIONS)].reset_index(drop=True)
    fewer = analyse(replace(loaded, trials=kept), Options(seed=seed, resamples=0))
    return Ratings(release, analyse(loaded, Options(seed=seed, resamples=resamples)), fewer)


def list_claims() -> list[Claim[Ratings]]:
    """Declare every number of the paper that is about the study or its scores."""
    return [
        *_list_sample_claims(),
        *_list_score_claims(),
        *_list_result_claims(),
        *_list_rank_claims(),
        *_list_correlation_claims(),
        *_list_propagation_claims(),
        *_list_further_claims(),
    ]


def draw_figures(data: Ratings) -> dict[str, list[Block]]:
    """Draw the paper's figures that the release can give, by place."""
    available = [measure for measure in MEASURES if data.study.retained.estimates.has_value(measure.key)]
    caption = "Agreement, the share of answers rated correct: over-estimation lacks the systems' accuracy."
    drawn: dict[str, list[Block | None]] = {
        "Figure 2": [
            draw_condition_figure(data.study, "agreement", caption),
            draw_certainty_figure(data.study),
        ],
        "Figure 9": [
            draw_boxes_figure(
                data.study, [measure for measure in available if measure.unit in ("share", "seconds")]
            )
        ],
        "Figure 10": [draw_likert_figure(data.study)],
    }
    return {location: [block for block in blocks if block] for location, blocks in drawn.items()}


def _list_sample_claims() -> list[Claim[Ratings]]:
    facts, location = PAPER.facts, "Section 6.4, participants and data cleaning"

    def fact(row: str, key: str, ours: Callable[[Ratings], Value] | None, reason: str = "") -> Claim[Ratings]:
        return Claim(location, row, facts[key], ours, decimals=0, reason=reason)

    def build_hits_claim(rule: str) -> Claim[Ratings]:
        return Claim(
            location, f"Trials that the rule {rule} hits", None, partial(_count_hits, rule), decimals=0
        )

    return [
        fact("Participants", "participants", lambda data: len(data.release.participants)),
        fact("Questions of each participant", "questions", lambda data: len(data.release.item_ids)),
        fact(
            "Conditions",
            "conditions",
            lambda data: len({participant.condition for participant in data.release.participants}),
        ),
        *(fact(label, key, None, NO_DEMOGRAPHICS) for label, key in (("Female", "female"), ("Male", "male"))),
        Claim(location, "Mean age", facts["mean_age"], None, decimals=1, reason=NO_DEMOGRAPHICS),
        Claim(
            location,
            "Discarded responses (%)",
            facts["excluded_percent"],
            lambda data: _compute_discarded_percent(data.study, data),
            reason="The three rules hit 13 + 9 + 21 = 43 of 1000 responses. The paper names no other rule.",
        ),
        *map(build_hits_claim, ("too-fast", "too-slow", "known-before")),
        Claim(
            location,
            "Discarded without two whole questions (%)",
            facts["excluded_percent"],
            lambda data: _compute_discarded_percent(data.fewer, data),
        ),
    ]


def _list_score_claims() -> list[Claim[Ratings]]:
    def find_formula(key: str, system: str) -> Callable[[Ratings], Value] | None:
        share = {name: _read_published(name, system) / 100 for name in SCORE_GRID.rows}
        derived = {
            "farm_4": share["c_rel_4"] / (1 + share["c_irr_4"]),
            "loca": share["loca_inside"] / (1 + share["loca_outside"]),
        }
        return (lambda data: 100 * derived[key]) if key in derived else None

    parts = ("farm_4", "loca")
    rest = [key for key in SCORE_GRID.rows if key not in parts]
    return [
        *build_cell_claims(
            SCORE_GRID, find_formula, rows=parts, labels=LABELS, basis="paper", tolerance=0.02
        ),
        *build_cell_claims(SCORE_GRID, find_formula, rows=rest, labels=LABELS, reason=NO_OUTPUTS),
    ]


def _list_result_claims() -> list[Claim[Ratings]]:
    location, deltas = "Section 6.5", PAPER.grids["deltas"]
    shown = {
        "fraction_correct": "Correct ratings, difference from Qi-2019 (%)",
        "fp": "False positives, difference from Qi-2019 (%)",
        "over_estimation": "Over-estimation (%)",
    }
    claimed: list[Claim[Ratings]] = build_cell_claims(
        deltas, lambda row, column: None, labels=shown, reason=NO_CORRECTNESS
    )
    coupled = [
        Claim[Ratings](
            location,
            f"Over-estimation of {system} minus that of Qi-2019 (%)",
            value - deltas.numbers("over_estimation")[0],
            partial(_derive_over_estimation, system),
            basis="paper",
            tolerance=0.02,
        )
        for system, value in zip(SYSTEMS[1:], deltas.numbers("over_estimation")[1:], strict=True)
    ]
    return [
        *claimed,
        *coupled,
        *(
            Claim[Ratings](
                location,
                f"Right answers of {system} that the text implies, of {25 - 2 * fewer} questions",
                None,
                partial(_count_implied_answers, system, fewer=fewer),
                basis="both",
                reason=IMPLIED,
            )
            for fewer in (False, True)
            for system in SYSTEMS
        ),
        *_list_figure_claims(),
    ]


def _list_figure_claims() -> list[Claim[Ratings]]:
    at = "Mean completion time at certainty {} (s), over {}"
    return [
        Claim(
            "Figure 2", "Completion time at strongly disagree is below that at disagree", "yes", _check_rise
        ),
        Claim(
            "Figure 2",
            "From disagree on, completion time falls with each level of certainty",
            "yes",
            _check_fall,
        ),
        *(
            Claim[Ratings](
                "Figure 2", at.format(level, over), None, partial(_read_mean_time, level, over), decimals=1
            )
            for over in ("trials", "participants")
            for level in LEVELS
        ),
        *(
            Claim[Ratings](
                "Figure 9", f"{LABELS[key]}, {condition}", None, partial(_read_mean, key, condition)
            )
            for key in ("agreement", "time_mean")
            for condition in (*SYSTEMS, GROUND_TRUTH)
        ),
    ]


def _list_rank_claims() -> list[Claim[Ratings]]:
    def find_formula(row: str, column: str) -> Callable[[Ratings], Value] | None:
        return partial(_count_undesired, row) if row in BASES else None

    grid = PAPER.grids["rank_marks"]
    return [
        claim
        for row in grid.rows
        for claim in build_cell_claims(
            grid,
            find_formula,
            rows=[row],
            labels=LABELS,
            basis=BASES.get(row, "release"),
            reason="" if row in BASES else NO_CORRECTNESS,
        )
    ]


def _list_correlation_claims() -> list[Claim[Ratings]]:
    def find_formula(row: str, column: str) -> Callable[[Ratings], Value] | None:
        return (
            partial(_correlate_with_score, row, column)
            if row in BASES and column in SCORE_GRID.rows
            else None
        )

    def find_exchanged_formula(row: str, column: str) -> Callable[[Ratings], Value] | None:
        return (
            partial(_correlate_with_score, row, column, exchanged=True) if column in SCORE_GRID.rows else None
        )

    def reason(row: str, column: str) -> str:
        if row not in BASES:
            return NO_CORRECTNESS
        return EXCHANGED if column in SCORE_GRID.rows else NO_SCORE

    def find_formula_of_all(row: str, column: str) -> Callable[[Ratings], Value]:
        return partial(_correlate_with_score, row, column, fewer=False)

    rows = tuple(PEARSON.rows)
    tables = (
        ("standard scores", STANDARD, rows, find_formula, reason),
        ("standard scores with all questions", STANDARD, ("tp", "tn"), find_formula_of_all, ALL_QUESTIONS),
        ("proposed scores", PROPOSED, rows, find_formula, reason),
        (
            "proposed scores with Qi-2019 and Select & Forget exchanged",
            PROPOSED,
            LOWER,
            find_exchanged_formula,
            reason,
        ),
    )
    return [
        claim
        for part, columns, rows, computed, why in tables
        for row in rows
        for claim in build_cell_claims(
            PEARSON,
            computed,
            location=f"{PEARSON.place}, {part}",
            rows=[row],
            columns=columns,
            labels=LABELS,
            basis=BASES.get(row, "release"),
            reason=why,
            tolerance=ROUNDED,
        )
    ]


def _list_propagation_claims() -> list[Claim[Ratings]]:
    labels = {
        "em_all_facts": "Exact answers among predictions with all gold facts (%)",
        "em_no_facts": "Exact answers among predictions with no gold fact (%)",
        "no_gold_fact": "Predictions with no gold fact (%)",
    }
    return build_cell_claims(
        PAPER.grids["propagation"], lambda row, column: None, labels=labels, reason=NO_OUTPUTS
    )


def _list_further_claims() -> list[Claim[Ratings]]:
    """Name the figures and tables that need what the release does not hold."""
    asked = "Questions about each answer and after the study"
    missing = (
        ("Figure 4", "False positives against scores", NO_CORRECTNESS),
        ("Figure 6", "Changed answers when facts are removed, by number of facts", NO_OUTPUTS),
        ("Appendix D", "Scores of two versions of BiDAF++", NO_OUTPUTS),
    )
    return [
        Claim("Table 4", asked, 8, _count_questions, decimals=0),
        *(Claim[Ratings](location, row, "shown", None, reason=reason) for location, row, reason in missing),
    ]


def _count_questions(data: Ratings) -> int:
    return len(data.study.version.item_questionnaire) + len(data.study.version.post_survey)


def _read_published(key: str, system: str) -> float:
    value = SCORE_GRID.get(key, system)
    assert isinstance(value, int | float)
    return float(value)


def _list_human_values(row: str, data: Ratings, *, fewer: bool = True) -> list[float]:
    """Return the human values of the systems, up to a constant.

    Args:
        row: The measure.
        data: The ratings.
        fewer: Take the agreement without the two questions.
    """
    if row == "time_mean":
        return [_read_mean(row, system, data) for system in SYSTEMS]
    if row not in ("tp", "tn"):
        return _read_printed(row)
    agreement = [_read_mean("agreement", system, data, fewer=fewer) for system in SYSTEMS]
    true = [rated - false for rated, false in zip(agreement, _read_printed("fp"), strict=True)]
    return (
        true
        if row == "tp"
        else [-rated - fn for rated, fn in zip(agreement, _read_printed("fn"), strict=True)]
    )


def _read_printed(row: str) -> list[float]:
    """Return the values of section 6.5; FN is what is neither correct nor FP."""
    deltas = PAPER.grids["deltas"]
    if row != "fn":
        return deltas.numbers(row)
    pairs = zip(deltas.numbers("fraction_correct"), deltas.numbers("fp"), strict=True)
    return [-correct - false for correct, false in pairs]


def _correlate_with_score(
    row: str, key: str, data: Ratings, *, exchanged: bool = False, fewer: bool = True
) -> float:
    first, second, third = _list_human_values(row, data, fewer=fewer)
    human = [second, first, third] if exchanged else [first, second, third]
    value = correlate(human, [_read_published(key, system) for system in SYSTEMS], "pearson").value
    assert value is not None
    return value


def _count_undesired(row: str, data: Ratings) -> str:
    """Count the standard scores by which a choice makes a measure worse."""
    wanted: Direction = "lower" if row in LOWER else "higher"
    signs = [
        rank_relation(
            _list_human_values(row, data), [_read_published(key, system) for system in SYSTEMS]
        ).sign
        for key in STANDARD
    ]
    bad = [sign for sign in signs if desirability(sign, wanted, "higher") == "undesirable"]
    return f"{len(bad)} × {bad[0]}" if bad else "none"


def _derive_over_estimation(system: str, data: Ratings) -> float:
    """Derive it as FP − FN."""
    index = SYSTEMS.index(system)
    return _read_printed("fp")[index] - _read_printed("fn")[index]


def _count_implied_answers(system: str, data: Ratings, *, fewer: bool) -> float:
    """Count the right answers that agreement − over-estimation implies."""
    questions = len(data.release.item_ids) - fewer * len(DROPPED_QUESTIONS)
    over = _read_printed("over_estimation")[SYSTEMS.index(system)]
    return (_read_mean("agreement", system, data, fewer=fewer) - over) / 100 * questions


def _read_mean(key: str, condition: str, data: Ratings, *, fewer: bool = False) -> float:
    estimate = (data.fewer if fewer else data.study).retained.estimates.get(key, condition)
    assert estimate.value is not None
    return estimate.value * SCALE.get(estimate.measure.unit, 1.0)


def _compute_discarded_percent(study: Study, data: Ratings) -> float:
    """Return the percentage of the released responses that are left out."""
    total = len(data.study.trials)
    return 100 * (total - len(study.retained.trials)) / total


def _count_hits(rule: str, data: Ratings) -> int:
    return sum(rule in names for names in data.study.exclusions.names)


def _read_mean_time(level: int, over: str, data: Ratings) -> float:
    """Return the mean time at a level of certainty, in seconds."""
    if over == "participants":
        return data.study.retained.times[level - 1].seconds or 0.0
    trials = data.study.retained.trials
    return float(trials.loc[trials["certainty"] == level, "client_total_ms"].mean() / 1000)


def _check_rise(data: Ratings) -> str:
    return "yes" if _read_mean_time(1, "trials", data) < _read_mean_time(2, "trials", data) else "no"


def _check_fall(data: Ratings) -> str:
    times = [_read_mean_time(level, "trials", data) for level in LEVELS[1:]]
    return "yes" if times == sorted(times, reverse=True) else "no"
