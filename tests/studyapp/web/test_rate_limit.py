"""Tests of the limits per address, which a room of people never meets."""

from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache, caches
from django.test import Client, RequestFactory
from redis.exceptions import ConnectionError as NoRedis

from studyapp.models import Participant
from studyapp.web import rate_limit
from studyapp.web.rate_limit import LIMITS
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


BROKER = settings.CACHES["default"]


@pytest.fixture(autouse=True)
def _memory(settings, monkeypatch):
    """Counters in this process, in one window.

    The window does not end while the test runs.
    """
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    monkeypatch.setattr(rate_limit.time, "time", lambda: 1_800_000_007.0)
    cache.clear()


def limit(monkeypatch, name, times):
    monkeypatch.setitem(LIMITS, name, LIMITS[name]._replace(times=times))


def test_it_works(client, monkeypatch):
    limit(monkeypatch, "studyapp:join", 3)
    statuses = [client.get(f"/join/wrong{number}/").status_code for number in range(5)]
    assert statuses == [404, 404, 404, 429, 429]
    response = client.get("/join/wrong/")
    assert 0 < int(response.headers["Retry-After"]) <= 60
    assert "too many requests" in response.content.decode()
    assert response.headers["Cache-Control"] == "no-store"
    assert "Content-Security-Policy" in response.headers


def test_right_tokens_are_not_counted(client, monkeypatch):
    limit(monkeypatch, "studyapp:join", 1)
    token = factories.make_link_and_token()[1]
    assert {client.get(f"/join/{token}/").status_code for _ in range(5)} == {302}


def test_the_next_window_begins_anew(client, monkeypatch):
    limit(monkeypatch, "studyapp:join", 1)
    assert [client.get("/join/wrong/").status_code for _ in "12"] == [404, 429]
    monkeypatch.setattr(rate_limit.time, "time", lambda: 1_800_000_067.0)
    assert client.get("/join/wrong/").status_code == 404


def test_other_addresses_are_not_hit(client, monkeypatch):
    limit(monkeypatch, "studyapp:join", 1)
    client.get("/join/wrong/")
    assert client.get("/join/wrong/").status_code == 429
    assert client.get("/join/wrong/", REMOTE_ADDR="10.0.0.2").status_code == 404


def test_a_machine_with_many_addresses_is_limited_as_one(client, monkeypatch):
    """Providers give each customer 2^64 addresses of IPv6, all in one network."""
    limit(monkeypatch, "studyapp:join", 2)
    addresses = ("2001:db8::1", "2001:db8::2", "2001:db8::ffff:3", "2001:db8:0:1::1")
    statuses = [client.get("/join/wrong/", REMOTE_ADDR=address).status_code for address in addresses]
    assert statuses == [404, 404, 429, 404]


def test_two_hundred_people_behind_one_address_get_in(settings):
    """With the limits as they are."""
    link, token = factories.make_link_and_token(study=factories.make_study(items=1))
    path = f"/study/{link.study.slug}/consent/"
    statuses = []
    for _person in range(200):
        browser = Client()
        browser.get(f"/join/{token}/")
        statuses.append(browser.post(path, {"consent": "yes"}).status_code)
    assert set(statuses) == {302}
    assert Participant.objects.count() == 200
    assert LIMITS["studyapp:consent"].times >= 3 * 200


def test_consents_are_limited(client, monkeypatch):
    limit(monkeypatch, "studyapp:consent", 2)
    link, token = factories.make_link_and_token()
    path = f"/study/{link.study.slug}/consent/"
    statuses = []
    for _person in range(4):
        browser = Client()
        browser.get(f"/join/{token}/")
        statuses.append(browser.post(path, {"consent": "yes"}).status_code)
    assert statuses == [302, 302, 429, 429]
    assert Participant.objects.count() == 2


def test_bots_are_not_counted(monkeypatch):
    limit(monkeypatch, "studyapp:consent", 1)
    link, token = factories.make_link_and_token(mode="bot")
    for _bot in range(4):
        browser = Client()
        browser.get(f"/join/{token}/")
        answer = browser.post(f"/study/{link.study.slug}/consent/", {"consent": "yes"})
        assert answer.status_code == 302


@pytest.mark.parametrize(
    ("name", "address", "sent"),
    [
        ("studyapp:resume", "/resume/wrong/", None),
        ("studyapp:withdraw", "/withdraw/", {"code": "WRONG"}),
        ("studyapp:prolific_webhook", "/recruitment/prolific/webhook/", {}),
        ("accounts:login", "/accounts/login/", {"username": "x", "password": "y"}),
        ("admin:login", "/admin/login/", {"username": "x", "password": "y"}),
    ],
)
def test_every_page_that_can_be_guessed_at(client, monkeypatch, settings, name, address, sent):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.PROLIFIC_WEBHOOK_SECRET = "secret"
    limit(monkeypatch, name, 2)
    ask = client.get if sent is None else lambda path: client.post(path, sent)
    statuses = [ask(address).status_code for _ in range(3)]
    assert statuses[2] == 429
    assert 429 not in statuses[:2]


def test_a_right_withdrawal_code_is_not_counted(client, monkeypatch):
    limit(monkeypatch, "studyapp:withdraw", 1)
    code = factories.make_participant().withdrawal_code
    assert [client.post("/withdraw/", {"code": code}).status_code for _ in "123"] == [200] * 3


def test_no_address_is_stored(client):
    client.get("/join/wrong/", REMOTE_ADDR="203.0.113.77")
    memory: Any = caches["default"]
    (key,) = memory._cache
    assert "203.0.113" not in key
    assert "join" not in key


def test_without_a_cache_nothing_is_limited(client, monkeypatch, caplog):
    class Away:
        def get(self, *arguments, **more):
            raise NoRedis("no socket")

        add = incr = get

    limit(monkeypatch, "studyapp:join", 0)
    monkeypatch.setattr(rate_limit, "cache", Away())
    assert client.get("/join/wrong/").status_code == 404
    assert "no limits: the cache cannot be reached" in caplog.text


def test_they_can_be_switched_off(client, monkeypatch, settings):
    settings.RATE_LIMITS = False
    limit(monkeypatch, "studyapp:join", 0)
    assert client.get("/join/wrong/").status_code == 404


@pytest.mark.parametrize(
    ("behind_proxy", "forwarded", "expected"),
    [
        (False, "1.1.1.1", "9.9.9.9"),
        (True, "", "9.9.9.9"),
        (True, "1.1.1.1", "1.1.1.1"),
        (True, "6.6.6.6, 1.1.1.1", "1.1.1.1"),
    ],
)
def test_the_address_behind_a_proxy(settings, behind_proxy, forwarded, expected):
    settings.BEHIND_PROXY = behind_proxy
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    request = RequestFactory().get("/", REMOTE_ADDR="9.9.9.9", headers=headers)
    assert rate_limit.find_client_address(request) == expected


def test_the_page_on_privacy_states_the_limits(settings):
    page = (settings.BASE_DIR / "docs" / "reference" / "privacy.md").read_text(encoding="utf-8")
    for allowance in LIMITS.values():
        window = "a minute" if allowance.seconds == 60 else f"{allowance.seconds // 60} minutes"
        assert f"| {allowance.times} in {window} |" in page


def test_it_counts_in_the_broker_too(client, monkeypatch, settings, redis_url):
    """The cache of the settings, on a real server of the Redis protocol."""
    settings.CACHES = {"default": BROKER | {"LOCATION": redis_url}}
    limit(monkeypatch, "studyapp:join", 2)
    assert [client.get("/join/wrong/").status_code for _ in range(3)] == [404, 404, 429]
    caches["default"].clear()
