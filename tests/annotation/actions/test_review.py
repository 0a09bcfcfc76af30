"""Review: sending back, accepting, adjudicating; gold in versions; who qualifies."""

import pytest

from annotation.actions import assignments, qualification, review
from annotation.actions.editing import save_operations, submit, take_back
from annotation.actions.projects import set_member
from annotation.errors import NotReady
from annotation.models import AuditEvent, Comment, Gold, Item, Membership, Role, Work
from annotation.parsed_items import document_of
from annotation.queries.qualification import scores
from annotation.queries.review import items_to_settle
from annotation.schemas import Document
from annotation.states import ForbiddenTransition
from tests.annotation.api.test_annotations import client_of
from tests.annotation.factories import (
    box,
    finished,
    make_items,
    make_member,
    make_project,
    make_work,
    operation,
)

pytestmark = pytest.mark.django_db


def two_works() -> tuple[Work, Work]:
    """One item, finished by two people in full agreement."""
    project = make_project(annotators_per_item=2)
    make_items(project)
    first, second = (finished(assignments.next_work(member=make_member(project))) for _ in range(2))
    return first, second


def test_it_works() -> None:
    work, _other = two_works()
    project = work.project
    client = client_of(make_member(project, Role.ADJUDICATOR).user)
    assert work.item.external_id in client.get(f"/annotate/{project.slug}/review/").content.decode()
    page = client.get(f"/annotate/{project.slug}/items/{work.item_id}/").content.decode()
    assert "all agree" in page
    answer = client.post(f"/annotate/{project.slug}/items/{work.item_id}/adjudicate/")
    adjudication = Work.objects.get(task=Work.Task.ADJUDICATION)
    assert answer["Location"] == f"/annotate/work/{adjudication.pk}/"
    answer = client.post(
        f"/api/annotation/work/{adjudication.pk}/submit/", {"revision": 0}, content_type="application/json"
    )
    assert answer.status_code == 200, answer.json()
    gold = Gold.objects.get(current=True)
    assert gold.method == Gold.Method.ADJUDICATED
    assert len(document_of(gold.document).layers[3].objects) == 2
    assert not items_to_settle(project).exists()
    assert {one.status for one in work.item.works.all()} == {"accepted"}


def test_an_adjudication_can_be_opened_again_and_makes_another_version() -> None:
    work, _other = two_works()
    first, second = (make_member(work.project, Role.ADJUDICATOR).user for _ in range(2))
    made = review.start_adjudication(item=work.item, document=document_of(work.document), by=first)
    review.settle(work=made, revision=0, by=first)
    again = review.start_adjudication(item=work.item, document=Document(), by=second)
    assert again.pk == made.pk
    assert again.annotator == second
    save_operations(work=again.pk, operations=[operation(0, 2, note="looked at twice")], by=second)
    review.settle(work=again, revision=1, by=second)
    versions = list(Gold.objects.order_by("version").values_list("version", "current"))
    assert versions == [(1, False), (2, True)]


def test_an_unfinished_adjudication_is_no_gold() -> None:
    work, _other = two_works()
    judge = make_member(work.project, Role.ADJUDICATOR).user
    made = review.start_adjudication(item=work.item, document=Document(), by=judge)
    with pytest.raises(NotReady):
        review.settle(work=made, revision=0, by=judge)
    assert not Gold.objects.exists()


def test_one_work_is_taken_as_gold_and_one_is_sent_back_from_the_page() -> None:
    work, other = two_works()
    base = f"/annotate/{work.project.slug}/items/{work.item_id}"
    client = client_of(make_member(work.project, Role.ADJUDICATOR).user)
    sent = {"work": other.pk, "revision": other.revision, "letter": "B"}
    assert client.post(f"{base}/return/", sent | {"text": ""}).status_code == 422
    client.post(f"{base}/return/", sent | {"text": "Look again at the right image."})
    other.refresh_from_db()
    assert other.status == Work.Status.RETURNED
    assert Comment.objects.get().work == other
    sent = {"work": work.pk, "revision": work.revision, "letter": "A"}
    client.post(f"{base}/accept/", sent)
    assert Gold.objects.get().work == work
    assert client.post(f"{base}/accept/", sent | {"work": finished(make_work()).pk}).status_code == 404
    assert client.post(f"{base}/accept/").status_code == 404


def test_a_decision_is_about_the_work_that_was_on_the_page() -> None:
    """Others hand in and take back meanwhile, so that letters and documents are no longer what they were."""
    work, other = two_works()
    base = f"/annotate/{work.project.slug}/items/{work.item_id}/"
    client = client_of(make_member(work.project, Role.ADJUDICATOR).user)
    page = client.get(base).content.decode()
    assert (
        f'name="work" value="{other.pk}"><input type="hidden" name="revision" value="{other.revision}"'
        in page
    )
    take_back(work=work.pk, by=work.annotator)  # the other one would be A now
    sent = {"work": work.pk, "revision": work.revision, "letter": "A", "text": "The left dog, please."}
    answer = client.post(f"{base}return/", sent)
    assert answer.status_code == 422
    assert "The left dog, please." in answer.content.decode()  # what was written is not lost
    client.post(f"{base}accept/", sent)
    assert not Comment.objects.exists()
    assert not Gold.objects.exists()
    emptied = [
        operation(work.revision, 3, remove=["a", "b"], state="nothing"),
        operation(work.revision, 2, state="nothing"),
    ]
    saved = save_operations(work=work.pk, operations=emptied, by=work.annotator)
    submit(work=work.pk, revision=saved.work.revision, by=work.annotator)
    page = client.post(f"{base}accept/", sent, follow=True).content.decode()
    assert "changed after you opened the page" in page
    assert not Gold.objects.exists()


def test_where_all_say_that_the_program_is_wrong_everything_is_left_to_decide() -> None:
    work = make_work()
    edits = [
        operation(0, 3, put=[box("a")], state="done"),
        operation(0, 3, problem={"kind": "wrong module", "node": 2}),
    ]
    saved = save_operations(work=work.pk, operations=edits, by=work.annotator)
    submit(work=work.pk, revision=saved.work.revision, by=work.annotator)
    client = client_of(make_member(work.project, Role.ADJUDICATOR).user)
    client.post(f"/annotate/{work.project.slug}/items/{work.item_id}/adjudicate/")
    adjudication = Work.objects.get(task=Work.Task.ADJUDICATION)
    with pytest.raises(NotReady):
        review.settle(work=adjudication, revision=0, by=adjudication.annotator)


def test_who_adjudicates_no_more_neither_sees_nor_settles() -> None:
    work, _other = two_works()
    member = make_member(work.project, Role.ADJUDICATOR)
    client = client_of(member.user)
    client.post(f"/annotate/{work.project.slug}/items/{work.item_id}/adjudicate/")
    made = Work.objects.get(task=Work.Task.ADJUDICATION)
    set_member(project=work.project, user=member.user, role=Role.ANNOTATOR, by=None)
    base = f"/api/annotation/work/{made.pk}/"
    assert client.get(base).status_code == 404
    for address, body in (("submit/", {"revision": 0}), ("operations/", {"operations": [
        operation(0, 3, state="unsure").model_dump(mode="json", exclude_unset=True)]})):  # fmt: skip
        assert client.post(base + address, body, content_type="application/json").status_code == 404
    listed = client.get(f"/api/annotation/projects/{work.project.slug}/annotations/").json()
    assert listed["results"] == []
    assert not Gold.objects.exists()


def test_a_submitted_work_under_review_cannot_be_taken_back() -> None:
    work, _other = two_works()
    review.start_review(work=work, by=make_member(work.project, Role.ADJUDICATOR).user)
    answer = client_of(work.annotator).post(f"/api/annotation/work/{work.pk}/take-back/")
    assert answer.status_code == 409
    with pytest.raises(ForbiddenTransition):
        review.start_review(work=work, by=work.annotator)


def test_annotators_do_not_review() -> None:
    work, _other = two_works()
    client = client_of(work.annotator)
    for page in ("review/", "agreement/", f"items/{work.item_id}/"):
        assert client.get(f"/annotate/{work.project.slug}/{page}").status_code == 403


def test_agreement_is_a_page_and_a_table() -> None:
    work, _other = two_works()
    client = client_of(make_member(work.project, Role.ADJUDICATOR).user)
    page = client.get(f"/annotate/{work.project.slug}/agreement/").content.decode()
    assert "never: they agree to the end" in page
    lines = client.get(f"/annotate/{work.project.slug}/agreement/?format=csv").content.decode().splitlines()
    assert lines[0] == "by,name,measure,value,low,high,n,reason"
    assert any(line.startswith("all,") and ",1.0," in line for line in lines)


def qualified(member: Membership) -> bool | None:
    return Membership.objects.get(pk=member.pk).qualified


@pytest.mark.parametrize(("dogs", "expected"), [(2, True), (1, False)])
def test_the_last_qualification_item_decides(dogs: int, expected: bool) -> None:
    project = make_project(qualification_score=0.9)
    (item,) = make_items(project, 1, purpose=Item.Purpose.QUALIFICATION)
    member = make_member(project)
    work = assignments.next_work(member=member)
    gold = finished(make_work())
    review.set_gold(item=item, document=document_of(gold.document), method=Gold.Method.IMPORTED, by=None)
    if dogs == 2:
        finished(work)
    else:
        edits = [operation(0, 3, put=[box("a")], state="done"), operation(0, 2, state="nothing")]
        saved = save_operations(work=work.pk, operations=edits, by=member.user)
        submit(work=work.pk, revision=saved.work.revision, by=member.user)
    assert qualified(member) is expected
    assert scores(project)[member.user.username].items == 1


def test_gold_that_came_later_decides_before_the_next_item_and_once() -> None:
    project = make_project(qualification_score=0.9)
    (item,) = make_items(project, 1, purpose=Item.Purpose.QUALIFICATION)
    (ordinary,) = make_items(project, 1)
    member = make_member(project)
    work = finished(assignments.next_work(member=member))
    assert qualified(member) is None
    review.set_gold(item=item, document=document_of(work.document), method=Gold.Method.IMPORTED, by=None)
    assert assignments.next_work(member=member).item == ordinary
    submit(work=work.pk, revision=work.revision, by=member.user)  # sent again
    assert qualified(member) is True
    assert AuditEvent.objects.filter(kind="qualification_judged").count() == 1


def test_without_gold_a_manager_decides() -> None:
    project = make_project(qualification_score=0.9)
    make_items(project, 1, purpose=Item.Purpose.QUALIFICATION)
    member = make_member(project)
    finished(assignments.next_work(member=member))
    assert qualified(member) is None
    qualification.decide(member=member, qualified=True, by=make_member(project, Role.MANAGER).user)
    assert qualified(member) is True
