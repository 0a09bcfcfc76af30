"""The command line: what it prints, its exit status, and one-line errors."""

import csv
import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import analysis
from analysis.__main__ import COMMANDS, GROUPS, main
from analysis.commands.correlate import relate_tables
from analysis.scores.hotpotqa import KEYS
from tests.analysis.bundles import planted_study, scores_file
from tests.paths import ROOT


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


@pytest.fixture
def bundle(tmp_path):
    return str(planted_study(tmp_path / "bundle", people=3, items=5))


def failure(capsys, *arguments):
    """Run a command that must fail; return its one line on standard error."""
    status = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert status == 1
    assert printed.out == ""
    line = printed.err.strip().splitlines()[-1]
    assert line.startswith("error: ")
    assert "Traceback" not in printed.err
    return line


def test_report(bundle, tmp_path, capsys):
    out = tmp_path / "out"
    file = write(tmp_path / "mine.json", scores_file({f"sys-{i}": {"em": i / 10} for i in (1, 2, 3)}))
    options = ["--scores", file, "--resamples", "20", "--seed", "5"]
    assert main(["report", bundle, "--out", str(out), *options]) == 0
    assert capsys.readouterr().out == f"{out}/report.html\n"
    html = (out / "report.html").read_text("utf-8")
    assert "--seed 5 --resamples 20 --mode live" in html
    assert "mine.json" in (out / "tables/inputs.csv").read_text("utf-8")
    with (out / "tables/correlations.csv").open(encoding="utf-8") as rows:
        assert {row["score"] for row in csv.DictReader(rows)} == {"em"}


def test_a_report_on_no_folder_draws_no_progress_bar(tmp_path, capsys):
    assert main(["report", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == f"error: {tmp_path / 'none'}: is not a folder\n"


def test_report_failures_leave_nothing(bundle, tmp_path, capsys):
    out = tmp_path / "out"
    assert "is not a folder" in failure(capsys, "report", tmp_path / "none", "--out", out)
    assert "no trial was submitted in mode pilot" in failure(
        capsys, "report", bundle, "--out", out, "--mode", "pilot"
    )
    assert "has no version 9" in failure(capsys, "report", bundle, "--out", out, "--study-version", "9")
    broken = write(tmp_path / "broken.json", '{"schema_version": 1,\n "systems": }')
    line = failure(capsys, "report", bundle, "--scores", broken, "--out", out)
    assert "broken.json, line 2, column 13: is not JSON" in line
    assert not out.exists()
    write(tmp_path / "file", "x")
    assert "cannot be written" in failure(
        capsys, "report", bundle, "--resamples", "5", "--out", tmp_path / "file"
    )


def test_xqa_scores(tmp_path, capsys):
    gold = write(
        tmp_path / "gold.json",
        [{"_id": i, "answer": "yes", "supporting_facts": [["A", 0]]} for i in ("q1", "q2")],
    )
    predictions = write(tmp_path / "pred.json", {"answer": {"q1": "yes"}, "sp": {"q1": [["A", 0]]}})
    assert main(["xqa-scores", "--gold", gold, "--predictions", predictions, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == dict.fromkeys(KEYS, 0.5)
    assert "1 of 2 questions have no answer; they count 0" in printed.err


def test_xqa_scores_failures(tmp_path, capsys):
    gold = write(tmp_path / "gold.json", [{"_id": "q1", "answer": "yes", "supporting_facts": []}])
    prediction = write(tmp_path / "pred.json", {"answer": {"q1": 3}})
    command = ["xqa-scores", "--gold", gold, "--predictions"]
    line = failure(capsys, *command, prediction)
    assert "pred.json" in line
    assert "answer of 'q1' must be text, not 3" in line
    assert "there is no such file" in failure(capsys, *command, tmp_path / "none.json")
    assert '"answer", "sp"' in failure(capsys, *command, write(tmp_path / "list.json", []))
    other = write(tmp_path / "object.json", {})
    assert "must be a JSON list" in failure(
        capsys, "xqa-scores", "--gold", other, "--predictions", prediction
    )


def test_a_malformed_fact_counts_as_wrong_unless_the_reader_is_strict(tmp_path, capsys):
    gold = write(tmp_path / "gold.json", [{"_id": "q1", "answer": "yes", "supporting_facts": [["A", 0]]}])
    facts = {"answer": {"q1": "yes"}, "sp": {"q1": [["A", 0], ["A", "0"]]}}
    command = ["xqa-scores", "--gold", gold, "--predictions", write(tmp_path / "pred.json", facts)]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["sp_prec"] == 0.5
    assert "1 facts are not [title, index]" in printed.err
    assert "pred.json, sp.q1: ['A', '0'] is not [title, index]" in failure(capsys, *command, "--strict")


HUMAN = "system,fp,my measure\nA,0.3,1\nB,0.2,2\nC,0.1,\n"
MODEL = "name,Answer F1,LocA\nC,0.4,0.9\nB,0.5,0.8\nA,0.6,0.7\nD,0.1,0.1\n"


def test_correlate(tmp_path, capsys):
    human, model = write(tmp_path / "h.csv", HUMAN), write(tmp_path / "m.csv", MODEL)
    out = tmp_path / "out"
    arguments = ["correlate", "--human", human, "--model", model, "--out", str(out)]
    assert main([*arguments, "--wanted", "my measure=higher"]) == 0
    assert capsys.readouterr().out == f"{out}/report.html\n"
    with (out / "tables/correlations.csv").open(encoding="utf-8") as file:
        rows = {(r["measure"], r["score"], r["coefficient"]): r for r in csv.DictReader(file)}
    f1 = rows["fp", "Answer F1", "pearson"]
    assert (f1["n"], f1["rank"], f1["desirable"]) == ("3", "+", "undesirable")
    assert float(f1["value"]) == pytest.approx(1)
    assert f1["p"] == ""
    assert rows["fp", "LocA", "kendall"]["desirable"] == "desirable"
    loca = rows["my measure", "LocA", "pearson"]
    assert (loca["n"], loca["rank"], loca["desirable"], loca["value"]) == ("2", "+", "", "1.0")
    assert (out / "tables/rank_table.csv").read_text("utf-8").splitlines() == [
        "measure,Answer F1,LocA",
        "fp,+,-",
        "my measure,-,+",
    ]


def test_correlate_as_json(tmp_path, capsys):
    human, model = write(tmp_path / "h.csv", HUMAN), write(tmp_path / "m.csv", MODEL)
    out = tmp_path / "out"
    assert main(["correlate", "--human", human, "--model", model, "--out", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["report"] == f"{out}/report.html"
    pairs = {(pair["measure"], pair["score"]): pair for pair in printed["pairs"]}
    pair = pairs["fp", "Answer F1"]
    assert (pair["n"], pair["rank"], pair["desirable"]) == (3, "+", "undesirable")
    assert pair["correlations"]["pearson"]["value"] == pytest.approx(1)


def people_table(rng, *, shared=False):
    """Return a table of eight participants in each of four systems.

    Agreement differs by system. shared: the same eight participants are in all systems.
    """
    lines = ["system,participant,agreement,time_geometric"]
    deviations = rng.normal(0, 0.1, (4, 8))
    for system, name in enumerate("ABCD"):
        for person in range(8):
            participant = f"p{person}" if shared else f"{name}{person}"
            value = 0.4 + 0.1 * system + deviations[0 if shared else system, person]
            lines.append(f"{name},{participant},{value:.4f},{30 * np.exp(deviations[system, person]):.4f}")
    return "\n".join(lines) + "\n"


def correlations_of(folder):
    with (folder / "tables/correlations.csv").open(encoding="utf-8") as file:
        return {(r["measure"], r["coefficient"]): r for r in csv.DictReader(file)}


def test_correlate_participants(tmp_path):
    """A table with a row per participant gives confidence intervals.

    Every system is left out in turn.
    """
    model = write(tmp_path / "m.csv", "s,em\nA,0.1\nB,0.2\nC,0.3\nD,0.9\n")
    widths = {}
    for shared in (False, True):
        human = write(tmp_path / "h.csv", people_table(np.random.default_rng(1), shared=shared))
        out = tmp_path / f"out-{shared}"
        assert main(["correlate", "--human", human, "--model", model, "--out", str(out)]) == 0
        row = correlations_of(out)["agreement", "pearson"]
        low, high = float(row["low"]), float(row["high"])
        assert low <= float(row["value"]) <= high
        widths[shared] = high - low
        html = (out / "report.html").read_text("utf-8")
        assert "Items cannot be resampled because the table does not hold" in html
        assert len((out / "tables/left_out.csv").read_text("utf-8").splitlines()) == 1 + 2 * 5
    # The same people everywhere shift all systems alike, which changes no correlation.
    assert widths[True] < 1e-6 < widths[False]


def test_correlate_shares_are_those_of_all_resamples(tmp_path):
    """The sign share is that of the rankings of all samples.

    Two participants in each of three systems have 4³ samples: each ranking is looked at.
    """
    people = {"A": (0.1, 0.4), "B": (0.2, 0.5), "C": (0.4, 0.9)}
    rows = [f"{name},{name}{i},{value}" for name, values in people.items() for i, value in enumerate(values)]
    human = write(tmp_path / "h.csv", "\n".join(["system,participant,fp", *rows]))
    model = write(tmp_path / "m.csv", "s,em\nA,1\nB,2\nC,3\n")
    plan = write(tmp_path / "plan.json", {"sign_share": 0.6, "coefficient": "kendall", "scores": ["em"]})
    arguments = [
        "correlate",
        "--human",
        human,
        "--model",
        model,
        "--plan",
        plan,
        "--out",
        str(tmp_path / "o"),
    ]
    assert main([*arguments, "--resamples", "4000"]) == 0
    means = [[(a + b) / 2 for a in values for b in values] for values in people.values()]
    samples = list(product(*means))
    share = sum(a < b < c for a, b, c in samples) / len(samples)
    row = correlations_of(tmp_path / "o")["fp", "kendall"]
    assert row["rank"] == "+"
    assert float(row["sign_share"]) == pytest.approx(share, abs=4 * (0.25 / 4000) ** 0.5)
    assert (row["sign_recurs"], row["score_drawn"]) == (str(share >= 0.6).lower(), "false")
    html = (tmp_path / "o/report.html").read_text("utf-8")
    assert "Kendall tau-b, n = 3 systems" in html
    assert "Pearson r, n = 3 systems" not in html
    assert "participants, and the questions of the score where they are known, are resampled together" in html


def test_correlate_averages_participants(tmp_path):
    """A geometric measure is averaged on the log scale.

    An empty cell does not count.
    """
    human = "system,participant,agreement,time_geometric\nA,a,0.2,10\nA,b,,40\nB,c,0.4,20\nB,d,0.8,20\n"
    relations = relate_tables(
        Path(write(tmp_path / "h.csv", human)), Path(write(tmp_path / "m.csv", "s,em\nB,1\nA,2\n")), {},
        rng=np.random.default_rng(1), resamples=50,
    )  # fmt: skip
    agreement, time = relations.measures
    assert agreement.values == pytest.approx([0.2, 0.6])
    assert time.values == pytest.approx([20, 20])
    assert agreement.interval(0) is None  # one value says nothing about how people differ
    assert agreement.interval(1) is not None


def test_correlate_of_one_value_per_system_says_what_it_cannot(tmp_path):
    human, model = write(tmp_path / "h.csv", HUMAN), write(tmp_path / "m.csv", MODEL)
    assert main(["correlate", "--human", human, "--model", model, "--out", str(tmp_path / "o")]) == 0
    html = (tmp_path / "o/report.html").read_text("utf-8")
    assert "There are no confidence intervals: the table holds one value per system" in html
    assert "No system is left out in turn" in html
    assert "the smallest two-sided p that any ranking could reach is 0.33" in html


def test_correlate_gives_p_from_six_systems_on(tmp_path):
    human = write(tmp_path / "h.csv", "s,x\n" + "".join(f"{i},{i}\n" for i in range(6)))
    model = write(tmp_path / "m.csv", "s,y\n" + "".join(f"{i},{-i}\n" for i in range(6)))
    assert main(["correlate", "--human", human, "--model", model, "--out", str(tmp_path / "o")]) == 0
    with (tmp_path / "o/tables/correlations.csv").open(encoding="utf-8") as file:
        correlations = {row["coefficient"]: row for row in csv.DictReader(file)}
    assert float(correlations["spearman"]["p"]) == pytest.approx(2 / 720)
    assert correlations["spearman"]["p_method"] == "exact"
    # One score is the whole family.
    assert correlations["spearman"]["p_holm"] == correlations["spearman"]["p"]
    assert float(correlations["spearman"]["value"]) == pytest.approx(-1)


@pytest.mark.parametrize(
    ("human", "model", "words"),
    [
        (HUMAN, MODEL.replace("0.5", "half"), "m.csv, line 3, column Answer F1: 'half' is not a number"),
        (HUMAN.replace("B,0.2", "A,0.2"), MODEL, "h.csv, line 3, column system: second row for 'A'"),
        ("system\nA\n", MODEL, "h.csv: needs a column that names the systems"),
        (HUMAN, "s,em\nX,1\n", "shares no system"),
        (HUMAN, "s,em\nA,1\n", "shares 1 system with"),
        (
            "system,participant,fp\nA,p,1\nB,p,1\nA,p,0\n",
            MODEL,
            "h.csv, line 4, column participant: second row for 'A', 'p'",
        ),
        (HUMAN, "", "m.csv: is empty"),
    ],
)
def test_correlate_failures(tmp_path, capsys, human, model, words):
    arguments = ["--human", write(tmp_path / "h.csv", human), "--model", write(tmp_path / "m.csv", model)]
    assert words in failure(capsys, "correlate", *arguments, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["faithfulness"],
        ["report"],
        ["report", "x", "--out", "y", "--resamples", "-1"],
        ["report", "x", "--out", "y", "--mode", "dream"],
        ["correlate", "--human", "h", "--model", "m", "--out", "o", "--wanted", "fp=sideways"],
        ["interim", "--fractions", "0.5,1", "--alpha", "2"],
        ["interim", "--fractions", "0.5,1", "--observed", "1,2,3"],
        ["compare-faithfulness", "a.json", "b.json", "--trials", "0"],
        ["faithfulness", "boxes", "--gold", "g.csv", "--outputs", "o.jsonl"],
        ["faithfulness", "boxes", "--gold", "g.jsonl", "--outputs", "o.jsonl", "--wrong-iou", "0.9"],
        ["preregister", "bundle", "--form", "foo"],
        ["reviews", "r.jsonl", "--seed", "-1"],
    ],
)
def test_bad_usage_is_status_two(arguments, capsys):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert len(printed.err.splitlines()) == 1


@pytest.mark.parametrize(
    "command",
    [
        [],
        *([name] for name, *_ in COMMANDS),
        *([group, name] for group, _, members in GROUPS for name, *_ in members),
    ],
)
def test_every_command_has_help(command, capsys):
    assert main([*command, "--help"]) == 0
    usage = f"Usage: python -m analysis {' '.join(command)}"  # words: allow - the parser's name
    assert usage in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == analysis.__version__


def test_commands_are_imported_when_they_run():
    code = (
        "import sys; from analysis.__main__ import main; main(['--help']); main(['dance']);"
        "print(sorted({'numpy', 'pandas', 'scipy', 'matplotlib'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stderr == "error: unknown command 'dance'; --help lists the commands\n"


def test_as_a_program_with_light_imports(tmp_path):
    """The scores and the coupling import no science library.

    The program runs as a module.
    """
    code = (
        "import sys, analysis, analysis.scores.hotpotqa, analysis.scores.farm_loca;"
        "print(sorted({'numpy', 'pandas', 'scipy', 'matplotlib', 'pydantic', 'django'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    run = [sys.executable, "-m", "analysis", "report", str(tmp_path / "none"), "--out", str(tmp_path / "o")]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("error: ")
    assert "Traceback" not in done.stderr
