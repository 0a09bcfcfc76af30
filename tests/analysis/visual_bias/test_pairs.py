"""The majority label of pairs of images measures visual bias.

The tests also cover the parts, systems on them, the files and the command.
"""

import csv
import json
import re
import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.__main__ import main
from analysis.io.errors import AnalysisError, InputError
from analysis.visual_bias import analyse, score_system
from analysis.visual_bias.examples import read_examples, read_predictions
from analysis.visual_bias.pairs import group_by_pair
from analysis.visual_bias.systems import permutation_p
from tests.analysis.data import real_data
from tests.paths import ROOT


def rows(*labels, prefix="e"):
    """Return rows of pairs of images.

    labels: "TF" is a pair of two examples, the first true, the second false.
    """
    return [
        {
            "identifier": f"{prefix}-{k}-{j}",
            "left_url": f"{prefix}{k}",
            "right_url": "r",
            "label": str(label == "T"),
        }
        for k, pair in enumerate(labels)
        for j, label in enumerate(pair)
    ]


def rng(seed=1):
    return np.random.default_rng(seed)


def predictions(bias, right):
    """Return predictions that are right where `right` says so, per example."""
    return dict(zip(bias.ids, (bias.labels == np.asarray(right, dtype=bool)).tolist(), strict=True))


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_it_works():
    bias = analyse(rows("TF", "TT", "F", "FTF"))
    assert bias.majority_accuracy == pytest.approx((1 + 2 + 1 + 2) / 8)
    assert bias.balanced_ids == ("e-0-0", "e-0-1", "e-3-0", "e-3-1", "e-3-2")
    assert bias.unbalanced_ids == ("e-1-0", "e-1-1")
    assert [
        (frequency.frequency, frequency.pairs, frequency.expected_same, frequency.observed_same)
        for frequency in bias.frequencies
    ] == [
        (1, 1, 1.0, 1),
        (2, 2, 1.0, 1),
        (3, 1, 0.25, 0),
    ]


def test_ties_are_answered_with_true():
    assert analyse(rows("FT")).majority_labels.tolist() == [True, True]


def test_the_same_images_the_other_way_round_are_another_pair():
    first, second = rows("T", "F")
    second |= {"left_url": first["right_url"], "right_url": first["left_url"]}
    assert analyse([first, second]).balanced_ids == ()


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1), st.booleans()), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_against_plain_loops_in_any_order(drawn, random):
    examples = [
        {"identifier": str(k), "left_url": f"l{left}", "right_url": f"r{right}", "label": label}
        for k, (left, right, label) in enumerate(drawn)
    ]
    by_pair: dict[tuple, list[dict]] = {}
    for example in examples:
        by_pair.setdefault((example["left_url"], example["right_url"]), []).append(example)
    right = sum(
        max(n, len(group) - n)
        for group in by_pair.values()
        for n in [sum(example["label"] for example in group)]
    )
    kinds = {pair: len({example["label"] for example in group}) for pair, group in by_pair.items()}
    random.shuffle(examples)
    bias = analyse(examples)
    assert bias.majority_accuracy == pytest.approx(right / len(examples))
    assert set(bias.balanced_ids) == {
        example["identifier"] for pair, group in by_pair.items() if kinds[pair] == 2 for example in group
    }
    assert set(bias.unbalanced_ids) == {
        example["identifier"]
        for pair, group in by_pair.items()
        if kinds[pair] == 1 and len(group) > 1
        for example in group
    }
    for row in bias.frequencies:
        same = [kinds[pair] == 1 for pair, group in by_pair.items() if len(group) == row.frequency]
        assert (row.pairs, row.observed_same) == (len(same), sum(same))
        assert row.expected_same == pytest.approx(len(same) * 2 / 2**row.frequency)


def test_the_published_training_table_comes_back_from_pairs_of_its_make_up():
    published = json.loads(real_data("paper_tables/nlvr2_bias_train_frequency.json").read_text("utf-8"))[
        "rows"
    ]
    pairs = []
    for row in published:
        n, same = row["pair_frequency"], row["observed_same"]
        pairs += ["T" * n] * same + ["F" + "T" * (n - 1)] * (row["pairs"] - same)
    frequencies = analyse(rows(*pairs)).frequencies
    assert [
        {
            "pair_frequency": frequency.frequency,
            "pairs": frequency.pairs,
            "expected_same": float(f"{frequency.expected_same:.2f}"),
            "expected_percent": float(f"{100 * frequency.expected_share:.2f}"),
            "observed_same": frequency.observed_same,
            "observed_percent": float(f"{100 * frequency.observed_share:.2f}"),
        }
        for frequency in frequencies
    ] == published


def test_the_development_examples_give_the_published_figures():
    bias = group_by_pair(read_examples(real_data("nlvr2/dev.json")))
    published = json.loads(real_data("paper_tables/nlvr2_bias_results.json").read_text("utf-8"))["dev"]
    assert published == {
        "labelled": len(bias.ids),
        "majority_pair_accuracy": round(100 * bias.majority_accuracy, 2),
        "balanced": len(bias.balanced_ids),
        "unbalanced": len(bias.unbalanced_ids),
    }
    assert (len(bias.ids), len(bias.balanced_ids), len(bias.unbalanced_ids)) == (6982, 2300, 3562)
    for ids, name in ((bias.balanced_ids, "balanced"), (bias.unbalanced_ids, "unbalanced")):
        assert list(ids) == json.loads(real_data(f"nlvr2/{name}_dev_ids.json").read_text("utf-8"))


def test_the_development_examples_with_a_system_take_less_than_two_seconds():
    path = real_data("nlvr2/dev.json")
    start = time.process_time()
    bias = group_by_pair(read_examples(path))
    score_system(bias, predictions(bias, rng().random(len(bias.ids)) < 0.7), rng=rng())
    assert time.process_time() - start < 2


def test_labels_of_other_releases_are_read():
    assert len(read_examples(real_data("nlvr2/contrast_set_nlvr2.jsonl"))) == 994


# Systems


def test_accuracies_add_up_and_deltas_are_their_differences():
    bias = analyse(rows(*["TF"] * 30, *["TT"] * 40, *["T"] * 20))
    right = rng().random(len(bias.ids)) < 0.7
    scores = score_system(bias, predictions(bias, right), rng=rng(), resamples=200, trials=200)
    for part in ("all", "balanced", "unbalanced"):
        assert scores.accuracy[part].value == pytest.approx(right[bias.examples_of(part)].mean())
    assert (scores.accuracy["balanced"].n, scores.accuracy["unbalanced"].n) == (60, 80)
    for delta in scores.deltas:
        first, second = (right[bias.examples_of(part)].mean() for part in (delta.first, delta.second))
        assert delta.difference.value == pytest.approx(first - second)
        assert delta.difference.interval.low < first - second < delta.difference.interval.high
        assert delta.p is not None
        assert 0 < delta.p <= 1


def test_the_majority_label_as_a_system_is_right_about_half_of_the_balanced_part():
    bias = analyse(rows(*["TF"] * 30, *["TT", "FF"] * 20, *["T"] * 20))
    majority = dict(zip(bias.ids, bias.majority_labels.tolist(), strict=True))
    scores = score_system(bias, majority, rng=rng(), resamples=200, trials=2000)
    assert scores.accuracy["all"].value == bias.majority_accuracy
    assert scores.accuracy["balanced"].value == 0.5
    assert scores.accuracy["unbalanced"].value == 1
    assert scores.deltas[2].difference.value == -0.5
    assert scores.deltas[2].p == 1 / 2001  # never 0


def test_intervals_take_examples_of_a_pair_together():
    bias = analyse(rows(*["TT"] * 800))
    right = np.repeat(rng().random(800) < 0.5, 2)  # both or none: 1600 examples say as much as 800
    accuracy = score_system(bias, predictions(bias, right), rng=rng(), trials=0).accuracy["unbalanced"]
    width = accuracy.interval.high - accuracy.interval.low
    assert width == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 800), rel=0.1)


def test_parts_without_examples_say_so():
    bias = analyse(rows("TT", "FF"))
    scores = score_system(bias, predictions(bias, [1, 1, 0, 1]), rng=rng(), resamples=50, trials=50)
    assert scores.accuracy["balanced"].value is None
    assert scores.accuracy["balanced"].reason == "no example is balanced"
    by_name = {(delta.first, delta.second): delta for delta in scores.deltas}
    assert by_name["balanced", "all"].p is None
    assert by_name["balanced", "all"].difference.reason == "no example is balanced"
    assert by_name["unbalanced", "all"].difference.value == 0
    assert by_name["unbalanced", "all"].p is None  # nothing to compare with


def test_a_system_that_is_always_right_does_not_differ():
    bias = analyse(rows(*["TF"] * 5, *["TT"] * 5))
    scores = score_system(bias, predictions(bias, [1] * 20), rng=rng(), resamples=20, trials=100)
    assert [(delta.difference.value, delta.p) for delta in scores.deltas] == [(0, 1), (0, 1), (0, 1)]


def test_the_same_seed_gives_the_same_and_the_order_of_rows_does_not_matter():
    examples = rows(*["TF"] * 8, *["TT"] * 8, *["T"] * 4)
    bias, turned = analyse(examples), analyse(examples[::-1])
    answers = predictions(bias, rng(3).random(36) < 0.6)
    first, again, other = (
        score_system(b, answers, rng=rng(), resamples=0, trials=500) for b in (bias, bias, turned)
    )
    assert [delta.p for delta in first.deltas] == [delta.p for delta in again.deltas]
    assert [delta.p for delta in first.deltas] == [delta.p for delta in other.deltas]
    assert {part: accuracy.value for part, accuracy in first.accuracy.items()} == {
        part: accuracy.value for part, accuracy in other.accuracy.items()
    }


def welch(counts, chosen):
    """Return |difference of accuracies| / standard error, by plain sums."""
    parts = [counts[chosen], counts[~chosen]]
    shares = [part[:, 0].sum() / part[:, 1].sum() for part in parts]
    errors = [
        sum((right - share * n) ** 2 for right, n in part) / part[:, 1].sum() ** 2
        for part, share in zip(parts, shares, strict=True)
    ]
    gap, error = abs(shares[0] - shares[1]), np.sqrt(sum(errors))
    return gap / error if error > 1e-12 else (np.inf if gap > 1e-12 else 0.0)


def test_p_against_every_permutation():
    counts = np.array([[2, 2], [1, 2], [0, 2], [1, 1], [2, 2], [0, 1], [1, 2], [2, 3]])
    chosen = np.array([1, 0, 0, 1, 1, 0, 0, 0], dtype=bool)
    observed, values = welch(counts, chosen), []
    for three in combinations(range(8), 3):
        values.append(welch(counts, np.isin(np.arange(8), three)))
    exact = np.mean(np.array(values) >= observed * (1 - 1e-9))
    trials = 200_000
    p = permutation_p(counts, chosen, trials=trials, rng=rng())
    assert p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / trials))


@pytest.mark.parametrize("balanced, unbalanced", [(60, 180), (180, 60)])
def test_p_keeps_its_level_for_a_system_that_goes_by_images(balanced, unbalanced):
    # Right about one of two examples of each balanced pair, and about both or none of an unbalanced one: the
    # accuracies are equal, the spreads are not. A permutation of the bare difference fails here, either way.
    draws, p_values = rng(11), []
    first = np.arange(240) < balanced
    for _ in range(400):
        right = np.concatenate([np.ones(balanced, dtype=int), 2 * draws.integers(0, 2, unbalanced)])
        counts = np.stack([right, np.full(240, 2)], axis=1)
        p_values.append(permutation_p(counts, first, trials=400, rng=draws))
    assert 0.02 <= np.mean(np.array(p_values, dtype=float) <= 0.05) <= 0.085


def test_a_real_difference_is_found():
    bias = analyse(rows(*["TF"] * 300, *["TT"] * 300))
    chance = np.where(bias.examples_of("balanced"), 0.6, 0.75)
    scores = score_system(bias, predictions(bias, rng().random(1200) < chance), rng=rng(), trials=5000)
    assert max(delta.p for delta in scores.deltas if delta.p is not None) < 0.01
    assert scores.deltas[2].difference.interval.high < 0


def test_pairs_of_one_example_do_not_count_where_both_parts_are_compared():
    bias = analyse(rows(*["TF"] * 100, *["TT"] * 100, *["T"] * 100))
    right = [1, 1, 1, 0] * 100 + [0] * 100  # three of four in both parts, none of the rest
    scores = score_system(bias, predictions(bias, right), rng=rng(), resamples=0, trials=2000)
    with_all, _, between = scores.deltas
    assert (with_all.p, between.difference.value, between.p) == (1 / 2001, 0, 1)


# Malformed input


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"label": "maybe"}, "row 2, label: must be true or false, not 'maybe'"),
        ({"label": 1}, "row 2, label: must be true or false, not 1"),
        ({"left_url": ""}, "row 2, left_url: must be a text of at least one character, not ''"),
        ({"right_url": None}, "row 2, right_url: must be a text of at least one character, not None"),
        ({"identifier": "e-0-0"}, "row 2, identifier: 'e-0-0' is there twice"),
    ],
)
def test_malformed_rows_are_told(change, problem):
    first, second = rows("TF")
    with pytest.raises(AnalysisError) as error:
        analyse([first, second | change])
    assert str(error.value) == problem


def test_a_missing_field_is_told():
    row = rows("T")[0]
    del row["label"]
    with pytest.raises(AnalysisError, match=r"^row 1, label: is missing$"):
        analyse([row])
    with pytest.raises(AnalysisError, match=r"^row 1: must be an object with fields, not \['x'\]$"):
        analyse([["x"]])  # type: ignore[list-item]
    with pytest.raises(AnalysisError, match="there is no example"):
        analyse([])


def test_json_lines_and_lists_say_the_same_and_name_lines(tmp_path):
    examples = rows("TF", "TT")
    lines = write_lines(tmp_path / "lines.json", examples)
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps(examples, indent=2), encoding="utf-8")
    assert read_examples(lines) == read_examples(listed)
    examples[2]["label"] = "neither"
    write_lines(lines, examples)
    lines.write_text("\n" + lines.read_text("utf-8"), encoding="utf-8")
    with pytest.raises(InputError, match=r"lines\.json, line 4, column label: must be true or false"):
        read_examples(lines)
    listed.write_text(json.dumps(examples, indent=2), encoding="utf-8")
    with pytest.raises(InputError, match=r"list\.json, line 14, column label: must be true or false"):
        read_examples(listed)


@pytest.mark.parametrize(
    "text, problem",
    [
        ('{"identifier": "a"\n', "line 1, column 19: is not JSON"),
        ("\n\n{]\n", "line 3, column 2: is not JSON"),
        ('[{"identifier": 3}]', "line 1, column left_url: is missing"),
        ("[\n {}\n {}]", "line 3, column 2: is not JSON"),
        ("7\n", "line 1: must be an object with fields, not 7"),
    ],
)  # fmt: skip
def test_malformed_files_are_told(tmp_path, text, problem):
    path = tmp_path / "dev.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_examples(path)
    assert str(error.value).startswith(f"{path}, {problem}")


@pytest.mark.parametrize(
    "name, text",
    [
        ("p.csv", "a,True\nb,false\n"),
        ("p.csv", "identifier,prediction\r\na,true\r\nb,False\r\n"),
        ("p.json", '{"a": true, "b": "False"}'),
        ("p.json", '{"answer": {"a": "True", "b": "false"}, "sp": {}}'),
        ("p.jsonl", '{"identifier": "a", "prediction": true}\n{"identifier": "b", "prediction": "False"}\n'),
        ("p.json", '[{"identifier": "a", "prediction": true}, {"identifier": "b", "prediction": false}]'),
    ],
)
def test_predictions_come_in_several_forms(tmp_path, name, text):
    (tmp_path / name).write_bytes(text.encode())
    assert read_predictions(tmp_path / name) == {"a": True, "b": False}


@pytest.mark.parametrize(
    "name, text, problem",
    [
        ("p.csv", "a,True\nb\n", "line 2: has 1 fields"),
        ("p.csv", "a,True\n\nb,1\n", "line 3, column prediction: must be true or false, not '1'"),
        ("p.csv", "a,True\na,False\n", "line 2, column identifier: 'a' is there twice"),
        ("p.json", '{"a": 0.7}', "a: must be true or false, not 0.7"),
        ("p.json", '{"answer": [1]}', "answer: must be an object"),
        ("p.jsonl", '{"identifier": "a"}', "line 1, column prediction: is missing"),
        ("p.jsonl", '{"identifier": "a", "prediction": true}\n{', "line 2, column 2: is not JSON"),
    ],
)
def test_malformed_predictions_are_told(tmp_path, name, text, problem):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_predictions(path)
    assert f"{path}, {problem}" in str(error.value)


def test_malformed_arguments():
    bias = analyse(rows("TF", "TT"))
    with pytest.raises(AnalysisError, match=r"^1 of 4 examples have no prediction, the first is 'e-1-1'$"):
        score_system(bias, dict.fromkeys(bias.ids[:3], True), rng=rng())
    with pytest.raises(ValueError, match="trials"):
        score_system(bias, dict.fromkeys(bias.ids, True), rng=rng(), trials=-1)
    with pytest.raises(ValueError, match="trials"):
        permutation_p(np.array([[1, 2], [1, 1]]), np.array([True, False]), trials=0, rng=rng())


# The command


@pytest.fixture
def dev(tmp_path):
    return write_lines(tmp_path / "dev.json", rows(*["TF"] * 6, *["TT"] * 4, "T", "FTF"))


def test_the_command_prints_tables_and_json(dev, capsys):
    assert main(["visual-bias", str(dev)]) == 0
    printed = capsys.readouterr().out
    tables, brace, rest = printed.partition("{\n")
    assert "right about 70.83 % of 24 examples of 12 pairs" in tables  # 6 + 8 + 1 + 2 of 24
    assert re.search(r"^2 +10 +5\.00 +50\.00 +4 +40\.00$", tables, re.MULTILINE)
    summary = json.loads(brace + rest)
    assert summary["majority_label_accuracy"] == pytest.approx(17 / 24)
    assert summary["parts"]["balanced"]["examples"] == 15
    assert summary["systems"] == {}
    assert main(["visual-bias", str(dev), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == summary


@pytest.mark.paper_figures
def test_the_command_writes_a_page_figures_and_ids(dev, tmp_path, capsys):
    bias = group_by_pair(read_examples(dev))
    system, out = tmp_path / "mine.csv", tmp_path / "out"
    answers = predictions(bias, [1] * 12 + [1, 0] * 6)
    system.write_text("".join(f"{name},{value}\n" for name, value in [*answers.items(), ("other", True)]))
    arguments = ["visual-bias", str(dev), "--predictions", str(system), "--out", str(out)]
    assert main([*arguments, "--resamples", "100", "--trials", "100"]) == 0
    printed = capsys.readouterr()
    assert "mine.csv: 1 of 25 predictions are for no example" in printed.err
    assert "mine    75.0  86.7 (+11.7)  50.0 (−25.0)" in printed.out
    assert json.loads((out / "balanced_ids.json").read_text("utf-8")) == list(bias.balanced_ids)
    assert json.loads((out / "unbalanced_ids.json").read_text("utf-8")) == list(bias.unbalanced_ids)
    summary = json.loads((out / "visual-bias.json").read_text("utf-8"))
    assert f"{{\n{printed.out.partition('{' + chr(10))[2]}" == json.dumps(summary, indent=2) + "\n"
    assert summary["systems"]["mine"]["deltas"]["unbalanced-all"]["value"] == pytest.approx(-0.25)
    for name in ("pair-frequencies", "accuracy-by-part"):
        assert (out / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / f"figures/{name}.svg").read_text("utf-8")
    with (out / "tables/system_accuracy.csv").open(encoding="utf-8") as lines:
        assert {line["what"]: float(line["value"]) for line in csv.DictReader(lines)}["balanced"] == 13 / 15
    html = (out / "report.html").read_text("utf-8")
    labels = re.findall(r'role="img" aria-label="([^"]+)"', html)
    assert any(
        "10 pairs in 2 examples each, 4 of them with one label throughout" in label for label in labels
    )
    assert any("mine: all 75.0 %" in label for label in labels)
    assert "analysis.visual_bias.score_system" in html


def test_failures_are_one_line_and_leave_nothing(dev, tmp_path, capsys):
    out = tmp_path / "out"

    def failure(*arguments):
        assert main(["visual-bias", *map(str, arguments), "--out", str(out)]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        return printed.err

    (tmp_path / "few.csv").write_text("e-0-0,True\n")
    assert failure(tmp_path / "none.json") == f"error: {tmp_path}/none.json: there is no such file\n"
    (tmp_path / "empty.json").write_text("\n")
    assert failure(tmp_path / "empty.json").endswith("empty.json: holds no example\n")
    error = failure(dev, "--predictions", tmp_path / "few.csv")
    assert error.endswith("few.csv: 23 of 24 examples have no prediction, the first is 'e-0-1'\n")
    few = tmp_path / "few.csv"
    twice = tmp_path / "few.json"
    assert "rename one" in failure(dev, "--predictions", few, "--predictions", twice)
    assert not out.exists()


def test_the_example_of_the_page_runs(capsys):
    text = (ROOT / "docs" / "reference" / "visual-bias.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(code, "visual-bias.md", "exec"), {})  # noqa: S102 - the project's own page
    majority, balanced, delta = capsys.readouterr().out.splitlines()
    assert majority == "0.75"
    assert balanced.startswith("100 ")
    assert "method='bca'" in delta
    assert (ROOT / "docs/index.md").read_text("utf-8").count("reference/visual-bias.md") == 1
