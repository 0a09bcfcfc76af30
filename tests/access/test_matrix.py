"""Every address × role × own or foreign object × method, with the SQL that each request writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.http import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.urls import reverse as address_of

from accounts.models import Role, User
from accounts.policy import Act, Roles, allows
from tests.access.routes import ROUTES, Asks
from tests.access.world import World, make_world, people

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
        for each in patterns:
            names = [*before, *each.pattern.converters]
            if isinstance(each, URLPattern):
                yield f"{space}{each.name}", names
            else:
                inner = f"{each.namespace}:" if each.namespace else ""
                yield from walk(each.url_patterns, space + inner, names)

    yield from walk(get_resolver().url_patterns, "", [])


NAMES = dict(routes())


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
    with undone() as written:
        response = client.generic(method, address, b"", content_type="application/json")
    return response, written


def roles_of(name: str, app: str) -> Roles:
    """The roles that a person of `world.people` has on the objects of an app."""
    kind, _space, role = name.partition(" ")
    if kind == "workspace":
        return Roles(frozenset({Role(role)}))
    return Roles(shared=frozenset({Role(role)} if name in SHARES.get(app, ()) else ()))


def expected(asks: Asks, name: str, route: str, method: str, *, foreign: bool) -> str:
    """What a request has to meet: "in", "403" or "404"."""
    app = route.partition(":")[0]
    roles = roles_of(name, app)
    act = asks.of(method)
    assert act is not None
    if asks.anywhere:
        in_workspace = Roles(roles.workspace)
        return "in" if allows(in_workspace, act) else "403"
    if foreign or not roles:
        return "404"
    if allows(roles, act):
        return "in"
    return "404" if asks.hides else "403"


def met(response: HttpResponseBase) -> str:
    if response.status_code in (403, 404):
        return str(response.status_code)
    if response.status_code == 401 or "/login/" in response.get("Location", ""):
        return "login"
    if response.status_code >= 500:
        return "error"
    return "closed" if response.status_code == 405 else "in"


@pytest.fixture(scope="module")
def worlds(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[World, World]]:
    """The workspace of the people, and one that is foreign to them; gone after the module."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_world("own"), make_world("foreign")
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def clients(worlds: tuple[World, World]) -> dict[str, Client]:
    return {name: logged_in(user) for name, user in people(worlds[0]).items()}


def logged_in(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def test_every_address_is_in_the_reviewed_table():
    assert NAMES.keys() == ROUTES.keys()


ASKING = [route for route, asks in ROUTES.items() if not asks.public and asks.act is not None]


@pytest.mark.parametrize("route", ASKING)
def test_rights(route, worlds, clients):
    """Whoever may not is refused as the policy says, and nothing is written then."""
    asks, wrong = ROUTES[route], []
    for foreign, world in enumerate(worlds):
        for name, client in clients.items():
            for method in METHODS:
                response, written = ask(client, method, route, world)
                got, want = met(response), expected(asks, name, route, method, foreign=bool(foreign))
                if got == "closed" and not written:
                    continue
                if got != want or (want != "in" and written):
                    where = "foreign" if foreign else "own"
                    wrong.append(f"{name}, {where}, {method}: {got} for {want} {written[:2]}")
    assert wrong == []


@pytest.mark.parametrize("route", [route for route, asks in ROUTES.items() if not asks.public])
def test_login_comes_first(route, worlds):
    client = Client(raise_request_exception=False)
    for method in METHODS:
        response, written = ask(client, method, route, worlds[0])
        assert met(response) in ("login", "closed"), (method, response.status_code)
        assert written == []


def test_refusals_name_the_role_and_the_act(worlds, clients):
    response, _written = ask(clients["share analyst"], "POST", "studyapp:staff_pause", worlds[0])
    page = response.content.decode()  # type: ignore[attr-defined]
    assert response.status_code == 403
    assert "Analyst" in page
    assert str(Act.STUDY_EDIT.label) in page
