"""Projects and what belongs to them: members, guidelines, webhooks; and one's own token."""

from django.http import HttpResponse
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request

from annotation.actions import projects, tokens
from annotation.api import rows
from annotation.api.base import EditorView, Unprocessable, answer, read_body
from annotation.api.describe import described
from annotation.api.shapes import (
    DeliveryList,
    GuidelineList,
    GuidelineRow,
    MadeToken,
    MadeWebhook,
    MemberList,
    MemberRow,
    NewGuideline,
    NewMember,
    NewWebhook,
    ProjectDetail,
    ProjectList,
    TokenState,
    WebhookList,
)
from annotation.models import Role
from annotation.policies import NotAllowed
from annotation.queries import records
from annotation.queries.members import memberships
from annotation.queries.progress import totals
from annotation.queries.tokens import made_at
from annotation.views.access import member_or_404, user_of, webhook_or_404


class ProjectsView(EditorView):
    """The projects that one is a member of."""

    @described("List my projects", answers=ProjectList)
    def get(self, request: Request) -> HttpResponse:
        mine = memberships(user_of(request))
        return answer(ProjectList(results=[rows.project_row(member) for member in mine]))


class ProjectView(EditorView):
    """One project."""

    @described("One project, and how far it is", answers=ProjectDetail)
    def get(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug)
        return answer(ProjectDetail(**rows.project_fields(member), **totals(member.project)._asdict()))


class MembersView(EditorView):
    """The people of a project."""

    @described("List members", answers=MemberList)
    def get(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug, Role.ADJUDICATOR)
        return answer(MemberList(results=[rows.member_row(one) for one in records.people(member.project)]))

    @described("Add a member, change a role, or end a membership", answers=MemberRow, takes=NewMember)
    def post(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug, Role.MANAGER)
        new = read_body(request, NewMember)
        user = records.user_called(new.username)
        if user is None:
            raise Unprocessable(f"username: nobody here is called {new.username!r}", "username")
        if user == user_of(request) and (Role(new.role) != Role.MANAGER or not new.active):
            raise NotAllowed("You cannot end your own membership as a manager; another manager can.")
        made = projects.set_member(
            project=member.project, user=user, role=Role(new.role), active=new.active, by=user_of(request)
        )
        return answer(rows.member_row(made))


class GuidelinesView(EditorView):
    """What annotators are asked to do, in versions."""

    @described("List guidelines, every version", answers=GuidelineList)
    def get(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug)
        found = records.guideline_versions(member.project)
        return answer(GuidelineList(results=[rows.guideline_row(one) for one in found]))

    @described("Write a guideline's next version", answers=GuidelineRow, status=201, takes=NewGuideline)
    def post(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug, Role.MANAGER)
        new = read_body(request, NewGuideline)
        made = projects.write_guideline(
            project=member.project, module=new.module, text=new.text, by=user_of(request)
        )
        return answer(rows.guideline_row(made), status=201)


class WebhooksView(EditorView):
    """Addresses that are told what happens in a project."""

    @described("List webhooks", answers=WebhookList)
    def get(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug, Role.MANAGER)
        return answer(
            WebhookList(results=[rows.webhook_row(one) for one in records.webhooks(member.project)])
        )

    @described(
        "Add a webhook; its secret is told this once", answers=MadeWebhook, status=201, takes=NewWebhook
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        member = member_or_404(request, slug, Role.MANAGER)
        new = read_body(request, NewWebhook)
        made = projects.add_webhook(project=member.project, url=new.url, kinds=new.kinds, by=user_of(request))
        return answer(MadeWebhook(**rows.webhook_fields(made), secret=made.secret), status=201)


class WebhookView(EditorView):
    """One webhook."""

    @described("The last deliveries of a webhook", answers=DeliveryList)
    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        webhook = webhook_or_404(member_or_404(request, slug, Role.MANAGER), pk)
        return answer(DeliveryList(results=[rows.delivery_row(one) for one in records.deliveries(webhook)]))

    @described("Tell an address nothing more", status=204)
    def delete(self, request: Request, slug: str, pk: int) -> HttpResponse:
        webhook = webhook_or_404(member_or_404(request, slug, Role.MANAGER), pk)
        projects.end_webhook(webhook=webhook, by=user_of(request))
        return HttpResponse(status=204)


class TokenView(EditorView):
    """One's own token. It is made and ended with a login: who finds a token cannot renew it."""

    authentication_classes = [SessionAuthentication]

    @described("Whether I have a token", answers=TokenState)
    def get(self, request: Request) -> HttpResponse:
        return answer(TokenState(made_at=made_at(user_of(request))))

    @described("Make a token, or replace mine; it is told this once", answers=MadeToken, status=201)
    def post(self, request: Request) -> HttpResponse:
        made = tokens.renew(user=user_of(request))
        return answer(MadeToken(token=made.key, made_at=made.created), status=201)

    @described("End my token", status=204)
    def delete(self, request: Request) -> HttpResponse:
        tokens.end(user=user_of(request))
        return HttpResponse(status=204)
