"""Items are assigned as in the files, at random, by certainty or by hand."""

from __future__ import annotations

import pytest

from annotation.actions import assignments
from annotation.actions.editing import save_operations, submit, take_back
from annotation.actions.ordering import move_items, order_items
from annotation.actions.review import return_annotation
from annotation.models import Annotation, Membership, Order, Project, SystemOutput
from annotation.queries.review import find_next_to_settle, list_first_to_settle
from tests.annotation.factories import finished, make_items, make_member, make_project, operation

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def handed(member: Membership, number: int) -> list[str]:
    """The IDs of the next items of a member, each finished at once."""
    names = []
    for _ in range(number):
        row = Membership.objects.select_related("project", "user").get(pk=member.pk)
        names.append(finished(assignments.assign_next_annotation(member=row)).item.external_id)
    return names


def order_of(project: Project) -> list[str]:
    return list(project.items.order_by("rank", "position").values_list("external_id", flat=True))


def score(project: Project, name: str, value: float | None, revision: str = "1") -> None:
    item = project.items.get(external_id=name)
    SystemOutput.objects.create(item=item, system="reader", revision=revision, modules=[], score=value)


def test_least_certain_items_come_first_and_those_without_a_score_last() -> None:
    member = make_member()
    project = member.project
    make_items(project, 5)
    score(project, "i1", 0.9)
    score(project, "i2", 0.1)
    score(project, "i2", 0.95, revision="2")  # the newest score counts
    score(project, "i4", 0.2)
    score(project, "i5", 0.9)
    assert order_items(project=project, order=Order.UNCERTAIN, by=member.user) == 5
    assert handed(member, 5) == ["i4", "i1", "i5", "i2", "i3"]


def test_a_random_order_is_another_and_the_order_of_the_files_comes_back() -> None:
    member = make_member()
    project = member.project
    make_items(project, 40)
    files = order_of(project)
    order_items(project=project, order=Order.RANDOM, by=member.user)
    drawn = order_of(project)
    assert drawn != files
    assert sorted(drawn) == sorted(files)
    assert handed(member, 3) == drawn[:3]
    make_items(project, 2)  # i41 and i42 come later, and last
    assert order_of(project) == [*drawn, "i41", "i42"]
    order_items(project=project, order=Order.FILE, by=member.user)
    assert order_of(project) == [*files, "i41", "i42"]


def test_chosen_items_are_next_even_for_members_who_are_beyond_them() -> None:
    member = make_member(make_project(annotators_per_item=2))
    project = member.project
    make_items(project, 5)
    assert handed(member, 2) == ["i1", "i2"]
    chosen = [project.items.get(external_id=name) for name in ("i5", "i4")]
    move_items(project=project, items=chosen, order=Order.FIRST, by=member.user)
    move_items(project=project, items=[project.items.get(external_id="i1")], order=Order.LAST, by=member.user)
    newcomer = make_member(project)
    assert handed(newcomer, 5) == ["i5", "i4", "i2", "i3", "i1"]
    assert handed(member, 3) == ["i5", "i4", "i3"]
    event = project.audit.filter(kind="items_ordered").first()
    assert event is not None
    assert event.data == {"order": "first", "item": "i5, i4"}


def test_a_released_item_is_found_again_by_its_rank() -> None:
    member = make_member()
    project = member.project
    first, _second = make_items(project, 2)
    move_items(project=project, items=[first], order=Order.LAST, by=member.user)
    other = make_member(project)
    held = assignments.assign_next_annotation(member=other)
    assert handed(member, 1) == ["i1"]
    assignments.release(annotation=held, by=other.user)
    assert handed(member, 1) == ["i2"]


def test_items_on_which_people_disagree_come_first_and_those_in_agreement_last() -> None:
    project = make_project(annotators_per_item=3)
    annotator, other = make_member(project), make_member(project)
    make_items(project, 4)
    handed(annotator, 3)
    for apart in (False, True, False):
        annotation = assignments.assign_next_annotation(member=fresh(other))
        finished(annotation) if not apart else nothing_drawn(annotation)
    disagreements = dict(project.items.values_list("external_id", "disagreement"))
    assert disagreements == {"i1": 0.0, "i2": 1.0, "i3": 0.0, "i4": None}
    order_items(project=project, order=Order.DISPUTED, by=annotator.user)
    assert order_of(project) == ["i2", "i4", "i1", "i3"]
    assert handed(make_member(project), 2) == ["i2", "i4"]


def test_disagreement_follows_what_is_finished() -> None:
    project = make_project(annotators_per_item=2)
    annotator, other = make_member(project), make_member(project)
    (item,) = make_items(project, 1)
    finished(assignments.assign_next_annotation(member=annotator))
    second = nothing_drawn(assignments.assign_next_annotation(member=other))
    item.refresh_from_db()
    assert item.disagreement == 1
    take_back(annotation=second.pk, by=other.user)
    item.refresh_from_db()
    assert item.disagreement is None
    # As after an import, in which nobody compared them.
    second = submit(annotation=second.pk, revision=second.revision, by=other.user)
    project.items.update(disagreement=None)
    order_items(project=project, order=Order.DISPUTED, by=annotator.user)
    item.refresh_from_db()
    assert item.disagreement == 1
    returned = return_annotation(annotation=second, revision=second.revision, text="Look.", by=annotator.user)
    assignments.release(annotation=returned, by=other.user)
    item.refresh_from_db()
    assert item.disagreement is None


def test_the_queue_of_review_begins_with_the_most_disagreement() -> None:
    project = make_project(annotators_per_item=2)
    annotator, other = make_member(project), make_member(project)
    make_items(project, 4)
    handed(annotator, 4)
    handed(other, 4)
    for name, value in (("i2", 0.4), ("i3", 0.9), ("i4", 0.4)):
        project.items.filter(external_id=name).update(disagreement=value)
    queue = ["i3", "i2", "i4", "i1"]
    assert [item.external_id for item in list_first_to_settle(project, 9)] == queue
    assert [item.external_id for item in list_first_to_settle(project, 2)] == queue[:2]
    after = {
        item.external_id: following.external_id
        for item in project.items.all()
        if (following := find_next_to_settle(item)) is not None
    }
    assert after == {"i3": "i2", "i2": "i4", "i4": "i1", "i1": "i3"}


def fresh(member: Membership) -> Membership:
    return Membership.objects.select_related("project", "user").get(pk=member.pk)


def nothing_drawn(annotation: Annotation) -> Annotation:
    """Say that there are no dogs, and submit."""
    edits = [
        operation(annotation.revision + offset, node, state="nothing") for offset, node in enumerate((3, 2))
    ]
    saved = save_operations(annotation=annotation.pk, operations=edits, by=annotation.annotator)
    return submit(annotation=annotation.pk, revision=saved.annotation.revision, by=annotation.annotator)
