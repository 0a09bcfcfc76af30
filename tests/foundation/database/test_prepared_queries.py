"""Queries that are built once find and change what the queryset would.

Queries that ran before do not change this.
"""

from datetime import timedelta
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.db import IntegrityError, connection, transaction
from django.db.models import CharField, F, IntegerField
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from accounts.sessions import SessionStore
from annotation.models import Annotation, AuditEvent, Operation, Project
from foundation.database.prepared_queries import (
    _AS_THEY_ARE,
    Prepared,
    PreparedUpdate,
    _convert_for_driver,
    insert,
    make_slot,
)
from tests.annotation.factories import make_annotation, make_items, make_member, make_project, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.database]

BY_NAME = Prepared(lambda: User.objects.filter(username=make_slot("name", User, "username")))
WITH_ITEM = Prepared(
    lambda: (
        Annotation.objects.select_related("item", "project")
        .only("document", "reserved_until", "item__tokens", "project__slug")
        .annotate(name=F("annotator__username"))
        .filter(
            item__project__slug=make_slot("slug", Project, "slug"),
            reserved_until__gt=make_slot("now", Annotation, "reserved_until"),
        )
        .order_by("pk")
    )
)
RENAME = PreparedUpdate(
    lambda: (
        User.objects.filter(username=make_slot("old", User, "username")),
        {"username": make_slot("new", User, "username")},
    )
)
STORE = PreparedUpdate(
    lambda: (
        Annotation.objects.filter(pk=make_slot("annotation", Annotation)),
        {
            "document": make_slot("document", Annotation, "document"),
            "saved_at": make_slot("at", Annotation, "saved_at"),
            "revision": F("revision") + 1,
        },
    )
)


def test_it_works() -> None:
    first, second = make_user(), make_user()
    assert BY_NAME.first(name=first.username) == first
    assert BY_NAME.all(name=second.username) == [second]
    assert BY_NAME.first(name="nobody") is None
    assert BY_NAME.exists(name=first.username)
    assert not BY_NAME.exists(name="nobody")


class _Upper(CharField):  # type: ignore[type-arg]
    def get_prep_value(self, value: Any) -> Any:
        return str(value).upper()


def test_values_reach_the_driver_as_fields_prepare_them() -> None:
    fields = [field for model in apps.get_models() for field in model._meta.local_concrete_fields]
    compared = 0
    for field in fields:
        for value in (7, "seven", True):
            if type(field) in _AS_THEY_ARE[type(value)]:
                prepared = field.get_db_prep_save(value, connection)
                assert _convert_for_driver(field, value, connection) == prepared, field
                compared += 1
    assert compared > 100
    assert _convert_for_driver(_Upper(), "seven", connection) == "SEVEN"
    assert _convert_for_driver(IntegerField(), "7", connection) == 7


def test_a_query_is_built_once_and_then_only_run(django_assert_num_queries: Any) -> None:
    built = []

    def build() -> Any:
        built.append(1)
        return User.objects.filter(pk=make_slot("user", User))

    query, user = Prepared(build), make_user()
    with django_assert_num_queries(3):
        assert [query.first(user=user.pk) for _time in range(3)] == [user] * 3
    assert built == [1]


def test_objects_are_those_of_the_queryset_with_what_belongs_to_them(django_assert_num_queries: Any) -> None:
    project = make_project(kind="spans")
    annotations = [make_annotation(make_member(project)) for _time in range(2)]
    names = [annotation.annotator.username for annotation in annotations]
    now = timezone.now()
    with django_assert_num_queries(1):
        loaded: list[Any] = WITH_ITEM.all(slug=project.slug, now=now)
        assert loaded == annotations
        assert [annotation.name for annotation in loaded] == names
        assert [annotation.item.tokens for annotation in loaded] == [
            annotation.item.tokens for annotation in annotations
        ]
        assert {annotation.project.slug for annotation in loaded} == {project.slug}
        assert [annotation.reserved_until for annotation in loaded] == [
            annotation.reserved_until for annotation in annotations
        ]
        assert loaded[0].document == {}
        assert {"revision", "status"} <= loaded[0].get_deferred_fields()
    with django_assert_num_queries(1):  # what was left out is fetched when it is asked for
        assert loaded[0].revision == 0
    assert WITH_ITEM.all(slug=project.slug, now=now + timedelta(days=9)) == []


def test_an_update_says_how_many_rows_it_changed() -> None:
    user = make_user()
    assert RENAME(old=user.username, new="renamed") == 1
    assert RENAME(old=user.username, new="renamed") == 0
    user.refresh_from_db()
    assert user.username == "renamed"


def test_values_of_every_kind_are_stored_as_save_would() -> None:
    annotation, now = make_annotation(), timezone.now()
    document = {"layers": {"3": {"note": "é \U0001f600 'quoted' %s"}}}
    assert STORE(annotation=annotation.pk, document=document, at=now) == 1
    annotation.refresh_from_db()
    assert (annotation.document, annotation.saved_at, annotation.revision) == (document, now, 1)
    STORE(annotation=annotation.pk, document={}, at=None)
    annotation.refresh_from_db()
    assert (annotation.document, annotation.saved_at) == ({}, None)


def test_a_value_that_is_not_given_is_an_error() -> None:
    with pytest.raises(KeyError, match="name"):
        BY_NAME.all()


def test_an_inserted_row_is_the_one_that_save_would_have_made() -> None:
    project = make_project()
    event = AuditEvent(project=project, kind="tried", actor=None, data={"text": "100 %s"})
    insert(event)
    stored = AuditEvent.objects.get(pk=event.pk)
    assert (stored.kind, stored.actor, stored.data, stored.at) == ("tried", None, event.data, event.at)
    event.kind = "tried again"
    event.save()  # it is no new row any more
    assert AuditEvent.objects.filter(project=project, kind__startswith="tried").count() == 1


def test_rows_are_inserted_all_or_none_and_constraints_hold() -> None:
    annotation, by = make_annotation(), make_user()
    uids = [UUID("7f1f4c1e-0000-4000-8000-00000000000" + end) for end in "12"]
    rows = [
        Operation(annotation=annotation, uid=uid, revision=revision, by=by, edit={"node": 3}, inverse={})
        for revision, uid in enumerate(uids, start=1)
    ]
    insert(*rows)
    assert [(operation.pk, operation.uid) for operation in annotation.operations.all()] == [
        (operation.pk, operation.uid) for operation in rows
    ]
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(Operation(annotation=annotation, uid=uids[0], revision=3, by=by, edit={}, inverse={}))
    assert annotation.operations.count() == 2


def test_more_rows_than_one_statement_takes_are_inserted_in_order() -> None:
    project = make_project()
    rows = [AuditEvent(project=project, kind="tried", data={"number": number}) for number in range(500)]
    with CaptureQueriesContext(connection) as queries:
        insert(*rows)
    assert (len(queries) > 1) == (connection.vendor == "sqlite")
    stored = AuditEvent.objects.filter(kind="tried").order_by("pk").values_list("pk", "data__number")
    assert list(stored) == [(row.pk, number) for number, row in enumerate(rows)]


def test_a_lock_is_taken_where_the_database_has_them() -> None:
    query = Prepared(lambda: User.objects.select_for_update().filter(pk=make_slot("user", User)))
    user = make_user()
    with transaction.atomic():
        assert query.first(user=user.pk) == user
    statements = connection.__dict__["_connections"]["default"].__dict__["prepared"]
    sql = statements[query._kept].sql
    assert ("FOR UPDATE" in sql) == connection.features.has_select_for_update


@pytest.mark.django_db(transaction=True)
def test_threads_use_connections_of_their_own() -> None:
    user, users = make_user(), []

    def look() -> None:
        users.append(BY_NAME.first(name=user.username))
        connection.close()

    BY_NAME.first(name=user.username)
    threads = [Thread(target=look) for _number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert users == [user] * 3


def test_a_session_is_found_until_it_is_over_or_ended(client: Any) -> None:
    user = make_user()
    client.force_login(user)
    key = client.session.session_key
    assert SessionStore(key).load()["_auth_user_id"] == str(user.pk)
    assert SessionStore("unknown").load() == {}
    Session.objects.filter(session_key=key).update(expire_date=timezone.now())
    assert SessionStore(key).load() == {}


def test_who_may_not_log_in_any_more_is_nobody_at_the_next_request(client: Any) -> None:
    user = make_user()
    make_items(make_member(make_project()).project)
    client.force_login(user)
    assert client.get("/annotate/").status_code == 200
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert client.get("/annotate/").status_code == 302
