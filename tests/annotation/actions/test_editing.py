"""Saving: each operation once, on the newest revision only, all or none, with a history that stays."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from annotation.actions.editing import save_operations, submit
from annotation.errors import BadEdit, NotReady, StaleBase
from annotation.models import AppendOnlyRow, AuditEvent, Operation, Work
from annotation.policies import NotAllowed
from tests.annotation.factories import box, finished, make_user, make_work, operation

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_it_works() -> None:
    work = make_work()
    edits = [operation(0, 3, put=[box("a")]), operation(0, 3, state="done")]
    saved = save_operations(work=work.pk, operations=edits, by=work.annotator)
    assert saved.work.revision == 2
    assert [one.revision for one in saved.operations] == [1, 2]
    work.refresh_from_db()
    assert work.document["layers"]["3"]["state"] == "done"
    assert saved.operations[0].inverse == {"node": 3, "remove": ["a"]}


def test_sent_twice_is_one_edit() -> None:
    work = make_work()
    edit = operation(0, 3, put=[box("a")])
    first = save_operations(work=work.pk, operations=[edit], by=work.annotator)
    second = save_operations(work=work.pk, operations=[edit], by=work.annotator)
    assert second.work.revision == first.work.revision == 1
    assert [one.pk for one in second.operations] == [one.pk for one in first.operations]


def test_a_batch_whose_first_half_arrived_before_goes_on_from_there() -> None:
    work = make_work()
    first, second = operation(0, 3, put=[box("a")]), operation(1, 3, put=[box("b")])
    save_operations(work=work.pk, operations=[first], by=work.annotator)
    saved = save_operations(work=work.pk, operations=[first, second], by=work.annotator)
    assert saved.work.revision == 2


def test_an_edit_made_on_an_old_revision_is_refused_and_changes_nothing() -> None:
    work = make_work()
    save_operations(work=work.pk, operations=[operation(0, 3, put=[box("a")])], by=work.annotator)
    with pytest.raises(StaleBase):
        save_operations(work=work.pk, operations=[operation(0, 3, put=[box("b")])], by=work.annotator)
    work.refresh_from_db()
    assert [one["id"] for one in work.document["layers"]["3"]["objects"]] == ["a"]


def test_one_bad_operation_stores_none_of_its_batch() -> None:
    work = make_work()
    good, bad = operation(0, 3, put=[box("a")]), operation(0, 1, put=[box("b")])
    with pytest.raises(BadEdit) as caught:
        save_operations(work=work.pk, operations=[good, bad], by=work.annotator)
    assert caught.value.operation == str(bad.id)
    assert not Operation.objects.exists()
    work.refresh_from_db()
    assert work.revision == 0


def test_nobody_edits_the_work_of_another() -> None:
    work = make_work()
    with pytest.raises(NotAllowed):
        save_operations(work=work.pk, operations=[operation(0, 3, put=[box("a")])], by=make_user())


def test_submitted_work_is_not_edited() -> None:
    work = finished(make_work())
    with pytest.raises(NotAllowed, match="submitted"):
        save_operations(work=work.pk, operations=[operation(2, 3, state="unsure")], by=work.annotator)


def test_submitting_needs_every_step_and_names_those_that_are_open() -> None:
    work = make_work()
    with pytest.raises(NotReady) as caught:
        submit(work=work.pk, revision=0, by=work.annotator)
    assert caught.value.nodes == (3, 2)


def test_submitting_counts_once() -> None:
    work = finished(make_work())
    again = submit(work=work.pk, revision=work.revision, by=work.annotator)
    assert again.pk == work.pk
    work.item.refresh_from_db()
    assert work.item.submitted == 1
    assert AuditEvent.objects.filter(kind="work_submitted").count() == 1


def test_submitting_an_old_revision_is_refused() -> None:
    work = make_work()
    save_operations(work=work.pk, operations=[operation(0, 3, put=[box("a")])], by=work.annotator)
    with pytest.raises(StaleBase):
        submit(work=work.pk, revision=0, by=work.annotator)


def test_history_is_never_changed() -> None:
    work = finished(make_work())
    with pytest.raises(AppendOnlyRow):
        work.operations.update(revision=9)
    with pytest.raises(AppendOnlyRow):
        work.operations.all().delete()


def test_the_database_knows_each_operation_and_each_revision_once() -> None:
    work = finished(make_work())
    row = work.operations.first()
    for change in ({"uid": row.uid, "revision": 99}, {"uid": uuid4(), "revision": row.revision}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Operation.objects.create(work=work, by=work.annotator, edit={}, inverse={}, **change)


def test_the_database_wants_times_where_the_status_needs_them() -> None:
    work = make_work()
    for change in ({"status": "submitted"}, {"reserved_until": None}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Work.objects.filter(pk=work.pk).update(**change)
