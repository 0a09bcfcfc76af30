"""Scores question by question: the same scores again, with intervals.

Mistakes in the table are named.
"""

import csv

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.__main__ import main
from analysis.io.errors import AnalysisError, InputError
from analysis.participants.bundle import load_bundle
from analysis.report.page import Figure
from analysis.report.sections.against_scores import build_all_scores_section
from analysis.scores import farm_loca
from analysis.scores.per_question import COLUMNS, check_agreement, read_question_scores, score_replicates
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import planted_study
from tests.analysis.commands.test_commands import write

SYSTEMS = ("sys-1", "sys-2", "sys-3")


def table_of(rng, questions=200, systems=SYSTEMS):
    """Return random scores of questions.

    The columns are em, the changes of FaRM(4), the answer's place and a difference of probabilities.
    """
    rows = []
    for system in systems:
        for number in range(questions):
            span = float(rng.random() < 0.9)
            inside = span * float(rng.random() < 0.6)
            rows.append({
                "system": system, "question_id": f"q{number}", "em": float(rng.random() < 0.5),
                "c_rel_4": float(rng.random() < 0.7), "c_irr_4": float(rng.random() < 0.1),
                "span_answer": span, "inside": inside, "outside": (span - inside) * float(rng.random() < 0.5),
                "comprehensiveness": round(rng.uniform(-1, 1), 6),
            })  # fmt: skip
    return pd.DataFrame(rows)


def read(table, folder):
    table.to_csv(folder / "question_scores.csv", index=False)
    return read_question_scores(folder / "question_scores.csv")


def scores_of(table):
    """Compute the scores by the formulas of analysis.scores.farm_loca."""
    scores = {}
    for system, rows in table.groupby("system"):
        c_rel, c_irr = rows["c_rel_4"].mean(), rows["c_irr_4"].mean()
        spans, inside, outside = (rows[name].sum() for name in ("span_answer", "inside", "outside"))
        scores[system] = {
            "em": rows["em"].mean(), "c_rel_4": c_rel, "c_irr_4": c_irr, "farm_4": c_rel / (1 + c_irr),
            "loca": inside / (spans + outside), "loca_inside": inside / spans,
            "loca_outside": outside / spans, "comprehensiveness": rows["comprehensiveness"].mean(),
        }  # fmt: skip
    return scores


def test_it_works(tmp_path):
    table = read(table_of(np.random.default_rng(1)), tmp_path)
    expected = scores_of(table)
    check_agreement(table, expected)
    replicates = score_replicates(table, SYSTEMS, rng=np.random.default_rng(2), resamples=2000)
    for key in expected["sys-1"]:
        for column, system in enumerate(SYSTEMS):
            draws = replicates[key][:, column]
            assert draws.mean() == pytest.approx(expected[system][key], abs=4 * draws.std() / np.sqrt(2000))
    # A share's bootstrap has the binomial's spread.
    share = expected["sys-1"]["em"]
    assert replicates["em"][:, 0].std() == pytest.approx(np.sqrt(share * (1 - share) / 200), rel=0.06)
    assert np.isnan(replicates["f1"]).all()


def test_the_formulas_are_those_of_the_scores(tmp_path):
    """FaRM and LocA are those of analysis.scores.farm_loca.

    Both sides use the same questions.
    """
    table = table_of(np.random.default_rng(3), questions=50, systems=("sys-1",))
    question_ids = list(table["question_id"])
    answers = dict.fromkeys(question_ids, "a")
    changed = {
        name: {4: {q: "b" if flag else "a" for q, flag in zip(question_ids, table[name], strict=True)}}
        for name in ("c_rel_4", "c_irr_4")
    }
    farm = farm_loca.farm(answers, changed["c_rel_4"], changed["c_irr_4"])
    facts = [("A", 0)]
    places = [
        ("span" if span else "no", ("A", 0) if inside else ("B", 1) if outside else None,
         ("A", 0) if inside else ("B", 1) if outside else None, facts)
        for span, inside, outside in zip(table["span_answer"], table["inside"], table["outside"], strict=True)
    ]  # fmt: skip
    loca = farm_loca.loca(places)
    scores = {"farm_4": farm.farm[4], "loca": loca.loca, "loca_inside": loca.inside}
    check_agreement(read(table, tmp_path), {"sys-1": scores})


def test_all_systems_of_a_replicate_have_the_same_questions(tmp_path):
    table = table_of(np.random.default_rng(4), systems=("sys-1",))
    same = pd.concat([table, table.assign(system="sys-2")])
    replicates = score_replicates(
        read(same, tmp_path), ("sys-1", "sys-2"), rng=np.random.default_rng(5), resamples=50
    )
    assert (replicates["em"][:, 0] == replicates["em"][:, 1]).all()
    assert (replicates["loca"][:, 0] == replicates["loca"][:, 1]).all()


def test_coverage():
    """Percentile intervals have nominal coverage in 300 simulated data sets.

    They are those of a share, of FaRM and of LocA over 150 questions.
    """
    rng, held, studies = np.random.default_rng(6), {"em": 0, "farm_4": 0, "loca": 0}, 300
    truth = {"em": 0.5, "farm_4": 0.7 / 1.1, "loca": 0.54 / (0.9 + 0.18)}
    for _ in range(studies):
        table = table_of(rng, questions=150, systems=("sys-1",)).reindex(columns=[c.name for c in COLUMNS])
        replicates = score_replicates(table, ("sys-1",), rng=rng, resamples=400)
        for key in held:
            low, high = np.quantile(replicates[key][:, 0], [0.025, 0.975])
            held[key] += low <= truth[key] <= high
    for key, hits in held.items():
        assert stats.binom.ppf(0.001, studies, 0.935) <= hits <= stats.binom.ppf(0.999, studies, 0.965), key


def test_a_system_without_rows_has_no_replicates(tmp_path):
    table = read(table_of(np.random.default_rng(7), questions=20, systems=("sys-1",)), tmp_path)
    replicates = score_replicates(table, ("sys-1", "sys-9"), rng=np.random.default_rng(8), resamples=10)
    assert np.isfinite(replicates["em"][:, 0]).all()
    assert np.isnan(replicates["em"][:, 1]).all()


def test_what_does_not_fit_is_named(tmp_path):
    table = table_of(np.random.default_rng(9), questions=20)
    with pytest.raises(AnalysisError, match=r"its questions give sys-1 em = 0\.\d{4}, the scores say 0.0100"):
        check_agreement(read(table, tmp_path), {"sys-1": {"em": 0.01}})
    with pytest.raises(InputError, match=r"line 62, column question_id: .*second row for sys-1, q0"):
        read(pd.concat([table, table.iloc[:1]]), tmp_path)
    with pytest.raises(InputError, match=r"line 2, column em: .*is not a number from 0 to 1"):
        read(table.assign(em=50.0), tmp_path)
    with pytest.raises(InputError, match=r"column comprehensiveness: .*is not a number from -1 to 1"):
        read(table.assign(comprehensiveness=-1.5), tmp_path)


def captions(study):
    blocks = build_all_scores_section(study).blocks
    return [block.caption for block in blocks if isinstance(block, Figure)]


def test_the_report_draws_both_axes_and_says_where_it_cannot(tmp_path):
    table = table_of(np.random.default_rng(10), questions=60)
    folder = planted_study(tmp_path / "bundle", scores=scores_of(table))
    without = captions(analyse(load_bundle(folder), Options(resamples=20)))
    assert all("the contribution of each question is unknown" in text for text in without)

    table[table["system"] != "sys-3"].to_csv(folder / "question_scores.csv", index=False)
    study = analyse(load_bundle(folder), Options(resamples=20))
    em = next(score for score in study.retained.relations.scores if score.key == "em")
    low, high = em.interval(0)
    assert low < em.values[0] < high
    assert em.interval(2) is None
    [standard, coupled] = captions(study)
    assert "Horizontal lines are confidence intervals of the score" in standard
    assert "Unknown for Answer EM of three." in standard
    assert "LocA of three" in coupled
    [none, _] = captions(analyse(load_bundle(folder), Options(resamples=0)))
    assert "they were switched off" in none


def test_other_scores_leave_the_bundles_questions_out(tmp_path):
    table = table_of(np.random.default_rng(11), questions=30)
    folder = planted_study(tmp_path / "bundle", scores=scores_of(table))
    table.to_csv(folder / "question_scores.csv", index=False)
    bundle = load_bundle(folder)
    other = bundle.scores.model_copy(deep=True)
    other.systems["sys-1"].scores["em"] = 0.99
    study = analyse(bundle, Options(resamples=5), other)
    assert all(score.replicates is None for score in study.retained.relations.scores)
    with pytest.raises(AnalysisError, match=r"the scores say 0\.9900"):
        analyse(bundle, Options(resamples=5), other, bundle.question_scores)


def test_the_commands(tmp_path, capsys):
    """xqa-scores writes a table that the report takes.

    The means of the table are the scores.
    """
    gold = [
        {"_id": f"q{i}", "answer": "yes" if i % 3 else "no", "supporting_facts": [["A", i]]} for i in range(9)
    ]
    predictions = {
        "answer": {f"q{i}": "yes" for i in range(8)},
        "sp": {f"q{i}": [["A", 0]] for i in range(8)},
    }
    out = tmp_path / "questions.csv"
    arguments = [
        "--gold",
        write(tmp_path / "g.json", gold),
        "--predictions",
        write(tmp_path / "p.json", predictions),
    ]
    assert main(["xqa-scores", *arguments, "--out-questions", str(out), "--system", "sys-1"]) == 0
    capsys.readouterr()
    table = read_question_scores(out)
    assert len(table) == 9
    assert table["em"].mean() == pytest.approx(5 / 9)
    folder = planted_study(tmp_path / "bundle", scores={"sys-1": {"em": 5 / 9}, "sys-2": {"em": 0.4}})
    report = tmp_path / "report"
    assert (
        main(
            ["report", str(folder), "--question-scores", str(out), "--out", str(report), "--resamples", "20"]
        )
        == 0
    )
    with (report / "tables" / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["system"], row["score"]): row for row in csv.DictReader(file)}
    assert 0 < float(rows["sys-1", "em"]["low"]) < 5 / 9 < float(rows["sys-1", "em"]["high"]) < 1
    assert rows["sys-2", "em"]["low"] == ""
    assert "questions.csv" in (report / "tables" / "inputs.csv").read_text("utf-8")
