"""The audit log: its entries, filters, pages and export."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest

from accounts.actions.audit import record
from accounts.event_labels import EVENT_LABELS
from accounts.models import AuditEntry, Role, User, Workspace
from accounts.queries.audit import ACCOUNT_KINDS, PAGE
from tests.workspaces import give, main

pytestmark = pytest.mark.django_db


def person(name, *roles, workspace=None, **fields):
    return give(User.objects.create(username=name, password="!", **fields), *roles, workspace=workspace)


@pytest.fixture
def owner():
    return person("ada", Role.OWNER)


@pytest.fixture
def page(client, owner):
    client.force_login(owner)
    return client


def text(response):
    return " ".join(response.content.decode().split())


def exported(page, query="", of="main"):
    """The rows of the export, without the one that every export adds itself."""
    response = page.get(f"/people/{of}/audit.csv{query}")
    assert response.status_code == 200
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    return [row for row in rows if row["kind"] != "export_downloaded"]


def at(entry, day):
    AuditEntry.objects.filter(pk=entry.pk).update(at=datetime.fromisoformat(f"{day}T12:00:00+00:00"))


def test_it_works(page, owner):
    bob = person("bob", Role.VIEWER)
    record(kind="role_given", by=owner, workspace=main(), subject=bob, data={"role": "viewer"})
    record(kind="login", by=bob)
    shown = text(page.get("/people/main/audit/"))
    assert "Audit log of Main" in shown
    assert "Role given" in shown
    assert "Viewer" in shown
    assert shown.index(">Login</td>") < shown.index(">Role given</td>")  # newest first
    login_entry, role_entry = exported(page)
    assert (role_entry["actor"], role_entry["kind"], role_entry["subject"]) == ("ada", "role_given", "bob")
    assert json.loads(role_entry["data"]) == {"role": "viewer"}
    assert datetime.fromisoformat(role_entry["at"]).tzinfo == UTC
    assert (login_entry["actor"], login_entry["kind"], login_entry["data"]) == ("bob", "login", "")


def test_an_export_is_in_the_log_itself(page, owner):
    assert page.head("/people/main/audit.csv").status_code == 200
    assert not AuditEntry.objects.exists()
    exported(page)
    entry = AuditEntry.objects.get()
    assert (entry.kind, entry.actor, entry.workspace) == ("export_downloaded", owner, main())


def test_logins_are_shown_of_people_of_this_workspace_alone(page):
    other = Workspace.objects.create(slug="other", name="Other")
    here, both = person("here", Role.VIEWER), person("both", Role.VIEWER)
    give(both, Role.ANALYST, workspace=other)
    there, root = person("there", Role.OWNER, workspace=other), person("root", is_superuser=True)
    for user in (here, both, there):
        record(kind="login", by=user)
        record(kind="login_failed", by=None, subject=user)
        record(kind="account_deactivated", by=root, subject=user)
    record(kind="role_given", by=there, workspace=other, subject=here)
    record(kind="workspace_created", by=here)  # belongs to no workspace, and is not about an account
    rows = [(row["kind"], row["actor"], row["subject"]) for row in exported(page)]
    assert rows == [
        ("account_deactivated", "root", "here"),
        ("login_failed", "", "here"),
        ("login", "here", ""),
    ]


def test_the_site_log_has_what_belongs_to_no_workspace(client, owner):
    client.force_login(person("root", is_superuser=True))
    record(kind="login", by=owner)
    record(kind="role_given", by=owner, workspace=main(), subject=owner)
    assert [row["kind"] for row in exported(client, of="site")] == ["login"]
    shown = text(client.get("/people/site/audit/"))
    assert ">Login</td>" in shown
    assert ">Role given</td>" not in shown
    client.force_login(owner)
    for address in ("/people/site/audit/", "/people/site/audit.csv"):
        assert client.get(address).status_code == 403


@pytest.mark.parametrize(
    "query, kinds",
    [
        ("?person=bob", ["role_ended", "role_given"]),
        ("?person=ada", ["role_given", "workspace_renamed"]),
        ("?person=nobody", []),
        ("?kind=role_given", ["role_given"]),
        ("?since=2026-03-02", ["role_ended", "role_given"]),
        ("?until=2026-03-02", ["role_given", "workspace_renamed"]),
        ("?since=2026-03-02&until=2026-03-02", ["role_given"]),
        ("?person=bob&kind=role_ended", ["role_ended"]),
        ("", ["role_ended", "role_given", "workspace_renamed"]),
    ],
)
def test_filters(page, owner, query, kinds):
    bob = person("bob", Role.VIEWER)
    at(record(kind="workspace_renamed", by=owner, workspace=main(), subject="Main"), "2026-03-01")
    at(record(kind="role_given", by=owner, workspace=main(), subject=bob), "2026-03-02")
    at(record(kind="role_ended", by=bob, workspace=main(), subject=bob), "2026-03-03")
    assert [row["kind"] for row in exported(page, query)] == kinds
    AuditEntry.objects.filter(kind="export_downloaded").delete()
    shown = text(page.get(f"/people/main/audit/{query}"))
    assert [
        kind
        for kind in ("role_ended", "role_given", "workspace_renamed")
        if f">{EVENT_LABELS.kind_label(kind)}</td>" in shown
    ] == kinds


@pytest.mark.parametrize(
    "query",
    [
        "?kind=none",
        "?since=yesterday",
        "?until=2026-13-01",
        "?before=x",
        "?before=-1",
        f"?person={'a' * 151}",
    ],
)
def test_a_malformed_filter_is_named(page, query):
    for address in ("/people/main/audit/", "/people/main/audit.csv"):
        response = page.get(address + query)
        assert response.status_code == 422
        assert 'role="alert"' in text(response)
    assert not AuditEntry.objects.exists()


def test_pages_follow_each_other_without_a_gap(page, owner, django_assert_max_num_queries):
    for number in range(PAGE + 5):
        record(kind="workspace_renamed", by=owner, workspace=main(), subject=f"name{number:03}")
    with django_assert_max_num_queries(8):
        first = text(page.get("/people/main/audit/?kind=workspace_renamed"))
    record(kind="workspace_renamed", by=owner, workspace=main(), subject="meanwhile")
    [address] = [part.split('"')[0] for part in first.split('href="')[1:] if "before=" in part]
    second = text(page.get("/people/main/audit/" + address.replace("&amp;", "&")))
    newest = [number for number in range(PAGE + 5) if f"name{number:03}" in first]
    oldest = [number for number in range(PAGE + 5) if f"name{number:03}" in second]
    assert (newest, oldest) == (list(range(5, PAGE + 5)), list(range(5)))
    assert "meanwhile" not in second
    assert "Older entries" not in second


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_no_cell_of_the_export_is_a_formula(page, start):
    record(kind="login_failed", by=None, workspace=main(), subject=f"{start}cmd|'/c calc'!A0")
    [row] = exported(page)
    assert row["subject"] == f"'{start}cmd|'/c calc'!A0"


def test_every_kind_about_accounts_has_a_label():
    assert EVENT_LABELS.kinds.keys() >= ACCOUNT_KINDS
