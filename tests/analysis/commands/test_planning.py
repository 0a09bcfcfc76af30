"""The planning commands: sample size, interim analyses, pre-registration."""

import json
import re

import pytest

from analysis.__main__ import main
from analysis.participants.bundle import load_bundle
from analysis.stats.sequential import observed_z
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import planted_study
from tests.analysis.tasks import preference_study

ASSUMED = ["--participant-sd", "0.1069", "--residual-sd", "0", "--items", "1"]


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_assumed_spreads_give_the_size_of_the_t_test(capsys):
    # R: power.t.test(delta=0.1, sd=0.1069, power=0.8)$n is 18.96
    status, out, _ = run(capsys, "power", "--effect", "0.1", *ASSUMED, "--simulations", 4000)
    assert status == 0
    assert int(out.split()[0]) in (18, 19, 20)
    assert "2 conditions" in out


def test_an_effect_that_a_share_cannot_have_is_refused(capsys):
    options = ("power", "--participant-sd", "0.1", "--mean-share", "0.6", "--effect", "2")
    status, _, err = run(capsys, *options)
    assert status == 1
    assert "the effect 2 moves the mean share 0.6 to 2.6" in err
    win_rate = ("--measure", "win_rate", "--participant-sd", "0.1", "--effect", "0.6")
    assert "moves the mean share 0.5 to 1.1" in run(capsys, "power", *win_rate)[2]


def test_a_page_with_the_curve(capsys, tmp_path):
    arguments = ("power", "--effect", "0,0.1,0.1", *ASSUMED, "--participants", "10,20,40", "--out", tmp_path)
    status, out, _ = run(capsys, *arguments, "--simulations", 300)
    assert status == 0
    assert out.splitlines()[-1] == str(tmp_path / "report.html")
    rows = (tmp_path / "tables/power.csv").read_text("utf-8").splitlines()
    assert [row.split(",")[0] for row in rows] == ["participants", "10", "20", "40"]
    powers = [float(row.split(",")[1]) for row in rows[1:]]
    assert powers == sorted(powers)
    assert "Power curve: 10 participants" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize("measure", ["agreement", "fraction_correct", "over_estimation", "time_geometric"])
def test_a_pilot_gives_its_people_and_items(capsys, tmp_path, measure):
    planted_study(tmp_path / "pilot", people=6, items=8, mode="pilot")
    status, out, err = run(
        capsys, "power", "--pilot", tmp_path / "pilot", "--measure", measure, "--effect", "0.3",
        "--simulations", 200,
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert "over 8 items" in out
    assert "24 participants of the pilot" in out


def test_win_rates_are_planned_by_assumption_and_from_a_pilot(capsys, tmp_path):
    assumption = ("--participant-sd", "0.1", "--items", "10", "--out", tmp_path / "page")
    options = ("--measure", "win_rate", "--effect", "0.1", "--simulations", 300)
    status, out, _ = run(capsys, "power", *options, *assumption)
    assert status == 0
    assert "for a pair of conditions with the win rate 0.6 over 10 items a pair" in out
    assert "Participants per condition" not in (tmp_path / "page/report.html").read_text("utf-8")
    preference_study(tmp_path / "pilot", people=12, items=12)
    status, out, err = run(capsys, "power", *options, "--pilot", tmp_path / "pilot")
    assert (status, err) == (0, "")
    assert "over 4 items a pair" in out  # three pairs of conditions
    assert "12 participants of the pilot" in out
    status, _, err = run(capsys, "power", *options, "--pilot", tmp_path / "pilot", "--normal")
    assert status == 1
    assert "can only be drawn" in err


def test_the_effect_on_predictions_is_a_change_between_blocks(capsys):
    options = ("--effect", "0.2", "--participant-sd", "0.1", "--mean-share", "0.6", "--simulations", 300)
    sizes = []
    for measure in ("simulation_effect", "after_accuracy"):
        status, out, _ = run(capsys, "power", "--measure", measure, "--items", "12", *options)
        assert status == 0
        sizes.append(int(out.split()[0]))
    assert sizes[0] > 1.3 * sizes[1]  # a difference of two blocks varies more


@pytest.mark.parametrize(
    ("status", "arguments", "words"),
    [
        (2, [], "give --effect"),
        (2, ["--effect", "0.1"], "--pilot BUNDLE"),
        (2, ["--effect", "0.1", "--participant-sd", "0.1"], "either --residual-sd or --mean-share"),
        (2, ["--effect", "0.1", "--measure", "win_rate", *ASSUMED], "win_rate takes neither --residual-sd"),
        (2, ["--effect", "0.1", *ASSUMED, "--target", "2"], "--target"),
        (2, ["--effect", "0.1", "--mean-share", "1.7"], "--mean-share"),
        (2, ["--effect", "0.1", "--participant-sd", "-1"], "--participant-sd"),
        (1, ["--effect", "0", *ASSUMED], "no difference"),
        (1, ["--effect", "0.1", "--pilot", "nowhere"], "nowhere"),
    ],
)
def test_what_makes_no_design_is_one_sentence(capsys, status, arguments, words):
    exit_status, out, err = run(capsys, "power", *arguments, "--simulations", 50)
    assert (exit_status, out) == (status, "")
    assert words in err
    assert len(err.strip().splitlines()) == 1


def test_interim_analyses_as_json(capsys):
    status, out, _ = run(capsys, "interim", "--fractions", "0.5,1", "--observed", "1.2,2.1", "--json")
    assert status == 0
    values = json.loads(out)
    assert [round(analysis["z"], 4) for analysis in values["analyses"]] == [2.9626, 1.9686]
    assert values["decision"]["stop"]
    assert values["cost"]["inflation"] > 1


def plan_with_looks(tmp_path, **more):
    plan = {
        "family": [["agreement", "one", "two"]],
        "participants": 12,
        "interim_analyses": {"fractions": [0.5, 1.0], "spending": "pocock"},
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan | more), "utf-8")
    return path


def test_an_interim_analysis_of_a_bundle_takes_its_values_and_share(capsys, tmp_path):
    """z is that of the bundle's participants at their share of the plan.

    Their values are those that a report has.
    """
    bundle = planted_study(tmp_path / "bundle", people=6)
    estimates = analyse(load_bundle(bundle), Options(resamples=0)).retained.estimates
    agreement = estimates.per_participant["agreement"]
    z = observed_z(agreement[estimates.conditions.index("one")], agreement[estimates.conditions.index("two")])
    status, out, _ = run(capsys, "interim", bundle, "--plan", plan_with_looks(tmp_path), "--json")
    assert status == 0
    values = json.loads(out)
    assert (values["spending"], values["decision"]["z"]) == ("pocock", z)
    assert [analysis["fraction"] for analysis in values["analyses"]] == [0.5]
    later = planted_study(tmp_path / "later", people=12)
    status, out, _ = run(
        capsys, "interim", later, "--plan", plan_with_looks(tmp_path), "--observed", "0.5", "--json"
    )
    assert status == 0
    assert [analysis["fraction"] for analysis in json.loads(out)["analyses"]] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"interim_analyses": None}, "needs interim_analyses, participants and exactly one comparison"),
        ({"participants": None}, "needs interim_analyses, participants and exactly one comparison"),
        ({"family": [["agreement", "one", "four"]]}, "the study has no agreement of one and four"),
    ],
)
def test_an_interim_analysis_needs_its_plan(capsys, tmp_path, more, words):
    bundle = planted_study(tmp_path / "bundle", people=3)
    status, out, err = run(capsys, "interim", bundle, "--plan", plan_with_looks(tmp_path, **more))
    assert (status, out) == (1, "")
    assert words in err
    assert run(capsys, "interim", bundle) == (2, "", "error: a bundle needs its plan (--plan FILE)\n")
    assert run(capsys, "interim") == (2, "", "error: give --fractions, or a bundle with its plan\n")


def test_a_sample_size_as_json(capsys):
    status, out, _ = run(capsys, "power", "--effect", "0.1", *ASSUMED, "--simulations", 300, "--json")
    assert status == 0
    design = json.loads(out)
    assert design["sentence"].startswith(f"{design['participants']} participants")
    assert {row["participants"]: row["power"] for row in design["curve"]}[design["participants"]] > 0.7


def test_systems_that_a_study_needs(capsys, tmp_path):
    arguments = ("power", "--systems", "--correlation", "0.7,0.9", "--noise", "0.5", "--out", tmp_path)
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    lines = out.splitlines()
    assert re.fullmatch(r"true correlation 0.7: 1[234] systems, 1[678] with noise 0.50", lines[0])
    assert lines[2] == str(tmp_path / "report.html")
    status, out, _ = run(capsys, *arguments[:6], "--json", "--coefficient", "spearman")
    assert status == 0
    assert [row["correlation"] for row in json.loads(out)] == [0.7, 0.9]
    status, out, err = run(capsys, "power", "--systems", "--correlation", "2")
    assert (status, out) == (1, "")
    assert "a correlation must lie between" in err
    assert "--effect" in run(capsys, "power")[2]


def test_a_pilot_gives_the_noise_of_its_systems(capsys, tmp_path):
    planted_study(tmp_path / "pilot", people=6, items=8)
    arguments = ("power", "--systems", "--correlation", "0.9", "--pilot", tmp_path / "pilot")
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert "with noise" in out
    status, out, err = run(capsys, *arguments, "--measure", "certainty")
    assert (status, out) == (1, "")
    assert "differ in certainty by no more than noise; give --noise instead" in err


def test_looks(capsys):
    # O'Brien-Fleming type spending at one half and one: 2.9626 and 1.9686 (ldbounds, gsDesign)
    status, out, _ = run(capsys, "looks", "--fractions", "0.5,1", "--observed", "1.2,2.1")
    assert status == 0
    assert "2.9626" in out
    assert "1.9686" in out
    assert "A difference is claimed" in out
    status, _, err = run(capsys, "looks", "--fractions", "1,0.5")
    assert status == 2
    assert err.startswith("error: fractions")


def test_preregistration(capsys, tmp_path):
    planted_study(tmp_path / "study")
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"family": [["agreement", "one", "two"]], "participants": 30}), "utf-8")
    status, out, _ = run(capsys, "preregister", tmp_path / "study", "--plan", plan)
    assert status == 0
    assert "Confirmatory family of 1 comparisons" in out
    assert "30 participants per condition" in out
    status, _, err = run(capsys, "preregister", tmp_path / "nowhere")
    assert status == 1
    assert "study_version.json" in err


def test_a_report_by_a_plan(capsys, tmp_path):
    planted_study(tmp_path / "study")
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"family": [["agreement", "one", "two"]]}), "utf-8")
    status, *_ = run(
        capsys, "report", tmp_path / "study", "--out", tmp_path / "out", "--plan", plan, "--resamples", 50
    )
    assert status == 0
    html = (tmp_path / "out/report.html").read_text("utf-8")
    assert "The plan declared 1 comparisons" in html
    assert "plan.json" in html  # among the inputs with their hashes
