"""Batches give many items to one person, with hidden gold among them.

They have due dates and can be released.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.actions import assignments
from annotation.actions.batches import BatchPlan, assign_batch, change_due_date, release_batch
from annotation.actions.review import return_annotation
from annotation.errors import AssignmentLost, Conflict, NothingLeft
from annotation.models import Annotation, Batch, Item, Membership, Project
from annotation.queries.batches import (
    build_batch_progress,
    count_overdue_batches,
    list_unfinished_batches,
    select_batches,
)
from tests.annotation.factories import finished, make_items, make_member, make_project

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def assign(member: Membership, name: str = "first", **plan: Any) -> Batch:
    return assign_batch(member=fresh(member), plan=BatchPlan(name, **plan), by=member.user)


def fresh(member: Membership) -> Membership:
    return Membership.objects.select_related("project", "user").get(pk=member.pk)


def annotate_next_item(member: Membership) -> str:
    return finished(assignments.assign_next_annotation(member=fresh(member))).item.external_id


def next_of(member: Membership) -> str:
    return assignments.assign_next_annotation(member=fresh(member)).item.external_id


def items_of(batch: Batch) -> list[str]:
    return [annotation.item.external_id for annotation in batch.annotations.order_by("pk")]


def counts(project: Project) -> dict[str, int]:
    return dict(project.items.values_list("external_id", "assigned"))


def test_the_next_items_wait_for_the_person_and_do_not_expire() -> None:
    member = make_member()
    make_items(member.project, 4)
    batch = assign(member, number=2)
    assert items_of(batch) == ["i1", "i2"]
    assert counts(member.project) == {"i1": 1, "i2": 1, "i3": 0, "i4": 0}
    assignments.expire(project=member.project, now=timezone.now() + timedelta(days=99))
    other = make_member(member.project)
    assert next_of(other) == "i3"
    for name in ("i1", "i2"):
        annotation = assignments.assign_next_annotation(member=fresh(member))
        assert (annotation.item.external_id, annotation.reserved_until) == (name, None)
        finished(annotation)
    assert next_of(member) == "i4"
    (progress,) = build_batch_progress(select_batches(member.project))
    assert (progress.items, progress.finished) == (2, 2)
    assert list_unfinished_batches(member) == []


def test_chosen_items_come_in_their_order_and_the_earliest_due_batch_first() -> None:
    member = make_member()
    make_items(member.project, 4)
    chosen = [member.project.items.get(external_id=name) for name in ("i4", "i2")]
    assign(member, "later", items=chosen, due_on=date(2031, 1, 2))
    assign(member, "sooner", number=1, due_on=date(2031, 1, 1))
    assert [annotate_next_item(member) for _ in "123"] == ["i1", "i4", "i2"]


def test_begun_and_returned_work_comes_before_the_rest_of_a_batch() -> None:
    member = make_member()
    make_items(member.project, 3)
    assign(member, number=3)
    returned = finished(assignments.assign_next_annotation(member=fresh(member)))
    return_annotation(annotation=returned, revision=returned.revision, text="Look again.", by=member.user)
    assert next_of(member) == "i1"


def test_chosen_items_are_all_assigned_or_none() -> None:
    member = make_member()
    first, second = make_items(member.project, 2)
    assignments.assign_next_annotation(member=make_member(member.project))  # the only assignment of i1
    with pytest.raises(AssignmentLost, match="i1"), transaction.atomic():
        assign(member, items=[second, first])
    assignments.assign_next_annotation(member=fresh(member))
    with pytest.raises(Conflict, match="i2 already"), transaction.atomic():
        assign(member, items=[second])
    assert not Batch.objects.exists()
    with pytest.raises(AssignmentLost, match="No free item"), transaction.atomic():
        assign(member, number=5)
    assert counts(member.project) == {"i1": 1, "i2": 1}


def test_a_name_is_free_once_for_each_person() -> None:
    member = make_member()
    make_items(member.project, 3)
    batch = assign(member, number=1)
    with pytest.raises(Conflict, match="choose another name"):
        assign(member, number=1)
    assign(make_member(member.project), number=1)
    with pytest.raises(IntegrityError, match=r"batch_name_once_per_person|UNIQUE"), transaction.atomic():
        Batch.objects.create(
            project=batch.project, name=batch.name, annotator=batch.annotator, created_by=member.user
        )


def test_hidden_gold_comes_as_often_as_without_batches() -> None:
    project = make_project(hidden_gold_every=3)
    member = make_member(project)
    make_items(project, 5)
    make_items(project, 2, purpose=Item.Purpose.HIDDEN_GOLD)  # i6 and i7
    assert items_of(assign(member, number=4)) == ["i1", "i2", "i6", "i3", "i4"]
    assert fresh(member).handed_out == 5
    for _ in range(5):
        finished(assignments.assign_next_annotation(member=fresh(member)))
    assert next_of(member) == "i7"  # the sixth


def test_a_released_batch_frees_what_is_not_finished() -> None:
    member = make_member()
    make_items(member.project, 3)
    batch = assign(member, number=3)
    finished(assignments.assign_next_annotation(member=fresh(member)))
    assert release_batch(batch=batch, by=member.user) == 2
    assert items_of(batch) == ["i1"]
    other = make_member(member.project)
    assert [annotate_next_item(other) for _ in "12"] == ["i2", "i3"]
    with pytest.raises(NothingLeft):
        next_of(member)


def test_an_empty_batch_goes_and_its_items_expire_like_others_when_resumed() -> None:
    member = make_member()
    (item,) = make_items(member.project, 1)
    release_batch(batch=assign(member, number=1), by=member.user)
    assert not Batch.objects.exists()
    annotation = assignments.assign_next_annotation(member=fresh(member))
    assert annotation.reserved_until is not None
    assignments.release(annotation=annotation, by=member.user)
    again = assign(member, items=[item])
    assert items_of(again) == ["i1"]
    assignments.expire(project=member.project, now=timezone.now() + timedelta(days=99))
    assert Annotation.objects.get().status == Annotation.Status.RESERVED


def test_a_batch_is_overdue_from_the_day_after_its_date_while_work_is_left() -> None:
    member = make_member()
    make_items(member.project, 1)
    batch, today = assign(member, number=1), timezone.localdate()
    for due_on, late in ((None, 0), (today, 0), (today - timedelta(days=1), 1)):
        change_due_date(batch=batch, due_on=due_on, by=member.user)
        assert count_overdue_batches(member.project) == late
        assert [unfinished.is_overdue for unfinished in list_unfinished_batches(member)] == [bool(late)]
    finished(assignments.assign_next_annotation(member=fresh(member)))
    assert count_overdue_batches(member.project) == 0


def test_unqualified_people_qualify_before_their_batch() -> None:
    project = make_project(qualification_score=0.5)
    member = make_member(project)
    make_items(project, 1)
    make_items(project, 1, purpose=Item.Purpose.QUALIFICATION)  # i2
    assign(member, number=1)
    assert next_of(member) == "i2"
