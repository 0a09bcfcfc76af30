"""The pages of the studio lead from an empty study to a launched one.

They work without JavaScript and without a file.
"""

import re
from copy import deepcopy
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from studyapp.actions.studies import create_study
from studyapp.models import DraftRevision, Event, Participant, Study
from studyapp.queries.design.drafts import preview_draft, read_current_draft
from studyapp.studio.steps import STEPS
from tests import workspaces
from tests.html import join_lines
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client):
    client.force_login(factories.make_user())
    return client


@pytest.fixture
def dataset():
    dataset = factories.make_dataset(questions=30)
    factories.make_run(dataset=dataset, system="qi2019")
    return dataset


def page(staff, address, status=200):
    response = staff.get(address)
    assert response.status_code == status, response.content.decode()[:2000]
    return response.content.decode()


def form_of(html):
    """Return the fields that a browser would send of the form of a step.

    Names and values are in the order of the page.
    """
    body = html.split('<form method="post" id="step"')[1].split("</form>")[0]
    pairs = []
    tags = r"<select\b.*?</select>|<textarea\b.*?</textarea>|<input\b[^>]*>"
    for tag in re.findall(tags, body, re.DOTALL):
        name = re.search(r'name="([^"]*)"', tag)
        if name is None:
            continue
        if tag.startswith("<select"):
            chosen = re.findall(r'<option value="([^"]*)" selected', tag)
            pairs.append((name[1], (chosen or re.findall(r'value="([^"]*)"', tag))[0]))
        elif tag.startswith("<textarea"):
            pairs.append((name[1], tag.split(">\n", 1)[1].removesuffix("</textarea>")))
        elif 'type="checkbox"' not in tag or " checked" in tag:
            pairs.append((name[1], (*re.findall(r'value="([^"]*)"', tag), "on")[0]))
    fields: dict[str, list[str]] = {}
    for key, value in pairs:
        fields.setdefault(key, []).append(unescape(value))
    return fields


def send(staff, slug, step, act="", **changes):
    """Send the form of a step with some fields changed, by one of its buttons."""
    at = f"/staff/studio/{slug}/step/{step}/"
    fields = form_of(page(staff, at))
    for name, value in changes.items():
        fields[name.replace("__", ".")] = value
    return staff.post(
        at + act, {name: value for name, value in fields.items() if value is not None}, follow=True
    )


def start(staff, dataset, slug="mine", template="xqa-2020"):
    sent = {"title": "Do they help?", "slug": slug, "dataset": dataset.name, "start": template}
    response = staff.post("/staff/studio/new/", sent, follow=True)
    assert response.status_code == 200
    return Study.objects.get(slug=slug)


CONSENT = "You take part in a study. Ask ann@example.org."


def fill_consent(staff):
    """Replace the placeholders of the consent, which a launch refuses.

    They are those of the template.
    """
    send(staff, "mine", "texts", consent=CONSENT)


def test_the_placeholder_of_the_consent_is_to_be_filled(staff, dataset):
    start(staff, dataset)
    assert "still holds the placeholder" in unescape(page(staff, "/staff/studio/mine/review/"))
    refused = staff.post("/staff/studio/mine/launch/", follow=True)
    assert "still holds the placeholder" in refused.content.decode()
    assert Study.objects.get().status == "draft"


def test_it_works(staff, dataset):
    start(staff, dataset)
    fill_consent(staff)
    study = Study.objects.get()
    assert preview_draft(read_current_draft(study).draft, workspaces.main()).problems == []
    for step in STEPS:
        assert "Participant view" in page(staff, f"/staff/studio/mine/step/{step.name}/")
    assert "/mine/launch/" not in page(staff, "/staff/studio/mine/review/")
    factories.accept_checks(study)
    assert "Launching freezes the items" in page(staff, "/staff/studio/mine/review/")
    response = staff.post("/staff/studio/mine/launch/", follow=True)
    assert "Launched version 1" in response.content.decode()
    study.refresh_from_db()
    assert study.status == "open"
    assert [arm.name for arm in study.versions.get().conditions.all()] == ["qi2019", "ground truth"]
    unchanged = page(staff, "/staff/studio/mine/review/")
    assert "the draft is what version 1 holds" in unchanged
    assert "/mine/launch/" not in unchanged
    send(staff, "mine", "texts", title="Do they really help?")
    factories.accept_checks(study)
    assert "/mine/launch/" in page(staff, "/staff/studio/mine/review/")


def test_who_may_not(client, dataset):
    study = factories.make_study(launched=False)
    client.force_login(factories.make_user(None))
    assert client.get("/staff/studio/").status_code == 403
    assert client.get(f"/staff/studio/{study.slug}/review/").status_code == 404
    assert client.post(f"/staff/studio/{study.slug}/undo/").status_code == 404
    client.logout()
    assert client.get(f"/staff/studio/{study.slug}/step/texts/").status_code == 302
    client.force_login(factories.make_user())
    assert client.get("/staff/studio/nothing/review/").status_code == 404
    assert client.get(f"/staff/studio/{study.slug}/step/nothing/").status_code == 404
    assert client.get(f"/staff/studio/{study.slug}/undo/").status_code == 405
    assert not DraftRevision.objects.exists()


def test_an_incomplete_draft_is_kept_and_says_what_is_missing(staff, dataset):
    start(staff, dataset)
    html = send(staff, "mine", "texts", title="", consent="").content.decode()
    assert "2 problems to fix in this step" in html
    assert "Title: is missing" in join_lines(html)
    study = Study.objects.get()
    assert "consent" not in read_current_draft(study).draft
    assert study.title == "mine"
    html = page(staff, "/staff/studio/mine/review/")
    assert "when every check above is done or decided" in html
    assert 'action="/staff/studio/mine/launch/"' not in html
    assert (
        "complete it in the studio" in staff.post("/staff/studio/mine/launch/", follow=True).content.decode()
    )
    assert page(staff, "/staff/studies/mine/")
    assert page(staff, "/staff/studies/mine/compare/")


def test_what_is_left_to_do_is_said_in_german(staff, dataset, tmp_path):
    start(staff, dataset)
    send(staff, "mine", "texts", title="", consent="")
    german = {"headers": {"accept-language": "de"}}
    html = staff.get("/staff/studio/mine/step/texts/", **german).content.decode()
    assert "Titel: fehlt" in join_lines(html)
    html = staff.get("/staff/studio/mine/review/", **german).content.decode()
    assert '<span class="path">Einwilligung</span> fehlt' in html
    html = staff.post("/staff/studio/mine/launch/", follow=True, **german).content.decode()
    assert "hat keine Definition, die gestartet werden kann" in html
    path = tmp_path / "wrong.yaml"
    path.write_text("study: mine\nconditionz: []\n")
    with path.open() as file:
        html = staff.post("/staff/studio/mine/file/", {"file": file}, **german).content.decode()
    assert "wrong.yaml:2: conditionz: dieses Feld gibt es nicht" in html


@pytest.mark.parametrize("value", ["abc", "0", "1.5", "9999999"])
def test_a_wrong_value_stands_in_its_field_with_the_definitions_words(staff, dataset, value):
    start(staff, dataset)
    html = send(staff, "mine", "items", items__count=value).content.decode()
    assert f'name="items.count" value="{value}"' in html
    assert 'aria-describedby="f-items-count-errors"' in html


def test_undo_and_redo_go_through_what_was_saved(staff, dataset):
    study = start(staff, dataset)
    for title in ("First", "Second", "Third"):
        send(staff, "mine", "texts", title=title)
    for act, title in (("undo", "Second"), ("undo", "First"), ("redo", "Second"), ("redo", "Third")):
        staff.post(f"/staff/studio/mine/{act}/")
        study.refresh_from_db()
        assert study.title == study.definition["title"] == title
    assert "There is nothing to redo" in staff.post("/staff/studio/mine/redo/", follow=True).content.decode()
    staff.post("/staff/studio/mine/undo/")
    send(staff, "mine", "texts", title="Another")
    staff.post("/staff/studio/mine/undo/")
    staff.post("/staff/studio/mine/redo/")
    study.refresh_from_db()
    assert study.title == "Another"
    assert {revision.content["title"] for revision in study.revisions.all()} == {
        "Do they help?", "First", "Second", "Third", "Another",
    }  # fmt: skip
    number = study.revisions.get(content__title="Third").number
    staff.post(f"/staff/studio/mine/revisions/{number}/")
    study.refresh_from_db()
    assert study.title == "Third"
    assert Event.objects.filter(study=study, kind="study_edited", data__changed="undo").count() == 4


def test_saving_nothing_new_makes_no_revision(staff, dataset):
    study = start(staff, dataset)
    for step in STEPS:
        send(staff, "mine", step.name)
    assert study.revisions.count() == 1


def test_two_people_do_not_overwrite_each_other(staff, dataset):
    study = start(staff, dataset)
    fields = form_of(page(staff, "/staff/studio/mine/step/texts/"))
    send(staff, "mine", "texts", title="Mine")
    fields["title"] = ["Theirs"]
    late = staff.post("/staff/studio/mine/step/texts/", fields)
    assert late.status_code == 409
    assert "The draft was changed in the meantime" in late.content.decode()
    study.refresh_from_db()
    assert study.title == "Mine"
    # The form still holds their title, and saving it once more is theirs to decide.
    late_fields = form_of(late.content.decode())
    assert late_fields["title"] == ["Theirs"]
    assert staff.post("/staff/studio/mine/step/texts/", late_fields).status_code == 302
    study.refresh_from_db()
    assert study.title == "Theirs"


def test_rows_that_another_person_removed_are_kept_as_they_were_typed(staff, dataset):
    study = start(staff, dataset)
    address = "/staff/studio/mine/step/questionnaire/"
    before = deepcopy(study.definition["questionnaire"]["item"])
    fields = form_of(page(staff, address))
    staff.post(f"{address}remove/questionnaire.item.0/", fields)
    study.refresh_from_db()
    assert study.definition["questionnaire"]["item"] == before[1:]
    last = len(before) - 1
    fields[f"questionnaire.item.{last}.text"] = ["Theirs?"]
    late = staff.post(address, fields)
    assert late.status_code == 409
    again = form_of(late.content.decode())
    assert again[f"questionnaire.item.{last}.text"] == ["Theirs?"]
    assert staff.post(address, again).status_code == 302
    study.refresh_from_db()
    assert study.definition["questionnaire"]["item"] == [*before[:-1], before[-1] | {"text": "Theirs?"}]


def test_an_open_form_does_not_overwrite_a_newer_file(staff):
    definition = factories.make_definition(title="Old")
    study = create_study(workspace=workspaces.main(), definition=definition, by=None)
    address = f"/staff/studio/{study.slug}/step/texts/"
    fields = form_of(page(staff, address))
    create_study(
        workspace=workspaces.main(),
        definition=definition.model_copy(update={"consent": "A new consent."}),
        by=None,
    )
    assert staff.post(address, fields).status_code == 409
    study.refresh_from_db()
    assert study.definition["consent"] == "A new consent."


def test_who_is_late_with_a_form_is_not_sent_on_to_the_scales(staff, dataset):
    start(staff, dataset)
    fields = form_of(page(staff, "/staff/studio/mine/step/questionnaire/"))
    send(staff, "mine", "texts", title="Mine")
    address = "/staff/studio/mine/step/questionnaire/to-scales/questionnaire.post_survey/"
    assert staff.post(address, fields).status_code == 409


def test_the_questionnaire_is_edited_by_buttons(staff, dataset):
    start(staff, dataset)
    fill_consent(staff)
    post = "questionnaire.post_survey"
    send(staff, "mine", "questionnaire", f"add/{post}/", **{f"what:{post}": "likert"})
    questions = read_current_draft(Study.objects.get()).draft["questionnaire"]["post_survey"]
    assert questions[-1] == {"key": "question_1", "scale": {"points": 5}, "required": True}
    at = f"{post}.4"
    html = send(
        staff, "mine", "questionnaire",
        **{f"{at}.text": "How sure?", f"{at}.scale.points": "7", f"{at}.scale.labels": "",
           f"{at}.scale.low": "Not", f"{at}.scale.high": "Very", f"{at}.required": None},
    ).content.decode()  # fmt: skip
    assert "to fix in this step" not in html
    questions = read_current_draft(Study.objects.get()).draft["questionnaire"]["post_survey"]
    assert questions[-1] == {
        "key": "question_1", "text": "How sure?", "scale": {"points": 7, "ends": ["Not", "Very"]},
        "required": False,
    }  # fmt: skip
    send(staff, "mine", "questionnaire", f"up/{at}/")
    send(staff, "mine", "questionnaire", f"remove/{post}.0/")
    keys = [
        question["key"]
        for question in read_current_draft(Study.objects.get()).draft["questionnaire"]["post_survey"]
    ]
    assert keys == ["relevant_information", "irrelevant_information", "question_1", "satisfaction"]
    for kind, fields in (
        ("single", {"choices": "a = Yes, often\r\nNever at all"}),
        ("multiple", {}),
        ("number", {"min": "1", "max": "99", "unit": "years"}),
        ("text", {"lines": "5"}),
        ("yes_no", {}),
    ):
        scale_path = f"{post}.2.scale"
        send(staff, "mine", "questionnaire", f"kind/{post}.2/", **{f"{scale_path}.kind": kind})
        sent = {f"{scale_path}.{name}": value for name, value in fields.items()}
        send(staff, "mine", "questionnaire", **sent)
        draft = read_current_draft(Study.objects.get()).draft
        assert preview_draft(draft, workspaces.main()).problems == [], kind
        scale = draft["questionnaire"]["post_survey"][2]["scale"]
        assert scale == "yes_no" if kind == "yes_no" else scale["kind"] == kind
        if kind in ("single", "multiple"):
            assert scale["choices"] == [
                {"value": "a", "label": "Yes, often"}, {"value": "never_at_all", "label": "Never at all"},
            ]  # fmt: skip


def test_a_scale_is_added_by_name(staff, dataset):
    start(staff, dataset)
    fill_consent(staff)
    at = "/staff/studio/mine/step/questionnaire/scales/questionnaire.post_survey/"
    assert "Hart and Staveland 1988" in page(staff, at)
    assert staff.post(at, {"scale": "umux-lite", "items": ""}).status_code == 302
    refused = staff.post(at, {"scale": "trust-jian", "items": "one\ntwo"})
    assert refused.status_code == 422
    assert "as in its source" in refused.content.decode()
    staff.post(at, {"scale": "trust-jian", "items": "\n".join(f"Item {n}" for n in range(1, 13))})
    draft = read_current_draft(Study.objects.get()).draft
    assert [question["key"] for question in draft["questionnaire"]["post_survey"]][-14:-11] == [
        "umux_capabilities", "umux_ease", "trust_jian_1",
    ]  # fmt: skip
    assert preview_draft(draft, workspaces.main()).problems == []


def test_conditions_checks_rules_and_translations_are_made_by_buttons(staff, dataset):
    start(staff, dataset)
    fill_consent(staff)
    send(staff, "mine", "conditions", "add/conditions/", what="qi2019")
    send(staff, "mine", "conditions", **{"conditions.2.explanation": "none"})
    assert [arm["explanation"] for arm in read_current_draft(Study.objects.get()).draft["conditions"]] == [
        "facts", "facts", "none",
    ]  # fmt: skip
    send(staff, "mine", "checks", "add/screening/", **{"what:screening": "yes_no"})
    send(staff, "mine", "checks", **{"screening.0.text": "Are you 18 or older?", "screening.0.accept": "yes"})
    send(staff, "mine", "checks", "add/comprehension/")
    question = "comprehension.questions.0"
    send(staff, "mine", "checks",
         **{f"{question}.text": "May you look something up?", f"{question}.key": "look_up",
            f"{question}.correct": "no"})  # fmt: skip
    send(staff, "mine", "checks", "add/attention/", what="instructed")
    send(staff, "mine", "checks",
         **{"attention.0.text": "Please choose no.", "attention.0.expected.rated_correct": "no"})  # fmt: skip
    send(staff, "mine", "rules", "add/exclusions/", what="flagged")
    send(staff, "mine", "rules", "add/exclusions/", what="answered")
    send(staff, "mine", "rules", **{"exclusions.4.question": "certainty=1"})
    draft = read_current_draft(Study.objects.get()).draft
    assert preview_draft(draft, workspaces.main()).problems == []
    assert draft["screening"][0]["accept"] == [True]
    assert draft["comprehension"]["questions"][0]["correct"] is False
    assert draft["attention"][0]["expected"] == {"rated_correct": False}
    assert draft["exclusions"][3:] == [
        {"kind": "flagged", "name": "does-not-read", "flag": "failed_attention"},
        {"kind": "answered", "name": "answered", "question": "certainty", "value": 1},
    ]
    send(staff, "mine", "translations", "add/translations.de/")
    send(staff, "mine", "translations",
         **{"translations.de.title": "Helfen sie?", "translations.de.consent": "Ja.",
            "translations.de.instructions": "Lies.",
            "translations.de.screening.1": "Volljährig?", "translations.de.comprehension.1": "Nachschlagen?",
            "translations.de.attention.1": "Nein."})  # fmt: skip
    study = Study.objects.get()
    factories.accept_checks(study)
    staff.post("/staff/studio/mine/launch/")
    version = study.versions.get()
    assert list(version.frozen["translations"]) == ["de"]
    assert version.frozen["translations"]["de"]["attention"] == {"attention-1": "Nein."}
    assert [rule["kind"] for rule in version.frozen["rules"]][-2:] == ["flagged", "answered"]


def test_items_are_drawn_stratified_or_chosen_by_hand(staff, dataset):
    start(staff, dataset)
    html = page(staff, "/staff/studio/mine/items/?q=q7")
    assert "qi2019 answers" in html
    assert "1 question matches" in html
    send(staff, "mine", "items", **{"items.way": "stratify", "items.stratify.system": "qi2019",
         "items.stratify.correct": "0.5", "items.count": "10"})  # fmt: skip
    study = Study.objects.get()
    assert read_current_draft(study).draft["items"] == {
        "count": 10, "seed": 1, "stratify": {"system": "qi2019", "correct": 0.5},
    }  # fmt: skip
    assert "qi2019 answers 5 of 10 correctly" in page(staff, "/staff/studio/mine/items/")
    sent = {"base": read_current_draft(study).number, "keep": ["q7"], "add": ["q2", "q7"], "q": ""}
    staff.post("/staff/studio/mine/items/change/", sent)
    study.refresh_from_db()
    assert read_current_draft(study).draft["items"] == {"ids": ["q7", "q2"]}
    send(staff, "mine", "items", **{"items.ids": "q3\nq1"})
    study.refresh_from_db()
    assert read_current_draft(study).draft["items"] == {"ids": ["q3", "q1"]}
    assert (
        "has no question with the id"
        in send(staff, "mine", "items", **{"items.ids": "q3\nzz"}).content.decode()
    )


def test_nonsense_on_the_page_of_items_is_no_error_of_the_site(staff, dataset):
    study = start(staff, dataset)
    page(staff, "/staff/studio/mine/items/?q=q%007")
    number = read_current_draft(study).number
    address = "/staff/studio/mine/items/change/"
    assert staff.post(address, {"base": "1" * 5000, "add": "q1"}).status_code == 302
    assert staff.post(address, {"base": number, "keep": "q\x002", "add": "q\x003"}).status_code == 302
    study.refresh_from_db()
    assert read_current_draft(study).draft["items"] == {"ids": ["q2", "q3"]}


def test_a_form_made_from_no_revision_is_late(staff, dataset):
    start(staff, dataset)
    address = "/staff/studio/mine/step/texts/"
    fields = form_of(page(staff, address)) | {"base": ["1" * 5000]}
    assert staff.post(address, fields).status_code == 409


def test_the_preview_shows_what_is_not_saved_and_stores_nothing(staff, dataset):
    study = start(staff, dataset)
    at = "/staff/studio/mine/step/texts/"
    fields = form_of(page(staff, at)) | {"consent": ["Brand new words."], "preview_page": "consent"}
    events, revisions = Event.objects.count(), DraftRevision.objects.count()
    response = staff.post("/staff/studio/mine/preview/texts/", fields)
    html = response.content.decode()
    assert "Brand new words." in html
    assert "I agree to take part" in html
    policy = response["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in policy
    assert "form-action 'none'" in policy
    assert "script-src 'none'" in policy
    assert response["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'none'" in staff.get(at)["Content-Security-Policy"]
    for name, words in (
        ("item", "Your judgement"), ("survey", "Final questions"), ("done", "completion code"),
    ):  # fmt: skip
        shown = staff.get(f"/staff/studio/mine/preview/texts/?preview_page={name}").content.decode()
        assert words in shown
    study.refresh_from_db()
    assert "Brand new" not in study.definition["consent"]
    assert (events, revisions) == (Event.objects.count(), DraftRevision.objects.count())
    assert not Participant.objects.exists()


def test_a_preview_of_almost_nothing_has_a_made_up_item(staff):
    staff.post("/staff/studio/new/", {"title": "Bare", "slug": "bare", "dataset": "", "start": "empty"})
    html = page(staff, "/staff/studio/bare/step/conditions/")
    assert "This is an example item" in html
    assert "Dataset: is missing" in join_lines(html)
    assert "Night Harbour" in page(staff, "/staff/studio/bare/preview/conditions/?preview_page=item")


def test_a_file_comes_in_and_goes_out(staff, dataset, tmp_path):
    study = start(staff, dataset)
    text = staff.get("/staff/studio/mine/definition.yaml").content
    renamed = text.replace(b"study: mine", b"study: other")
    sent = {"file": SimpleUploadedFile("other.yaml", renamed)}
    assert staff.post("/staff/studio/file/", sent).status_code == 302
    other = Study.objects.get(slug="other")
    assert other.definition == {**study.definition, "study": "other"}
    wrong = SimpleUploadedFile("wrong.yaml", text.replace(b"count: 25", b"count: [25]"))
    response = staff.post("/staff/studio/other/file/", {"file": wrong})
    assert response.status_code == 422
    assert re.search(r"wrong.yaml:\d+: items.count: ", response.content.decode())
    assert staff.post("/staff/studio/file/", {"file": SimpleUploadedFile("x", b"\xff")}).status_code == 422
    changed = SimpleUploadedFile("new.yaml", text.replace(b"title: Do they help?", b"title: New"))
    staff.post("/staff/studio/other/file/", {"file": changed})
    other.refresh_from_db()
    assert (other.slug, other.title) == ("other", "New")


def test_a_draft_that_is_not_complete_comes_in_again(staff):
    staff.post("/staff/studio/new/", {"title": "Bare", "slug": "bare", "dataset": "", "start": "empty"})
    send(staff, "bare", "items", items__count="many")
    text = staff.get("/staff/studio/bare/definition.yaml").content
    sent = {"file": SimpleUploadedFile("again.yaml", text.replace(b"study: bare", b"study: again"))}
    assert staff.post("/staff/studio/file/", sent).status_code == 302
    bare, again = (read_current_draft(Study.objects.get(slug=slug)).draft for slug in ("bare", "again"))
    assert again == {**bare, "study": "again"}
    assert again["items"]["count"] == "many"
    html = page(staff, "/staff/studio/again/review/")
    assert '<span class="path">Dataset</span> is missing' in html
    assert "is missing" in html
    for step in STEPS:
        page(staff, f"/staff/studio/again/step/{step.name}/")
    back = SimpleUploadedFile("bare.yaml", text)
    assert staff.post("/staff/studio/again/file/", {"file": back}).status_code == 302
    launched = staff.post("/staff/studio/again/launch/", follow=True)
    assert "Launched version 1" not in launched.content.decode()
    response = staff.post(
        "/staff/studio/file/", {"file": SimpleUploadedFile("a.yaml", b"study: x\n\nwho: me")}
    )
    assert response.status_code == 422
    assert "a.yaml:3: who: there is no such field" in response.content.decode()


def test_a_study_from_a_file_is_edited_without_losing_its_history(staff):
    study = factories.make_study()
    assert "created from a file" in page(staff, f"/staff/studio/{study.slug}/review/")
    send(staff, study.slug, "texts", title="Edited")
    assert [revision.changed for revision in study.revisions.all()] == ["definition", "texts"]
    staff.post(f"/staff/studio/{study.slug}/undo/")
    study.refresh_from_db()
    assert study.title == "Do the explanations help?"
    assert study.versions.count() == 1
    send(staff, study.slug, "texts", title="Edited again")
    factories.accept_checks(study)
    staff.post(f"/staff/studio/{study.slug}/launch/")
    assert [version.frozen["title"] for version in study.versions.order_by("number")] == [
        "Do the explanations help?", "Edited again",
    ]  # fmt: skip


def test_an_incomplete_draft_can_be_duplicated(staff, dataset):
    start(staff, dataset)
    send(staff, "mine", "texts", consent="")
    staff.post("/staff/studies/mine/duplicate/", {"slug": "twin", "title": "Twin"})
    twin = read_current_draft(Study.objects.get(slug="twin")).draft
    assert (twin["title"], "consent" in twin) == ("Twin", False)


def test_every_end_is_previewed_with_its_code(staff, dataset):
    start(staff, dataset)
    assert 'value="full"' in page(staff, "/staff/studio/mine/step/recruitment/")
    assert 'value="screened_out"' not in page(staff, "/staff/studio/mine/step/recruitment/")
    send(staff, "mine", "recruitment", "add/recruitment/")
    codes = {"done": "DONE7", "full": "FULL7"}
    send(staff, "mine", "recruitment", **{
        f"recruitment.outcomes.{outcome}.code": code for outcome, code in codes.items()
    })  # fmt: skip
    for outcome, words in (
        ("done", "Thank you for taking part"),
        ("full", "has reached its number of participants"),
    ):
        html = page(staff, f"/staff/studio/mine/preview/texts/?preview_page={outcome}")
        assert words in html
        assert f"https://app.prolific.com/submissions/complete?cc={codes[outcome]}" in html


def test_every_message_is_previewed(staff, dataset):
    start(staff, dataset)
    send(staff, "mine", "recruitment", "add/recruitment/")
    codes = {"done": "DONE7", "no_consent": "NONE7"}
    send(staff, "mine", "recruitment", **{
        f"recruitment.outcomes.{outcome}.code": code for outcome, code in codes.items()
    })  # fmt: skip
    html = page(staff, "/staff/studio/mine/step/recruitment/")
    for name, words in {
        "no_consent": "complete?cc=NONE7", "not_open": "This study is not open yet.",
        "paused": "This study is paused.", "closed": "This study is closed.",
        "link_used": "This link was for one person", "link_full": "This link has reached its",
        "no_link": "Please open your study link again", "withdrawn": "You have withdrawn",
        "not_arrived": "The address lacks PROLIFIC_PID",
    }.items():  # fmt: skip
        assert f'value="{name}"' in html
        assert words in page(staff, f"/staff/studio/mine/preview/texts/?preview_page={name}"), name
    assert "not be used" in page(staff, "/staff/studio/mine/preview/texts/?preview_page=withdrawn")
    send(staff, "mine", "recruitment", **{"privacy.withdrawal": "delete"})
    assert "were deleted" in page(staff, "/staff/studio/mine/preview/texts/?preview_page=withdrawn")


def test_pages_ask_no_more_of_the_database_for_more_items(staff, dataset, django_assert_max_num_queries):
    start(staff, dataset)
    for address, most in (("items/", 26), ("step/conditions/", 30), ("review/", 30)):
        for count in ("3", "25"):
            send(staff, "mine", "items", **{"items.count": count})
            with django_assert_max_num_queries(most):
                page(staff, f"/staff/studio/mine/{address}")


def test_pages_ask_no_more_of_the_database_for_a_larger_dataset(staff):
    """And are no larger: what is shown of the questions is a search, cut off."""
    query_counts: dict[str, list[int]] = {}
    sizes: dict[str, list[int]] = {}
    for questions in (100, 1000):
        large = factories.make_dataset(questions=questions, name=f"world{questions:05}")
        factories.make_run(dataset=large, system="qi2019")
        start(staff, large, slug=f"of{questions:05}")
        pages = [f"step/{step.name}/" for step in STEPS]
        for address in (*pages, "review/", "items/", "items/?q=director", "preview/items/"):
            page(staff, f"/staff/studio/of{questions:05}/{address}")  # fills the caches between requests
            with CaptureQueriesContext(connection) as queries:
                html = page(staff, f"/staff/studio/of{questions:05}/{address}")
            query_counts.setdefault(address, []).append(len(queries))
            sizes.setdefault(address, []).append(len(html))
    assert {address: few for address, (few, many) in query_counts.items() if few != many} == {}
    assert max(few for few, _many in query_counts.values()) <= 40
    assert all(many < 1.1 * few for few, many in sizes.values()), sizes
