"""Tests of the sample-size page: the simulation and wrong assumptions.

They cover simulations that take longer, too.
"""

import random
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from django.utils import timezone
from scipy import stats

from analysis.participants.tasks.simulation import compute_trial_values, effect
from config.celery import app
from foundation.errors import NoBroker
from studyapp import tasks
from studyapp.actions.sizes import TakesLonger, create_plan, run_plan
from studyapp.models import SizePlan
from studyapp.rules.sample_sizes import SizeSettings, simulate
from studyapp.simulation.behaviours import BEHAVIOURS, compute_own_chance, draw_prediction
from studyapp.views.staff import sizes as staff_sizes
from tests import workspaces
from tests.studyapp import factories

SENT = {"effects": "0, 1", "items": "1", "participant_sd": "1", "item_sd": "0", "residual_sd": "0",
        "target": "0.8", "alpha": "0.05", "simulations": "400"}  # fmt: skip


def settings(**changes):
    return SizeSettings(**{"effects": [0, 1], "items": 1, "participant_sd": 1, "residual_sd": 0,
                           "simulations": 1000, **changes})  # fmt: skip


def test_it_works():
    shares: list[float] = []
    sample_size = simulate(settings(), advance=shares.append)
    # The t test with a difference of one standard deviation: 17 per group have a power of 0.80.
    assert sample_size.participants is not None
    assert 15 <= sample_size.participants <= 19
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1
    powers = [point.power for point in sample_size.curve]
    assert powers[0] < 0.5 < 0.95 < powers[-1]
    assert all(point.low <= point.power <= point.high for point in sample_size.curve)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"mean": 0.5}, "either"),
        ({"residual_sd": None}, "either"),
        ({"effects": [1, 1]}, "all the same"),
        (
            {"mean": 0.6, "residual_sd": None, "effects": [0, 2]},
            "effect 2 moves the mean share 0.6 to 2.6",
        ),
        ({"mean": 0.6, "residual_sd": None, "effects": [0, -0.7]}, "to -0.1"),
    ],
)
def test_assumptions_that_make_no_design(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        settings(**changes)


def test_the_effect_of_bots_is_found_as_often_as_the_power_says():
    """The size that the page gives finds the effect planted in bots.

    The bots predict before and after a learning block.
    """
    behaviour, planted, items = BEHAVIOURS["honest"], {"plain": 0.0, "facts": 0.2}, 12
    sized = simulate(
        settings(
            measure="change", effects=[*planted.values()], items=items, participant_sd=0, residual_sd=None,
            mean=compute_own_chance(behaviour),
        )
    ).participants  # fmt: skip
    assert sized is not None
    rng, studies = random.Random(1), 100
    shape = (studies, len(planted), sized, 2, items)
    right = np.zeros(shape)
    for study, condition, person, after, item in np.ndindex(*shape):
        shift = after * list(planted.values())[condition]
        shifts = {"cannot_tell": -1.0, "prediction_right": shift}
        prediction = draw_prediction(["yes", "no", "cannot_tell"], "yes", behaviour, rng, shifts)
        right[study, condition, person, after, item] = prediction == "yes"
    trials = pd.DataFrame(
        {
            "block": np.where(np.indices(shape)[3].ravel(), "after", "before"),
            "prediction_right": right.ravel(),
            "options": 2.0,
        }
    )
    values = pd.DataFrame(compute_trial_values(trials)).groupby(np.arange(len(trials)) // (2 * items))
    sums = {**values.sum(), **values.count().add_suffix("_n")}
    effects = effect(sums).reshape(studies, len(planted), sized)
    p = stats.ttest_ind(effects[:, 1], effects[:, 0], axis=1, equal_var=False).pvalue
    detections = int((p < 0.05).sum())
    assert stats.binom.ppf(0.001, studies, 0.8) <= detections <= stats.binom.ppf(0.999, studies, 0.88)


def test_a_win_rate_needs_as_many_as_its_t_test():
    assumptions = {"measure": "win_rate", "residual_sd": None, "participant_sd": 0.1, "items": 10}
    sample_size = simulate(settings(**assumptions, effects=[0.1]))
    # statsmodels: TTestPower().solve_power(0.1 / sqrt(0.1**2 + 0.23 / 10), power=0.8) is 27.8
    assert sample_size.participants is not None
    assert 25 <= sample_size.participants <= 31
    assert "participants reach a power of" in sample_size.sentence
    assert "for a pair of conditions with the win rate 0.6 over 10 items a pair" in sample_size.sentence


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"residual_sd": 0.1}, "won or lost"),
        ({"effects": [0.6]}, "between -0.5 and 0.5"),
        ({"effects": [0.0]}, "one is not 0"),
        ({"measure": "trials", "effects": [0.1]}, "two or more conditions"),
    ],
)
def test_wrong_assumptions_of_a_win_rate(changes, complaint):
    assumptions = {"measure": "win_rate", "residual_sd": None, "participant_sd": 0.1, "effects": [0.1]}
    with pytest.raises(ValueError, match=complaint):
        SizeSettings(**assumptions | changes)


@pytest.fixture
def staff(client, db):
    client.force_login(factories.make_user())
    return client


def test_the_page_plans_a_win_rate(staff):
    sent = SENT | {"measure": "win_rate", "effects": "0.1", "items": "10", "participant_sd": "0.1"}
    refused = staff.post("/staff/sample-size/", sent)
    assert "won or lost" in refused.content.decode()
    page = staff.post("/staff/sample-size/", sent | {"residual_sd": ""}, follow=True).content.decode()
    assert "participants per condition" not in page.lower()
    assert "with the win rate 0.6" in page
    assert SizePlan.objects.get().assumptions["measure"] == "win_rate"


def test_the_page_simulates(staff):
    assert staff.get("/staff/sample-size/").status_code == 200
    page = staff.post("/staff/sample-size/", SENT, follow=True).content.decode()
    assert "participants per condition" in page
    assert "<polyline" in page
    plan = SizePlan.objects.get()
    assert (plan.status, plan.progress) == ("done", 100)
    assert f'href="/staff/sample-size/{plan.pk}/"' in staff.get("/staff/sample-size/").content.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        *({"effects": effects} for effects in ("much", "1", "nan, 1", "0, 1e400")),
        *({"mean": "0.5"}, {"items": "0"}, {"simulations": "1e9"}),
    ],
)
def test_the_page_says_what_is_wrong(staff, wrong):
    response = staff.post("/staff/sample-size/", SENT | wrong)
    assert response.status_code == 422
    assert 'role="alert"' in response.content.decode()
    assert not SizePlan.objects.exists()


def test_an_effect_that_a_share_cannot_have_is_refused_in_german(staff):
    sent = SENT | {"effects": "0, 10", "mean": "0.6", "residual_sd": "", "participant_sd": "0.1"}
    assert "moves the mean share 0.6 to 10.6" in staff.post("/staff/sample-size/", sent).content.decode()
    refused = staff.post("/staff/sample-size/", sent, headers={"accept-language": "de"})
    assert "verschiebt den mittleren Anteil 0.6 auf 10.6" in refused.content.decode()
    assert not SizePlan.objects.exists()


@pytest.mark.parametrize(
    ("text", "effects"), [("0;0,1", [0, 0.1]), ("0; 0.1", [0, 0.1]), ("0, 0.4", [0, 0.4])]
)
def test_commas_between_semicolons_are_decimal(staff, text, effects):
    sent = SENT | {"effects": text, "mean": "0.6", "residual_sd": "", "participant_sd": "0.1"}
    staff.post("/staff/sample-size/", sent)
    assert SizePlan.objects.get().assumptions["effects"] == effects


def test_what_takes_longer_goes_to_a_worker(staff, monkeypatch):
    monkeypatch.setattr(staff_sizes, "AT_ONCE", 0.0)
    sent = []
    monkeypatch.setattr(
        tasks.compute_size_plan, "apply_async", lambda arguments, **_options: sent.append(arguments)
    )
    page = staff.post("/staff/sample-size/", SENT, follow=True).content.decode()
    plan = SizePlan.objects.get()
    assert sent == [(plan.pk,)]
    assert "Waiting for a worker" in page
    assert "data-refresh" in page
    tasks.compute_size_plan(plan.pk)
    shown = staff.get(f"/staff/sample-size/{plan.pk}/progress/").content.decode()
    assert "<polyline" in shown
    assert "<html" not in shown


@pytest.mark.django_db
def test_a_lost_simulation_is_enqueued_again(monkeypatch):
    """A simulation that waits or runs at a worker is not enqueued again.

    Nor is a new one, nor is any while the queue holds messages.
    """
    lost, running, new, done = (
        create_plan(workspace=workspaces.main(), settings=settings(), by=None) for _ in range(4)
    )
    old = timezone.now() - timedelta(minutes=2)
    SizePlan.objects.exclude(pk=new.pk).update(created_at=old, status=SizePlan.Status.RUNNING)
    SizePlan.objects.filter(pk=done.pk).update(status=SizePlan.Status.DONE)
    sent, queued = [], [1, 0]
    monkeypatch.setattr(
        tasks.compute_size_plan, "apply_async", lambda arguments, **_options: sent.append(arguments)
    )
    monkeypatch.setattr(tasks, "list_active_calls", lambda: {(tasks.compute_size_plan.name, running.pk)})
    monkeypatch.setattr(tasks, "count_queued", lambda: queued.pop(0))
    tasks.sweep_size_plans()
    assert sent == []
    tasks.sweep_size_plans()
    assert sent == [(lost.pk,)]
    assert app.conf.beat_schedule["sweep-size-plans"]["task"] == tasks.sweep_size_plans.name


def test_without_a_broker_it_says_so(staff, monkeypatch):
    def none(_plan):
        raise NoBroker("the work queue cannot be reached")

    monkeypatch.setattr(staff_sizes, "AT_ONCE", 0.0)
    monkeypatch.setattr(staff_sizes, "enqueue_size_plan", none)
    response = staff.post("/staff/sample-size/", SENT)
    assert response.status_code == 422
    assert "work queue cannot be reached" in response.content.decode()


@pytest.mark.django_db
def test_a_plan_that_was_stopped_is_pending_and_one_that_is_done_stays():
    plan = create_plan(workspace=workspaces.main(), settings=settings(), by=None)
    with pytest.raises(TakesLonger):
        run_plan(plan_id=plan.pk, seconds=0)
    plan.refresh_from_db()
    assert (plan.status, plan.result) == ("pending", None)
    run_plan(plan_id=plan.pk)
    plan.refresh_from_db()
    finished = plan.finished_at
    run_plan(plan_id=plan.pk)
    plan.refresh_from_db()
    assert plan.finished_at == finished


def test_only_users_with_a_role_may(client, db):
    plan = create_plan(workspace=workspaces.main(), settings=settings(), by=None)
    for user in (factories.make_user(None), factories.make_user(workspace=factories.make_workspace())):
        client.force_login(user)
        for address in (f"/staff/sample-size/{plan.pk}/", f"/staff/sample-size/{plan.pk}/progress/"):
            assert client.get(address).status_code == 404
    assert f"/staff/sample-size/{plan.pk}/" not in client.get("/staff/sample-size/").content.decode()
    client.force_login(factories.make_user(None))
    assert client.get("/staff/sample-size/").status_code == 403
    assert client.post("/staff/sample-size/", SENT).status_code == 403
    assert SizePlan.objects.count() == 1
