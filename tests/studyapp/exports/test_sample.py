"""The sample in the bundle and the report: device, pay, scores, clocks.

The scores are those before the items, the clocks those of the rules.
"""

import csv
import json
from decimal import Decimal

import pytest
from django.urls import reverse

from analysis.participants.bundle import load_bundle
from analysis.participants.sample import describe_sample
from analysis.report.sections.scales import build_scales_section
from analysis.study.analysis import Options, analyse
from studyapp.actions.pages import show_stage, submit_stage
from studyapp.exports.bundle import write_bundle
from studyapp.exports.estimates import compute_running_estimates
from studyapp.models import Participant, Payment
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

PAY = {"platform": "generic", "pay": {"amount": 3.5, "currency": "GBP"}}
UMUX = {"template": "xqa-2020", "pre_survey": [{"template": "umux-lite"}]}


def took_part(study, capabilities=6, ease=4, **clocks):
    """A participant who completed, with a survey before the items."""
    participant = factories.make_participant(study=study)
    page = find_current_page(participant).stage
    show_stage(page=page)
    answers = {"umux_capabilities": capabilities, "umux_ease": ease}
    assert submit_stage(page=page, answers=answers, changes={}, timing=PageTiming(**clocks))
    participant.refresh_from_db()
    for _ in range(participant.trials.count()):
        factories.answer_item(participant)
    factories.answer_survey(participant)
    return participant


@pytest.fixture
def study():
    study = factories.make_study(questionnaire=UMUX, recruitment=PAY)
    people = [took_part(study, capabilities=number) for number in (3, 5, 6, 7)]
    for device, person in zip(("phone", "phone", "desktop", ""), people, strict=True):
        Participant.objects.filter(pk=person.pk).update(device=device)
    row = {"study": study, "participant": people[0], "currency": "GBP", "state": "confirmed"}
    Payment.objects.create(**row, kind="bonus", amount=Decimal("1.50"))
    Payment.objects.create(**row, kind="bonus", batch="second", amount=Decimal("0.60"))
    Payment.objects.create(**{**row, "currency": ""}, kind="approve")
    Payment.objects.create(**{**row, "participant": people[1], "state": "planned"}, kind="bonus", amount=9)
    return study


@pytest.fixture
def bundle(study, tmp_path):
    write_bundle(study, tmp_path / "bundle")
    return tmp_path / "bundle"


def test_participants_have_device_and_pay(bundle):
    with (bundle / "participants.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["device"] for row in rows] == ["phone", "phone", "desktop", ""]
    assert [(row["approved"], row["paid"], row["paid_currency"]) for row in rows][:2] == [
        ("true", "2.1", "GBP"),
        ("", "", ""),
    ]


def test_the_report_describes_them(bundle):
    loaded = load_bundle(bundle)
    version = loaded.version(1)
    facts = describe_sample(loaded, version, "live", loaded.participants)
    counts = {(fact.about, fact.value): fact.count for fact in facts}
    assert counts["Device", "phone"] == 2
    assert counts["Device", "not recorded"] == 1
    assert counts["Declared pay", "3.50 GBP"] == 4
    assert counts["Submission approved", "yes"] == 1
    assert counts["Bonuses and screen-out pay", "2.10 GBP in all"] == 1
    [mean] = [fact.statistic for fact in facts if fact.about.startswith("UMUX") and fact.value == "mean"]
    assert mean == pytest.approx(100 * (5 + 7 + 8 + 9) / 12 / 4)


def test_scores_before_the_items_are_described_and_not_compared(bundle):
    study = analyse(load_bundle(bundle), Options(resamples=20))
    blocks = {block.name: block for block in build_scales_section(study).blocks if hasattr(block, "name")}
    whole = [cell.text for cell in blocks["scale_scores_before"].rows[0][1:]]
    assert whole[:3] == ["All", "4", "60.42"]
    assert "umux" not in json.dumps(list(study.retained.estimates.per_participant))
    assert blocks["scale_reliability"].rows[0][2].text == "4"


def test_the_page_of_estimates_has_them(client, study):
    labels = {measure.label: cells for measure, cells in compute_running_estimates(study).table}
    values = [cell.value for cell in labels["UMUX-Lite, before the items"]]
    assert sum(values) / len(values) == pytest.approx(100 * (5 + 7 + 8 + 9) / 12 / 4)
    client.force_login(factories.make_user())
    page = client.get(reverse("studyapp:staff_estimates", args=[study.slug]))
    assert "UMUX-Lite, before the items" in page.content.decode()


def test_the_codebook_counts_by_clock(tmp_path):
    study = factories.make_study(items=2)
    participant = factories.make_participant(study=study)
    factories.answer_item(participant)
    participant.trials.filter(answers__isnull=False).update(client_total_ms=None)
    factories.answer_item(participant)
    write_bundle(study, tmp_path / "out")
    book = json.loads((tmp_path / "out" / "codebook.json").read_text())
    fast = [row for row in book["time_rules"] if row["rule"] == "too-fast"]
    assert fast == [
        {"mode": "live", "rule": "too-fast", "clock": "client_total", "trials": 1, "excluded": 0},
        {"mode": "live", "rule": "too-fast", "clock": "server", "trials": 1, "excluded": 1},
    ]
    assert "| live | too-fast | server | 1 | 1 |" in (tmp_path / "out" / "codebook.md").read_text()


@pytest.mark.parametrize(("sent", "stored"), [("phone", "phone"), ("Mozilla/5.0 (X11)", ""), ("", "")])
def test_the_consent_keeps_a_class_of_device_and_nothing_else(client, sent, stored):
    study = factories.make_study()
    client.get(f"/join/{factories.make_link_and_token(study=study)[1]}/")
    address = reverse("studyapp:consent", args=[study.slug])
    assert 'name="device"' in client.get(address).content.decode()
    client.post(address, {"consent": "yes", "device": sent})
    assert Participant.objects.get().device == stored
