"""The generated R script is deterministic and ASCII.

If R is present, the script parses, runs and agrees.
"""

import os
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from analysis.models.linear_mixed import mixed_log_time
from analysis.models.trial_model import read_trials
from analysis.participants.bundle import load_bundle
from analysis.participants.exclusion_rules import parse_rules
from analysis.participants.study_version import Version
from analysis.report.r_script import quote_text, render_r_script
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import planted_study

ODD = 'naïve "x" \\ 猫'
R = shutil.which("Rscript")
NEEDS = "R with the packages lme4 and ordinal is not on this machine (Debian: r-cran-lme4, r-cran-ordinal)"


@pytest.fixture(scope="module")
def rscript():
    """Return a function that runs Rscript.

    Skip the test if R or a package is missing.
    """
    check = "quit(status = !(requireNamespace('lme4') && requireNamespace('ordinal')))"
    if R is None or subprocess.run([R, "-e", check], capture_output=True).returncode:
        pytest.skip(NEEDS)

    env = {**os.environ, "LC_ALL": "C"}  # a locale in which R writes no letter beyond ASCII by itself

    def run(*arguments):
        return subprocess.run([R, *map(str, arguments)], capture_output=True, text=True, timeout=240, env=env)

    return run


def script_of(study):
    return render_r_script(study.version, study.bundle.rules, mode=study.mode, clock=study.clock)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted") / "bundle"
    arms = {"one": "sys-1", ODD: "sys-2"}
    bundle = planted_study(folder, arms=arms, people=12, items=10, seed=3)
    make_people_differ(folder / "trials.csv")
    return analyse(load_bundle(bundle), Options(resamples=0))


def make_people_differ(path):
    """Make some participants slower than others throughout.

    Without that, the analysis refuses the model.
    """
    rng = np.random.default_rng(1)
    trials = pd.read_csv(path, dtype=str, keep_default_na=False)
    pace = {who: rng.lognormal(0, 0.4) for who in trials["participant_id"].unique()}
    times = trials["server_ms"].astype(float) * trials["participant_id"].map(pace)
    trials.assign(server_ms=times.astype(int)).to_csv(path, index=False)


def test_it_is_the_same_each_time_and_ascii(study):
    text = script_of(study)
    assert text == script_of(study)
    assert text.isascii()
    assert 'conditions <- c("one", "na\\u00efve \\"x\\" \\\\ \\u732b")' in text
    assert 'trials$mode == "live" & trials$version == "1"' in text
    assert 'fit_time("server_ms")' in text
    assert 'fit_points("certainty")' in text
    assert 'fit_yes_no("known_before"' not in text


def test_every_kind_of_rule():
    rules = parse_rules([
        {"name": "fast", "kind": "min_time", "clock": "server", "milliseconds": 15000},
        {"name": "slow", "kind": "max_time", "clock": "client_total", "milliseconds": 300000.5},
        {"name": "known", "kind": "answered", "question": "known_before", "value": True},
        {"name": "low", "kind": "answered", "question": "certainty", "value": 1},
        {"name": "much", "kind": "answered_number", "question": "years", "at_least": 3, "at_most": 9.5},
        {"name": 'it"em', "kind": "item", "item_id": "q\n1"},
        {"name": "lines", "kind": "flagged", "flag": "straight_lining"},
    ])  # fmt: skip
    version = load_version()
    text = render_r_script(
        version, rules, mode="pilot", clock=None, people={"p1": ("lines",), "p2": ("other",)}
    )
    fast = 'excluded <- excluded | holds(as.numeric(trials[["server_ms"]]) < 15000.0)'
    assert f'# "fast"\n{fast}\n# "slow"\n' in text
    client, server = ('as.numeric(trials[["client_total_ms"]])', 'as.numeric(trials[["server_ms"]])')
    assert f"holds(ifelse(is.na({client}), {server}, {client}) > 300000.5)" in text
    assert 'holds(trials[["known_before"]] == "true")' in text
    assert 'holds(as.numeric(trials[["certainty"]]) == 1.0)' in text
    years = 'as.numeric(trials[["years"]])'
    assert f"holds({years} >= 3.0 & {years} <= 9.5)" in text
    assert 'holds(trials[["item_id"]] == "q\\u000a1")' in text
    assert 'holds(trials[["participant_id"]] %in% c("p1"))' in text
    assert 'fit_time("' not in text


def load_version():
    questions = [
        {"key": "known_before", "text": "?", "scale": "yes_no", "role": "known_before"},
        {"key": "certainty", "text": "?", "scale": {"points": 5}},
    ]
    return Version.model_validate(
        {
            "version": 2,
            "hash": "0",
            "conditions": [{"name": "a"}, {"name": "b"}],
            "item_questionnaire": questions,
        }
    )


def test_quoted():
    assert quote_text("plain") == '"plain"'
    assert quote_text("\U0001f600\t") == '"\\U0001f600\\u0009"'


def test_it_parses(rscript, study, tmp_path):
    path = tmp_path / "refit.R"
    path.write_text(script_of(study), encoding="ascii")
    done = rscript("-e", f"invisible(parse(file = {quote_text(str(path))}))")
    assert done.returncode == 0, done.stderr


def test_it_runs_and_agrees(rscript, study, tmp_path):
    path, target = tmp_path / "refit.R", tmp_path / "estimates.csv"
    path.write_text(script_of(study), encoding="ascii")
    done = rscript(path, study.bundle.path, target)
    assert done.returncode == 0, done.stderr
    retained, total = len(study.retained.trials), len(study.trials)
    assert f"{total - retained} of {total} trials excluded" in done.stdout
    estimates = pd.read_csv(target)
    assert set(estimates["model"]) == {"lmer", "glmer", "clmm"}
    assert set(estimates["outcome"]) == {
        "server_ms", "rated_correct", "rating_is_right", "certainty", "helpfulness",
    }  # fmt: skip
    assert (estimates["trials"] == retained).all()
    trials = read_trials(study.retained.trials, "server_ms", conditions=["one", ODD], scale=0.001)
    model = mixed_log_time(trials)
    assert model.reason == ""
    lmer = estimates[estimates["model"] == "lmer"].set_index("term")
    effect = lmer.loc["condition" + ODD]
    assert model.contrasts[0].estimate == pytest.approx(effect["estimate"], abs=1e-5)
    assert model.contrasts[0].standard_error == pytest.approx(effect["standard_error"], rel=1e-3)
    assert model.position.estimate == pytest.approx(lmer.loc["position", "estimate"], abs=1e-6)
    assert estimates.groupby(["model", "outcome"])["estimate"].count().min() >= 2
