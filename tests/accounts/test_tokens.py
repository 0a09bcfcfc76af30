"""Tests of API tokens: their rights and limits, and the page to make them."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions.tokens import create_token, note_use, revoke_all, revoke_token
from accounts.actions.users import deactivate
from accounts.models import ApiToken, AuditEntry, Scope, User
from accounts.queries.tokens import find_token
from accounts.random_secrets import hash_of
from annotation.models import Annotation
from tests.annotation.factories import make_annotation, make_member
from tests.tokens import bearer

pytestmark = pytest.mark.django_db

PROJECTS = "/api/v1/projects/"


@pytest.fixture
def user():
    return User.objects.create(username="ada", password="!")


@pytest.fixture
def page(client, user):
    client.force_login(user)
    return client


def make_token(user, scope=Scope.MANAGE, days=7):
    return create_token(name="script", scope=scope, days=days, by=user)


def get(key, address=PROJECTS):
    return Client().get(address, headers={"Authorization": f"Bearer {key}"})


def test_it_works(page, user):
    data = {"name": "nightly export", "scope": "read", "days": "90"}
    response = page.post("/account/tokens/create/", data)
    [key] = re.findall(r'value="(tst_[\w-]{32})"', response.content.decode())
    assert "no-store" in response["Cache-Control"]
    assert 'aria-current="page">API tokens<' in response.content.decode()
    assert get(key).status_code == 200
    token = ApiToken.objects.get()
    assert (token.user, token.name, token.scope, token.prefix) == (user, "nightly export", "read", key[:10])
    assert token.token_hash == hash_of(key)
    assert timedelta(days=89) < token.expires_at - timezone.now() < timedelta(days=90)
    later = page.get("/account/tokens/").content.decode()
    assert key not in later
    assert key[:10] in later
    assert page.post(f"/account/tokens/{token.pk}/revoke/").url == "/account/tokens/"
    assert get(key).status_code == 401
    assert "You have no tokens" in page.get("/account/tokens/").content.decode()
    entries = AuditEntry.objects.filter(workspace=None).values_list("kind", "actor__username", "subject")
    assert list(entries) == [("token_created", "ada", "ada"), ("token_revoked", "ada", "ada")]


def test_no_column_holds_the_token(user):
    key = make_token(user).key
    assert not [value for value in ApiToken.objects.values_list().get() if key in str(value)]


def test_the_page_needs_a_login(client):
    for response in (client.get("/account/tokens/"), client.post("/account/tokens/create/")):
        assert response.url.startswith("/accounts/login/")
    assert not ApiToken.objects.exists()


def test_nobody_revokes_a_token_of_others(page):
    token = make_token(User.objects.create(username="bob", password="!")).token
    assert page.post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    token.refresh_from_db()
    assert token.revoked_at is None


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"name": "n" * 101}, {"scope": "all"}, {"days": "3650"}, {"days": "x"}]
)
def test_a_malformed_form_creates_nothing(page, wrong):
    response = page.post("/account/tokens/create/", {"name": "n", "scope": "read", "days": "90", **wrong})
    assert response.status_code == 422
    assert 'role="alert"' in response.content.decode()
    assert not ApiToken.objects.exists()


def test_a_token_cannot_make_tokens(user):
    key = make_token(user).key
    response = Client().post("/account/tokens/create/", headers={"Authorization": f"Bearer {key}"})
    assert response["Location"].startswith("/accounts/login/")
    assert ApiToken.objects.count() == 1


def expired(token):
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now())


def revoked(token):
    revoke_token(token=token, by=None)


def of_a_deactivated_account(token):
    User.objects.filter(pk=token.user_id).update(is_active=False)


@pytest.mark.parametrize(
    "end, sentence",
    [(expired, "has expired"), (revoked, "was revoked"), (of_a_deactivated_account, "deactivated")],
)
def test_an_ended_token_opens_nothing(user, end, sentence):
    token, key = make_token(user)
    assert get(key).status_code == 200
    end(token)
    response = get(key)
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert sentence in response.json()["detail"]


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer tst_wrong", "bearer é", "Bearer a b c"])
def test_a_wrong_token_opens_nothing(header, user):
    response = Client().get(PROJECTS, headers={"Authorization": header})
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert "not a valid API token" in response.json()["detail"]


def test_the_scheme_of_before_gets_a_sentence(user):
    key = make_token(user).key
    response = Client().get(PROJECTS, headers={"Authorization": f"Token {key}"})
    assert response.status_code == 401
    assert "/account/tokens/" in response.json()["detail"]


def test_a_session_does_not_save_a_wrong_token(page):
    assert page.get(PROJECTS).status_code == 200
    assert page.get(PROJECTS, headers={"Authorization": "Bearer tst_wrong"}).status_code == 401


def test_without_token_and_login_the_401_names_the_scheme():
    response = Client().get(PROJECTS)
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("scope", Scope)
def test_the_scope_is_held_against_the_method_and_the_view(scope):
    member = make_member()
    annotation = make_annotation(member)
    work = f"/api/v1/annotations/{annotation.pk}/"
    client = Client(headers=bearer(member.user, scope))
    answers = {
        Scope.READ: client.get(f"{work}editor/"),
        Scope.ANNOTATE: client.post(f"{work}release/"),
        Scope.MANAGE: client.post(f"{PROJECTS}{annotation.project.slug}/members/", {}),
    }
    order = list(Scope)
    for needed, response in answers.items():
        refused = f"scope {needed}" in response.json().get("detail", "")
        assert refused == (order.index(scope) < order.index(needed))
        assert not refused or response.status_code == 403
    annotation.refresh_from_db()
    released = annotation.status == Annotation.Status.RELEASED
    assert released == (scope != Scope.READ)


def test_no_csrf_token_is_needed_with_a_token(user):
    strict = Client(enforce_csrf_checks=True)
    keys = "/api/v1/keys/"
    body = {"data": '{"keys": {}}', "content_type": "application/json"}
    assert strict.put(keys, **body, headers=bearer(user)).status_code == 200
    strict.force_login(user)
    assert strict.put(keys, **body).status_code == 403


def test_the_last_use_is_stored_once_a_minute(user, django_assert_num_queries):
    token = make_token(user).token
    now = timezone.now()
    note_use(token=token, at=now)
    token.refresh_from_db()
    assert token.last_used_at == now
    with django_assert_num_queries(0):
        note_use(token=token, at=now + timedelta(seconds=59))
    note_use(token=token, at=now + timedelta(seconds=60))
    token.refresh_from_db()
    assert token.last_used_at == now + timedelta(seconds=60)


def test_requests_at_the_same_moment_store_the_last_use_once(user):
    key = make_token(user).key
    first, second = find_token(key), find_token(key)
    now = timezone.now()
    note_use(token=first, at=now)
    note_use(token=second, at=now + timedelta(seconds=1))
    assert find_token(key).last_used_at == now


def test_a_token_is_looked_up_in_one_indexed_query(user, django_assert_num_queries):
    key = make_token(user).key
    with django_assert_num_queries(1):
        assert find_token(key).user.username == "ada"
    assert ApiToken._meta.get_field("token_hash").unique


def test_all_tokens_end_with_the_account_and_with_a_new_password(user):
    keys = [make_token(user).key, make_token(user).key]
    other = make_token(User.objects.create(username="bob", password="!")).key
    revoke_all(user=user, by=user)
    assert [get(key).status_code for key in (*keys, other)] == [401, 401, 200]
    assert AuditEntry.objects.filter(kind="token_revoked").count() == 2
    revoke_all(user=user, by=user)
    assert AuditEntry.objects.filter(kind="token_revoked").count() == 2
    key = make_token(user).key
    deactivate(user=user, by=None)
    User.objects.filter(pk=user.pk).update(is_active=True)
    assert get(key).status_code == 401


def test_an_old_token_is_shown_as_expired(page, user):
    expired(make_token(user).token)
    assert "Expired" in page.get("/account/tokens/").content.decode()
