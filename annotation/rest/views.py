"""The base of the endpoints of one project."""

from accounts.policy_table import Act
from accounts.rest.problems import FieldProblem, Refused
from accounts.rest.views import RestView
from annotation.models import Membership
from annotation.views.access import member_or_404


class ProjectView(RestView):
    """An endpoint of one project."""

    def member(self, slug: str, act: Act = Act.PROJECT_SEE) -> Membership:
        """Return the user in a project, or raise 404 or 403."""
        return member_or_404(self.request, slug, act)


def build_refusal(field: str, detail: str) -> Refused:
    """Return the refusal of a request with one invalid field."""
    return Refused(422, f"{field}: {detail}", [FieldProblem(field=field, detail=detail)])
