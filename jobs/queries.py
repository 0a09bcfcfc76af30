"""Reads of the jobs of a person."""

from typing import Any

from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.policy_table import Act, find_granting_roles
from accounts.queries.workspaces import select_workspaces
from accounts.shareable import load_sharing_module
from jobs.models import Job

# The act that a job of a study or a project asks for; all others work on the data of a workspace.
ACTS = {"study": Act.STUDY_RESULTS, "project": Act.ANNOTATION_MANAGE}


def list_user_jobs(user: User, **columns: Any) -> QuerySet[Job]:
    """Return the jobs that a user started and may still see, newest first.

    Jobs and their files stay, and the person may lose the role.

    Args:
        user: The person.
        columns: Filters by columns of the jobs; the fewer jobs, the less is read.
    """
    started = Job.objects.filter(created_by=user, **columns)
    seen = Q(workspace__in=select_workspaces(user, Act.DATA_MANAGE))
    for kind, act in reversed(ACTS.items()):
        about = Q(options__has_key=kind)
        allowed = _list_allowed_objects(user, act, kind, started.filter(about))
        seen = about & Q(**{f"options__{kind}__in": allowed}) | ~about & seen
    return started.filter(seen).select_related("workspace").order_by("-pk")


def find_user_job(user: User, pk: int) -> Job | None:
    """Return a job that the user started and may still see."""
    return list_user_jobs(user, pk=pk).first()


def _list_allowed_objects(user: User, act: Act, kind: str, jobs: QuerySet[Job]) -> list[int]:
    """Return the keys of the objects of jobs with which a user may do this.

    It is what `accounts.rights.roles.can` says of each, in as many queries for all of them as for one.
    """
    keys = set(jobs.order_by().values_list(f"options__{kind}", flat=True).distinct())
    if not keys:
        return []
    module, sharing_roles = load_sharing_module(kind), find_granting_roles(act, shared=True)
    workspaces = set(select_workspaces(user, act).values_list("pk", flat=True))
    shared = {
        object_.pk for object_, _user, role in module.list_shares(users=[user]) if role in sharing_roles
    }
    objects = module.OBJECTS.filter(pk__in=keys)
    return [object_.pk for object_ in objects if object_.workspace.pk in workspaces or object_.pk in shared]


def find_applying_job(preview: Job) -> Job | None:
    """Return the job that applies a preview, if one runs or is done."""
    jobs = Job.objects.filter(kind=preview.kind, options__preview=preview.pk)
    return jobs.exclude(status__in=(Job.Status.FAILED, Job.Status.CANCELLED)).first()
