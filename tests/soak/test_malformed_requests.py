"""Malformed forms and bodies cause no error and no half-stored rows.

They go to every address that takes one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from kombu.exceptions import OperationalError as BrokerError

from accounts.models import Role, User
from accounts.rest.views import PerUser
from annotation.actions.projects import set_member
from annotation.models import Role as ProjectRole
from studyapp.actions.links import create_link
from tests import workspaces
from tests.access.routes import ROUTES
from tests.access.test_matrix import NAMES
from tests.access.world import World, make_world
from tests.api.test_openapi import PREFIX, document, server
from tests.api.test_openapi import world as api_world
from tests.soak import malformed, rng_of, size
from tests.soak.tables import Tables
from tests.tokens import bearer

__all__ = ["api_world", "document", "server"]

pytestmark = pytest.mark.django_db

Form = dict[str, list[str]]
# The texts of its error page go with a 503: the model server and the queue are not there.
FINE_ERRORS = {503}


class Forms(HTMLParser):
    """The forms of a page: their actions and fields.

    A field has a name, and the values that it offers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, Form, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((fields.get("action", ""), {}, []))
        elif tag in ("input", "select", "textarea", "button") and self.forms and fields.get("name"):
            _action, form, files = self.forms[-1]
            if fields.get("type") == "file":
                files.append(fields["name"])
            else:
                form.setdefault(fields["name"], []).append(fields.get("value", ""))


def forms_of(page: str, address: str) -> Iterator[tuple[str, Form, list[str]]]:
    parser = Forms()
    parser.feed(page)
    for action, form, files in parser.forms:
        yield unescape(action).partition("#")[0] or address, form, files


def person(world: World) -> Client:
    """Return the client of a user who may do everything in the workspace.

    This holds for its project and its study, too.
    """
    user = workspaces.give(User.objects.create_superuser("everything"), *Role, workspace=world.workspace)
    for role in ProjectRole:
        set_member(project=world.project, user=user, role=role, by=None)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def participant(world: World, *, consents: bool) -> tuple[Client, str]:
    """Return the client of a participant, and the address of their page.

    It is the consent form or the first item.
    """
    client = Client(raise_request_exception=False)
    page = client.get(f"/join/{create_link(study=world.study, by=None)[1]}/", follow=True)
    if consents:
        page = client.post(page.request["PATH_INFO"], {"consent": "yes"}, follow=True)
    assert page.status_code == 200
    return client, page.request["PATH_INFO"]


def targets(world: World) -> list[tuple[Client, str, Form, list[str]]]:
    """Return every address outside the API, with the fields of its forms."""
    owner = person(world)
    forms: dict[str, tuple[Client, Form, list[str]]] = {}
    names = [name for name in NAMES if "rest:" not in name and not name.startswith("api_")]
    addresses = {
        reverse(name, kwargs={parameter: world.value(name, parameter) for parameter in NAMES[name]})
        for name in names
        if ROUTES[name].public is False
    }
    for address in sorted(addresses):
        forms.setdefault(address, (owner, {}, []))
        page = owner.get(address)
        if page.get("Content-Type", "").startswith("text/html") and not page.streaming:
            for action, form, files in forms_of(page.content.decode(), address):
                if action.startswith("/"):
                    forms[action] = (owner, form, files)
    for client, address in (participant(world, consents=flag) for flag in (False, True)):
        page = client.get(address)
        for action, form, files in forms_of(page.content.decode(), address):
            forms[action] = (client, form, files)
    visitor = Client(raise_request_exception=False)
    for address in (
        "/accounts/login/",
        "/accounts/password/reset/",
        "/withdraw/",
        "/theme/",
        "/i18n/setlang/",
    ):
        form = next(
            (form for _action, form, _files in forms_of(visitor.get(address).content.decode(), address)), {}
        )
        forms[address] = (visitor, form, [])
    forms.pop("/accounts/logout/", None)
    return [(client, address, form, files) for address, (client, form, files) in sorted(forms.items())]


@pytest.fixture
def _unlimited(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Any) -> None:
    monkeypatch.setattr(PerUser, "rate", None)
    settings.RATE_LIMITS = False
    settings.JOB_FOLDER, settings.VAR_DIR = tmp_path / "jobs", tmp_path

    def no_broker(*_arguments: Any, **_options: Any) -> None:
        raise BrokerError("there is none")  # a real one that is away takes seconds to say so

    monkeypatch.setattr("celery.app.task.Task.apply_async", no_broker)
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}


def end(response: Any) -> None:
    """Read a response to its end, which closes its files.

    Responses that are not streamed are closed already.
    """
    if response.streaming:
        b"".join(response.streaming_content)


def outcome(tables: Tables, status: int, written: set[str]) -> str:
    """Return what is wrong with an answer, or an empty text."""
    if status >= 500 and status not in FINE_ERRORS:
        return f"status {status}"
    if status >= 400 and (changed := tables.changed(written)):
        return f"status {status}, yet {', '.join(changed)} changed"
    return ""


def body_of(form: Form, files: list[str], rng: random.Random) -> tuple[bytes, str]:
    fields = malformed.form(form, rng)
    kind = rng.random()
    if files or kind < 0.15:
        body, media = malformed.multipart(fields, files, rng)
    elif kind < 0.85:
        body, media = malformed.urlencoded(fields, rng), "application/x-www-form-urlencoded"
    else:
        body, media = (
            malformed.json_bytes(dict(form), rng),
            "application/json",
        )
    return body, rng.choice(malformed.MEDIA) if rng.random() < 0.1 else media


def spoiled_address(address: str, rng: random.Random) -> str:
    """Return an address with, now and then, an odd query or number."""
    if rng.random() < 0.1:
        address = re.sub(r"\d+", lambda _number: str(rng.choice([0, 2**31, 2**63, 10**30])), address)
    if rng.random() < 0.25:
        fields = [(rng.choice(["page", "q", "cursor", "sort", "next", "state"]), rng.choice(malformed.TEXTS))]
        address += ("&" if "?" in address else "?") + malformed.urlencoded(fields, rng).decode("latin-1")
    return address


@pytest.mark.usefixtures("_unlimited")
def test_pages():
    places, wrong = targets(make_world("own")), []
    tables = Tables()
    assert len(places) > 120
    for number in range(size(150, 0.45)):
        rng = rng_of("pages", number)
        client, address, form, files = places[number % len(places)]
        body, media = body_of(form, files, rng)
        address, method = spoiled_address(address, rng), "GET" if rng.random() < 0.1 else "POST"
        cookies = {name: cookie.value for name, cookie in client.cookies.items()}
        with tables.undone() as written:
            response = client.generic(method, address, body, content_type=media)
            if remark := outcome(tables, response.status_code, written):
                wrong.append(f"{number}: {method} {address[:120]}: {remark}; {media}: {body[:300]!r}")
            end(response)
        client.cookies = SimpleCookie(cookies)
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.usefixtures("_unlimited", "server")
def test_api(document: dict[str, Any], api_world: Any):
    headers, wrong = bearer(api_world.owner), []
    client = Client(raise_request_exception=False, headers=headers)
    operations = [
        (f"{method.upper()} {path}", method.upper(), path)
        for path, methods in sorted(document["paths"].items()) if path.startswith(PREFIX)
        for method in methods if method in ("get", "post", "put", "patch", "delete")
    ]  # fmt: skip
    tables = Tables()
    for number in range(size(150, 0.35)):
        rng, (label, method, path) = rng_of("api", number), operations[number % len(operations)]
        valid = api_world.body(label, path)
        query = {**(api_world.query(label) or {})}
        if not query or rng.random() < 0.3:
            names = [*query, "limit", "cursor", "format", "module", "name", "x"]
            query[rng.choice(names)] = rng.choice(malformed.TEXTS)
        address = path.format_map(api_world.parameters(label, path) | Missing())
        if isinstance(valid, bytes):
            body, media = malformed.cut(valid, rng), "application/octet-stream"
        else:
            body, media = (
                malformed.json_bytes(valid if valid is not None else {"a": 1}, rng),
                "application/json",
            )
        if rng.random() < 0.1:
            media = rng.choice(malformed.MEDIA)
        sent = {"If-Match": rng.choice(["*", '"x"', "W/"])} | (
            {} if rng.random() < 0.8 else {"Idempotency-Key": rng.choice(["k", "x" * 300, "é"])}
        )
        with tables.undone() as written:
            response = client.generic(
                method,
                spoiled_address(address, rng),
                body,
                content_type=media,
                headers=sent,
                query_params=query,
            )
            if remark := outcome(tables, response.status_code, written):
                wrong.append(f"{number}: {label} {query}: {remark}; {media}: {body[:300]!r}")
            end(response)
    assert not wrong, "\n".join(wrong[:20])


class Missing(dict[str, Any]):
    """A parameter that the world has no value of."""

    def __missing__(self, key: str) -> str:
        return "1"
