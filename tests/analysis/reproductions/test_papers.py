"""The three publications, from the released files."""

import json
from itertools import combinations

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.participants.bundle import load_bundle
from analysis.reproductions.schuff2020 import PAPER, PEARSON, SCORE_GRID, SYSTEMS
from analysis.reproductions.schuff2020_bundle import DROPPED_QUESTIONS
from analysis.study.analysis import Options, analyse
from tests.analysis.data import real_data


def reproduce(paper, out, *arguments):
    """Run the command; return results by section, row and column, and counts."""
    assert main(["reproduce", paper, *map(str, arguments), "--out", str(out)]) == 0
    reproduction = json.loads((out / "reproduction.json").read_text("utf-8"))
    return {
        (result["place"], result["row"], result["column"]): result for result in reproduction["results"]
    }, reproduction["counts"]


@pytest.fixture(scope="module")
def schuff(tmp_path_factory):
    out = tmp_path_factory.mktemp("schuff2020")
    results, counts = reproduce(
        "schuff2020", out, "--data", real_data("user_study/data.jsonl"), "--resamples", "0"
    )
    return out, results, counts


@pytest.fixture(scope="module")
def subramanian(tmp_path_factory):
    real_data("faithful_nmn/nlvr2_test_box_annotations.csv")
    out = tmp_path_factory.mktemp("subramanian2020")
    return reproduce("subramanian2020", out, "--data", real_data("faithful_nmn"))


def test_the_released_study_reproduces_what_it_can(schuff):
    _, results, counts = schuff
    sample = "Section 6.4, participants and data cleaning"
    assert results[sample, "Discarded responses (%)", ""]["ours"] == 4.3
    assert "13 + 9 + 21 = 43" in results[sample, "Discarded responses (%)", ""]["reason"]
    assert results[sample, "Discarded without two whole questions (%)", ""]["verdict"] == "same"
    assert [
        results[sample, f"Trials that the rule {rule} hits", ""]["ours"]
        for rule in ("too-fast", "too-slow", "known-before")
    ] == [13, 9, 21]
    assert counts["same"] > 100


def verdicts(results, section, row):
    cells = [cell for (title, label, _), cell in results.items() if title == section and label == row]
    return {cell["verdict"] for cell in cells}, len(cells)


def test_rows_of_correlations_follow_from_release_and_text(schuff):
    """Seven rows of correlations follow from the release and the text.

    They hold the twelve standard scores. The other three rows need how often each answer was right.
    """
    results = schuff[1]
    section = "Appendix H, correlations, standard scores"
    for row in (
        "Completion time, mean",
        "Fraction of correct ratings",
        "Over-estimation",
        "False positives, of all responses",
        "False negatives, of all responses",
        "True positives, of all responses",
        "True negatives, of all responses",
    ):
        assert verdicts(results, section, row) == ({"same"}, 12), row
    assert verdicts(results, section, "User F1") == ({"not reproducible"}, 12)


def test_the_two_questions_decide_true_positives_and_negatives(schuff):
    """The text implies whole numbers of right answers of 23 questions.

    They are not whole numbers of 25 questions.
    """
    results = schuff[1]
    section = "Appendix H, correlations, standard scores with all questions"
    for row in ("True positives, of all responses", "True negatives, of all responses"):
        assert "differs" in verdicts(results, section, row)[0]
    implied = "Right answers of {} that the text implies, of {} questions"
    for system, right in (("Qi-2019", 17), ("Select & Forget", 19), ("regularized", 18)):
        assert results["Section 6.5", implied.format(system, 23), ""]["ours"] == pytest.approx(
            right, abs=0.12
        )
    assert results["Section 6.5", implied.format("Select & Forget", 25), ""]["ours"] == pytest.approx(
        20.27, abs=0.01
    )


def test_no_other_pair_of_questions_fits_as_well(schuff):
    """Only one pair of questions gives the printed row and whole answers.

    Of the pairs that discard 121 responses, no other has this row and whole numbers of right answers.
    """
    trials = analyse(load_bundle(schuff[0] / "bundle"), Options(resamples=0)).retained.trials
    rated = trials.assign(rated=trials["rated_correct"].astype(float))
    table = rated.pivot(index=["condition", "participant_id"], columns="item_id", values="rated")
    printed, over = PEARSON.rows["tp"][:12], PAPER.grids["deltas"].numbers("over_estimation")
    false = np.array(PAPER.grids["deltas"].numbers("fp"))
    scores = [SCORE_GRID.numbers(key)[:3] for key in PEARSON.columns[:12]]
    fitting, discarding = [], 0
    for pair in combinations(table.columns, 2):
        rest = table.drop(columns=list(pair))
        if rest.count().sum() != 1000 - 121:
            continue
        discarding += 1
        agreement = 100 * rest.mean(axis=1).groupby("condition").mean()[list(SYSTEMS)].to_numpy()
        row = [np.corrcoef(agreement - false, values)[0, 1] for values in scores]
        right = (agreement - over) / 100 * 23
        if np.allclose(row, printed, atol=0.01) and np.allclose(right, right.round(), atol=0.12):
            fitting.append(pair)
    assert (discarding, fitting) == (69, [DROPPED_QUESTIONS])


def test_exchanged_columns_explain_the_proposed_scores(schuff):
    results = schuff[1]
    section = "Appendix H, correlations, proposed scores"
    for row in ("Completion time, mean", "Over-estimation", "False positives, of all responses"):
        assert "differs" in verdicts(results, section, row)[0]
        exchanged = f"{section} with Qi-2019 and Select & Forget exchanged"
        assert verdicts(results, exchanged, row)[0] == {"same", "not reproducible"}  # FaRM(1) is not printed


def test_ranks_of_the_known_measures_have_the_printed_marks(schuff):
    results = schuff[1]
    marks = {
        row: result["verdict"]
        for (section, row, _), result in results.items()
        if section.startswith("Section 6.6")
    }
    assert list(marks.values()).count("same") == 7
    assert list(marks.values()).count("not reproducible") == 3


def test_the_page_has_figures_and_the_bundle_makes_a_report(schuff):
    out, _, _ = schuff
    html = (out / "report.html").read_text("utf-8")
    assert html.count("<figure") == 4
    assert "http" not in html.replace("https://github.com", "").replace("http://www.w3.org", "")
    assert len(load_bundle(out / "bundle").trials) == 1000


def test_the_released_gold_reproduces_what_it_can(subramanian):
    results, counts = subramanian
    assert results["Section 5.1", "Examples of NLVR2 with gold boxes", ""]["verdict"] == "same"
    assert results["Section 5.1", "Questions of DROP with gold spans", ""]["verdict"] == "same"
    assert verdicts(results, "Section 5.3", "mean area of gold boxes") == ({"same"}, 4)
    assert results["Section 5.3", "the same, boxes as annotated", "filter"]["verdict"] == "differs"
    gold = "Released code, gold boxes before it scores"
    columns = ("boxes", "boxes that are scored")
    assert [results[gold, "filter", column]["ours"] for column in columns] == [1703, 1508]
    assert [results[gold, "project", column]["ours"] for column in columns] == [456, 354]
    assert results["Table 1", "Upper Bound", "F1"]["reason"].startswith("The release has no region proposals")
    assert verdicts(results, "Table 4", "Upper Bound")[0] == {"same", "not reproducible"}
    assert counts["not reproducible"] > 200


def test_the_overall_column_of_drop_counts_arguments_twice(subramanian):
    results = subramanian[0]
    overall = {
        row: result
        for (section, row, column), result in results.items()
        if (section, column) == ("Table 2", "overall")
    }
    assert [result["verdict"] for result in overall.values()].count("same") == 4
    (other,) = [result for result in overall.values() if result["verdict"] == "differs"]
    assert "counted once it is 7.89" in other["reason"]


def test_the_released_examples_reproduce_the_notebook(tmp_path, capsys):
    files = [real_data(f"nlvr2/{name}.json") for name in ("dev", "balanced_dev", "unbalanced_dev")]
    results, counts = reproduce("suhr2019", tmp_path, *(part for file in files for part in ("--data", file)))
    assert capsys.readouterr().out.startswith("89 values: ")
    accuracy = results["Section Bias in NLVR2", "Accuracy of the majority label of each pair (%)", ""]
    assert (accuracy["published"], accuracy["verdict"]) == (83.53, "same")
    same = [row for (_, row, _), result in results.items() if result["verdict"] == "same"]
    assert {"Balanced examples", "The released unbalanced examples are those of the rule"} <= set(same)
    assert verdicts(results, "Table of pair frequencies, training set", "2") == ({"not reproducible"}, 5)
    assert counts["differs"] == 1


def test_the_training_set_gives_the_table_of_frequencies(tmp_path):
    rows = [
        {"identifier": f"train-{n}-0-0", "left_url": f"{n // 2}", "right_url": "r", "label": "True"}
        for n in range(4)
    ]
    path = tmp_path / "train.json"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    results, _ = reproduce("suhr2019", tmp_path / "out", "--data", path)
    assert results["Table of pair frequencies, training set", "2", "observed same"]["ours"] == 2


@pytest.mark.parametrize(
    ("paper", "arguments", "words"),
    [
        ("schuff2020", ["--data", "missing.jsonl"], "missing.jsonl: there is no such file"),
        ("subramanian2020", ["--data", "."], "holds no nlvr2_test_box_annotations.csv"),
        ("suhr2019", ["--data", "missing.json"], "missing.json: there is no such file"),
    ],
)
def test_a_missing_file_is_one_line(paper, arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", paper, *arguments, "--out", "out"]) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out/report.html").exists()
