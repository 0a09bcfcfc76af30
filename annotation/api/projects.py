"""Endpoints of projects, members, guidelines and webhooks."""

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.access import user_of
from accounts.policy import Act
from annotation.actions import projects
from annotation.api import rows
from annotation.api.base import EditorView, Unprocessable, answer, read_body
from annotation.api.describe import described
from annotation.api.shapes import (
    DeliveryList,
    GuidelineList,
    GuidelineRow,
    MadeWebhook,
    MemberList,
    MemberRow,
    NewGuideline,
    NewMember,
    NewWebhook,
    ProjectDetail,
    ProjectList,
    WebhookList,
)
from annotation.models import Role
from annotation.policies import check_own_role
from annotation.queries import records
from annotation.queries.members import memberships
from annotation.queries.progress import totals
from annotation.views.access import member_or_404, webhook_or_404


class ProjectsView(EditorView):
    """The projects that I see."""

    @described(answers=ProjectList)
    def get(self, request: Request) -> HttpResponse:
        """List my projects."""
        mine = memberships(user_of(request))
        return answer(ProjectList(results=[rows.project_row(member) for member in mine]))


class ProjectView(EditorView):
    """One project."""

    @described(answers=ProjectDetail)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """One project, and how far it is."""
        member = member_or_404(request, slug)
        return answer(ProjectDetail(**rows.project_fields(member), **totals(member.project)._asdict()))


class MembersView(EditorView):
    """The people of a project."""

    @described(answers=MemberList)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List members."""
        member = member_or_404(request, slug, Act.ANNOTATION_SETTLE)
        return answer(
            MemberList(results=[rows.member_row(member_) for member_ in records.people(member.project)])
        )

    @described(answers=MemberRow, takes=NewMember)
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Add a member, change a role, or end a membership."""
        member = member_or_404(request, slug, Act.ANNOTATION_MANAGE)
        new = read_body(request, NewMember)
        user, by = records.user_called(new.username), user_of(request)
        if user is None:
            raise Unprocessable(f"username: there is no user {new.username!r}", "username")
        check_own_role(by, user, new.role, active=new.active)
        changed = projects.set_member(
            project=member.project, user=user, role=Role(new.role), active=new.active, by=by
        )
        return answer(rows.member_row(changed))


class GuidelinesView(EditorView):
    """Instructions to annotators, in versions."""

    @described(answers=GuidelineList)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List guidelines, every version."""
        member = member_or_404(request, slug)
        versions = records.guideline_versions(member.project)
        return answer(GuidelineList(results=[rows.guideline_row(version) for version in versions]))

    @described(answers=GuidelineRow, status=201, takes=NewGuideline)
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Write a guideline's next version."""
        member = member_or_404(request, slug, Act.ANNOTATION_MANAGE)
        new = read_body(request, NewGuideline)
        guideline = projects.write_guideline(
            project=member.project, module=new.module, text=new.text, by=user_of(request)
        )
        return answer(rows.guideline_row(guideline), status=201)


class WebhooksView(EditorView):
    """Webhooks of a project."""

    @described(answers=WebhookList)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List webhooks."""
        member = member_or_404(request, slug, Act.ANNOTATION_MANAGE)
        return answer(
            WebhookList(results=[rows.webhook_row(hook) for hook in records.webhooks(member.project)])
        )

    @described(answers=MadeWebhook, status=201, takes=NewWebhook)
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Add a webhook; its secret is shown only once."""
        member = member_or_404(request, slug, Act.ANNOTATION_MANAGE)
        new = read_body(request, NewWebhook)
        hook = projects.add_webhook(project=member.project, url=new.url, kinds=new.kinds, by=user_of(request))
        return answer(MadeWebhook(**rows.webhook_fields(hook), secret=hook.secret), status=201)


class WebhookView(EditorView):
    """One webhook."""

    @described(answers=DeliveryList)
    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """The last deliveries of a webhook."""
        webhook = webhook_or_404(member_or_404(request, slug, Act.ANNOTATION_MANAGE), pk)
        return answer(
            DeliveryList(results=[rows.delivery_row(delivery) for delivery in records.deliveries(webhook)])
        )

    @described(status=204)
    def delete(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Tell an address nothing more."""
        webhook = webhook_or_404(member_or_404(request, slug, Act.ANNOTATION_MANAGE), pk)
        projects.end_webhook(webhook=webhook, by=user_of(request))
        return HttpResponse(status=204)
