"""Tests of several workspaces: new objects, runs and their judges.

They cover datasets of the same name, too.
"""

import PIL.Image
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import Role
from predictions.models import PredictionRun, Question
from studyapp.actions.drafts import save_draft, undo_draft
from studyapp.actions.shares import share_study
from studyapp.models import JudgedAnswer, SizePlan, Study
from studyapp.queries.access import list_runs_to_judge
from studyapp.queries.design.drafts import read_current_draft
from studyapp.studio.drafts import as_yaml
from tests import workspaces
from tests.studyapp import factories
from tests.studyapp.rules.test_sample_sizes import SENT

pytestmark = pytest.mark.django_db

NEW = {"title": "A study", "slug": "mine", "dataset": "world", "start": "xqa-2020"}


@pytest.fixture
def second():
    return factories.make_workspace()


@pytest.fixture
def worlds(second):
    """Datasets of one name in two workspaces.

    They have other questions and another system.
    """
    datasets = {}
    for workspace, system in ((workspaces.main(), "qi2019"), (second, "bert")):
        dataset = factories.make_dataset(questions=30, name="world", workspace=workspace)
        factories.make_run(dataset=dataset, system=system)
        datasets[workspace] = dataset
    Question.objects.filter(dataset=datasets[second]).update(text="A secret question?")
    return datasets


def log_in(client, *workspaces, role=Role.RESEARCHER):
    user = factories.make_user(None)
    for workspace in workspaces:
        factories.workspaces.give(user, role, workspace=workspace)
    client.force_login(user)
    return user


def text(response):
    return response.content.decode()


# New objects


def test_with_one_workspace_there_is_nothing_to_choose(client, worlds, second):
    log_in(client, second)
    page = text(client.get("/staff/studio/"))
    assert 'name="workspace"' not in page
    assert page.count('<option value="world">') == 1
    client.post("/staff/studio/new/", NEW)
    study = Study.objects.get(slug="mine")
    assert study.workspace == second
    assert study.definition["conditions"][0]["system"] == "bert"
    assert 'name="workspace"' not in text(client.get(f"/staff/studies/{study.slug}/duplicate/"))
    assert 'name="workspace"' not in text(client.get("/staff/sample-size/"))


def test_with_several_the_form_asks(client, worlds, second):
    log_in(client, second, workspaces.main())
    page = text(client.get("/staff/studio/"))
    assert f'<optgroup label="{second.name}">' in page
    assert page.count('<select name="workspace"') == 2  # the form and that of a file
    assert client.post("/staff/studio/new/", NEW).status_code == 422
    assert not Study.objects.exists()
    client.post("/staff/studio/new/", {**NEW, "workspace": second.slug})
    assert Study.objects.get().workspace == second
    file = SimpleUploadedFile("a.yaml", b"study: from-file\n")
    assert client.post("/staff/studio/file/", {"file": file}).status_code == 422
    file.seek(0)
    client.post("/staff/studio/file/", {"file": file, "workspace": second.slug})
    assert Study.objects.get(slug="from-file").workspace == second
    client.post("/staff/studies/mine/duplicate/", {"slug": "copy", "title": "Copy", "workspace": "main"})
    assert Study.objects.get(slug="copy").workspace == workspaces.main()
    refused = client.post("/staff/sample-size/", SENT)
    assert refused.status_code == 422
    assert '<a href="#id_workspace">Workspace</a>: This field is required.' in text(refused)
    client.post("/staff/sample-size/", {**SENT, "workspace": second.slug})
    assert SizePlan.objects.get().workspace == second
    assert second.name in text(client.get("/staff/sample-size/"))


def test_the_copy_goes_into_the_workspace_of_the_study_unless_another_is_chosen(client, second):
    log_in(client, second, workspaces.main())
    study = factories.make_study(workspace=second)
    page = text(client.get(f"/staff/studies/{study.slug}/duplicate/"))
    assert f'<option value="{second.slug}" selected>' in page


def test_nothing_is_created_in_a_workspace_without_the_right(client, worlds, second):
    third = factories.make_workspace()
    user = log_in(client, workspaces.main(), third)
    factories.workspaces.give(user, Role.ANALYST, workspace=second)
    assert f'<option value="{second.slug}"' not in text(client.get("/staff/studio/"))
    for address, sent in (("studio/new/", NEW), ("sample-size/", SENT)):
        response = client.post(f"/staff/{address}", {**sent, "workspace": second.slug})
        assert response.status_code == 422
        assert "Select a valid choice" in text(response)
    assert not Study.objects.exists()
    assert not SizePlan.objects.exists()


def test_a_dataset_of_another_workspace_than_the_chosen_one_is_refused(client, second):
    factories.make_dataset(name="world", workspace=second)
    log_in(client, second, workspaces.main())
    response = client.post("/staff/studio/new/", {**NEW, "workspace": "main"})
    assert response.status_code == 422
    assert "The workspace Main does not have this dataset." in text(response)
    assert not Study.objects.exists()


# Datasets of the same name


def test_the_studio_shows_the_questions_of_its_own_workspace(client, worlds, second):
    log_in(client, workspaces.main())
    client.post("/staff/studio/new/", NEW)
    for page in ("items/", "items/?q=secret", "step/conditions/", "step/items/", "preview/items/"):
        shown = text(client.get(f"/staff/studio/mine/{page}"))
        assert "A secret question" not in shown, page
        assert "bert" not in shown, page
    assert "qi2019" in text(client.get("/staff/studio/mine/step/conditions/"))
    study = Study.objects.get()
    Study.objects.update(definition={**study.definition, "consent": "I agree."})  # without placeholders
    factories.accept_checks(Study.objects.get())
    client.post("/staff/studio/mine/launch/")
    version = Study.objects.get().versions.get()
    assert {item.question.dataset for item in version.items.all()} == {worlds[workspaces.main()]}


def test_names_of_other_workspaces_datasets_are_not_offered(client, worlds, second):
    factories.make_dataset(name="foreign-world", workspace=second)
    log_in(client, workspaces.main())
    assert "foreign-world" not in text(client.get("/staff/studio/"))
    assert client.post("/staff/studio/new/", {**NEW, "dataset": "foreign-world"}).status_code == 422


# Judges


@pytest.fixture
def run(worlds, second):
    return PredictionRun.objects.get(dataset=worlds[second])


def study_of(run, *, launched):
    return factories.make_study(
        workspace=run.dataset.workspace,
        dataset="world",
        conditions=[{"system": "bert"}, {"ground_truth": True}],
        launched=launched,
    )


@pytest.mark.parametrize("launched", [False, True])
def test_an_analyst_judges_the_runs_of_a_study_that_was_shared(client, run, launched):
    study = study_of(run, launched=launched)
    if launched:  # only the version uses the run now
        Study.objects.filter(pk=study.pk).update(definition={"conditions": "none", "dataset": "world"})
    unused = factories.make_run(dataset=run.dataset, system="unused")
    other = PredictionRun.objects.get(dataset__workspace=workspaces.main())
    analyst = factories.make_user(None)
    client.force_login(analyst)
    share_study(study=study, user=analyst, role=Role.ANALYST, by=None)
    assert list(list_runs_to_judge(analyst)) == [run]
    page = text(client.get("/staff/correctness/"))
    assert f'href="/staff/correctness/{run.pk}/"' in page
    client.post(f"/staff/correctness/{run.pk}/queue/")
    page = text(client.get(f"/staff/correctness/{run.pk}/judge/"))
    key = page.split('name="answer" value="')[1].split('"')[0]
    client.post(f"/staff/correctness/{run.pk}/judge/store/", {"answer": key, "verdict": "no", "note": ""})
    assert JudgedAnswer.objects.get(pk=key).judgements.get().judge == analyst
    for hidden_run in (unused, other):
        assert client.get(f"/staff/correctness/{hidden_run.pk}/").status_code == 404
    study.shares.update(role=Role.VIEWER)
    assert client.get(f"/staff/correctness/{run.pk}/").status_code == 403
    assert list(list_runs_to_judge(analyst)) == []


@pytest.fixture
def shared(client, run):
    """A study, and a guest with whom only the study is shared.

    The study does not use the dataset of the run.
    """
    study = factories.make_study(workspace=run.dataset.workspace, conditions=2, launched=False)
    guest = log_in(client)
    share_study(study=study, user=guest, role=Role.RESEARCHER, by=None)
    return study, guest


def put(client, study, content, number):
    return client.put(
        f"/api/v1/studies/{study.slug}/draft/",
        {"definition": content},
        content_type="application/json",
        headers={"If-Match": f'"draft-{number}"'},
    )


OTHER_DATA = {"dataset": "world", "conditions": [{"system": "bert"}]}


def test_a_share_of_a_study_opens_no_other_data(client, run, shared):
    study, guest = shared
    now = read_current_draft(study)
    refused = put(client, study, now.draft | OTHER_DATA, now.number)
    assert refused.status_code == 403
    assert "Only the study is shared with you" in refused.json()["detail"]
    file = SimpleUploadedFile("a.yaml", as_yaml(now.draft | OTHER_DATA).encode())
    refused = client.post(f"/staff/studio/{study.slug}/file/", {"file": file})
    assert refused.status_code == 422
    assert "Only the study is shared with you" in text(refused)
    step = f"/staff/studio/{study.slug}/step/conditions/"
    assert "world" not in text(client.get(step))
    refused = client.post(step, {"base": now.number, "dataset": "world"})
    assert refused.status_code == 409
    assert "Only the study is shared with you" in text(refused)
    Study.objects.filter(pk=study.pk).update(definition=study.definition | {"dataset": "world"})
    factories.make_run(dataset=run.dataset, system="unseen2019")
    study.refresh_from_db()
    now = read_current_draft(study)
    assert "unseen2019" not in text(client.get(f"/staff/studio/{study.slug}/step/conditions/"))
    conditions = {"conditions": [{"system": "unseen2019"}]}
    assert put(client, study, now.draft | conditions, now.number).status_code == 403
    assert client.get(f"/staff/correctness/{run.pk}/").status_code == 404
    assert not list_runs_to_judge(guest).exists()
    assert not study.revisions.exists()


def test_a_share_of_a_study_opens_no_earlier_data(client, run, shared):
    study, _guest = shared
    first = read_current_draft(study).draft
    for draft in (first | OTHER_DATA, first):
        save_draft(
            study=study,
            base=read_current_draft(Study.objects.get()).number,
            draft=draft,
            changed="file",
            by=None,
        )
    address = f"/staff/studio/{study.slug}/"
    for page in ("undo/", "revisions/2/"):
        client.post(address + page)
        assert read_current_draft(Study.objects.get()).number == 3
    undo_draft(study=study, by=None)
    undo_draft(study=study, by=None)
    client.post(f"{address}redo/")
    assert read_current_draft(Study.objects.get()).number == 1
    assert client.get(f"/staff/correctness/{run.pk}/").status_code == 404


def test_a_researcher_by_share_changes_the_study_with_its_data(client, shared):
    study, _guest = shared
    now = read_current_draft(study)
    fewer = now.draft | {"title": "New", "conditions": now.draft["conditions"][1:]}
    assert put(client, study, fewer, now.number).status_code == 200
    assert put(client, study, {**fewer, "dataset": ""}, 2).status_code == 200
    for number in (2, 1):
        client.post(f"/staff/studio/{study.slug}/undo/")
        assert read_current_draft(Study.objects.get()).number == number
    page = text(client.get(f"/staff/studio/{study.slug}/step/conditions/"))
    assert now.draft["conditions"][0]["system"] in page
    assert client.get(f"/staff/studio/{study.slug}/items/").status_code == 200


def test_data_of_a_launched_version_can_be_chosen_again_by_share(client, run):
    study = study_of(run, launched=True)
    before = read_current_draft(study)
    save_draft(study=study, base=0, draft=before.draft | {"dataset": "b"}, changed="file", by=None)
    share_study(study=study, user=log_in(client), role=Role.RESEARCHER, by=None)
    now = read_current_draft(Study.objects.get())
    assert put(client, study, before.draft, now.number).status_code == 200


@pytest.mark.parametrize("role", [Role.OWNER, Role.RESEARCHER])
def test_people_who_create_studies_choose_all_data_of_the_workspace(client, run, role):
    study = factories.make_study(workspace=run.dataset.workspace, launched=False)
    log_in(client, run.dataset.workspace, role=role)
    now = read_current_draft(study)
    assert put(client, study, now.draft | OTHER_DATA, now.number).status_code == 200


def test_an_analyst_of_the_workspace_gets_no_runs_to_judge_by_a_share(client, run):
    study = factories.make_study(workspace=run.dataset.workspace, launched=False)
    analyst = log_in(client, run.dataset.workspace, role=Role.ANALYST)
    share_study(study=study, user=analyst, role=Role.RESEARCHER, by=None)
    now = read_current_draft(study)
    assert put(client, study, now.draft | OTHER_DATA, now.number).status_code == 403
    assert client.get(f"/staff/correctness/{run.pk}/").status_code == 403


def test_an_answer_of_another_run_is_not_judged(client, run, worlds):
    study = study_of(run, launched=True)
    question = worlds[workspaces.main()].questions.get(external_id="q2")
    foreign = JudgedAnswer.objects.create(question=question, answer="Elsewhere", digest="0" * 64)
    analyst = factories.make_user(None)
    client.force_login(analyst)
    share_study(study=study, user=analyst, role=Role.ANALYST, by=None)
    sent = {"answer": foreign.pk, "verdict": "no", "note": ""}
    assert client.post(f"/staff/correctness/{run.pk}/judge/store/", sent).status_code == 404
    assert not foreign.judgements.exists()


def test_an_analyst_of_the_workspace_judges_only_by_share(client, run):
    log_in(client, run.dataset.workspace, role=Role.ANALYST)
    response = client.get(f"/staff/correctness/{run.pk}/")
    assert response.status_code == 403
    assert "you may not judge answers" in text(response)


def test_images_go_to_users_who_see_the_study(client, settings, tmp_path, second):
    settings.VAR_DIR = tmp_path
    name = f"{'ab' * 32}.png"
    (tmp_path / "images" / "ab").mkdir(parents=True)
    file = tmp_path / "images" / "ab" / name
    PIL.Image.new("RGB", (2, 2)).save(file)
    study = factories.make_study(workspace=second)
    for role, workspace, status in (
        (Role.VIEWER, second, 200), (Role.OWNER, workspaces.main(), 404), (None, None, 404),
    ):  # fmt: skip
        client.force_login(factories.make_user(role, workspace=workspace))
        response = client.get(f"/study/{study.slug}/image/{name}")
        assert response.status_code == status
        assert status == 404 or b"".join(response.streaming_content) == file.read_bytes()
    assert client.get(f"/study/nothing/image/{name}").status_code == 404
