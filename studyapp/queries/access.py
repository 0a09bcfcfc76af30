"""Reads of access: studies and runs of a user, users of a study."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet, Value

from accounts.models import Membership, Role, User, Workspace
from accounts.policy_table import Act, Roles, find_granting_roles, is_allowed
from accounts.queries.workspaces import select_workspaces
from accounts.rights.roles import can
from predictions.models import PredictionRun
from predictions.queries.predictions import list_finished_runs
from studyapp.models import Condition, Study, StudyShare

# The roles in which a study can be shared: those of the policy table that see studies.
SHARED_ROLES = tuple(role for role in Role if role in find_granting_roles(Act.STUDY_SEE, shared=True))


@dataclass(frozen=True)
class Reach:
    """The acts that a user may do somewhere.

    Attributes:
        workspaces: Acts that a role in a workspace allows.
        anywhere: These, and acts that the share of a study allows.
    """

    workspaces: frozenset[Act]
    anywhere: frozenset[Act]


def reach_of(user: User) -> Reach:
    """Return the acts that a user may do somewhere."""
    given = Membership.objects.filter(user=user).values_list(Value(False), "role")
    shared = StudyShare.objects.filter(user=user).values_list(Value(True), "role")
    # One query, because the header of every page needs it.
    rows = list(given.union(shared))
    roles = frozenset(Role(role) for is_share, role in rows if not is_share)
    shares = frozenset(Role(role) for is_share, role in rows if is_share)
    return Reach(list_allowed_acts(Roles(roles)), list_allowed_acts(Roles(roles, shares)))


def list_allowed_acts(roles: Roles) -> frozenset[Act]:
    """Return the acts that roles allow."""
    return frozenset(act for act in Act if is_allowed(roles, act))


def list_studies(user: User, act: Act = Act.STUDY_SEE) -> QuerySet[Study]:
    """Return the studies that a user sees, or with which they may do an act."""
    return Study.objects.filter(
        Q(workspace__in=select_workspaces(user, act)) | Q(pk__in=_select_shares(user, act).values("study"))
    )


def list_members(study: Study) -> QuerySet[Membership]:
    """Return the roles in its workspace by which active users see a study."""
    rows = Membership.objects.filter(
        workspace=study.workspace, role__in=find_granting_roles(Act.STUDY_SEE), user__is_active=True
    )
    return rows.select_related("user").order_by("user__username", "role")


def list_shares(study: Study) -> QuerySet[StudyShare]:
    """Return the shares of a study, by user name."""
    return study.shares.select_related("user").order_by("user__username", "role")


@dataclass(frozen=True)
class JudgedRun:
    """A run whose answers people judge, with their roles.

    A share of a study that uses the run counts as a share of the run.
    """

    run: PredictionRun

    @property
    def workspace(self) -> Workspace:
        """The workspace of the run's dataset."""
        return self.run.dataset.workspace

    def shared_roles(self, user: User) -> frozenset[Role]:
        """Return the roles in which studies that use this run were shared."""
        shares = StudyShare.objects.filter(user=user, study__workspace=self.workspace)
        launched = shares.filter(study__versions__conditions__run=self.run).values_list("role", flat=True)
        drafts = shares.values_list("role", "study__definition")
        return frozenset(
            Role(role) for role in (*launched, *(role for role, draft in drafts if self._is_used_by(draft)))
        )

    def studies_of(self, user: User) -> list[Study]:
        """Return the studies that use this run and whose answers a user judges."""
        studies = list_studies(user, Act.JUDGE).filter(workspace=self.workspace, archived_at=None)
        launched = set(studies.filter(versions__conditions__run=self.run).values_list("pk", flat=True))
        return [
            study
            for study in studies.order_by("title", "pk")
            if study.pk in launched or self._is_used_by(study.definition)
        ]

    def _is_used_by(self, draft: dict[str, object]) -> bool:
        return draft.get("dataset") == self.run.dataset.name and self.run.system.name in _list_systems(draft)


def run_numbered(pk: int) -> PredictionRun | None:
    """Return a run with its system and the workspace of its dataset."""
    return PredictionRun.objects.select_related("dataset__workspace", "system").filter(pk=pk).first()


def list_runs_to_judge(user: User) -> QuerySet[PredictionRun]:
    """Return the finished runs whose answers a user may judge."""
    workspaces = list(select_workspaces(user, Act.JUDGE))
    studies = list(
        Study.objects.filter(pk__in=_select_shares(user, Act.JUDGE).values("study")).select_related(
            "workspace"
        )
    )
    launched = Q(pk__in=PredictionRun.objects.filter(condition__version__study__in=studies).values("pk"))
    drafts = [
        Q(
            dataset__workspace=study.workspace,
            dataset__name=study.definition.get("dataset", ""),
            system__name__in=_list_systems(study.definition),
        )
        for study in studies
    ]
    runs = list_finished_runs({*workspaces, *(study.workspace for study in studies)})
    return runs.filter(reduce(or_, drafts, launched | Q(dataset__workspace__in=workspaces)))


# A dataset and a system on it, by name; without a system, the questions of the dataset.
Used = tuple[str, str | None]


def can_choose_data(user: User | None, study: Study) -> bool:
    """Return True if a user may give a study any data of its workspace.

    These are the people who create studies there. A share of one study is no right to other data.
    """
    return user is None or can(user, Act.STUDY_EDIT, study.workspace)


def list_study_data(study: Study) -> set[Used]:
    """Return the data that the draft and the versions of a study use."""
    rows = Condition.objects.filter(version__study=study, run__isnull=False)
    launched = set(rows.values_list("run__dataset__name", "run__system__name"))
    return list_draft_data(study.definition) | launched | {(dataset, None) for dataset, _system in launched}


def list_draft_data(draft: Mapping[str, object]) -> set[Used]:
    """Return the data that a draft uses."""
    dataset = draft.get("dataset")
    if not isinstance(dataset, str) or not dataset:
        return set()
    return {(dataset, None), *((dataset, system) for system in _list_systems(draft))}


def _select_shares(user: User, act: Act) -> QuerySet[StudyShare]:
    return StudyShare.objects.filter(user=user, role__in=find_granting_roles(act, shared=True))


def _list_systems(draft: Mapping[str, object]) -> list[str]:
    """Return the systems of a draft's conditions; it may have any form."""
    conditions = draft.get("conditions")
    rows = conditions if isinstance(conditions, list) else []
    names = (row.get("system") for row in rows if isinstance(row, dict))
    return [name for name in names if isinstance(name, str)]
