"""Policy table: the acts that each role allows.

Views, the API, commands and templates ask `is_allowed`; nothing else says who may do what. The rights of a
person on an object are the union of their roles in its workspace and of those in which the object was shared
with them.

It reads no database.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from accounts.models import Role


class Act(TextChoices):
    """The acts of people; the labels complete the sentence "You may not …"."""

    WORKSPACE_SEE = "workspace_see", _("see this workspace")
    WORKSPACE_MANAGE = "workspace_manage", _("manage the people of this workspace or read its audit log")
    DATA_SEE = "data_see", _("see datasets, predictions and scores")
    DATA_MANAGE = "data_manage", _("import, run or delete datasets, predictions and scores")
    STUDY_SEE = "study_see", _("see the progress of this study")
    STUDY_EDIT = "study_edit", _("create, change, launch or pause studies")
    STUDY_RESULTS = "study_results", _("see the participants and responses of this study")
    STUDY_PERSONAL = "study_personal", _("withdraw, delete or anonymise participants of this study")
    JUDGE = "judge", _("judge answers")
    PROJECT_SEE = "project_see", _("see this project")
    ANNOTATION_MANAGE = "annotation_manage", _("create or manage annotation projects")
    ANNOTATION_SETTLE = "annotation_settle", _("review the annotations of others")
    ANNOTATE = "annotate", _("annotate")


class Grant(Enum):
    """The reach of a role for an act."""

    ALWAYS = "in the workspace, or on an object shared in this role"
    BY_SHARE = "only on an object shared in this role"


_YES, _SHARED = Grant.ALWAYS, Grant.BY_SHARE
_EVERY_ROLE = dict.fromkeys(Role, _YES)

# Managers import and run data only in projects of theirs: there the act is ANNOTATION_MANAGE.
TABLE: Mapping[Act, Mapping[Role, Grant]] = {
    Act.WORKSPACE_SEE: _EVERY_ROLE,
    Act.WORKSPACE_MANAGE: {Role.OWNER: _YES},
    Act.DATA_SEE: {Role.OWNER: _YES, Role.RESEARCHER: _YES, Role.ANALYST: _YES},
    Act.DATA_MANAGE: {Role.OWNER: _YES, Role.RESEARCHER: _YES},
    Act.STUDY_SEE: {Role.OWNER: _YES, Role.RESEARCHER: _YES, Role.ANALYST: _YES, Role.VIEWER: _YES},
    Act.STUDY_EDIT: {Role.OWNER: _YES, Role.RESEARCHER: _YES},
    Act.STUDY_RESULTS: {Role.OWNER: _YES, Role.RESEARCHER: _YES, Role.ANALYST: _YES},
    Act.STUDY_PERSONAL: {Role.OWNER: _YES, Role.RESEARCHER: _YES},
    Act.JUDGE: {Role.OWNER: _YES, Role.RESEARCHER: _YES, Role.ANALYST: _SHARED},
    Act.PROJECT_SEE: {
        Role.OWNER: _YES,
        Role.RESEARCHER: _SHARED,
        Role.MANAGER: _YES,
        Role.ADJUDICATOR: _YES,
        Role.ANNOTATOR: _YES,
    },
    Act.ANNOTATION_MANAGE: {Role.OWNER: _YES, Role.RESEARCHER: _SHARED, Role.MANAGER: _YES},
    Act.ANNOTATION_SETTLE: {Role.OWNER: _YES, Role.MANAGER: _YES, Role.ADJUDICATOR: _YES},
    Act.ANNOTATE: {Role.MANAGER: _YES, Role.ADJUDICATOR: _YES, Role.ANNOTATOR: _YES},
}


@dataclass(frozen=True)
class Roles:
    """The roles of a person on an object.

    Attributes:
        workspace: Roles in the workspace of the object.
        shared: Roles in which the object itself was shared with the person.
    """

    workspace: frozenset[Role] = frozenset()
    shared: frozenset[Role] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.workspace or self.shared)

    def __iter__(self) -> Iterator[Role]:
        return (role for role in Role if role in self.workspace or role in self.shared)


def is_allowed(roles: Roles, act: Act) -> bool:
    """Return True if one of the roles allows the act."""
    return bool(
        roles.workspace & find_granting_roles(act) or roles.shared & find_granting_roles(act, shared=True)
    )


@cache
def find_granting_roles(act: Act, *, shared: bool = False) -> frozenset[Role]:
    """Return the roles that allow an act, in a workspace or if ``shared``."""
    return frozenset(role for role, grant in TABLE[act].items() if shared or grant is Grant.ALWAYS)
