"""The commands `faithfulness` and `compare-faithfulness`.

They print JSON to standard output, and errors in one line.
"""

import json

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.faithfulness.files import NMN_DROP_TYPES
from tests.analysis.data import real_data
from tests.analysis.faithfulness.test_faithful_nmn import FIND, WHOLE, rows_of
from tests.analysis.faithfulness.test_faithful_nmn import write as write_released

BOX, APART = [0, 0, 1, 1], [2, 2, 3, 3]


@pytest.fixture
def folder(tmp_path):
    """Gold of three examples; one system finds the first two, another none."""
    gold: list[dict] = []
    right: list[dict] = []
    wrong: list[dict] = []
    for number in range(3):
        id = f"e{number}"
        gold.append({"id": id, "modules": [{"index": 0, "module": "find", "boxes": [[BOX], []]}]})
        for system, p in ((right, [0.9, 0.1]), (wrong, [0.2, 0.8])):
            node = {"index": 0, "module": "find", "probabilities": p if number < 2 else [0.1, 0.1]}
            system.append({"id": id, "proposals": [[BOX, APART], []], "modules": [node]})
    for name, lines in (("gold", gold), ("right", right), ("wrong", wrong)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return tmp_path


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    return json.loads(printed.out), printed.err


def boxes(capsys, folder, system, *more, gold="gold.jsonl"):
    return run(
        capsys, "faithfulness", "boxes", "--gold", folder / gold, "--outputs", folder / f"{system}.jsonl",
        "--resamples", 50, *more,
    )  # fmt: skip


def failure(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_thresholds_and_the_error_analysis_are_options(folder, capsys):
    scores, _ = boxes(capsys, folder, "wrong", "--threshold", "0.05", "--by-argument")
    assert scores["thresholds"]["output"] == 0.05
    assert scores["per_example"]["find"]["recall"] == 1
    assert [(part["module"], part["n"], part["area"]) for part in scores["by_argument"]] == [("find", 3, 1.0)]
    assert [part["below"] for part in scores["by_size"]] == [None]
    assert "by_argument" not in boxes(capsys, folder, "wrong")[0]


def test_boxes(folder, capsys):
    scores, notes = boxes(capsys, folder, "right")
    expected = {"precision": 1.0, "recall": 2 / 3, "f1": 2 / 3, "n": 3}
    assert scores["per_example"] == {"overall": expected, "find": expected}
    assert scores["cumulative"]["find"] == {"precision": 1, "recall": 2 / 3, "f1": 0.8, "n": 3}
    assert scores["per_occurrence"]["find"]["n"] == 6
    assert scores["negative_iou"]["overall"] == expected
    assert scores["upper_bound"]["per_example"]["overall"]["f1"] == 1
    assert scores["worst"][0]["id"] == "e2"
    assert scores["worst"][0]["node"]["module"] == "find"
    assert scores["examples"]["e2"]["overall"]["f1"] == 0
    low, high = scores["f1_intervals"]["per_example"]["overall"]
    assert low <= 2 / 3 <= high
    assert notes == ""


def test_the_seed_repeats_and_no_resamples_mean_no_intervals(folder, capsys):
    first, second = (boxes(capsys, folder, "right", "--seed", 4)[0] for _ in range(2))
    assert first == second
    scores, _ = boxes(capsys, folder, "right", "--resamples", 0, "--worst", 1)
    assert scores["f1_intervals"]["cumulative"]["find"] is None
    assert len(scores["worst"]) == 1


def test_compare(folder, capsys):
    for system in ("right", "wrong"):
        scores, _ = boxes(capsys, folder, system)
        (folder / f"{system}.json").write_text(json.dumps(scores), "utf-8")
    arguments = ("compare-faithfulness", folder / "right.json", folder / "wrong.json")
    comparison, _ = run(capsys, *arguments, "--trials", 4000, "--seed", 2)
    assert comparison == run(capsys, *arguments, "--trials", 4000, "--seed", 2)[0]
    assert (comparison["n"], comparison["trials"], comparison["difference"]) == (
        3,
        4000,
        pytest.approx(2 / 3),
    )
    assert comparison["p"] == pytest.approx(0.5, abs=0.05)  # two of the four swaps that matter
    assert (comparison["averaging"], comparison["module"]) == ("per_example", "overall")
    for averaging in ("cumulative", "per_occurrence", "negative_iou"):
        other, _ = run(capsys, *arguments, "--averaging", averaging, "--module", "find", "--trials", 100)
        f1 = json.loads((folder / "right.json").read_text("utf-8"))[averaging]["find"]["f1"]
        assert other["first"] == pytest.approx(f1)


def test_compare_refuses(folder, capsys):
    scores, _ = boxes(capsys, folder, "right")
    paths = [folder / name for name in ("a.json", "b.json")]

    def refused(change, *more):
        for path, value in zip(paths, (scores, {**scores, **change}), strict=True):
            path.write_text(json.dumps(value), "utf-8")
        return failure(capsys, "compare-faithfulness", *paths, *more)

    fewer = {id: example for id, example in scores["examples"].items() if id != "e1"}
    assert "b.json, examples: lacks the example 'e1'" in refused({"examples": fewer})
    assert "b.json, reference: was not scored as" in refused({"reference": True})
    other = {**scores["thresholds"], "output": 0.3}
    assert "b.json, thresholds: was not scored as" in refused({"thresholds": other})
    assert "no example has the module 'filter'; there are overall, find" in refused({}, "--module", "filter")
    assert "is not what `faithfulness` prints" in refused({"examples": {"e0": {"find": {"f1": "?"}}}})
    assert "is not of the kind 'spans'" in refused({"kind": "spans"})


def test_reference_and_the_released_files(tmp_path, capsys):
    rows = [*rows_of(), ("", "e", "m0-0", "count", "1")]
    write_released(tmp_path, rows[:4])
    nodes = [{"index": i, "module": m, "probabilities": [1, 1]} for i, m in ((1, "filter"), (3, "find"))]
    line = {"id": "e", "proposals": [[[0, 0, 0.5, 0.5]]] * 2, "modules": nodes}
    (tmp_path / "out.jsonl").write_text(json.dumps(line), "utf-8")
    arguments = ("--programs", tmp_path / "programs.tsv")
    scores, _ = boxes(capsys, tmp_path, "out", *arguments, gold="boxes.csv")
    assert scores["per_example"]["filter"]["precision"] == 1
    scores, _ = boxes(capsys, tmp_path, "out", *arguments, "--reference", gold="boxes.csv")
    assert scores["per_example"]["filter"]["precision"] == 0.5  # the right image is not chosen
    assert scores["reference"] is True
    write_released(tmp_path, [*rows_of(), ("", "f", "m3-0", FIND, WHOLE)])
    _, notes = boxes(capsys, tmp_path, "out", *arguments, gold="boxes.csv")
    assert "note: examples left out: no program fits the annotated lines: 1" in notes


def test_spans(tmp_path, capsys):
    gold = [{"id": f"q{n}", "modules": [{"module": "find", "spans": [[0, 1]]}]} for n in range(3)]
    for name, p in (("a", 0.5), ("b", 0.25)):
        lines = [
            {"id": example["id"], "modules": [{"module": "find", "attention": [p, 1 - p]}]}
            for example in gold
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    (tmp_path / "gold.jsonl").write_text("\n".join(map(json.dumps, gold)), "utf-8")
    for name, loss in (("a", 0.6931471805599453), ("b", 1.3862943611198906)):
        outputs = tmp_path / f"{name}.jsonl"
        scores, _ = run(
            capsys, "faithfulness", "spans", "--gold", tmp_path / "gold.jsonl", "--outputs", outputs
        )
        assert {key: scores[key] for key in ("overall", "micro", "micro_reference", "find")} == pytest.approx(
            dict.fromkeys(("overall", "micro", "micro_reference", "find"), loss)
        )
        assert scores["n"]["find"] == 3
        (tmp_path / f"{name}.json").write_text(json.dumps(scores), "utf-8")
    for module in ("overall", "micro", "find"):
        comparison = run(
            capsys,
            "compare-faithfulness",
            tmp_path / "a.json",
            tmp_path / "b.json",
            "--module",
            module,
            "--trials",
            2000,
        )[0]
        assert comparison["difference"] == pytest.approx(-0.6931471805599453)
        assert comparison["p"] == pytest.approx(0.25, abs=0.05)


# The modules of nmn-drop by the names of the gold lists, and a program of each type of question.
RELEASED_NAMES = {
    "find-events": ["find"],
    "find-one-event": ["find"],
    "find-two-events": ["find", "find"],
    "after-filter-events": ["filter"],
    "find-nums": ["find-num"],
    "after-max-event": ["max-pattn"],
    "after-min-event": ["min-pattn"],
    "ground-two-nums": ["find-num1", "find-num2"],
    "ground-two-dates": ["find-date1", "find-date2"],
    "relocate": ["relocate"],
}


def released_outputs(path, seed=7):
    """Write random attentions for the released gold, as nmn-drop does.

    There are more outputs than gold, and they have no 'id'.
    """
    rng = np.random.default_rng(seed)
    programs = {kind: program for program, kind in NMN_DROP_TYPES.items()}
    passages = json.loads(real_data("faithful_nmn/drop_module_output_annotations.json").read_text("utf-8"))
    lines = []
    for number, question in enumerate(pair for passage in passages.values() for pair in passage["qa_pairs"]):
        lists = question["module_output_annotations"]
        tokens = max((end for _name, spans in lists for _start, end in spans), default=1) + 3
        names = [name for gold_name, _spans in lists for name in RELEASED_NAMES[gold_name]]
        attentions = [[name, rng.dirichlet(np.full(tokens, 0.2)).tolist()] for name in [*names, "find-num"]]
        program = programs[question["qtype"]] if number % 10 else "(find_PassageNumber relocate)"
        lines.append(
            {"passage_id": "p", "query_id": question["query_id"], "question": question["question"],
             "qtype": question["qtype"], "f1": 1.0, "em": 1.0, "predicted_logical_form": program,
             "module_outputs": attentions}
        )  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return lines


# Printed by interpret_drop/compute_interpretability.py of nmn-drop (in single precision) for these outputs.
RELEASED_FIGURES = {
    "overall": 32.80981318814767,
    "micro_reference": 14.01313591003418,
    "find": 9.874417,
    "filter": 9.229945,
    "find-num": 23.49141,
    "relocate": 6.9746876,
    "find-date": 11.577527,
    "min-max": 4.3938093,
    "find-arg": 20.770338,
}


def test_outputs_of_nmn_drop_are_read_as_they_are(tmp_path, capsys):
    """The figures are those that the released script prints for the same file."""
    lines = released_outputs(tmp_path / "outputs.jsonl")
    gold = real_data("faithful_nmn/drop_module_output_annotations.json")
    scores, notes = run(
        capsys, "faithfulness", "spans", "--gold", gold, "--outputs", tmp_path / "outputs.jsonl",
        "--resamples", 0,
    )  # fmt: skip
    assert {name: scores[name] for name in RELEASED_FIGURES} == pytest.approx(RELEASED_FIGURES, rel=1e-5)
    others = sum("relocate)" in line["predicted_logical_form"][:35] for line in lines)
    assert f"whose predicted program is not of their type, left out: {others}" in notes
    assert f"outputs after those with gold, left out: {len(lines) - others}" in notes
    assert "without gold" not in notes


def test_outputs_of_the_whole_development_set_are_those_with_gold(tmp_path, capsys):
    """Outputs of questions without gold are left out and counted.

    nmn-drop writes outputs of every question; most have no gold, and no type that it knows.
    """
    path = tmp_path / "outputs.jsonl"
    lines = released_outputs(path)
    further = [
        {**lines[0], "query_id": "of a known type"},
        {**lines[0], "query_id": "of no type", "qtype": "UNK"},
    ]
    path.write_text(path.read_text("utf-8") + "".join(json.dumps(line) + "\n" for line in further), "utf-8")
    gold = real_data("faithful_nmn/drop_module_output_annotations.json")
    scores, notes = run(capsys, "faithfulness", "spans", "--gold", gold, "--outputs", path, "--resamples", 0)
    assert {name: scores[name] for name in RELEASED_FIGURES} == pytest.approx(RELEASED_FIGURES, rel=1e-5)
    assert "note: outputs without gold, left out: 2\n" in notes
    assert scores["left_out"]["outputs without gold"] == 2
    others = scores["left_out"]["questions whose predicted program is not of their type"]
    assert (others, scores["left_out"]["gold examples without output"]) == (22, 0)


def test_what_does_not_fit_is_named(folder, capsys):
    arguments = ["faithfulness", "boxes", "--gold", folder / "gold.jsonl", "--outputs", folder / "x.jsonl"]
    lines = (folder / "right.jsonl").read_text("utf-8").splitlines()
    (folder / "x.jsonl").write_text("\n".join(lines[:2]), "utf-8")
    assert "x.jsonl: there is no output for the example 'e2' (--partial scores what is there)" in failure(
        capsys, *arguments
    )
    scores, notes = run(capsys, *arguments, "--partial")
    assert scores["per_example"]["overall"]["n"] == 2
    assert notes == "note: gold examples without output, left out: 1\n"
    (folder / "x.jsonl").write_text("\n".join([*lines, lines[0].replace("e0", "e9")]), "utf-8")
    assert run(capsys, *arguments)[1] == "note: outputs without gold, left out: 1\n"
    (folder / "x.jsonl").write_text("\n".join(lines).replace("find", "filter"), "utf-8")
    line = failure(capsys, *arguments)
    assert "x.jsonl, line 1 (e0), column module 0 (find): the output is of 'filter'" in line
    assert "gold.jsonl, Incorrect program: the column is missing" in failure(
        capsys, *arguments, "--programs", folder / "p.tsv"
    )


def test_bad_usage(capsys):
    for arguments in (
        ["faithfulness"],
        ["faithfulness", "boxes"],
        ["compare-faithfulness", "a", "--trials", "-1"],
    ):
        assert main(arguments) == 2
    capsys.readouterr()
