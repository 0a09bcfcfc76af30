"""The pages of a study's webhooks."""

import json
import re
from typing import Any

import httpx
import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Role
from jobs.actions.webhooks import deliver, open_client
from studyapp.actions.webhooks import add_webhook, end_webhook
from studyapp.models import Study, StudyDelivery, StudyWebhook
from tests.studyapp import factories

pytestmark = pytest.mark.django_db
URL = "https://hooks.example/a"


@pytest.fixture
def study() -> Study:
    return factories.make_study()


@pytest.fixture
def page(study: Study, client: Client) -> Client:
    client.force_login(factories.make_user(Role.RESEARCHER))
    return client


def address(study: Study, end: str = "") -> str:
    return f"/staff/studies/{study.slug}/webhooks/{end}"


def text(response: Any) -> str:
    return " ".join(response.content.decode().split())


def test_it_works(page: Client, study: Study) -> None:
    assert "Add a webhook" in text(page.get(address(study)))
    shown = text(page.post(address(study, "add/"), {"url": URL, "kinds": ["quota_reached"]}))
    hook = StudyWebhook.objects.get()
    assert (hook.url, hook.kinds) == (URL, ["quota_reached"])
    assert hook.secret in shown
    assert "Copy the secret now." in shown
    listed = text(page.get(address(study)))
    assert hook.secret not in listed
    assert "Quota reached" in listed
    response = page.post(address(study, f"{hook.pk}/end/"), follow=True)
    assert "The webhook has ended." in text(response)
    assert "Ended" in text(response)
    hook.refresh_from_db()
    assert not hook.active


def test_webhooks_are_sorted_by_their_heads(page: Client, study: Study) -> None:
    for name in ("b", "a", "c"):
        add_webhook(study=study, url=f"https://hooks.example/{name}", kinds=[], by=factories.make_user())
    listed = text(page.get(address(study, "?sort=-address")))
    assert 'href="?sort=address"' in listed
    assert re.findall("hooks.example/([abc])</a>", listed) == ["c", "b", "a"]
    added = text(page.post(address(study, "add/"), {"url": "https://hooks.example/d", "kinds": []}))
    assert "?sort=" not in added, "its address takes forms alone"


def test_deliveries_with_their_results(page: Client, study: Study) -> None:
    hook = add_webhook(study=study, url=URL, kinds=[], by=factories.make_user())
    factories.make_participant(study=study, completed=True)
    sent, waiting, failed = (
        StudyDelivery.objects.create(webhook=hook, kind="quota_reached", body={}, attempts=3)
        for _ in range(3)
    )
    now = timezone.now()
    StudyDelivery.objects.filter(pk=sent.pk).update(delivered_at=now)
    StudyDelivery.objects.filter(pk=waiting.pk).update(next_at=now, last_error="answered 503")
    StudyDelivery.objects.filter(pk=failed.pk).update(last_error="given up after 8 tries: answered 404")
    shown = text(page.get(address(study, f"{hook.pk}/")))
    for part in (
        "Delivered",
        "Waiting",
        "Failed",
        "answered 503",
        "given up after 8 tries",
        f"{now:%H:%M:%S}",
    ):
        assert part in shown


@pytest.mark.parametrize(
    "form, sentence",
    [
        ({"url": ""}, "required"),
        ({"url": "hello there"}, "valid URL"),
        ({"url": "http://127.0.0.1/"}, "127.0.0.1 is not a public address."),
        ({"url": "ftp://hooks.example/"}, "not an http or https address"),
        ({"url": URL, "kinds": ["gold_set"]}, "not one of the available choices"),
    ],
)
def test_malformed_forms(page: Client, study: Study, form: dict[str, Any], sentence: str) -> None:
    response = page.post(address(study, "add/"), form)
    assert response.status_code == 422
    shown = text(response)
    assert sentence in shown
    described = {name for names in re.findall('aria-describedby="([^"]+)"', shown) for name in names.split()}
    assert described <= set(re.findall(' id="([^"]+)"', shown))
    assert "id_kinds_error" in shown if "kinds" in form else "id_url_error" in described
    assert not StudyWebhook.objects.exists()


def test_a_webhook_of_another_study_is_not_there(page: Client, study: Study) -> None:
    hook = add_webhook(study=factories.make_study(), url=URL, kinds=[], by=factories.make_user())
    assert page.get(address(study, f"{hook.pk}/")).status_code == 404
    assert page.post(address(study, f"{hook.pk}/end/")).status_code == 404


def test_a_test_is_sent_by_the_worker(page: Client, study: Study) -> None:
    hook = add_webhook(
        study=study, url="https://8.8.8.8/a", kinds=["quota_reached"], by=factories.make_user()
    )
    response = page.post(address(study, f"{hook.pk}/test/"), follow=True)
    assert "The test is sent within some seconds." in text(response)
    assert "Waiting" in text(response)
    sent = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(500)

    with open_client(httpx.MockTransport(answer)) as post:
        deliver(StudyDelivery, delivery=StudyDelivery.objects.get().pk, post=post)
    assert (sent[0]["kind"], sent[0]["study"], sent[0]["data"]) == ("test", study.slug, {})
    shown = text(page.get(address(study, f"{hook.pk}/")))
    assert "Test" in shown
    assert "answered 500" in shown
    end_webhook(webhook=hook, by=factories.make_user())
    assert "This webhook has ended." in text(page.post(address(study, f"{hook.pk}/test/"), follow=True))
    assert StudyDelivery.objects.count() == 1
