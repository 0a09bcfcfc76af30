"""Items get neither too many nor too few annotators.

Nothing is lost when time runs out.
"""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from annotation.actions import assignments, qualification, review
from annotation.actions.data import import_items
from annotation.actions.editing import save_operations, take_back
from annotation.actions.projects import set_annotators_per_item, set_member
from annotation.content.schemas import Image
from annotation.errors import AssignmentLost, Conflict, NothingLeft
from annotation.models import Annotation, Item, Membership, Role
from annotation.policies import NotAllowed
from tests.annotation.factories import (
    box,
    finished,
    make_annotation,
    make_items,
    make_member,
    make_project,
    make_record,
    operation,
)

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def run_out(annotation: Annotation) -> None:
    Annotation.objects.filter(pk=annotation.pk).update(reserved_until=timezone.now() - timedelta(minutes=1))


def again(member: Membership) -> Annotation:
    return assignments.assign_next_annotation(
        member=Membership.objects.select_related("project", "user").get(pk=member.pk)
    )


def test_it_works() -> None:
    member = make_member()
    first, second = make_items(member.project, 2)
    annotation = assignments.assign_next_annotation(member=member)
    assert annotation.item == first
    assert again(member) == annotation  # what is begun comes again
    finished(annotation)
    assert again(member).item == second


def test_two_annotators_share_an_item_and_a_third_gets_the_next() -> None:
    project = make_project(annotators_per_item=2)
    first, second = make_items(project, 2)
    handed = [assignments.assign_next_annotation(member=make_member(project)).item for _ in range(4)]
    assert handed == [first, first, second, second]
    with pytest.raises(NothingLeft):
        assignments.assign_next_annotation(member=make_member(project))


def test_the_database_refuses_one_annotator_too_many() -> None:
    (item,) = make_items(make_project())
    with pytest.raises(IntegrityError), transaction.atomic():
        Item.objects.filter(pk=item.pk).update(assigned=F("annotators_wanted") + 1)


def test_nobody_gets_an_item_twice() -> None:
    member = make_member(make_project(annotators_per_item=3))
    make_items(member.project)
    finished(assignments.assign_next_annotation(member=member))
    with pytest.raises(NothingLeft):
        again(member)


def test_a_place_whose_time_ran_out_goes_to_somebody_else_and_the_work_is_kept() -> None:
    annotation = make_annotation()
    save_operations(
        annotation=annotation.pk, operations=[operation(0, 3, put=[box("a")])], by=annotation.annotator
    )
    run_out(annotation)
    other = make_member(annotation.project)
    assert assignments.assign_next_annotation(member=other).item == annotation.item
    annotation.refresh_from_db()
    assert annotation.status == Annotation.Status.EXPIRED
    assert annotation.document["layers"]["3"]["objects"][0]["id"] == "a"
    with pytest.raises(AssignmentLost):
        save_operations(
            annotation=annotation.pk, operations=[operation(1, 3, put=[box("b")])], by=annotation.annotator
        )


def test_an_expired_work_goes_on_where_its_place_is_still_free() -> None:
    annotation = make_annotation()
    run_out(annotation)
    assignments.expire(project=annotation.project, now=timezone.now())
    saved = save_operations(
        annotation=annotation.pk, operations=[operation(0, 3, put=[box("b")])], by=annotation.annotator
    )
    assert saved.annotation.status == Annotation.Status.RESERVED
    annotation.item.refresh_from_db()
    assert annotation.item.assigned == 1


def test_an_expired_work_is_handed_out_again_before_anything_new() -> None:
    member = make_member()
    make_items(member.project, 2)
    annotation = assignments.assign_next_annotation(member=member)
    run_out(annotation)
    assert again(member) == annotation


def test_a_released_item_comes_last() -> None:
    member = make_member()
    _first, second = make_items(member.project, 2)
    annotation = assignments.assign_next_annotation(member=member)
    assignments.release(annotation=annotation, by=member.user)
    following = again(member)
    assert following.item == second
    finished(following)
    assert again(member) == annotation


def test_a_freed_place_is_found_by_those_who_are_past_it() -> None:
    project = make_project()
    first, _second, _third = make_items(project, 3)
    early, late = make_member(project), make_member(project)
    annotation = assignments.assign_next_annotation(member=early)
    finished(assignments.assign_next_annotation(member=late))
    assignments.release(annotation=annotation, by=early.user)
    assert again(late).item == first


def test_a_closed_project_hands_nothing_out() -> None:
    member = make_member()
    make_items(member.project)
    member.project = review.change_project(project=member.project, act="close", by=member.user)
    with pytest.raises(NotAllowed, match="closed"):
        assignments.assign_next_annotation(member=member)


def test_qualification_comes_first_and_every_nth_item_is_hidden_gold() -> None:
    project = make_project(qualification_score=0.5, hidden_gold_every=2)
    make_items(project, 4)
    (trial,) = make_items(project, 1, purpose=Item.Purpose.QUALIFICATION)
    (hidden,) = make_items(project, 1, purpose=Item.Purpose.HIDDEN_GOLD)
    member = make_member(project)
    annotation = assignments.assign_next_annotation(member=member)
    assert annotation.item == trial
    finished(annotation)
    with pytest.raises(NothingLeft, match="will review them"):
        again(member)
    qualification.decide(member=member, qualified=True, by=member.user)
    handed = []
    for _ in range(3):
        annotation = again(member)
        handed.append(annotation.item.purpose)
        finished(annotation)
    assert handed.count(Item.Purpose.HIDDEN_GOLD) == 1
    assert Annotation.objects.filter(item=hidden).count() == 1


def test_who_did_not_qualify_is_handed_nothing() -> None:
    member = make_member(make_project(qualification_score=0.9))
    make_items(member.project)
    qualification.decide(member=member, qualified=False, by=member.user)
    with pytest.raises(NotAllowed, match="qualification"):
        assignments.assign_next_annotation(member=member)


def test_an_item_can_be_reserved_for_somebody() -> None:
    project = make_project()
    _first, second = make_items(project, 2)
    member = make_member(project)
    annotation = assignments.assign(item=second, member=member, by=member.user)
    assert assignments.assign(item=second, member=member, by=member.user) == annotation
    assert again(member) == annotation
    with pytest.raises(AssignmentLost, match="taken"):
        assignments.assign(item=second, member=make_member(project), by=member.user)


def test_more_annotators_can_be_asked_for_and_fewer_never_undo_what_is_there() -> None:
    project = make_project(annotators_per_item=2)
    first, second = make_items(project, 2)
    manager = make_member(project, Role.MANAGER)
    for _ in range(2):
        assignments.assign_next_annotation(member=make_member(project))
    assert set_annotators_per_item(project=project, annotators=1, by=manager.user) == 2
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.annotators_wanted, second.annotators_wanted) == (2, 1)


def test_taken_back_work_is_open_again() -> None:
    annotation = finished(make_annotation())
    taken = take_back(annotation=annotation.pk, by=annotation.annotator)
    assert taken.status == Annotation.Status.RESERVED
    annotation.item.refresh_from_db()
    assert (annotation.item.submitted, annotation.item.assigned) == (0, 1)


def test_an_ended_membership_is_kept() -> None:
    member = make_member()
    set_member(project=member.project, user=member.user, role=Role.ANNOTATOR, by=None, active=False)
    member.refresh_from_db()
    assert not member.active


def test_a_work_starts_from_the_draft_of_its_item_with_all_fields() -> None:
    project = make_project()
    draft = {"layers": {"3": {"objects": [box("a")]}}}  # as a file may have it: without states and links
    import_items(records=[make_record("i1", extra={"draft": draft})], project=project)
    annotation = assignments.assign_next_annotation(member=make_member(project))
    layer = annotation.document["layers"]["3"]
    assert (layer["state"], layer["objects"][0]["links"]) == ("open", [])


@pytest.mark.parametrize("act", ["run out", "give back"])
def test_an_undone_qualification_item_comes_again(act: str) -> None:
    project = make_project(qualification_score=0.5)
    make_items(project, 1)
    make_items(project, 1, purpose=Item.Purpose.QUALIFICATION)
    member = make_member(project)
    annotation = assignments.assign_next_annotation(member=member)
    if act == "run out":
        run_out(annotation)
    else:
        assignments.release(annotation=annotation, by=member.user)
    assert again(member) == annotation


def test_images_of_one_name_have_one_shape_in_one_import_too() -> None:
    project = make_project()
    records = [
        make_record(name, images=(Image(name="p.png", width=width, height=100), Image(name="q.png")))
        for name, width in (("a", 100), ("b", 200))
    ]
    with pytest.raises(Conflict, match="boxes would not fit"):
        import_items(records=records, project=project)
