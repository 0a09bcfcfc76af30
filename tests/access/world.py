"""A workspace with one of everything that an address can name, and people in each role."""

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
from studyapp.queries.correctness import missed_answers
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


def make_world(slug: str) -> World:
    """Make a workspace with a launched study, a project, predictions and all that hangs on them."""
    with workspaces.using(slug) as workspace:
        study = studies.make_study()
        participant = studies.make_participant(study=study, items=1)
        run = PredictionRun.objects.filter(dataset__workspace=workspace).earliest("pk")
        study_hook = add_study_webhook(
            study=study, url="https://example.org/hook", kinds=[], by=studies.make_user()
        )
        queue_answers(answers=missed_answers(run), by=studies.make_user())
        judged = JudgedAnswer.objects.filter(question__dataset=run.dataset).earliest("pk")
        for is_correct in (True, False):  # a disagreement
            judge(judged=judged, is_correct=is_correct, by=studies.make_user())
        plan = create_plan(
            settings=SizeSettings(effects=[0, 1], participant_sd=1, residual_sd=1),
            workspace=workspace,
            by=None,
        )
        project = annotation.make_project()
        member = annotation.make_member(project, role=ProjectRole.ANNOTATOR)
        made = annotation.finished(annotation.make_annotation(member))
        annotation.make_items(project, 2)
        boss = annotation.make_member(project, role=ProjectRole.MANAGER).user
        comment = Comment.objects.create(annotation=made, by=member.user, text="Is this a dog?")
        image = ImageFile.objects.filter(project=project).earliest("pk")
        hook = add_webhook(project=project, url="https://example.org/hook", kinds=[], by=boss)
        batch = Batch.objects.create(project=project, name="b", annotator=member.user, created_by=boss)
        Annotation.objects.filter(pk=made.pk).update(batch=batch)
        output = OutputRun.objects.create(project=project, system="net", revision="r1", created_by=boss)
        item = Item.objects.get(pk=made.item_id)
        created = create_invitation(workspace=workspace, role=Role.VIEWER, days=7, by=boss)
        invitation = created.invitation
        to_project = create_invitation(
            workspace=workspace, role=Role.ANNOTATOR, days=7, by=boss, kind="project", shared=project
        ).invitation
        token = create_token(by=boss, name="script", scope=Scope.READ, days=30).token
        job = create_job(kind="report", workspace=workspace, by=boss)
        report = studies.make_report(study=study, job=job)
    values: dict[tuple[str, str], Any] = {
        ("studyapp", "slug"): study.slug,
        ("studyapp:staff_size", "pk"): plan.pk,
        ("studyapp:staff_size_progress", "pk"): plan.pk,
        ("studyapp:staff_set_condition", "pk"): participant.condition_id,
        ("studyapp", "pk"): run.pk,
        ("studyapp", "person"): participant.public_id,
        ("studies_rest", "person"): participant.public_id,
        ("studyapp:staff_report", "pk"): report.pk,
        ("studyapp:staff_report", "name"): "report.html",
        ("studyapp:staff_download_report", "pk"): report.pk,
        ("studyapp:staff_delete_report", "pk"): report.pk,
        ("studyapp", "answer"): judged.pk,
        ("studyapp", "number"): 1,
        ("studyapp", "check"): "rehearsal",
        ("studyapp", "form"): "osf",
        ("studyapp:studio_preview", "step"): STEPS[0].name,
        ("studyapp", "name"): "conditions",
        ("studyapp", "path"): "conditions",
        ("studyapp:staff_end_share", "pk"): 0,
        ("studyapp:staff_webhook", "pk"): study_hook.pk,
        ("studyapp:staff_end_webhook", "pk"): study_hook.pk,
        ("studyapp:staff_test_webhook", "pk"): study_hook.pk,
        ("studies_rest", "slug"): study.slug,
        ("studies_rest", "table"): "trials",
        ("studies_rest", "pk"): study_hook.pk,
        ("predictions_rest", "pk"): run.pk,
        ("predictions_rest:dataset", "pk"): run.dataset_id,
        ("predictions_rest:questions", "pk"): run.dataset_id,
        ("jobs", "pk"): job.pk,
        ("predictions_rest:apply_import", "pk"): job.pk,
        ("data", "pk"): run.pk,
        ("data", "number"): 1,
        **{
            (f"data:{name}", "pk"): run.dataset_id
            for name in ("dataset", "delete", "questions", "questions_csv", "predictions")
        },
        **{(f"data:{name}", "pk"): judged.question_id for name in ("question", "image")},
        **{(f"data:{name}", "pk"): job.pk for name in ("import", "apply")},
        ("jobs_rest", "pk"): job.pk,
        ("people", "slug"): slug,
        ("people", "pk"): boss.pk,
        ("people", "token"): created.token,
        ("people", "role"): Role.VIEWER.value,
        ("people:end_share", "kind"): "project",
        ("people:end_share", "shared"): project.pk,
        ("people:end_share", "role"): Role.MANAGER.value,
        ("people:revoke_invitation", "pk"): invitation.pk,
        ("people:revoke_token", "pk"): token.pk,
        ("accounts", "pk"): boss.pk,
        ("workspaces_rest", "slug"): slug,
        ("workspaces_rest", "pk"): invitation.pk,
        ("workspaces_rest", "user"): boss.username,
        ("workspaces_rest", "role"): Role.VIEWER.value,
        ("annotation", "slug"): project.slug,
        ("annotation", "pk"): made.pk,
        ("annotation:stop_outputs", "pk"): output.pk,
        ("annotation:revoke_invitation", "pk"): to_project.pk,
        ("annotation", "system"): "net",
        ("annotation", "revision"): "r1",
        ("projects_rest", "slug"): project.slug,
        ("projects_rest", "pk"): made.pk,
        ("projects_rest", "comment"): comment.pk,
        ("projects_rest", "user"): member.user.username,
        ("projects_rest:image", "pk"): image.pk,
        ("projects_rest:invitation", "pk"): to_project.pk,
        ("projects_rest:webhook", "pk"): hook.pk,
        ("projects_rest:deliveries", "pk"): hook.pk,
        ("projects_rest:cancel_run", "pk"): output.pk,
        **{(f"projects_rest:{name}", "pk"): item.pk for name in ("item", "item_gold", "adjudicate")},
        ("projects_rest:batch", "pk"): batch.pk,
        ("annotation:batch_due", "pk"): batch.pk,
        ("annotation:release_batch", "pk"): batch.pk,
        ("annotation:webhook", "pk"): hook.pk,
        ("annotation:end_webhook", "pk"): hook.pk,
        ("annotation:test_webhook", "pk"): hook.pk,
        ("annotation:undo_import", "pk"): project.imports.first().pk,  # type: ignore[union-attr]
        **{
            (f"annotation:{name}", "pk"): item.pk
            for name in (
                "node_outputs",
                "item",
                "adjudicate",
                "accept",
                "return",
                "edit_item",
                "delete_item",
                "move_item",
            )
        },
    }
    operation = {"id": str(uuid4()), "base": made.revision, "node": 2, "state": "nothing"}
    bodies = {
        "projects_rest:operations": {"operations": [operation]},
        "projects_rest:projects": {"workspace": slug, "slug": f"new-{slug}", "title": "New", "kind": "boxes"},
        "predictions_rest:runs": {"dataset": str(run.dataset_id), "system": "net"},
        "studies_rest:revoke": {"reason": "asked for"},
        "studies_rest:withdraw": {"reason": "asked for"},
        "studies_rest:studies": {"workspace": slug, "definition": {"study": f"new-{slug}"}},
    }
    queries = {
        "studies_rest:person": "?reason=asked",
        "predictions_rest:imports": f"?kind=dataset&workspace={slug}&name=new&format=hotpot",
    }
    return World(
        workspace, study, project, values, queries, {name: json.dumps(body) for name, body in bodies.items()}
    )


def people(world: World) -> dict[str, User]:
    """Users with each role in the workspace, and with each role by a share alone."""
    found = {
        f"workspace {role}": workspaces.give(annotation.make_user(), role, workspace=world.workspace)
        for role in Role
    }
    for role in STUDY_ROLES:
        user = found[f"share {role}"] = annotation.make_user()
        StudyShare.objects.create(study=world.study, user=user, role=role)
    for role in PROJECT_ROLES:
        user = found[f"share {role}"] = annotation.make_user()
        set_member(project=world.project, user=user, role=ProjectRole(role), by=None)
    found["superuser"] = annotation.make_user(is_superuser=True, is_staff=True)
    return found
