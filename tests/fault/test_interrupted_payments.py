"""Prolific approves and pays once, though the worker is killed.

A stand-in of Prolific approves and pays bots exactly once; the worker dies in between.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from scripts.sites.example import load_example
from scripts.sites.site import Site, run_site
from tests.functional.pages import ADD_OWNER
from tests.studyapp.platform_standin import KEY, ProlificApi, prolific_api
from tests.waiting import eventually

pytestmark = pytest.mark.service

BOTS = 24  # the platform takes bonuses of 20 at once
SETTINGS = {
    "JOB_LEASE_SECONDS": "2",
    "JOB_SWEEP_SECONDS": "1",
    "PROLIFIC_SETTLE_SECONDS": "1",
    "PROLIFIC_API_TOKEN": KEY,
}
WALK = """
import asyncio
from django.conf import settings
from django.urls import reverse
from studyapp.actions.links import create_link
from studyapp.definition.participation.recruitment import Recruitment
from studyapp.models import Study
from studyapp.queries.bots import build_study_plan
from studyapp.simulation.bots import make_bots
from studyapp.simulation.walk import run_bots
study = Study.objects.get()
recruitment = Recruitment.model_validate(
    {{"platform": "prolific", "outcomes": {{"done": {{"code": "CDONE"}}}}}}
)
token = create_link(study=study, by=None, recruitment=recruitment)[1]
address = settings.SITE_URL + reverse("studyapp:join", args=[token])
for number, bot in enumerate(make_bots({bots}, {{"honest": 1.0}}, seed=2026)):
    ids = f"PROLIFIC_PID=p{{number}}&STUDY_ID=S1&SESSION_ID=sub-p{{number}}"
    asyncio.run(run_bots([bot], f"{{address}}?{{ids}}", build_study_plan(study), concurrency=1))
    assert bot.code, bot.error
"""
ORDER = """
from django.db.models import F
from accounts.models import User, Workspace
from jobs.actions.jobs import create_job
from jobs.tasks import enqueue_job
from studyapp.actions.payments import settle_unknown, store_order
from studyapp.definition.participation.payments import PaymentOrder
from studyapp.models import Payment, Study
from studyapp.models.payments import SENDING
study, user, workspace = Study.objects.get(), User.objects.get(), Workspace.objects.get()
unknown = Payment.objects.filter(state="unknown")
unknown.update(sent_at=F("sent_at") - SENDING)  # as if somebody had waited for so long
for payment in unknown:
    settle_unknown(payment=payment, was_paid=False, by=user)
order = PaymentOrder(approve=True, bonus={name!r}, bonus_each={amount!r})
store_order(study=study, order=order, by=user)
enqueue_job(create_job(kind="pay_participants", workspace=workspace, by=user, options={{"study": study.pk}}))
"""
LOOK = """
import json
from jobs.models import Job
from studyapp.models import Payment
jobs = list(Job.objects.order_by("pk").values_list("status", "attempts", "error"))
print(json.dumps([jobs, list(Payment.objects.values_list("kind", "state"))]))
"""


def shell(site: Site, command: str) -> str:
    return site.manage("shell", "--no-imports", "--command", command)


def outcome(site: Site) -> tuple[list[Any], Counter[tuple[str, str]]]:
    jobs, payments = json.loads(shell(site, LOOK))
    return jobs, Counter((kind, state) for kind, state in payments)


def order(site: Site, name: str, amount: str) -> None:
    shell(site, ORDER.format(name=name, amount=amount))


def kill_worker_while_held(site: Site, api: ProlificApi) -> None:
    """Kill the worker while its request to the platform has no answer."""
    assert api.held.wait(60), api.requests[-3:]
    site.parts.stop_one("worker", kill=True)
    api.held.clear()
    site.parts.start(site.stack.worker())


def wait_for_jobs(site: Site, number: int) -> None:
    eventually(lambda: [job[0] for job in outcome(site)[0]] == ["done"] * number)


@pytest.mark.soak
def test_all_bots_are_paid_once() -> None:
    with prolific_api() as api, run_site(extra=SETTINGS | {"PROLIFIC_API_URL": api.url}) as site:
        load_example(site, slug="example", questions=5, items=1)
        shell(site, ADD_OWNER.format(name="ada", password="only for this test"))
        shell(site, WALK.format(bots=BOTS))
        api.add(*(f"p{number}" for number in range(BOTS)))
        api.failures += [("sub-p20/transition/", "hold after"), ("/pay/", "hold after")]
        order(site, "first", "1.50")
        kill_worker_while_held(site, api)  # one submission is approved, and the site does not know it
        kill_worker_while_held(site, api)  # 20 bonuses are paid, and the site does not know it
        wait_for_jobs(site, 1)
        jobs, payments = outcome(site)
        assert jobs == [["done", 3, ""]]
        assert payments == {("approve", "confirmed"): BOTS, ("bonus", "confirmed"): BOTS}
        api.failures.append(("/pay/", "hold"))
        order(site, "second", "0.50")
        kill_worker_while_held(site, api)  # 20 bonuses were sent and never arrived
        wait_for_jobs(site, 2)
        # They show nowhere, which proves nothing: they are not sent again before a person has looked.
        assert outcome(site)[1]["bonus", "unknown"] == 20
        order(site, "second", "0.50")
        wait_for_jobs(site, 3)
        assert outcome(site)[1] == {("approve", "confirmed"): BOTS, ("bonus", "confirmed"): 2 * BOTS}
        assert {row.approvals for row in api.submissions.values()} == {1}
        assert [row.bonuses for row in api.submissions.values()] == [[150, 50]] * BOTS
        assert KEY not in "".join(path.read_text() for path in (site.var / "log").glob("*.log"))
