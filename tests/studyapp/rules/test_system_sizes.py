"""Tests of the page for the number of systems.

They cover the simulation, wrong assumptions, long simulations, and German.
"""

import json

import pytest

from analysis.__main__ import main
from studyapp import tasks
from studyapp.models import SizePlan
from studyapp.rules.system_sizes import SystemSettings, simulate_systems
from studyapp.views.staff import sizes as staff_sizes
from tests.studyapp import factories

ADDRESS = "/staff/sample-size/systems/"
SENT = {"correlations": "0.7, -0.9", "coefficient": "pearson", "noise": "0.5", "target": "0.8",
        "alpha": "0.05", "simulations": "400"}  # fmt: skip


@pytest.fixture
def staff(client, db):
    client.force_login(factories.make_user())
    return client


def test_it_has_the_numbers_of_the_command(capsys):
    shares: list[float] = []
    settings = SystemSettings(correlations=[0.7, 0.9], noise=0.5, simulations=400)
    table = simulate_systems(settings, advance=shares.append)
    main(
        ["power", "--systems", "--correlation", "0.7,0.9", "--noise", "0.5", "--simulations", "400", "--json"]
    )
    printed = json.loads(capsys.readouterr().out)
    for row, expected in zip(table.rows, printed, strict=True):
        assert row.noisy is not None
        assert row.without.systems == int(expected["systems"])
        assert row.noisy.systems == int(expected["systems_with_noise"])
        assert int(expected["systems"]) < int(expected["systems_with_noise"])
        assert row.without.low <= row.without.power <= row.without.high
    assert shares == sorted(shares)


def test_the_page_simulates(staff):
    assert ADDRESS in staff.get("/staff/sample-size/").content.decode()
    assert staff.get(ADDRESS).status_code == 200
    page = staff.post(ADDRESS, SENT, follow=True).content.decode()
    assert "Systems needed" in page
    assert "Systems, with noise" in page
    plan = SizePlan.objects.get()
    assert (plan.status, plan.progress, plan.is_about_systems) == ("done", 100, True)
    link = f'href="/staff/sample-size/{plan.pk}/"'
    assert link in staff.get(ADDRESS).content.decode()
    assert link not in staff.get("/staff/sample-size/").content.decode()


def test_without_noise_the_page_has_one_number(staff):
    page = staff.post(ADDRESS, SENT | {"noise": "", "correlations": "0.05"}, follow=True).content.decode()
    assert "more than 200" in page
    assert "Systems, with noise" not in page


def test_in_german(staff):
    page = staff.post(ADDRESS, SENT, follow=True, headers={"accept-language": "de"}).content.decode()
    assert "Benötigte Systeme" in page


@pytest.mark.parametrize(
    "wrong",
    [
        *({"correlations": text} for text in ("", "much", "0", "0.5, 1.1", "nan", ", ".join(["0.5"] * 11))),
        *({"noise": "-1"}, {"noise": "inf"}, {"coefficient": "r"}, {"target": "0.01", "alpha": "0.5"}),
    ],
)
def test_wrong_assumptions(staff, wrong):
    response = staff.post(ADDRESS, SENT | wrong)
    assert response.status_code == 422
    assert 'role="alert"' in response.content.decode()
    assert not SizePlan.objects.exists()


def test_what_takes_longer_goes_to_a_worker(staff, monkeypatch):
    monkeypatch.setattr(staff_sizes, "AT_ONCE", 0.0)
    sent = []
    monkeypatch.setattr(
        tasks.compute_size_plan, "apply_async", lambda arguments, **_options: sent.append(arguments)
    )
    assert "Waiting for a worker" in staff.post(ADDRESS, SENT, follow=True).content.decode()
    plan = SizePlan.objects.get()
    assert sent == [(plan.pk,)]
    tasks.compute_size_plan(plan.pk)
    assert "Systems needed" in staff.get(f"/staff/sample-size/{plan.pk}/progress/").content.decode()
