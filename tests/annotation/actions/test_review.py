"""Tests of review: returns, acceptance, adjudication, gold, qualification."""

import html
from typing import Any

import pytest

from annotation.actions import assignments, qualification, review
from annotation.actions.data import import_items
from annotation.actions.editing import save_operations, submit, take_back
from annotation.actions.projects import create_project, set_member
from annotation.content.labels import read_label_task
from annotation.content.schemas import Document, ItemRecord
from annotation.errors import NotReady
from annotation.models import Annotation, AuditEvent, Comment, Gold, Item, Membership, Project, Role
from annotation.parsed_items import parse_document
from annotation.queries.export import read_item_records
from annotation.queries.progress import list_people_progress
from annotation.queries.qualification import compute_scores
from annotation.queries.review import count_reviews, list_items_to_settle
from tests import workspaces
from tests.annotation.content.test_labels import CONDITIONAL, SENTIMENT, conditional
from tests.annotation.factories import (
    PASSAGE,
    SPANS,
    box,
    finished,
    make_annotation,
    make_items,
    make_member,
    make_project,
    operation,
)
from tests.annotation.queries.test_suggestions import handed_in
from tests.annotation.rest.test_annotations import client_of
from tests.annotation.test_relations import ENTITIES, MARKS, RELATIONS, relation
from tests.annotation.test_relations import TASK as RELATION_TASK
from tests.html import join_lines

pytestmark = pytest.mark.django_db


def two_annotations() -> tuple[Annotation, Annotation]:
    """One item, finished by two people in full agreement."""
    project = make_project(annotators_per_item=2)
    make_items(project)
    first, second = (
        finished(assignments.assign_next_annotation(member=make_member(project))) for _ in range(2)
    )
    return first, second


def test_it_works() -> None:
    annotation, _other = two_annotations()
    project = annotation.project
    client = client_of(make_member(project, Role.ADJUDICATOR).user)
    assert annotation.item.external_id in client.get(f"/annotate/{project.slug}/review/").content.decode()
    page = client.get(f"/annotate/{project.slug}/items/{annotation.item_id}/").content.decode()
    assert "full agreement" in page
    answer = client.post(f"/annotate/{project.slug}/items/{annotation.item_id}/adjudicate/")
    adjudication = Annotation.objects.get(task=Annotation.Task.ADJUDICATION)
    assert answer["Location"] == f"/annotate/annotation/{adjudication.pk}/"
    answer = client.post(
        f"/api/v1/annotations/{adjudication.pk}/submit/", {"revision": 0}, content_type="application/json"
    )
    assert answer.status_code == 200, answer.json()
    gold = Gold.objects.get(current=True)
    assert gold.method == Gold.Method.ADJUDICATED
    assert len(parse_document(gold.document).layers[3].objects) == 2
    assert not list_items_to_settle(project).exists()
    assert {row.status for row in annotation.item.annotations.all()} == {"accepted"}


def test_an_adjudication_can_be_opened_again_and_makes_another_version() -> None:
    annotation, _other = two_annotations()
    first, second = (make_member(annotation.project, Role.ADJUDICATOR).user for _ in range(2))
    adjudication = review.start_adjudication(
        item=annotation.item, document=parse_document(annotation.document), by=first
    )
    review.settle(annotation=adjudication, revision=0, by=first)
    again = review.start_adjudication(item=annotation.item, document=Document(), by=second)
    assert again.pk == adjudication.pk
    assert again.annotator == second
    save_operations(annotation=again.pk, operations=[operation(0, 2, note="looked at twice")], by=second)
    review.settle(annotation=again, revision=1, by=second)
    versions = list(Gold.objects.order_by("version").values_list("version", "current"))
    assert versions == [(1, False), (2, True)]


def test_an_unfinished_adjudication_is_no_gold() -> None:
    annotation, _other = two_annotations()
    judge = make_member(annotation.project, Role.ADJUDICATOR).user
    adjudication = review.start_adjudication(item=annotation.item, document=Document(), by=judge)
    with pytest.raises(NotReady):
        review.settle(annotation=adjudication, revision=0, by=judge)
    assert not Gold.objects.exists()


def test_one_work_is_taken_as_gold_and_one_is_sent_back_from_the_page() -> None:
    annotation, other = two_annotations()
    base = f"/annotate/{annotation.project.slug}/items/{annotation.item_id}"
    client = client_of(make_member(annotation.project, Role.ADJUDICATOR).user)
    sent = {"annotation": other.pk, "revision": other.revision, "letter": "B"}
    assert client.post(f"{base}/return/", sent | {"text": ""}).status_code == 422
    client.post(f"{base}/return/", sent | {"text": "Look again at the right image."})
    other.refresh_from_db()
    assert other.status == Annotation.Status.RETURNED
    assert Comment.objects.get().annotation == other
    sent = {"annotation": annotation.pk, "revision": annotation.revision, "letter": "A"}
    client.post(f"{base}/accept/", sent)
    assert Gold.objects.get().annotation == annotation
    assert (
        client.post(f"{base}/accept/", sent | {"annotation": finished(make_annotation()).pk}).status_code
        == 404
    )
    assert client.post(f"{base}/accept/").status_code == 404


def test_an_old_page_does_not_replace_the_gold_of_somebody_else() -> None:
    annotation, other = two_annotations()
    base = f"/annotate/{annotation.project.slug}/items/{annotation.item_id}/"
    client = client_of(make_member(annotation.project, Role.ADJUDICATOR).user)
    old_page = join_lines(client.get(base).content.decode())
    assert 'name="version" value="0"' in old_page
    for accepted in (annotation, other):
        sent = {"annotation": accepted.pk, "revision": accepted.revision, "letter": "A", "version": "0"}
        page = join_lines(client.post(f"{base}accept/", sent, follow=True).content.decode())
    assert "Somebody settled the gold of this item" in page
    assert 'name="version" value="1"' in page
    assert Gold.objects.get().annotation == annotation
    client.post(f"{base}accept/", sent | {"version": "1"})
    assert Gold.objects.get(current=True).annotation == other


def test_a_decision_is_about_the_work_that_was_on_the_page() -> None:
    """Letters and documents change as others hand in and take back meanwhile."""
    annotation, other = two_annotations()
    base = f"/annotate/{annotation.project.slug}/items/{annotation.item_id}/"
    client = client_of(make_member(annotation.project, Role.ADJUDICATOR).user)
    page = join_lines(client.get(base).content.decode())
    assert (
        f'name="annotation" value="{other.pk}"><input type="hidden" name="revision" value="{other.revision}"'
        in page
    )
    take_back(annotation=annotation.pk, by=annotation.annotator)  # the other one would be A now
    sent = {
        "annotation": annotation.pk,
        "revision": annotation.revision,
        "letter": "A",
        "text": "The left dog, please.",
    }
    answer = client.post(f"{base}return/", sent)
    assert answer.status_code == 422
    assert "The left dog, please." in answer.content.decode()  # what was written is not lost
    client.post(f"{base}accept/", sent)
    assert not Comment.objects.exists()
    assert not Gold.objects.exists()
    emptied = [
        operation(annotation.revision, 3, remove=["a", "b"], state="nothing"),
        operation(annotation.revision, 2, state="nothing"),
    ]
    saved = save_operations(annotation=annotation.pk, operations=emptied, by=annotation.annotator)
    submit(annotation=annotation.pk, revision=saved.annotation.revision, by=annotation.annotator)
    page = client.post(f"{base}accept/", sent, follow=True).content.decode()
    assert "changed after you opened the page" in page
    assert not Gold.objects.exists()


def test_where_all_say_that_the_program_is_wrong_everything_is_left_to_decide() -> None:
    annotation = make_annotation()
    edits = [
        operation(0, 3, put=[box("a")], state="done"),
        operation(0, 3, problem={"kind": "wrong module", "node": 2}),
    ]
    saved = save_operations(annotation=annotation.pk, operations=edits, by=annotation.annotator)
    submit(annotation=annotation.pk, revision=saved.annotation.revision, by=annotation.annotator)
    client = client_of(make_member(annotation.project, Role.ADJUDICATOR).user)
    client.post(f"/annotate/{annotation.project.slug}/items/{annotation.item_id}/adjudicate/")
    adjudication = Annotation.objects.get(task=Annotation.Task.ADJUDICATION)
    with pytest.raises(NotReady):
        review.settle(annotation=adjudication, revision=0, by=adjudication.annotator)


def test_who_adjudicates_no_more_neither_sees_nor_settles() -> None:
    annotation, _other = two_annotations()
    member = make_member(annotation.project, Role.ADJUDICATOR)
    client = client_of(member.user)
    client.post(f"/annotate/{annotation.project.slug}/items/{annotation.item_id}/adjudicate/")
    adjudication = Annotation.objects.get(task=Annotation.Task.ADJUDICATION)
    set_member(project=annotation.project, user=member.user, role=Role.ANNOTATOR, by=None)
    base = f"/api/v1/annotations/{adjudication.pk}/"
    assert client.get(f"{base}editor/").status_code == 404
    for address, body in (("submit/", {"revision": 0}), ("operations/", {"operations": [
        operation(0, 3, state="unsure").model_dump(mode="json", exclude_unset=True)]})):  # fmt: skip
        assert client.post(base + address, body, content_type="application/json").status_code == 404
    listed = client.get(f"/api/v1/projects/{annotation.project.slug}/annotations/").json()
    assert listed["results"] == []
    assert not Gold.objects.exists()


def test_adjudication_takes_the_submitted_annotations_into_review() -> None:
    """Their annotators cannot take them back, but they can be returned."""
    annotation, other = two_annotations()
    judge = client_of(make_member(annotation.project, Role.ADJUDICATOR).user)
    page = f"/annotate/{annotation.project.slug}/items/{annotation.item_id}/"
    judge.post(f"{page}adjudicate/")
    both = annotation.item.annotations.filter(task=Annotation.Task.ANNOTATION)
    assert set(both.values_list("status", flat=True)) == {Annotation.Status.IN_REVIEW}
    assert both.get(pk=annotation.pk).revision == annotation.revision
    assert "In review" in judge.get(f"/annotate/{annotation.project.slug}/review/").content.decode()
    client, base = client_of(annotation.annotator), f"/api/v1/annotations/{annotation.pk}/"
    assert client.post(f"{base}take-back/").status_code == 409
    again = {"revision": annotation.revision}  # the answer to the first was lost
    assert client.post(f"{base}submit/", again, content_type="application/json").status_code == 200
    held = review.return_annotation(
        annotation=other, revision=other.revision, text="Look again", by=annotation.annotator
    )
    assert held.status == Annotation.Status.RETURNED


def test_annotators_do_not_review() -> None:
    annotation, _other = two_annotations()
    client = client_of(annotation.annotator)
    for page in ("review/", "agreement/", f"items/{annotation.item_id}/"):
        assert client.get(f"/annotate/{annotation.project.slug}/{page}").status_code == 403


def test_agreement_is_a_page_and_a_table() -> None:
    annotation, _other = two_annotations()
    client = client_of(make_member(annotation.project, Role.ADJUDICATOR).user)
    page = client.get(f"/annotate/{annotation.project.slug}/agreement/").content.decode()
    assert "none (full agreement)" in page
    sent = client.get(f"/annotate/{annotation.project.slug}/agreement/?format=csv")
    lines = sent.getvalue().decode().splitlines()
    assert lines[0] == "by,name,measure,value,low,high,n,reason"
    assert any(line.startswith("drawn nodes,") and ",1.0," in line for line in lines)


def test_agreement_of_many_items_comes_after_its_page(monkeypatch) -> None:
    monkeypatch.setattr("annotation.queries.comparison.QUICK_ITEMS", 0)
    annotation, _other = two_annotations()
    client = client_of(make_member(annotation.project, Role.ADJUDICATOR).user)
    address = f"/annotate/{annotation.project.slug}/agreement/"
    page = client.get(address).content.decode()
    assert 'data-load="?part=figures"' in page
    assert "none (full agreement)" not in page
    assert 'href="?figures=now"' in page  # for browsers without scripts
    assert "none (full agreement)" in client.get(f"{address}?figures=now").content.decode()
    part = client.get(f"{address}?part=figures").content.decode()
    assert "none (full agreement)" in part
    assert "<html" not in part


def qualified(member: Membership) -> bool | None:
    return Membership.objects.get(pk=member.pk).qualified


@pytest.mark.parametrize(("dogs", "expected"), [(2, True), (1, False)])
def test_the_last_qualification_item_decides(dogs: int, expected: bool) -> None:
    project = make_project(qualification_score=0.9)
    (item,) = make_items(project, 1, purpose=Item.Purpose.QUALIFICATION)
    member = make_member(project)
    annotation = assignments.assign_next_annotation(member=member)
    gold = finished(make_annotation())
    review.set_gold(item=item, document=parse_document(gold.document), method=Gold.Method.IMPORTED, by=None)
    if dogs == 2:
        finished(annotation)
    else:
        edits = [operation(0, 3, put=[box("a")], state="done"), operation(0, 2, state="nothing")]
        saved = save_operations(annotation=annotation.pk, operations=edits, by=member.user)
        submit(annotation=annotation.pk, revision=saved.annotation.revision, by=member.user)
    assert qualified(member) is expected
    assert compute_scores(project)[member.user.username].items == 1


def test_gold_that_came_later_decides_before_the_next_item_and_once() -> None:
    project = make_project(qualification_score=0.9)
    (item,) = make_items(project, 1, purpose=Item.Purpose.QUALIFICATION)
    (ordinary,) = make_items(project, 1)
    member = make_member(project)
    annotation = finished(assignments.assign_next_annotation(member=member))
    assert qualified(member) is None
    review.set_gold(
        item=item, document=parse_document(annotation.document), method=Gold.Method.IMPORTED, by=None
    )
    assert assignments.assign_next_annotation(member=member).item == ordinary
    submit(annotation=annotation.pk, revision=annotation.revision, by=member.user)  # sent again
    assert qualified(member) is True
    assert AuditEvent.objects.filter(kind="qualification_judged").count() == 1


def test_without_gold_a_manager_decides() -> None:
    project = make_project(qualification_score=0.9)
    make_items(project, 1, purpose=Item.Purpose.QUALIFICATION)
    member = make_member(project)
    finished(assignments.assign_next_annotation(member=member))
    assert qualified(member) is None
    qualification.decide(member=member, qualified=True, by=make_member(project, Role.MANAGER).user)
    assert qualified(member) is True


def failed(project: Project) -> tuple[Membership, Annotation]:
    """Return a member who missed a dog of the qualification item."""
    (item,) = make_items(project, 1, purpose=Item.Purpose.QUALIFICATION)
    member = make_member(project)
    annotation = assignments.assign_next_annotation(member=member)
    gold = parse_document(finished(make_annotation()).document)
    review.set_gold(item=item, document=gold, method=Gold.Method.IMPORTED, by=None)
    edits = [operation(0, 3, put=[box("a")], state="done"), operation(0, 2, state="nothing")]
    saved = save_operations(annotation=annotation.pk, operations=edits, by=member.user)
    submit(annotation=annotation.pk, revision=saved.annotation.revision, by=member.user)
    return member, annotation


def test_a_manager_lifts_a_failed_qualification_for_good() -> None:
    project = make_project(qualification_score=0.9)
    member, annotation = failed(project)
    make_items(project, 1)
    manager = make_member(project, Role.MANAGER)
    client = client_of(manager.user)
    members = f"/annotate/{project.slug}/members/"
    assert "Not qualified" in client.get(members).content.decode()
    client.post(f"{members}qualify/", {"username": member.user.username})
    assert qualified(member) is True
    assert AuditEvent.objects.filter(kind="qualification_judged", actor=manager.user).count() == 1
    # The same work, submitted again, does not take it away.
    take_back(annotation=annotation.pk, by=member.user)
    submit(annotation=annotation.pk, revision=annotation.revision + 2, by=member.user)
    assert qualified(member) is True
    member.refresh_from_db()
    assert assignments.assign_next_annotation(member=member).item.purpose == Item.Purpose.ORDINARY


def test_hidden_gold_reaches_the_score_of_its_annotator() -> None:
    project = make_project(hidden_gold_every=2)
    make_items(project, 1)
    (hidden,) = make_items(project, 1, purpose=Item.Purpose.HIDDEN_GOLD)
    gold = parse_document(finished(make_annotation()).document)
    review.set_gold(item=hidden, document=gold, method=Gold.Method.IMPORTED, by=None)
    member = make_member(project)
    finished(assignments.assign_next_annotation(member=member))
    member.refresh_from_db()
    second = assignments.assign_next_annotation(member=member)
    assert second.item == hidden
    edits = [operation(0, 3, put=[box("a")], state="done"), operation(0, 2, state="nothing")]
    saved = save_operations(annotation=second.pk, operations=edits, by=member.user)
    submit(annotation=second.pk, revision=saved.annotation.revision, by=member.user)
    # One box of the two that are known, and none of the two chosen ones: 2 · 1 / (1 + 2 + 2).
    [person] = [
        progress for progress in list_people_progress(project) if progress.name == member.user.username
    ]
    assert person.known_items == 1
    assert person.known_f1 == pytest.approx(2 / 5)
    page = client_of(make_member(project, Role.MANAGER).user).get(f"/annotate/{project.slug}/members/")
    assert "0.40 (1)" in page.content.decode()


def test_returned_work_leaves_the_queue_until_it_is_back() -> None:
    annotation, _other = two_annotations()
    project = annotation.project
    assert list(list_items_to_settle(project)) == [annotation.item]
    judge = make_member(project, Role.ADJUDICATOR)
    review.return_annotation(
        annotation=annotation, revision=annotation.revision, text="Too wide.", by=judge.user
    )
    assert list(list_items_to_settle(project)) == []
    assert count_reviews(project)["items"] == 0
    page = client_of(annotation.annotator).get(f"/annotate/annotation/{annotation.pk}/").content.decode()
    assert "This annotation was returned to you." in page
    assert "Too wide." in page
    submit(annotation=annotation.pk, revision=annotation.revision, by=annotation.annotator)
    assert list(list_items_to_settle(project)) == [annotation.item]
    assert count_reviews(project)["items"] == 1


def test_gold_and_exports_leave_out_answers_that_are_hidden_now() -> None:
    task = read_label_task(CONDITIONAL)
    project = create_project(
        slug="if", title="If", kind="spans", workspace=workspaces.main(), by=None, labels=task
    )
    record = {"external_id": "i1", "kind": "spans", "text": "", "program": task.text, "passage": "Tea."}
    import_items(records=[ItemRecord.model_validate(record)], project=project)
    member = make_member(project)
    annotation = assignments.assign_next_annotation(member=member)
    document = conditional("none", "taste")
    edits = [
        {"node": node, "put": [answer.model_dump() for answer in layer.objects]}
        for node, layer in document.layers.items()
    ]
    annotation = handed_in(annotation, *edits[:2], edits[2] | {"also": [{"node": 1, "state": "done"}]})
    [exported] = read_item_records(project)
    assert set(exported.annotations[0].document.layers) == {SENTIMENT}
    assert set(parse_document(annotation.document).layers) == {
        1,
        2,
        3,
    }  # for the case that they change it back
    gold = review.accept(annotation=annotation, revision=3, by=make_member(project, Role.ADJUDICATOR).user)
    assert set(parse_document(gold.document).layers) == {SENTIMENT}


def test_a_step_that_nobody_was_asked_for_is_no_disagreement() -> None:
    task = read_label_task(CONDITIONAL)
    project = create_project(
        slug="if", title="If", kind="spans", workspace=workspaces.main(), by=None, labels=task,
        annotators_per_item=2,
    )  # fmt: skip
    record = {"external_id": "i1", "kind": "spans", "text": "", "program": task.text, "passage": "Tea."}
    import_items(records=[ItemRecord.model_validate(record)], project=project)
    for _person in range(2):
        annotation = assignments.assign_next_annotation(member=make_member(project))
        answer = {"node": SENTIMENT, "put": [{"id": "s", "value": "none"}], "state": "done"}
        annotation = handed_in(annotation, answer)
    client = client_of(make_member(project, Role.ADJUDICATOR).user)
    steps = client.get(f"/annotate/if/items/{annotation.item_id}/").context["steps"]
    assert [(step["label"], step["unanimous"]) for step in steps] == [("Sentiment", True)]


def test_ratings_and_choices_are_called_so_on_the_page_of_agreement() -> None:
    task = read_label_task(
        "layers: [{type: rating, name: Quality}, {type: choice, name: Topic, labels: [a, b]}]"
    )
    project = create_project(
        slug="rated", title="Rated", kind="spans", workspace=workspaces.main(), by=None, labels=task,
        annotators_per_item=2,
    )  # fmt: skip
    record = {"kind": "spans", "text": "", "program": task.text, "passage": "Tea."}
    import_items(
        records=[ItemRecord.model_validate(record | {"external_id": name}) for name in ("i1", "i2")],
        project=project,
    )
    for member in [make_member(project) for _person in range(2)]:
        for rating, topic in ((2, "a"), (4, "b")):
            handed_in(
                assignments.assign_next_annotation(member=member),
                {"node": 1, "put": [{"id": "q", "value": rating}], "state": "done"},
                {"node": 2, "put": [{"id": "t", "value": topic}], "state": "done"},
            )
    client = client_of(make_member(project, Role.ADJUDICATOR).user)
    rows = client.get("/annotate/rated/agreement/?format=csv").getvalue().decode()
    assert "ratings,ratings,alpha of ratings,1.0" in rows
    assert "choices,choices,alpha of choices,1.0" in rows
    assert "module,Quality,alpha of ratings,1.0" in rows
    assert "module,Topic: a,alpha of choices,1.0" in rows
    assert "module,Quality,alpha of counts" not in rows
    page = client.get("/annotate/rated/agreement/").content.decode()
    assert "Ratings and choices stand apart" in page
    assert [words for words in ("omputed", "truth values") if words in page] == []


def test_relations_of_two_people_are_compared_on_the_pages() -> None:
    task = read_label_task(RELATION_TASK)
    project = create_project(
        slug="who", title="Who", kind="spans", workspace=workspaces.main(), by=None, labels=task,
        annotators_per_item=2,
    )  # fmt: skip
    record: dict[str, Any] = {"external_id": "i1", "kind": "spans", "text": "", "program": task.text}
    record |= {"passage": PASSAGE, "tokens": SPANS.tokens}
    import_items(records=[ItemRecord.model_validate(record)], project=project)
    for number, related in enumerate(
        [[relation("r", "a", "b")], [relation("r", "a", "b"), relation("s", "b", "c")]]
    ):
        annotation = assignments.assign_next_annotation(member=make_member(project))
        marks = {"node": ENTITIES, "put": MARKS, "state": "done"}
        annotation = handed_in(annotation, marks, {"node": RELATIONS, "put": related, "state": "done"})
        assert annotation.status == "submitted", number
    client = client_of(make_member(project, Role.ADJUDICATOR).user)
    page = client.get(f"/annotate/who/items/{annotation.item_id}/").content.decode()
    assert "“Ada” – knows → “a”" in html.unescape(page)
    rows = client.get("/annotate/who/agreement/?format=csv").getvalue().decode()
    # Of three relations two are the same: 2 · 1 / (1 + 2).
    assert 'Relations: knows,"F1 of relations, same ends and label",0.666' in rows
    assert "module,Relations: knows,Cohen’s kappa of relations between pairs of marks" in rows
    assert "pair of people,Relations" not in rows
