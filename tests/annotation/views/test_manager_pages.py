"""Tests of the pages of managers.

They show items, uploads, invitations, webhooks, guidelines, exports and runs with failures.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.actions.invitations import create_invitation
from accounts.models import Invitation
from accounts.models import Role as WorkspaceRole
from annotation.actions import audit
from annotation.actions.projects import set_member
from annotation.content.labels import read_label_task
from annotation.models import Delivery, Guideline, Item, OutputFailure, OutputRun, Project, Role, Webhook
from foundation.images import image_storage
from jobs.actions.jobs import run_job
from jobs.models import Job
from tests.annotation.factories import make_annotation, make_items, make_member, make_project, make_user
from tests.annotation.pairs import example, lines, pairs, zipped

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folders(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.JOB_FOLDER = tmp_path / "jobs"
    monkeypatch.setattr(image_storage, "get_image_folder", lambda: tmp_path / "images")


@pytest.fixture
def project() -> Project:
    return make_project()


@pytest.fixture
def client(project: Project) -> Client:
    return client_of(make_member(project, Role.MANAGER).user)


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def upload(
    client: Client, project: Project, content: bytes, name: str = "pairs.zip", format: str = "nlvr2"
) -> str:
    """Upload a file, let a worker read it, and return its preview's address."""
    body = {"file": SimpleUploadedFile(name, content), "format": format, "purpose": "ordinary"}
    response = client.post(f"/annotate/{project.slug}/items/upload/", body)
    assert response.status_code == 302, response.content.decode()
    run_job(job_id=Job.objects.latest("pk").pk)
    return response["Location"]


def text_of(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_an_upload_is_previewed_imported_and_undone(client: Client, project: Project) -> None:
    assert "No items yet" in text_of(client, f"/annotate/{project.slug}/items/")
    preview = upload(client, project, zipped(pairs(3)))
    shown = text_of(client, preview)
    assert "Import 3 items" in shown
    assert "There are 1 black dogs." in shown
    assert not Item.objects.exists()
    imported = client.post(f"{preview}apply/")["Location"]
    client.post(f"{preview}apply/")  # a second click makes no second job
    assert Job.objects.count() == 2
    run_job(job_id=Job.objects.latest("pk").pk)
    assert "The import is done" in text_of(client, imported)
    assert Item.objects.count() == 3
    item_import = project.imports.get()
    response = client.post(f"/annotate/{project.slug}/imports/{item_import.pk}/undo/", follow=True)
    assert "Undid the import: deleted 3 items." in response.content.decode()
    assert not Item.objects.exists()


def test_the_preview_of_texts_has_one_column_for_them() -> None:
    project = make_project(
        kind="spans",
        labels=read_label_task("layers: [{type: spans, name: Who, labels: [Person]}]"),  # words: allow - data
    )
    shown = text_of_preview(project, lines([{"id": "a", "text": "Kolwen lies on a lake."}]))
    heads = re.findall(r'<th scope="col">([^<]+)</th>', shown)
    assert heads == ["Item", "Text or images"]
    assert "Kolwen lies on a lake." in shown


def text_of_preview(project: Project, content: bytes) -> str:
    client = client_of(make_member(project, Role.MANAGER).user)
    return text_of(client, upload(client, project, content, "texts.jsonl", "plain"))


def test_an_upload_form_begins_with_the_format_of_this_site(client: Client, project: Project) -> None:
    page = text_of(client, f"/annotate/{project.slug}/items/upload/")
    assert page.split('<option value="')[1].partition('"')[0] == "jsonl"


def test_an_item_is_below_the_tab_of_items(client: Client, project: Project) -> None:
    (item,) = make_items(project, 1)
    page = text_of(client, f"/annotate/{project.slug}/items/{item.pk}/")
    assert f'href="/annotate/{project.slug}/items/" aria-current="page"' in page
    assert f'href="/annotate/{project.slug}/review/" aria-current' not in page


def test_a_wrong_upload_says_file_line_and_field_and_stores_nothing(client: Client, project: Project) -> None:
    preview = upload(client, project, lines([example(0), {**example(1), "sentence": 5}]), "dev.jsonl")
    shown = text_of(client, preview)
    assert all(cell in shown for cell in (">dev.jsonl<", ">2<", ">sentence<", "must be text; found 5"))
    assert "The file was read as “NLVR2" in shown
    assert "apply/" not in shown
    client.post(f"{preview}apply/")
    assert Job.objects.count() == 1
    assert not Item.objects.exists()


def test_an_import_of_somebody_else_is_not_there(client: Client, project: Project) -> None:
    preview = upload(client, project, zipped(pairs(1)))
    other = client_of(make_member(project, Role.MANAGER).user)
    assert other.get(preview).status_code == 404
    assert other.post(f"{preview}apply/").status_code == 404
    elsewhere = make_member(make_project(), Role.MANAGER)
    address = preview.replace(project.slug, elsewhere.project.slug)
    assert client_of(elsewhere.user).get(address).status_code == 404


def test_items_are_searched_filtered_and_paged(client: Client, project: Project) -> None:
    make_items(project, 120)
    base = f"/annotate/{project.slug}/items/"
    first = text_of(client, base)
    assert first.count('<th scope="row">') == 50
    assert '"?after=50"' in first
    assert "Previous items" not in first
    second = text_of(client, f"{base}?after=50")
    assert '"?before=51"' in second
    assert text_of(client, f"{base}?before=51").count('<th scope="row">') == 50
    assert "Next items" not in text_of(client, f"{base}?after=100")
    assert text_of(client, f"{base}?search=i12").count('<th scope="row">') == 2  # i12, i120
    assert "No such items" in text_of(client, f"{base}?state=gold")
    make_annotation(member=make_member(project))
    assert text_of(client, f"{base}?state=in+progress").count('<th scope="row">') == 1
    assert client.get(f"{base}?after=x&before=-1&state=none&search=%00").status_code == 200


def names_of(text: str) -> list[str]:
    return re.findall(r'<th scope="row"><a href="[^"]+">([^<]+)</a>', text)


def test_items_are_sorted_page_by_page(client: Client, project: Project) -> None:
    make_items(project, 120)
    Item.objects.filter(external_id="i7").update(assigned=1, submitted=1)
    base = f"/annotate/{project.slug}/items/"
    by_name = sorted(f"i{number}" for number in range(1, 121))
    first = text_of(client, f"{base}?sort=item")
    assert names_of(first) == by_name[:50]
    assert '"?sort=item&amp;page=2"' in first
    last = text_of(client, f"{base}?sort=item&page=3")
    assert names_of(last) == by_name[100:]
    assert '"?sort=item&amp;page=2"' in last
    assert "Next items" not in last
    assert names_of(text_of(client, f"{base}?sort=-submitted"))[0] == "i7"
    assert names_of(text_of(client, f"{base}?sort=-position"))[0] == "i120"
    assert names_of(text_of(client, f"{base}?sort=text"))[0] == "i1"  # as unknown columns: in the usual order


def test_search_and_order_of_items_stay_together(client: Client, project: Project) -> None:
    make_items(project, 120)
    shown = text_of(client, f"/annotate/{project.slug}/items/?search=i1&state=open&sort=-item&page=1")
    assert names_of(shown)[0] == "i19"
    assert '"?search=i1&amp;state=open&amp;sort=item"' in shown  # the head turns the order around
    assert '<input type="hidden" name="sort" value="-item">' in shown  # the filter keeps it


def test_audit_log_turns_around(client: Client, project: Project) -> None:
    for number in range(101):
        audit.record(project=project, kind="image_added", by=None, data={"name": f"picture{number}."})
    base = f"/annotate/{project.slug}/audit/"
    newest, oldest = text_of(client, base), text_of(client, f"{base}?sort=time")
    assert "picture100." in newest
    assert "picture0." not in newest
    assert "picture0." in oldest
    assert "picture100." not in oldest
    assert '"?sort=time&amp;page=2"' in oldest
    assert "picture100." in text_of(client, f"{base}?sort=time&page=2")


def test_an_item_is_corrected_with_a_checked_program(client: Client, project: Project) -> None:
    (item,) = make_items(project)
    base = f"/annotate/{project.slug}/items/{item.pk}/"
    wrong = client.post(f"{base}edit/", {"text": "Dogs.", "program": "find(", "answer": ""})
    assert wrong.status_code == 422
    client.post(f"{base}edit/", {"text": "Dogs.", "program": "exist(find[dogs])", "answer": "True"})
    item.refresh_from_db()
    assert (item.text, item.program, item.answer) == ("Dogs.", "exist(find[dogs])", True)
    client.post(f"{base}delete/")
    assert not Item.objects.exists()


def test_guidelines_are_shown_by_module_and_unknown_modules_refused(client: Client, project: Project) -> None:
    base = f"/annotate/{project.slug}/guidelines/"
    client.post(base, {"module": "find", "text": "Draw tight boxes."})
    client.post(base, {"module": "find", "text": "Draw very tight boxes."})
    shown = text_of(client, f"{base}?module=find")
    assert ">\nDraw very tight boxes.</textarea>" in shown
    assert "<p>Draw tight boxes.</p>" in shown
    for answer in (client.get(f"{base}?module=none"), client.post(base, {"module": "none", "text": "x"})):
        assert answer.status_code == 404
        assert "There is no module none here. There are: find," in answer.content.decode()
    assert Guideline.objects.count() == 2


def test_members_are_invited_to_the_project_alone(client: Client, project: Project) -> None:
    response = client.post(f"/annotate/{project.slug}/members/invite/", {"role": "annotator", "days": 7})
    link = response.content.decode().partition('value="http')[2].partition('"')[0]
    invited = make_user()
    client_of(invited).post(urlsplit(f"http{link}").path)
    assert project.memberships.get(user=invited).role == Role.ANNOTATOR
    client.post(f"/annotate/{project.slug}/members/invite/", {"role": "owner", "days": 7})
    assert Invitation.objects.count() == 1
    client.post(f"/annotate/{project.slug}/members/invite/", {"role": "annotator", "days": 7})
    invitation = Invitation.objects.latest("pk")
    client.post(f"/annotate/{project.slug}/members/invitations/{invitation.pk}/revoke/")
    invitation.refresh_from_db()
    assert invitation.revoked_at is not None


def test_an_invitation_of_a_former_manager_ends(project: Project) -> None:
    manager = make_member(project, Role.MANAGER)
    created = create_invitation(
        workspace=project.workspace, role=WorkspaceRole.ANNOTATOR, days=7, by=manager.user, kind="project",
        shared=project,
    )  # fmt: skip
    set_member(project=project, user=manager.user, role=Role.ANNOTATOR, by=None)
    invited = make_user()
    assert client_of(invited).post(f"/invitations/{created.token}/").status_code == 410
    assert not project.memberships.filter(user=invited).exists()


def test_a_webhook_shows_its_secret_once_and_ends(client: Client, project: Project) -> None:
    base = f"/annotate/{project.slug}/webhooks/"
    assert client.post(f"{base}add/", {"url": "ftp://example.org/"}).status_code == 422
    private = client.post(f"{base}add/", {"url": "http://127.0.0.1/hook"})
    assert private.status_code == 422
    assert "127.0.0.1 is not a public address" in private.content.decode()
    added = client.post(f"{base}add/", {"url": "https://8.8.8.8/hook", "kinds": ["gold_set"]})
    hook = Webhook.objects.get()
    assert hook.secret in added.content.decode()
    assert hook.secret not in text_of(client, base)
    make_items(project)
    assert "Nothing was sent yet" in text_of(client, f"{base}{hook.pk}/")
    client.post(f"{base}{hook.pk}/test/")
    test = Delivery.objects.get()
    assert (test.kind, test.body["project"], test.next_at is None) == ("test", project.slug, False)
    assert "Waiting" in text_of(client, f"{base}{hook.pk}/")
    client.post(f"{base}{hook.pk}/end/")
    hook.refresh_from_db()
    assert not hook.active


def test_imports_and_webhooks_are_sorted_by_their_heads(client: Client, project: Project) -> None:
    for number, name in enumerate(("b.json", "a.json", "c.json")):
        counts = {"added": number, "images": 0, "annotations": 0, "with_gold": 0}
        project.imports.create(source=name, first=1, last=0, counts=counts)
    base = f"/annotate/{project.slug}/items/upload/"
    for query, expected in (
        ("", "cab"),
        ("?sort=file", "abc"),
        ("?sort=-items", "cab"),
        ("?sort=time", "bac"),
    ):
        shown = re.findall(r'<th scope="row">(.)\.json</th>', text_of(client, base + query))
        assert shown == list(expected), query
    base = f"/annotate/{project.slug}/webhooks/"
    for name in ("b", "a"):
        added = client.post(f"{base}add/", {"url": f"https://8.8.8.8/{name}"})
        assert "?sort=" not in added.content.decode(), "its address takes forms alone"
    names = re.findall("8.8.8.8/([ab])</a>", text_of(client, f"{base}?sort=-address"))
    assert names == ["b", "a"]


def test_an_export_is_made_and_downloaded(client: Client, project: Project) -> None:
    make_items(project, 2)
    client.post(f"/annotate/{project.slug}/export/", {"format": "jsonl"})
    job = Job.objects.get()
    run_job(job_id=job.pk)
    assert f"/jobs/{job.pk}/file/" in text_of(client, f"/annotate/{project.slug}/export/")
    body = b"".join(client.get(f"/jobs/{job.pk}/file/").streaming_content)  # type: ignore[attr-defined]
    assert body.count(b"\n") == 2
    assert client.post(f"/annotate/{project.slug}/export/", {"format": "brat"}).status_code == 422


def test_a_run_with_failures_is_not_done(client: Client, project: Project) -> None:
    run = OutputRun.objects.create(project=project, system="net", revision="r1", status="done")
    for item in make_items(project, 3):
        message = f"{item.external_id}: the image 'x{item.pk}.png' is too large"
        OutputFailure.objects.create(run=run, item=item, kind="invalid_item", message=message)
    shown = text_of(client, f"/annotate/{project.slug}/outputs/")
    assert "Done, 3 of 3 failed" in shown
    assert '3 × <span lang="en">i1: the image' in shown


def test_people_assignments_and_projects_are_sorted_by_their_heads(client: Client, project: Project) -> None:
    names = []
    for _number in range(2):
        member = make_member(project)
        make_annotation(member)
        names.append(member.user.username)
    names.sort()  # the tenth person comes before the ninth
    for page, order, expected in (
        ("members/", "person", names),
        ("members/", "-person", names[::-1]),
        ("under-way/", "annotator", names),
        ("under-way/", "-annotator", names[::-1]),
    ):
        text = text_of(client, f"/annotate/{project.slug}/{page}?sort={order}")
        table = text.partition("<tbody>")[2].partition("</tbody>")[0]
        assert sorted(expected, key=table.index) == expected, (page, order)
    assert 'aria-sort="descending"' in text_of(client, "/annotate/?sort=-submitted")


def test_a_manager_orders_items_and_moves_one(client: Client, project: Project) -> None:
    make_items(project, 3)
    base = f"/annotate/{project.slug}/items/"
    assert "Order of assignment" in text_of(client, base)
    last = project.items.order_by("position").last()
    assert last is not None
    page = f"{base}{last.pk}/"
    assert "Assign next" in text_of(client, page)
    moved = client.post(f"{page}move/", {"order": "first"}, follow=True).content.decode()
    assert "This item is assigned next." in moved
    names = project.items.order_by("rank").values_list("external_id", flat=True)
    assert names[0] == last.external_id
    assert "Choose an order" in client.post(f"{page}move/", {"order": "file"}, follow=True).content.decode()
    changed = client.post(f"{base}order/", {"order": "file"}, follow=True).content.decode()
    assert "Changed the order of 3 items." in changed
    assert names.all()[2] == last.external_id
    assert "Choose an order" in client.post(f"{base}order/", {"order": "x"}, follow=True).content.decode()
    assert client_of(make_member(project).user).post(f"{base}order/", {"order": "file"}).status_code == 403
