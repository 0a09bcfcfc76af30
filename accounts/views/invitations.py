"""Pages of invitations: create, revoke and accept them."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.actions import invitations
from accounts.models import Role, Workspace
from accounts.people.forms import InvitationForm
from accounts.people.mail import has_mail_server, send_invitation
from accounts.queries import people
from accounts.rights.access import NOT_THERE, require_user
from accounts.views.people import get_managed_or_404
from foundation.errors import TouchstoneError


@require_safe
@login_required
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form of an invitation."""
    workspace = get_managed_or_404(request, slug)
    return _form(request, workspace, InvitationForm(workspace=workspace))


@require_POST
@login_required
def create(request: HttpRequest, slug: str) -> HttpResponse:
    """Create an invitation and show its link, only once."""
    workspace = get_managed_or_404(request, slug)
    form = InvitationForm(request.POST, workspace=workspace)
    if not form.is_valid():
        return _form(request, workspace, form, status=422)
    data = form.cleaned_data
    created = invitations.create_invitation(
        workspace=workspace,
        role=Role(data["role"]),
        days=data["days"],
        by=require_user(request),
        email=data["email"],
        kind=data["kind"],
        shared=form.shared,
    )
    link = settings.SITE_URL + reverse("people:invitation", args=[created.token])
    context = {
        "workspace": workspace,
        "invitation": created.invitation,
        "link": link,
        "mailed": send_invitation(created.invitation, link),
        "has_mail_server": has_mail_server(),
    }
    return render(request, "people/invited.html", context)


def _form(
    request: HttpRequest, workspace: Workspace, form: InvitationForm, status: int = 200
) -> HttpResponse:
    context = {"workspace": workspace, "form": form, "has_mail_server": has_mail_server()}
    return render(request, "people/invite.html", context, status=status)


@require_POST
@login_required
def revoke(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Revoke an invitation."""
    workspace = get_managed_or_404(request, slug)
    invitation = people.select_pending_invitations(workspace).filter(pk=pk).first()
    if invitation is None or not invitations.revoke_invitation(
        invitation=invitation, by=require_user(request)
    ):
        raise Http404(NOT_THERE)
    messages.success(request, _("Revoked the invitation. Its link no longer works."))
    return redirect("people:workspace", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def accept(request: HttpRequest, token: str) -> HttpResponse:
    """Show an invitation; accept it on POST, which needs a login."""
    invitation = people.find_invitation_by_token(token)
    if invitation is None:
        raise Http404(_("There is no such invitation. Check that you copied the whole link."))
    if request.user.is_authenticated and invitation.accepted_by_id == request.user.pk:
        return redirect("start")  # the link again, or a form that was sent twice
    try:
        if request.method == "POST" and request.user.is_authenticated:
            invitations.accept_invitation(invitation=invitation, by=require_user(request))
            messages.success(
                request,
                _("You have the role %(role)s in %(place)s now.")
                % {"role": Role(invitation.role).label, "place": people.describe_target(invitation)},
            )
            return redirect("start")
        people.check_open(invitation)
    except TouchstoneError as ended:
        return _render_ended(request, str(ended))
    context = {
        "invitation": invitation,
        "role": Role(invitation.role).label,
        "place": people.describe_target(invitation),
    }
    return render(request, "people/invitation.html", context)


def _render_ended(request: HttpRequest, sentence: str) -> HttpResponse:
    return render(request, "people/invitation_ended.html", {"sentence": sentence}, status=410)
