"""Every address × role × own or foreign object × method, and its writes.

The writes are the SQL statements of each request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from html import unescape
from typing import Any

import pytest
from celery import Task
from celery.app.control import Control
from django.db import connection, transaction
from django.http import HttpResponseBase, HttpResponseForbidden, HttpResponseNotFound, StreamingHttpResponse
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.urls import reverse as address_of

from accounts.models import Role, User
from accounts.policy_table import Act, Roles, is_allowed
from tests.access.routes import ROUTES, Asks
from tests.access.world import World, make_world, people
from tests.soak import WHOLE

pytestmark = pytest.mark.django_db

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE)\b.*", re.IGNORECASE | re.DOTALL)
SHARES = {
    "studyapp": {f"share {role}" for role in (Role.OWNER, Role.RESEARCHER, Role.ANALYST, Role.VIEWER)},
    "annotation": {f"share {role}" for role in (Role.MANAGER, Role.ADJUDICATOR, Role.ANNOTATOR)},
}


def routes() -> Iterator[tuple[str, list[str]]]:
    """The name and the parameters of every address of the site."""

    def walk(patterns: list[Any], space: str, before: list[str]) -> Iterator[tuple[str, list[str]]]:
        for pattern in patterns:
            names = [*before, *pattern.pattern.converters]
            if isinstance(pattern, URLPattern):
                yield f"{space}{pattern.name or pattern.pattern}", names
            else:
                inner = f"{pattern.namespace}:" if pattern.namespace else ""
                yield from walk(pattern.url_patterns, space + inner, names)

    yield from walk(get_resolver().url_patterns, "", [])


# Django's admin is there in development alone, for superusers.
NAMES = {name: parameters for name, parameters in routes() if not name.startswith("admin:")}


@contextmanager
def undone() -> Iterator[list[str]]:
    """Undo what a request does, and list the SQL with which it wrote."""
    written: list[str] = []

    def record(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if WRITES.match(sql):
            written.append(sql[:120])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(record), transaction.atomic():
        yield written
        transaction.set_rollback(True)


def ask(client: Client, method: str, route: str, world: World) -> tuple[HttpResponseBase, list[str]]:
    address = address_of(route, kwargs={name: world.value(route, name) for name in NAMES[route]})
    body = "" if method in ("GET", "HEAD") else world.bodies.get(route, "")
    with undone() as written:
        response = client.generic(
            method, address + world.queries.get(route, ""), body, content_type="application/json"
        )
        if isinstance(response, StreamingHttpResponse):
            b"".join(response)  # a read of the whole file writes nothing either
    return response, written


def roles_of(name: str, app: str) -> Roles:
    """The roles that a person of `world.people` has on the objects of an app."""
    kind, _space, role = name.partition(" ")
    if kind == "workspace":
        return Roles(frozenset({Role(role)}))
    apps = {"studies_rest": "studyapp", "projects_rest": "annotation"}
    return Roles(shared=frozenset({Role(role)} if name in SHARES.get(apps.get(app, app), ()) else ()))


def expected(asks: Asks, name: str, route: str, method: str, *, foreign: bool) -> set[str]:
    """The answers that a request may get: "in", "403" or "404"."""
    roles, act = roles_of(name, route.partition(":")[0]), asks.of(method)
    is_superuser = name == "superuser"
    if asks.private:
        return {"404"}
    if asks.site:
        return {"in", "404"} if is_superuser else {"403", "404"}
    if asks.superuser and is_superuser:
        return {"in", "404"}
    if act is None:
        return {"in"}
    if asks.anywhere:
        counted = Roles(roles.workspace, roles.shared if asks.anywhere == "share" else frozenset())
        return {"in"} if is_allowed(counted, act) else {"403"}
    if asks.of_workspace == "404":
        roles = Roles(roles.workspace)
    if foreign or not roles:
        return {"404"}
    if asks.account and not is_allowed(roles, act):
        return {"404"}
    if not is_allowed(Roles(roles.workspace) if asks.of_workspace else roles, act):
        return {"403"}
    if asks.below is not None and not is_allowed(roles, asks.below):
        return {"404"}
    allowed = {"in", "404"} if asks.lacks else {"in"}
    return allowed | {"403"} if asks.own and method not in ("GET", "HEAD") else allowed


def met(response: HttpResponseBase) -> str:
    if response.status_code in (403, 404):
        return str(response.status_code)
    if response.status_code == 401 or "/login/" in response.get("Location", ""):
        return "login"
    if response.status_code == 503:
        return "in"  # the model server or the queue is not there in tests
    if response.status_code >= 500:
        return "error"
    return "closed" if response.status_code == 405 else "in"


def too_much(written: list[str], got: str, method: str) -> list[str]:
    """Return what a request should not have written.

    Refused ones write nothing, and reads nothing but the audit log of personal data and exports.
    """
    if got != "in":
        return written
    return [sql for sql in written if "accounts_auditentry" not in sql] if method in ("GET", "HEAD") else []


def says_why(response: HttpResponseBase, act: Act | None) -> bool:
    """Return True if a refusal names the act, or has no body as for HEAD."""
    assert act is not None
    page = getattr(response, "content", b"").decode()
    return not page or str(act.label) in unescape(page)


@pytest.fixture(scope="module")
def worlds(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[World, World]]:
    """The workspace of the people, and one that is foreign to them.

    Both are gone after the module.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_world("own"), make_world("foreign")
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def idle_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue that takes every task and does none.

    A test would wait seconds for a missing queue.
    """
    monkeypatch.setattr(Task, "apply_async", lambda *_args, **_options: None)
    monkeypatch.setattr(Control, "ping", lambda *_args, **_options: [])


@pytest.fixture(autouse=True)
def short_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of 403, 404 and 405 without the frame of a page.

    The frame takes most of a request's time; ``make soak`` has pages.
    """
    if not WHOLE:
        monkeypatch.setattr(
            "config.urls.handler403", lambda _request, exception: HttpResponseForbidden(str(exception)),
            raising=False,
        )  # fmt: skip
        monkeypatch.setattr(
            "config.urls.handler404", lambda *_args, **_options: HttpResponseNotFound(), raising=False
        )
        monkeypatch.setattr("config.web.failures.render_to_string", lambda *_: "")


@pytest.fixture(scope="module")
def clients(worlds: tuple[World, World]) -> dict[str, Client]:
    return {name: logged_in(user) for name, user in people(worlds[0]).items()}


def logged_in(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def test_every_address_is_in_the_reviewed_table():
    assert NAMES.keys() == ROUTES.keys()


def open_methods(ask_own: Callable[[str, str], tuple[HttpResponseBase, list[str]]]) -> list[str]:
    """Return the methods that an address has.

    Methods that it closes to a superuser and to an owner, it closes to everybody.
    """
    return [
        method
        for method in METHODS
        if any(ask_own(name, method)[0].status_code != 405 for name in ("superuser", "workspace owner"))
    ]


# Their own workspace gives these the most; where they find nothing, the others find nothing either.
OUTSIDERS = ("workspace owner", "share owner", "share manager", "superuser")
ASKING = [route for route, asks in ROUTES.items() if not asks.public and asks != Asks()]


@pytest.mark.parametrize("route", ASKING)
def test_rights(route, worlds, clients):
    """The site refuses forbidden requests as the policy says, writing nothing.

    Allowed reads write nothing either.
    """
    asks, wrong = ROUTES[route], []

    @cache
    def ask_own(name: str, method: str) -> tuple[HttpResponseBase, list[str]]:
        return ask(clients[name], method, route, worlds[0])

    methods = open_methods(ask_own)
    for foreign, world in enumerate(worlds):
        # make soak has everybody ask in every way. Else, as Django answers HEAD as it does GET, it is asked
        # from outside alone.
        for name in OUTSIDERS if foreign and not WHOLE else clients:
            for method in methods if foreign or WHOLE else [method for method in methods if method != "HEAD"]:
                response, written = (
                    ask(clients[name], method, route, world) if foreign else ask_own(name, method)
                )
                got, want = met(response), expected(asks, name, route, method, foreign=bool(foreign))
                if got == "closed" and not written:
                    continue
                refused = want == {"403"} and not says_why(response, asks.of(method))
                if got not in want or too_much(written, got, method) or refused:
                    where = "foreign" if foreign else "own"
                    wrong.append(f"{name}, {where}, {method}: {got} for {sorted(want)} {written[:2]}")
    assert wrong == []


NESTED = [route for route in ASKING if len(NAMES[route]) > 1]
# They name a person, whom their owners and managers may invite from elsewhere.
NAMES_A_PERSON = {("workspaces_rest:role", "user"), ("projects_rest:member", "user")}


@pytest.mark.parametrize("route", NESTED)
def test_no_object_of_another_workspace_is_found_under_ones_own(route, worlds, clients):
    """An ID of a foreign object is not found beside IDs of one's own objects.

    Each ID of an address in turn is the foreign one.
    """
    wrong = []
    values = [{name: world.value(route, name) for name in NAMES[route]} for world in worlds]
    for name in NAMES[route]:
        if values[0][name] == values[1][name] or (route, name) in NAMES_A_PERSON:
            continue
        address = address_of(route, kwargs=values[0] | {name: values[1][name]})
        for method in METHODS:
            with undone() as written:
                body = "" if method in ("GET", "HEAD") else worlds[0].bodies.get(route, "")
                response = clients["workspace owner"].generic(
                    method, address + worlds[0].queries.get(route, ""), body, content_type="application/json"
                )
            # The audit log notes a read of personal data before the person is looked for.
            stored = written if method not in ("GET", "HEAD") else too_much(written, "in", method)
            if met(response) not in ("404", "closed") or stored:
                wrong.append(f"{name}, {method}: {response.status_code} {stored[:2]}")
    assert wrong == []


@pytest.mark.parametrize("route", [route for route, asks in ROUTES.items() if not asks.public])
def test_login_comes_first(route, worlds):
    client = Client(raise_request_exception=False)
    for method in METHODS:
        response, written = ask(client, method, route, worlds[0])
        assert met(response) in ("login", "closed"), (method, response.status_code)
        assert written == []


# `test_rights` and `test_login_comes_first` look at the reads of all others.
READ = [*(route for route, asks in ROUTES.items() if asks == Asks()), "people:invitation"]
# Keeps the key of an authenticator app in the session of its owner until the first code comes.
OWN_SESSION = {"accounts:activate_totp", "mfa_activate_totp"}


@pytest.mark.parametrize("route", READ)
def test_reading_writes_nothing(route, worlds, clients):
    """A read writes nothing but the audit log, and does so for anybody.

    The audit log notes the users who read personal data.
    """
    wrong = []
    readers = clients if WHOLE else {name: clients[name] for name in ("workspace owner", "superuser")}
    for name, client in {**readers, "visitor": Client(raise_request_exception=False)}.items():
        allowed = ("accounts_auditentry", *(["django_session"] if route in OWN_SESSION else []))
        for method in ("GET", "HEAD"):
            _response, written = ask(client, method, route, worlds[0])
            if name == "visitor":
                allowed = ()
            wrong += [f"{name}, {method}: {sql}" for sql in written if not any(t in sql for t in allowed)]
    assert wrong == []
