"""With fifty annotators at once no item has too many or too few of them.

This holds whatever they give back.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import pairwise
from threading import Barrier

import pytest
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from accounts.models import Role as WorkspaceRole
from annotation.actions import assignments, review
from annotation.actions.editing import save_operations, submit, take_back
from annotation.actions.projects import set_annotators_per_item, write_guideline
from annotation.content.schemas import Document
from annotation.errors import AssignmentLost, NothingLeft
from annotation.models import Annotation, Item, Membership, Project, Role
from annotation.parsed_items import parse_document
from annotation.policies import NotAllowed
from annotation.queries.members import find_membership
from annotation.states import ForbiddenTransition
from tests.annotation.factories import (
    box,
    finished,
    make_annotation,
    make_items,
    make_member,
    make_project,
    make_user,
    operation,
)
from tests.waiting import eventually
from tests.workspaces import give

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

ANNOTATORS = 50


def next_for(pk: int) -> Annotation:
    return assignments.assign_next_annotation(
        member=Membership.objects.select_related("project", "user").get(pk=pk)
    )


def at_once(project: Project, act) -> list:
    """Call ``act(membership's ID, its number)`` for all annotators at once.

    Each call has its thread.
    """
    members = [make_member(project).pk for _ in range(ANNOTATORS)]
    start = Barrier(ANNOTATORS)

    def run(number: int):
        start.wait()
        return closing(act, members[number], number)

    with ThreadPoolExecutor(ANNOTATORS) as threads:
        return list(threads.map(run, range(ANNOTATORS)))


def check_counts(project: Project, *, finished: Sequence[str] = (Annotation.Status.SUBMITTED,)) -> None:
    """Check the counts of every item, and that nobody has an item twice."""
    for item in project.items.all():
        annotations = list(item.annotations.filter(task=Annotation.Task.ANNOTATION))
        assert item.assigned == sum(annotation.status in Annotation.HOLDING for annotation in annotations)
        assert item.assigned <= item.annotators_wanted
        assert item.submitted == sum(annotation.status in finished for annotation in annotations)
        assert max(Counter(annotation.annotator_id for annotation in annotations).values(), default=0) <= 1


@pytest.mark.parametrize("k", [1, 3])
def test_each_place_is_given_out_once(k: int) -> None:
    """More annotators than places take every place, and the rest get an error."""
    project = make_project(annotators_per_item=k)
    make_items(project, 36 // k)

    def claim(pk: int, number: int) -> int | None:
        try:
            return next_for(pk).item_id
        except NothingLeft:
            return None

    handed = at_once(project, claim)
    assert Counter(handed) == {**{item.pk: k for item in project.items.all()}, None: ANNOTATORS - 36}
    check_counts(project)


@pytest.mark.parametrize("k", [1, 3])
def test_expiry_and_release_in_between_lose_no_place_and_make_none(k: int) -> None:
    """All work until nothing is left for them.

    At random they give items back or let them run out.
    """
    project = make_project(annotators_per_item=k)
    make_items(project, 60 // k)

    def annotate(pk: int, number: int) -> list[str]:
        rng = random.Random(number)
        acts: list[str] = []
        for _ in range(40):
            try:
                annotation = next_for(pk)
            except NothingLeft:
                return acts
            acts.append(rng.choices(("finish", "give back", "run out"), (0.6, 0.2, 0.2))[0])
            try:
                treat(annotation, acts[-1])
            except (AssignmentLost, NotAllowed):  # it ran out meanwhile
                acts.append("lost")
        return acts

    acts = Counter(act for history in at_once(project, annotate) for act in history)
    check_counts(project)
    assert acts["give back"] > 5
    assert acts["run out"] > 5
    # Places may run out after the last one went home. The next annotator finishes them, and all are full.
    for member in project.memberships.all():
        while True:
            try:
                draw(next_for(member.pk))
            except NothingLeft:
                break
    check_counts(project)
    assert set(project.items.values_list("assigned", "submitted")) == {(k, k)}


def test_who_was_too_late_for_an_item_holds_it_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first item is free while its annotator waits for a second one.

    Otherwise two annotators could wait for each other's item.
    """
    if not connection.features.has_select_for_update_nowait:
        pytest.skip("SQLite has no row locks.")
    monkeypatch.setattr(random, "choice", lambda rest: rest[0])
    project = make_project(annotators_per_item=1)
    first, second = make_items(project, 2)
    late = make_member(project).pk
    with ThreadPoolExecutor(1) as thread, taking(first) as blocker, taking(second) as next_blocker:
        annotation = thread.submit(closing, next_for, late)
        eventually(lambda: keeps_waiting(blocker))
        blocker.commit()
        eventually(lambda: keeps_waiting(next_blocker))
        with transaction.atomic():
            assert Item.objects.select_for_update(nowait=True).get(pk=first.pk).assigned == 1
        next_blocker.rollback()
        assert annotation.result().item_id == second.pk


@contextmanager
def taking(item: Item) -> Iterator[BaseDatabaseWrapper]:
    """Somebody else who has taken a place, and whose transaction goes on."""
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("UPDATE annotation_item SET assigned = assigned + 1 WHERE id = %s", [item.pk])
        yield other
    finally:
        other.close()


def keeps_waiting(blocker: BaseDatabaseWrapper) -> bool:
    """Return whether somebody waits for the end of a transaction.

    It is that of the connection ``blocker``.
    """
    waiting = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid)))"
    with connection.cursor() as cursor:
        cursor.execute(waiting, [blocker.connection.info.backend_pid])
        return bool(cursor.fetchone()[0])


def closing(act, *arguments):
    """Call in a thread, which has a connection of its own."""
    try:
        return act(*arguments)
    finally:
        connection.close()


def test_tabs_of_one_person_of_the_workspace_make_one_row_and_take_one_item() -> None:
    """Nobody has a row before the first item, and each tab would make one."""
    project = make_project()
    make_items(project, 5)
    user, tabs = give(make_user(), WorkspaceRole.ANNOTATOR), 8
    start = Barrier(tabs)

    def claim(_tab: int) -> int:
        start.wait()
        return closing(
            lambda: assignments.assign_next_annotation(member=find_membership(user, project.slug)).pk
        )

    with ThreadPoolExecutor(tabs) as threads:
        handed = list(threads.map(claim, range(tabs)))
    assert set(handed) == {Annotation.objects.get().pk}
    row = Membership.objects.get()
    assert (row.user, row.active, row.handed_out) == (user, False, 1)
    check_counts(project)


def test_more_places_while_all_are_handed_items() -> None:
    project = make_project(annotators_per_item=1)
    make_items(project, 20)
    manager = make_member(project, Role.MANAGER).user

    def act(pk: int, number: int) -> None:
        if number % 10 == 0:
            set_annotators_per_item(
                project=Project.objects.get(pk=project.pk), annotators=1 + number // 10, by=manager
            )
        else:
            with suppress(NothingLeft):
                assignments.release(annotation=(annotation := next_for(pk)), by=annotation.annotator)

    at_once(project, act)
    check_counts(project)
    assert not project.items.exclude(assigned=0).exists()


def test_settling_while_annotators_take_their_work_back() -> None:
    """Either the gold is quicker or the person: never do both wait.

    The counts stay true.
    """
    project = make_project(annotators_per_item=ANNOTATORS // 5)
    items = make_items(project, 5)
    adjudicator = make_member(project, Role.ADJUDICATOR).user

    def hand_in(pk: int, number: int) -> Annotation:
        member = Membership.objects.select_related("project", "user").get(pk=pk)
        annotation = assignments.assign(item=items[number % 5], member=member, by=adjudicator)
        draw(annotation)
        return Annotation.objects.select_related("item").get(pk=annotation.pk)

    annotations = at_once(project, hand_in)
    settled = [
        review.start_adjudication(
            item=annotation.item, document=parse_document(annotation.document), by=adjudicator
        )
        for annotation in annotations[:5]
    ]

    def act(pk: int, number: int) -> str:
        try:
            if number < 5:
                review.settle(annotation=settled[number], revision=0, by=adjudicator)
                return "settled"
            take_back(annotation=annotations[number].pk, by=annotations[number].annotator)
        except ForbiddenTransition:
            return "too late"
        return "taken back"

    acts = Counter(at_once(project, act))
    check_counts(project, finished=(Annotation.Status.SUBMITTED, Annotation.Status.ACCEPTED))
    assert acts["settled"] == 5
    assert acts["taken back"] == project.annotations.filter(status=Annotation.Status.RESERVED).count()


def treat(annotation: Annotation, act: str) -> None:
    if act == "finish":
        draw(annotation)
    elif act == "give back":
        assignments.release(annotation=annotation, by=annotation.annotator)
    else:
        over = timezone.now() - timedelta(minutes=1)
        Annotation.objects.filter(pk=annotation.pk, status=Annotation.Status.RESERVED).update(
            reserved_until=over
        )


def draw(annotation: Annotation) -> None:
    edits = [
        operation(annotation.revision, 3, state="unsure"),
        operation(annotation.revision, 2, state="unsure"),
    ]
    saved = save_operations(annotation=annotation.pk, operations=edits, by=annotation.annotator)
    submit(annotation=annotation.pk, revision=saved.annotation.revision, by=annotation.annotator)


def test_the_same_person_in_many_tabs_gets_one_item() -> None:
    project = make_project(annotators_per_item=3)
    make_items(project, 5)
    member_id = make_member(project).pk
    annotations = at_once(project, lambda pk, number: next_for(member_id).pk)
    assert len(set(annotations)) == 1
    check_counts(project)


def test_one_edit_sent_by_many_tabs_is_stored_once() -> None:
    annotation = make_annotation()
    edit = operation(0, 3, put=[box("a")])
    by = annotation.annotator
    saved = at_once(
        annotation.project,
        lambda pk, number: (
            save_operations(annotation=annotation.pk, operations=[edit], by=by).annotation.revision
        ),
    )
    assert set(saved) == {1}
    assert annotation.operations.count() == 1


def test_a_returned_work_that_is_given_back_is_no_longer_counted() -> None:
    annotation = finished(make_annotation())
    manager = make_member(annotation.project, Role.MANAGER)
    review.return_annotation(
        annotation=annotation, revision=annotation.revision, text="Please look again.", by=manager.user
    )
    assignments.release(annotation=annotation, by=annotation.annotator)
    check_counts(annotation.project)
    finished_again = next_for(annotation.project.memberships.get(user=annotation.annotator).pk)
    draw(finished_again)
    item = Item.objects.get(pk=annotation.item_id)
    assert (item.assigned, item.submitted) == (1, 1)


def test_an_adjudication_is_begun_once_by_many() -> None:
    project = make_project()
    (item,) = make_items(project)
    finished(next_for(make_member(project).pk))
    judges = [make_member(project, Role.ADJUDICATOR).user for _ in range(ANNOTATORS)]
    begun = at_once(
        project,
        lambda pk, number: (
            review.start_adjudication(
                item=Item.objects.get(pk=item.pk), document=Document(), by=judges[number]
            ).pk
        ),
    )
    assert len(set(begun)) == 1


def test_versions_of_a_guideline_are_counted_one_after_the_other() -> None:
    project = make_project()
    manager = make_member(project, Role.MANAGER).user
    at_once(
        project,
        lambda pk, number: write_guideline(
            project=project, module="", text=f"Version {number // 5}", by=manager
        ),
    )
    versions = list(project.guidelines.order_by("version").values_list("version", "text"))
    assert [number for number, _text in versions] == list(range(1, len(versions) + 1))
    assert all(previous[1] != following[1] for previous, following in pairwise(versions))
