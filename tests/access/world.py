"""A workspace with one object of each kind, and people in each role.

The objects are all that an address can name.
"""

import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from accounts.actions.invitations import create_invitation
from accounts.actions.tokens import create_token
from accounts.models import Role, Scope, User, Workspace
from annotation.actions.projects import add_webhook, set_member
from annotation.models import Annotation, Batch, Comment, ImageFile, Item, OutputRun, Project
from annotation.models import Role as ProjectRole
from jobs.actions.jobs import create_job
from predictions.models import PredictionRun
from studyapp.actions.correctness import judge, queue_answers
from studyapp.actions.sizes import create_plan
from studyapp.actions.webhooks import add_webhook as add_study_webhook
from studyapp.models import JudgedAnswer, Study, StudyShare
from studyapp.queries.design.correctness import find_missed_answers
from studyapp.rules.sample_sizes import SizeSettings
from studyapp.studio.steps import STEPS
from tests import workspaces
from tests.annotation import factories as annotation
from tests.studyapp import factories as studies

STUDY_ROLES = (Role.OWNER, Role.RESEARCHER, Role.ANALYST, Role.VIEWER)
PROJECT_ROLES = (Role.MANAGER, Role.ADJUDICATOR, Role.ANNOTATOR)


@dataclass(frozen=True)
class World:
    """A workspace, and the values with which addresses name its objects.

    Attributes:
        values: The value of a parameter by the name of the route and of the parameter; the empty route
            stands for all others of its app.
        queries: Query strings of routes that name their object there.
        bodies: Bodies of requests, in JSON, that name their object there, or are read before anything else.
    """

    workspace: Workspace
    study: Study
    project: Project
    values: dict[tuple[str, str], Any]
    queries: dict[str, str]
    bodies: dict[str, str]

    def value(self, route: str, parameter: str) -> Any:
        app = route.partition(":")[0]
        for key in ((route, parameter), (app, parameter)):
            if key in self.values:
                return self.values[key]
        raise KeyError(f"{route}: no value for {parameter}; add one to tests/access/world.py")


Values = dict[tuple[str, str], Any]
Bodies = dict[str, Any]


def make_world(slug: str) -> World:
    """Make a workspace with a launched study, a project and predictions.

    It has all that hangs on them, too.
    """
    with workspaces.using(slug) as workspace:
        study, values, bodies = study_side(workspace)
        project, of_project, bodies_of_project = project_side(workspace)
        values |= of_project | people_side(workspace, project)
    bodies |= bodies_of_project
    queries = {
        "studies_rest:person": "?reason=asked",
        "predictions_rest:imports": f"?kind=dataset&workspace={slug}&name=new&format=hotpot",
    }
    return World(
        workspace, study, project, values, queries, {name: json.dumps(body) for name, body in bodies.items()}
    )


def of_all(app: str, parameter: str, names: tuple[str, ...], value: Any) -> Values:
    """Give several addresses of an app the same value."""
    return {(f"{app}:{name}", parameter): value for name in names}


def study_side(workspace: Workspace) -> tuple[Study, Values, Bodies]:
    """Make a launched study with its predictions, a size plan and a report.

    Two judges disagree about one of the predictions.
    """
    study = studies.make_study()
    participant = studies.make_participant(study=study, items=1)
    run = PredictionRun.objects.filter(dataset__workspace=workspace).earliest("pk")
    hook = add_study_webhook(study=study, url="https://example.org/hook", kinds=[], by=studies.make_user())
    queue_answers(answers=find_missed_answers(run), by=studies.make_user())
    judged = JudgedAnswer.objects.filter(question__dataset=run.dataset).earliest("pk")
    for is_correct in (True, False):  # a disagreement
        judge(judged=judged, is_correct=is_correct, by=studies.make_user())
    assumed = SizeSettings(effects=[0, 1], participant_sd=1, residual_sd=1)
    plan = create_plan(settings=assumed, workspace=workspace, by=None)
    job = create_job(kind="report", workspace=workspace, by=studies.make_user())
    report = studies.make_report(study=study, job=job)
    values: Values = {
        ("studyapp", "slug"): study.slug,
        ("studyapp:staff_set_condition", "pk"): participant.condition_id,
        ("studyapp", "pk"): run.pk,
        ("studyapp", "person"): participant.public_id,
        ("studies_rest", "person"): participant.public_id,
        ("studyapp:staff_report", "name"): "report.html",
        ("studyapp", "answer"): judged.pk,
        ("studyapp", "number"): 1,
        ("studyapp", "check"): "rehearsal",
        ("studyapp", "form"): "osf",
        ("studyapp:studio_preview", "step"): STEPS[0].name,
        ("studyapp", "name"): "conditions",
        ("studyapp", "path"): "conditions",
        ("studyapp:staff_end_share", "pk"): 0,
        ("studies_rest", "slug"): study.slug,
        ("studies_rest", "table"): "trials",
        ("studies_rest", "pk"): hook.pk,
        ("predictions_rest", "pk"): run.pk,
        ("jobs", "pk"): job.pk,
        ("jobs_rest", "pk"): job.pk,
        ("predictions_rest:apply_import", "pk"): job.pk,
        ("data", "pk"): run.pk,
        ("data", "number"): 1,
        **of_all("studyapp", "pk", ("staff_size", "staff_size_progress"), plan.pk),
        **of_all(
            "studyapp", "pk", ("staff_report", "staff_download_report", "staff_delete_report"), report.pk
        ),
        **of_all("studyapp", "pk", ("staff_webhook", "staff_end_webhook", "staff_test_webhook"), hook.pk),
        **of_all("predictions_rest", "pk", ("dataset", "questions"), run.dataset_id),
        **of_all(
            "data", "pk", ("dataset", "delete", "questions", "questions_csv", "predictions"), run.dataset_id
        ),
        **of_all("data", "pk", ("question", "image"), judged.question_id),
        **of_all("data", "pk", ("import", "apply"), job.pk),
    }
    bodies = {
        "predictions_rest:runs": {"dataset": str(run.dataset_id), "system": "net"},
        "studies_rest:revoke": {"reason": "asked for"},
        "studies_rest:withdraw": {"reason": "asked for"},
        "studies_rest:studies": {
            "workspace": workspace.slug, "definition": {"study": f"new-{workspace.slug}"}
        },
    }  # fmt: skip
    return study, values, bodies


def project_side(workspace: Workspace) -> tuple[Project, Values, Bodies]:
    """Make a project with items, a finished annotation and a comment.

    It has a batch, outputs and an invitation, too.
    """
    project = annotation.make_project()
    member = annotation.make_member(project, role=ProjectRole.ANNOTATOR)
    finished = annotation.finished(annotation.make_annotation(member))
    annotation.make_items(project, 2)
    boss = annotation.make_member(project, role=ProjectRole.MANAGER).user
    comment = Comment.objects.create(annotation=finished, by=member.user, text="Is this a dog?")
    image = ImageFile.objects.filter(project=project).earliest("pk")
    hook = add_webhook(project=project, url="https://example.org/hook", kinds=[], by=boss)
    batch = Batch.objects.create(project=project, name="b", annotator=member.user, created_by=boss)
    Annotation.objects.filter(pk=finished.pk).update(batch=batch)
    output = OutputRun.objects.create(project=project, system="net", revision="r1", created_by=boss)
    item = Item.objects.get(pk=finished.item_id)
    invitation = create_invitation(
        workspace=workspace, role=Role.ANNOTATOR, days=7, by=boss, kind="project", shared=project
    ).invitation
    values: Values = {
        ("people:end_share", "kind"): "project",
        ("people:end_share", "shared"): project.pk,
        ("people:end_share", "role"): Role.MANAGER.value,
        ("annotation", "slug"): project.slug,
        ("annotation", "pk"): finished.pk,
        ("annotation:stop_outputs", "pk"): output.pk,
        ("annotation:revoke_invitation", "pk"): invitation.pk,
        ("annotation", "system"): "net",
        ("annotation", "revision"): "r1",
        ("annotation:undo_import", "pk"): project.imports.first().pk,  # type: ignore[union-attr]
        ("projects_rest", "slug"): project.slug,
        ("projects_rest", "pk"): finished.pk,
        ("projects_rest", "comment"): comment.pk,
        ("projects_rest", "user"): member.user.username,
        ("projects_rest:image", "pk"): image.pk,
        ("projects_rest:invitation", "pk"): invitation.pk,
        ("projects_rest:batch", "pk"): batch.pk,
        ("projects_rest:cancel_run", "pk"): output.pk,
        **of_all("projects_rest", "pk", ("webhook", "deliveries"), hook.pk),
        **of_all("projects_rest", "pk", ("item", "item_gold", "adjudicate"), item.pk),
        **of_all("annotation", "pk", ("batch_due", "release_batch"), batch.pk),
        **of_all("annotation", "pk", ("webhook", "end_webhook", "test_webhook"), hook.pk),
        **of_all("annotation", "pk", ("node_outputs", "item", "adjudicate", "accept", "return"), item.pk),
        **of_all("annotation", "pk", ("edit_item", "delete_item", "move_item"), item.pk),
    }
    operation = {"id": str(uuid4()), "base": finished.revision, "node": 2, "state": "nothing"}
    slug = workspace.slug
    bodies = {
        "projects_rest:operations": {"operations": [operation]},
        "projects_rest:projects": {"workspace": slug, "slug": f"new-{slug}", "title": "New", "kind": "boxes"},
    }
    return project, values, bodies


def people_side(workspace: Workspace, project: Project) -> Values:
    """Make an invitation and a token of the project's manager."""
    boss = project.memberships.get(role=ProjectRole.MANAGER).user
    created = create_invitation(workspace=workspace, role=Role.VIEWER, days=7, by=boss)
    token = create_token(by=boss, name="script", scope=Scope.READ, days=30).token
    return {
        ("people", "slug"): workspace.slug,
        ("people", "pk"): boss.pk,
        ("people", "token"): created.token,
        ("people", "role"): Role.VIEWER.value,
        ("people:revoke_invitation", "pk"): created.invitation.pk,
        ("people:revoke_token", "pk"): token.pk,
        ("accounts", "pk"): boss.pk,
        ("workspaces_rest", "slug"): workspace.slug,
        ("workspaces_rest", "pk"): created.invitation.pk,
        ("workspaces_rest", "user"): boss.username,
        ("workspaces_rest", "role"): Role.VIEWER.value,
    }


def people(world: World) -> dict[str, User]:
    """Return users with each role in the workspace, and by a share alone."""
    users = {
        f"workspace {role}": workspaces.give(annotation.make_user(), role, workspace=world.workspace)
        for role in Role
    }
    for role in STUDY_ROLES:
        user = users[f"share {role}"] = annotation.make_user()
        StudyShare.objects.create(study=world.study, user=user, role=role)
    for role in PROJECT_ROLES:
        user = users[f"share {role}"] = annotation.make_user()
        set_member(project=world.project, user=user, role=ProjectRole(role), by=None)
    users["superuser"] = annotation.make_user(is_superuser=True, is_staff=True)
    return users
