"""Lists, buttons and drafts follow the role.

``tests/access`` asks every address in every role.
"""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry, Role, User
from studyapp.actions.shares import share_study
from studyapp.models import EntryLink, Study
from tests import workspaces
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

ROLES = [Role.OWNER, Role.RESEARCHER, Role.ANALYST, Role.VIEWER]
EDIT = {Role.OWNER, Role.RESEARCHER}
RESULTS = EDIT | {Role.ANALYST}
SEE = RESULTS | {Role.VIEWER}


@pytest.fixture
def study() -> Study:
    """A study with all that the routes are about.

    Its system misses half of the answers.
    """
    return factories.make_study(items=2)


def send_request(user: User | None, method: str, path: str, **sent: object) -> tuple[int, str, list[str]]:
    """Send a request; return the status, the page and the writes."""
    client = Client()
    if user is not None:
        client.force_login(user)
    with CaptureQueriesContext(connection) as queries:
        response = getattr(client, method)(path, sent)
    sql = [query["sql"] for query in queries]
    writes = [statement for statement in sql if statement.startswith(("INSERT", "UPDATE", "DELETE"))]
    return response.status_code, response.content.decode(), writes


def test_lists_hold_what_the_user_sees(study):
    shared = factories.make_study(workspace=factories.make_workspace())
    foreign = factories.make_study(workspace=shared.workspace)
    user = factories.make_user(Role.VIEWER)
    share_study(study=shared, user=user, role=Role.VIEWER, by=None)
    share_study(study=shared, user=user, role=Role.ANALYST, by=None)  # which lists it once
    for path in ("/staff/", "/api/v1/studies/"):
        _status, page, _writes = send_request(user, "get", path)
        assert study.slug in page
        assert page.count(f'{shared.slug}"') + page.count(f"/studies/{shared.slug}/") == 1
        assert foreign.slug not in page
    Study.objects.update(status="closed", archived_at="2026-01-01T00:00Z")
    page = send_request(user, "get", "/staff/archive/")[1]
    assert study.slug in page
    assert shared.slug in page
    assert foreign.slug not in page


def test_a_role_without_studies_lists_none(study):
    for user in (factories.make_user(Role.ANNOTATOR), User.objects.create_superuser("root")):
        for path in ("/staff/", "/staff/archive/", "/api/v1/studies/"):
            assert study.slug not in send_request(user, "get", path)[1]


def test_without_any_role_the_list_says_what_to_do_next(study):
    status, page, _writes = send_request(factories.make_user(None), "get", "/staff/")
    assert status == 200
    assert "Ask an owner of a workspace for an invitation" in page
    assert "/staff/studio/" not in page
    assert "/staff/correctness/" not in page
    assert "/staff/sample-size/" not in page
    page = send_request(
        factories.make_user(Role.VIEWER, workspace=factories.make_workspace()), "get", "/staff/"
    )[1]
    assert "There are no studies yet." in page
    assert "Ask an owner" not in page


@pytest.mark.parametrize("path", ["/staff/", "/staff/archive/", "/api/v1/studies/"])
def test_lists_cost_as_many_queries_for_more_studies(study, path, django_assert_num_queries, client):
    user = factories.make_user(Role.VIEWER)
    client.force_login(user)
    for _number in range(3):
        shared = factories.make_study(workspace=factories.make_workspace())
        share_study(study=shared, user=user, role=Role.VIEWER, by=None)
        factories.make_study()
    # Session and user, the studies, and for the frame the roles and workspaces.
    with django_assert_num_queries(3 if path.startswith("/api/") else 5):
        assert client.get(path).status_code == 200


# Buttons


def test_buttons_are_shown_exactly_to_those_whom_the_guard_lets_through(study):
    base = f"/staff/studies/{study.slug}"
    offered = {
        f"/staff/studio/{study.slug}/step/texts/": EDIT,
        f"/staff/studio/{study.slug}/review/": EDIT,
        **{f"{base}/{name}/": EDIT for name in ("pause", "close", "links", "members", "duplicate")},
        f"{base}/privacy/": EDIT,
        **{
            f"{base}/{name}/": RESULTS
            for name in ("running", "participants", "responses", "results", "estimates", "log")
        },
        f"{base}/correctness/": EDIT,
        **{f"{base}/{name}/": SEE for name in ("preview", "compare")},
    }
    for role in ROLES:
        user = factories.make_user(role)
        # A tab leads to its pages; one page of each has them all.
        pages = ("", "preview/", "settings/", *(("results/",) if role in RESULTS else ()))
        page = "".join(send_request(user, "get", f"{base}/{path}")[1] for path in pages)
        shown = {path for path in offered if f'="{path}"' in page}
        assert shown == {path for path, roles in offered.items() if role in roles}, role
        assert f"{base}/leave/" not in page
    analyst = send_request(factories.make_user(Role.ANALYST), "get", f"{base}/running/")[1]
    assert "Flags" in analyst
    assert f'action="{base}/notes/"' not in analyst
    assert f'action="{base}/conditions/' not in analyst
    owner = send_request(factories.make_user(), "get", f"{base}/running/")[1]
    assert f'action="{base}/notes/"' in owner
    assert f'action="{base}/conditions/' in owner


def test_viewers_see_no_draft_and_no_links(study):
    factories.make_link(study=study, label="class of Ms Brenn")
    Study.objects.filter(pk=study.pk).update(definition={**study.definition, "consent": "Not launched yet."})
    for role, sees in ((Role.OWNER, True), (Role.VIEWER, False)):
        user = factories.make_user(role)
        page = send_request(user, "get", f"/staff/studies/{study.slug}/compare/?before=1&after=draft")[1]
        assert ("Not launched yet." in page) is sees
        assert (
            "class of Ms Brenn" in send_request(user, "get", f"/staff/studies/{study.slug}/settings/")[1]
        ) is sees


# Personal data


def test_reading_personal_data_leaves_an_entry(study):
    user = factories.make_user()
    for name in ("privacy", "log", "running"):
        path = f"/staff/studies/{study.slug}/{name}/"
        send_request(user, "head", path)
        assert not AuditEntry.objects.filter(data__page=name).exists()
        send_request(user, "get", path)
        entry = AuditEntry.objects.get(data__page=name)
        assert (entry.kind, entry.actor, entry.workspace) == ("personal_data_read", user, study.workspace)
        assert entry.subject == study.slug
    before = AuditEntry.objects.count()
    for name in ("", "estimates/", "progress/"):
        send_request(user, "get", f"/staff/studies/{study.slug}/{name}")
    send_request(factories.make_user(Role.VIEWER), "get", f"/staff/studies/{study.slug}/log/")
    assert AuditEntry.objects.count() == before


# The page after a login


def test_the_first_page_shows_what_the_user_sees(study, client):
    shared = factories.make_user(None)
    share_study(study=study, user=shared, role=Role.VIEWER, by=None)
    for user, sees in (
        (factories.make_user(Role.VIEWER), True),
        (shared, True),
        (factories.make_user(Role.ANNOTATOR), False),
        (factories.make_user(None), False),
        (User.objects.create_superuser("root"), False),
    ):
        client.force_login(user)
        assert (f"/staff/studies/{study.slug}/" in client.get("/start/").content.decode()) is sees


def test_links_of_refused_users_are_not_made(study):
    user = factories.make_user(Role.ANALYST)
    client = Client()
    client.force_login(user)
    response = client.post(f"/staff/studies/{study.slug}/links/", {"label": "mine", "mode": "live"})
    assert response.status_code == 403
    assert "With the role Analyst you may not create, change, launch or pause studies" in (
        response.content.decode()
    )
    assert not EntryLink.objects.exists()
    assert workspaces.main().studies.get().status == "open"
