"""Alignment scores: test, definition, control, planted systems, command."""

import csv
import json

import numpy as np
import pytest
from scipy.stats import ttest_ind

from analysis.__main__ import main
from analysis.commands.alignment import tabulate_by_method
from analysis.counterfactuals.alignment import (
    Record,
    alignment_score,
    alignments,
    compute_higher_mean_p,
    judge,
)


def record(name="1", *, positive=(3.0, 4.0), negative=(1.0, 2.0, 1.5), answered=(True, True), **more):
    return {
        "id": str(name),
        "original_correct": answered[0],
        "counterfactual_correct": answered[1],
        "positive": list(positive),
        "negative": list(negative),
        **more,
    }


def score(records, draws=100):
    return alignment_score(records, rng=np.random.default_rng(1), draws=draws)


@pytest.mark.parametrize("sizes", [(1, 6), (2, 1), (5, 9), (40, 300)])
def test_the_test_is_scipys(sizes):
    rng = np.random.default_rng(sum(sizes))
    first, second = (rng.gamma(1.0, size=size) for size in sizes)
    expected = ttest_ind(first, second, alternative="greater").pvalue
    assert compute_higher_mean_p(list(first), list(second)) == pytest.approx(expected, rel=1e-9)


def test_scale_and_order_change_no_p():
    first, second = [0.3, 0.9, 0.5], [0.2, 0.1, 0.4, 0.35]
    p = compute_higher_mean_p(first, second)
    assert compute_higher_mean_p(first[::-1], second[::-1]) == pytest.approx(p)
    assert compute_higher_mean_p([1e-9 * x for x in first], [1e-9 * x for x in second]) == pytest.approx(p)


def test_where_nothing_can_be_tested():
    assert compute_higher_mean_p([], [1.0, 2.0, 3.0]) is None
    assert compute_higher_mean_p([1.0], [2.0]) is None
    assert compute_higher_mean_p([0.1] * 3, [0.1] * 4) == 1
    assert compute_higher_mean_p([0.1 + 0.2] * 3, [0.3] * 7) == 1  # a last digit is no difference
    assert compute_higher_mean_p([1.0], [0.0, 0.0]) == 0


def test_all_parts_of_the_definition_count():
    alignment = score(
        [
            record(1),
            record(2, answered=(True, False)),
            record(3, answered=(False, True)),
            record(4, positive=(1.0, 2.0)),
            record(5, positive=()),
        ]
    )
    assert (alignment.n, alignment.answered, alignment.higher, alignment.aligned, alignment.untested) == (
        5,
        3,
        3,
        1,
        1,
    )
    assert alignment.score == 1 / 5
    assert alignment.among_answered == 1 / 3
    assert alignment.interval[0] < 0.2 < alignment.interval[1]


def test_groups_are_kept_apart_and_may_share_ids():
    records = [record(1, system=system, method=method) for system in "ab" for method in ("ig", "occlusion")]
    group_scores = alignments(judge(records, rng=np.random.default_rng(1)))
    assert [(alignment.group.system, alignment.group.method, alignment.n) for alignment in group_scores] == [
        ("a", "ig", 1),
        ("a", "occlusion", 1),
        ("b", "ig", 1),
        ("b", "occlusion", 1),
    ]
    with pytest.raises(ValueError, match="4 groups"):
        score(records)
    with pytest.raises(ValueError, match="twice"):
        score([record(1), record(1)])


@pytest.mark.parametrize("positive", [1, 2, 8])
def test_random_partitions_are_found_higher_in_about_five_percent(positive):
    """The source reports this rate for Euclidean norms, as used here.

    400 instances with 100 draws each.
    """
    rng = np.random.default_rng(5)
    saliency = np.linalg.norm(rng.normal(size=(400, positive + 12, 8)), axis=-1)
    records = [
        record(i, positive=row[:positive], negative=row[positive:]) for i, row in enumerate(saliency.tolist())
    ]
    alignment = score(records)
    assert 0.03 < alignment.control < 0.08
    assert 0.02 < alignment.higher / alignment.n < 0.10
    assert not alignment.above_control


def test_the_crossed_table_has_systems_by_steps_and_methods():
    records = [
        record(n, answered=(True, True), system=system, step=step, method=method) | {"dataset": "world"}
        for system, step, method in (
            ("small", "comparison", "ig"), ("small", "comparison", "occ"), ("large", "coreference", "ig")
        )
        for n in range(3)
    ]  # fmt: skip
    results = alignments(judge([Record(**fields) for fields in records], rng=np.random.default_rng(1)))
    table = tabulate_by_method(results)
    assert table.header == ["System", "comparison ig", "comparison occ", "coreference ig"]
    shown = [[cell.plain for cell in row] for row in table.rows]
    assert [row[0] for row in shown] == ["small", "large"], "nothing that all have in common"
    assert shown[0][3] == shown[1][1] == shown[1][2] == ""
    assert shown[1][3].endswith(" of 3")
    assert len(table.data) == 3


def test_malformed_records_are_named():
    with pytest.raises(ValueError, match="original_correct"):
        score([record(1) | {"original_correct": 1}])
    with pytest.raises(ValueError, match=r"positive\.0"):
        score([record(1, positive=[float("nan")])])


def write(path, records):
    path.write_text("".join(json.dumps(row) + "\n" for row in records), encoding="utf-8")
    return str(path)


def many():
    """Yield records of two systems, one of which fails on counterfactuals.

    Their words lie in and out of the training distribution.
    """
    rng = np.random.default_rng(2)
    for system, after in (("small", 0.2), ("large", 1.0)):
        for distribution in ("in", "out"):
            for i in range(30):
                right = bool(rng.random() < after)
                yield record(
                    i, answered=(True, right), system=system, step="comparison", method="ig", context="facts",
                    distribution=distribution, original_f1=1.0, counterfactual_f1=float(right),
                )  # fmt: skip


def test_the_command_prints_and_writes(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["alignment", write(tmp_path / "r.jsonl", many()), "--out", str(out)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(row["system"], row["distribution"]) for row in printed] == [
        ("small", "in"), ("small", "out"), ("large", "in"), ("large", "out"),
    ]  # fmt: skip
    assert printed[2]["score"] == 1
    assert printed[2]["above_control"]
    lines = [json.loads(line) for line in (out / "instances.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 120
    assert sum(line["aligned"] for line in lines if line["system"] == "small") == sum(
        row["aligned"] for row in printed[:2]
    )
    header, *rows = csv.reader((out / "systems.csv").read_text("utf-8").splitlines())
    assert header == ["system", "alignment comparison facts in ig", "alignment comparison facts out ig"]
    assert [row[0] for row in rows] == ["small", "large"]
    assert [float(value) for row in rows for value in row[1:]] == [row["score"] for row in printed]
    human = tmp_path / "human.csv"
    human.write_text("system,over_estimation\nsmall,0.3\nlarge,0.1\n", "utf-8")
    direction = f"{header[1]}=higher"
    arguments = ["--human", str(human), "--model", str(out / "systems.csv"), "--wanted", direction]
    arguments += ["--wanted", f"{header[2]}=higher", "--out", str(tmp_path / "related")]
    assert main(["correlate", *arguments]) == 0
    html = (out / "report.html").read_text("utf-8")
    assert "100.0*" in html
    drops = (out / "tables/counterfactuals.csv").read_text("utf-8").splitlines()
    small, large = (float(line.rsplit(",", 1)[1]) for line in drops[1:])
    assert small < 0.01
    assert large == 1
    crossed = list(csv.DictReader((out / "tables/alignment_by_method.csv").read_text("utf-8").splitlines()))
    assert [float(row["score"]) for row in crossed] == [row["score"] for row in printed]
    assert (out / "figures/alignment.svg").is_file()
    assert "large, comparison, facts,30,100.0,100.0,100.0" in (
        (out / "tables/generalisation.tex").read_text("utf-8").replace(" & ", ",")
    )


@pytest.mark.parametrize(
    "line, complaint",
    [
        ('{"id": "1"}', "line 2, original_correct"),
        ("{", "line 2"),
        (json.dumps(record(1)), "is already in line 1"),
        (json.dumps({k: v for k, v in record(2).items() if k != "negative"}), "line 2, column negative"),
        (json.dumps(record(2) | {"distribution": "near"}), "distribution"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, capsys, line, complaint):
    path = tmp_path / "r.jsonl"
    path.write_text(f"{json.dumps(record(1))}\n{line}\n", encoding="utf-8")
    assert main(["alignment", str(path), "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert complaint.replace(", column ", ", ").split(", ")[-1] in printed.err
    assert complaint.split(", ")[0] in printed.err
    assert not printed.out
    assert not (tmp_path / "out").exists()


def test_records_without_saliency_give_tables_alone(tmp_path, capsys):
    bare = [
        {
            k: v
            for k, v in record(i, original_f1=0.5, counterfactual_f1=0.5).items()
            if k not in ("positive", "negative")
        }
        for i in range(3)
    ]
    assert main(["alignment", write(tmp_path / "r.jsonl", bare), "--out", str(tmp_path / "out")]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert (tmp_path / "out/tables/answers.csv").is_file()
    assert not (tmp_path / "out/tables/alignment.csv").exists()


def test_swaps_that_hardly_change_the_meaning_are_left_out_and_counted(tmp_path, capsys):
    rows = [record(1), record(2, near_synonym=True), record(3, near_synonym=True, verdict="valid")]
    path = write(tmp_path / "r.jsonl", rows)
    assert main(["alignment", path]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)[0]["n"] == 2  # people confirmed the third
    assert "left out: 1 (--near-synonyms)" in printed.err
    assert main(["alignment", path, "--near-synonyms"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["n"] == 3
