"""Operations are saved once, on the newest revision only, all or none.

Their history stays.
"""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.actions.editing import save_operations, submit
from annotation.errors import BadEdit, NotReady, StaleBase
from annotation.models import Annotation, AppendOnlyRow, AuditEvent, Operation
from annotation.policies import NotAllowed
from tests.annotation.factories import box, finished, make_annotation, make_user, operation

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_it_works() -> None:
    annotation = make_annotation()
    edits = [operation(0, 3, put=[box("a")]), operation(0, 3, state="done")]
    saved = save_operations(annotation=annotation.pk, operations=edits, by=annotation.annotator)
    assert saved.annotation.revision == 2
    assert [row.revision for row in saved.operations] == [1, 2]
    annotation.refresh_from_db()
    assert annotation.document["layers"]["3"]["state"] == "done"
    assert saved.operations[0].inverse == {"node": 3, "remove": ["a"]}


def test_sent_twice_is_one_edit() -> None:
    annotation = make_annotation()
    edit = operation(0, 3, put=[box("a")])
    first = save_operations(annotation=annotation.pk, operations=[edit], by=annotation.annotator)
    second = save_operations(annotation=annotation.pk, operations=[edit], by=annotation.annotator)
    assert second.annotation.revision == first.annotation.revision == 1
    assert [row.pk for row in second.operations] == [row.pk for row in first.operations]


def test_a_batch_whose_first_half_arrived_before_goes_on_from_there() -> None:
    annotation = make_annotation()
    first, second = operation(0, 3, put=[box("a")]), operation(1, 3, put=[box("b")])
    save_operations(annotation=annotation.pk, operations=[first], by=annotation.annotator)
    saved = save_operations(annotation=annotation.pk, operations=[first, second], by=annotation.annotator)
    assert saved.annotation.revision == 2


def test_an_edit_made_on_an_old_revision_is_refused_and_changes_nothing() -> None:
    annotation = make_annotation()
    save_operations(
        annotation=annotation.pk, operations=[operation(0, 3, put=[box("a")])], by=annotation.annotator
    )
    with pytest.raises(StaleBase):
        save_operations(
            annotation=annotation.pk, operations=[operation(0, 3, put=[box("b")])], by=annotation.annotator
        )
    annotation.refresh_from_db()
    assert [mark["id"] for mark in annotation.document["layers"]["3"]["objects"]] == ["a"]


def test_one_bad_operation_stores_none_of_its_batch() -> None:
    annotation = make_annotation()
    good, bad = operation(0, 3, put=[box("a")]), operation(0, 1, put=[box("b")])
    with pytest.raises(BadEdit) as caught:
        save_operations(annotation=annotation.pk, operations=[good, bad], by=annotation.annotator)
    assert caught.value.operation == str(bad.id)
    assert not Operation.objects.exists()
    annotation.refresh_from_db()
    assert annotation.revision == 0


def test_nobody_edits_the_work_of_another() -> None:
    annotation = make_annotation()
    with pytest.raises(NotAllowed):
        save_operations(
            annotation=annotation.pk, operations=[operation(0, 3, put=[box("a")])], by=make_user()
        )


def test_submitted_work_is_not_edited() -> None:
    annotation = finished(make_annotation())
    with pytest.raises(NotAllowed, match="submitted"):
        save_operations(
            annotation=annotation.pk, operations=[operation(2, 3, state="unsure")], by=annotation.annotator
        )


def test_submitting_needs_every_step_and_names_those_that_are_open() -> None:
    annotation = make_annotation()
    with pytest.raises(NotReady) as caught:
        submit(annotation=annotation.pk, revision=0, by=annotation.annotator)
    assert caught.value.nodes == (3, 2)


def test_submitting_counts_once() -> None:
    annotation = finished(make_annotation())
    again = submit(annotation=annotation.pk, revision=annotation.revision, by=annotation.annotator)
    assert again.pk == annotation.pk
    annotation.item.refresh_from_db()
    assert annotation.item.submitted == 1
    assert AuditEvent.objects.filter(kind="annotation_submitted").count() == 1


def test_submitting_an_old_revision_is_refused() -> None:
    annotation = make_annotation()
    save_operations(
        annotation=annotation.pk, operations=[operation(0, 3, put=[box("a")])], by=annotation.annotator
    )
    with pytest.raises(StaleBase):
        submit(annotation=annotation.pk, revision=0, by=annotation.annotator)


def test_history_is_never_changed() -> None:
    annotation = finished(make_annotation())
    with pytest.raises(AppendOnlyRow):
        annotation.operations.update(revision=9)
    with pytest.raises(AppendOnlyRow):
        annotation.operations.all().delete()


def test_the_database_knows_each_operation_and_each_revision_once() -> None:
    annotation = finished(make_annotation())
    row = annotation.operations.first()
    for change in ({"uid": row.uid, "revision": 99}, {"uid": uuid4(), "revision": row.revision}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Operation.objects.create(
                annotation=annotation, by=annotation.annotator, edit={}, inverse={}, **change
            )


def test_the_database_wants_times_where_the_status_needs_them() -> None:
    annotation = make_annotation()
    for change in ({"status": "submitted"}, {"reserved_until": None}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Annotation.objects.filter(pk=annotation.pk).update(**change)


def test_a_clock_that_is_set_back_takes_no_active_time_away() -> None:
    annotation = make_annotation()
    Annotation.objects.filter(pk=annotation.pk).update(saved_at=timezone.now() + timedelta(hours=1))
    edits = [operation(0, 3, put=[box("a")])]
    saved = save_operations(annotation=annotation.pk, operations=edits, by=annotation.annotator)
    assert saved.annotation.active_seconds == 0
