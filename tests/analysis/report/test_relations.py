"""Sections on people and scores, and on effects that were not found."""

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from analysis.participants.measures import MEASURES
from analysis.planning.declared_plan import Plan
from analysis.planning.power import compute_smallest_effect
from analysis.report.page import Data, Text
from analysis.report.sections.against_scores import describe_relation
from analysis.report.sections.correlations import OVER_PARTICIPANTS, build_correlations_section
from analysis.report.sections.not_found import explain_comparison as verdict_on
from analysis.report.sections.not_found import read_comparison
from analysis.report.sections.systems import build_ranks_section, describe_recurrence, format_percent
from analysis.report.tables import Table
from analysis.stats.equivalence import equivalence
from analysis.stats.results import TARGETS, Finding
from analysis.study.comparisons import Comparison
from analysis.study.human_vs_model import Quantity, relate

SYSTEMS = [f"s{number}" for number in range(7)]
NOTHING = Finding("", (0, 0), "")


def relations(spread=0.3, systems=7, scores=4):
    rng = np.random.default_rng(2)
    human = np.arange(systems) / 2.0
    draws = human + rng.normal(0, spread, (400, systems))
    measures = [Quantity("fp", "False positives", "lower", human, draws)]
    model = [
        Quantity(f"score{k}", f"Score {k}", "higher", human + k * rng.normal(0, 0.6, systems))
        for k in range(scores)
    ]
    return relate(SYSTEMS[:systems], measures, model, rng=rng)


def of_kind(section, kind):
    return [block for block in section.blocks if isinstance(block, kind)]


def text_of(section):
    return " ".join(block.text for block in of_kind(section, Text))


def test_p_is_corrected_over_the_declared_scores():
    related = relations()
    declared = Plan(scores=("score1", "score2", "score3"), coefficient="spearman")
    section = build_correlations_section(related, intervals=OVER_PARTICIPANTS, plan=declared)
    (data,) = of_kind(section, Data)
    rows = [dict(zip(data.header, row, strict=True)) for row in data.rows]
    for coefficient in ("pearson", "spearman", "kendall"):
        by_score = {row["score"]: row for row in rows if row["coefficient"] == coefficient}
        assert by_score["score0"]["p_holm"] is None
        p_values = [by_score[key]["p"] for key in declared.scores]
        expected = multipletests(p_values, method="holm")[1]
        assert [by_score[key]["p_holm"] for key in declared.scores] == pytest.approx(list(expected))
    assert "its correlations with the 3 declared scores" in text_of(section)
    everything = build_correlations_section(related, intervals=OVER_PARTICIPANTS)
    assert "with the 4 headline scores, because the plan declares none" in text_of(everything)


def test_one_table_shows_the_declared_coefficient():
    tables = of_kind(
        build_correlations_section(relations(), intervals="", plan=Plan(coefficient="kendall")), Table
    )
    assert [table.name for table in tables] == ["correlations_kendall", "systems_needed"]
    assert [row[0].text for row in tables[0].rows] == ["Score 0", "Score 1", "Score 2", "Score 3"]


def test_an_interval_that_rules_nothing_out_is_open():
    wide = of_kind(build_correlations_section(relations(20, 4), intervals=""), Table)[0]
    assert all(row[1].detail.startswith("open, ") for row in wide.rows)
    narrow = of_kind(build_correlations_section(relations(0.01, 4), intervals=""), Table)[0]
    assert narrow.rows[0][1].detail == "[1.00, 1.00], 100\u00a0%"


def test_how_many_systems_are_needed_is_said():
    text = text_of(build_correlations_section(relations(), intervals=""))
    assert "13 systems if the true correlation is 0.7 and people’s means have no noise, and 14 with" in text
    alike = text_of(build_correlations_section(relations(20, 4), intervals=""))
    assert "differ in False positives by no more than the noise" in alike
    related = relate(
        SYSTEMS[:3], [Quantity("x", "X", None, np.array([1.0, 2, 4]))],
        [Quantity("y", "Y", None, np.array([1.0, 2, 3]))], rng=np.random.default_rng(1),
    )  # fmt: skip
    assert "noise, which is unknown here" in text_of(build_correlations_section(related, intervals=""))


@pytest.mark.parametrize(
    ("spread", "cell", "kind"), [(0.01, "+ ✗ 100\u00a0%", "sign undesirable"), (1.0, "+ 2\u00a0%", "sign")]
)
def test_a_cell_of_the_rank_table(spread, cell, kind):
    (table,) = of_kind(build_ranks_section(relations(spread)), Table)
    shown = table.rows[0][1]
    assert (shown.plain, shown.kind) == (cell, kind)
    assert table.csv().splitlines()[1].startswith("fp,+,")  # the file keeps the plain sign


def test_shares_are_rounded_down():
    assert (format_percent(0.8999), format_percent(0.9), format_percent(0.29)) == (
        "89\u00a0%",
        "90\u00a0%",
        "29\u00a0%",
    )


def test_how_sure_the_table_is():
    cells = list(relations(0.01, 3).pairs.values())
    assert f"{sum(bool(cell.rank.sign) for cell in cells)} of 4 cells have a sign" in describe_recurrence(
        cells, 0.9
    )
    assert "None of them reaches 90" in describe_recurrence(list(relations(1.0).pairs.values()), 0.9)


def test_do_people_follow_the_score():
    sure, open_ = (relations(spread).get("fp", "score0") for spread in (0.01, 1.0))
    assert "in the same order as False positives in this study, and in 100\u00a0%" in describe_relation(
        sure, Plan()
    )
    assert "at least the 90\u00a0% that count as sure" in describe_relation(sure, Plan())
    assert "the question stays open" in describe_relation(open_, Plan())


def comparison(first, second, margin=None):
    test = equivalence(first, second, (-10, 10))
    low, high = test.interval
    adjusted = dict.fromkeys(TARGETS, 0.4)
    level = Finding("difference of means", (len(first), len(second)), "t", test.estimate, (low, high), 0.9)
    measure = next(measure for measure in MEASURES if measure.key == "agreement")
    return Comparison(
        measure, "one", "two", (None, None), level, level, NOTHING, NOTHING, NOTHING, None,
        None if margin is None else equivalence(first, second, margin), adjusted=adjusted,
    )  # fmt: skip


def test_the_smallest_effect_comes_from_the_interval():
    rng = np.random.default_rng(3)
    first, second = rng.normal(0.5, 0.1, (2, 12))
    row = read_comparison(comparison(first, second), Plan(), 4)
    error = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 12)
    # Welch's degrees of freedom are somewhat fewer than the 22 that are read from the sizes.
    assert row.smallest == pytest.approx(compute_smallest_effect(error, 22), rel=0.03)
    assert row.corrected == pytest.approx(compute_smallest_effect(error, 22, alpha=0.05 / 4), rel=0.03)
    assert verdict_on(row).startswith("Open. Anything smaller than a difference of ")


def test_the_verdict_follows_the_margin():
    rng = np.random.default_rng(4)
    first, second = rng.normal(0.5, 0.1, (2, 40))
    apart, alike = (read_comparison(comparison(first, second, (-m, m)), Plan(), 1) for m in (0.01, 0.5))
    assert "Neither a difference nor equivalence within the declared [−1.0, 1.0]" in verdict_on(apart)
    assert verdict_on(alike).startswith("Equivalent within the declared [−50.0, 50.0]")


def test_what_was_found_is_not_in_the_table():
    base = comparison(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.1, 0.4]))
    assert read_comparison(base, Plan(), 1) is not None
    assert read_comparison(replace(base, adjusted={"items_like_these": 0.01}), Plan(), 1) is None
    assert read_comparison(replace(base, adjusted={}), Plan(), 1) is None
    assert read_comparison(replace(base, items_like_these=NOTHING), Plan(), 1) is None
