"""Pages of the members of a study: roles, shares, leaving."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.models import Role
from accounts.policy_table import Act
from accounts.rights.access import require_existing, require_user
from studyapp.actions import shares as actions
from studyapp.models import Study
from studyapp.queries.access import list_members, list_shares
from studyapp.views.access import StudyRequest, study_page
from studyapp.web.forms.staff import ShareForm


@require_safe
@study_page(Act.STUDY_EDIT)
def members(request: HttpRequest, study: Study) -> HttpResponse:
    """List the users with access to a study; ask for another one."""
    return _page(request, study, ShareForm())


@require_POST
@study_page(Act.STUDY_EDIT)
def share(request: HttpRequest, study: Study) -> HttpResponse:
    """Share a study with a user in a role."""
    form = ShareForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form, status=422)
    user, role = form.cleaned_data["user"], Role(form.cleaned_data["role"])
    actions.share_study(study=study, user=user, role=role, by=require_user(request))
    messages.success(
        request,
        _("Study shared with %(name)s in the role %(role)s.") % {"name": user.username, "role": role.label},
    )
    return redirect("studyapp:staff_members", study.slug)


@require_POST
@study_page(Act.STUDY_EDIT)
def end_share(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """End a share of a study."""
    share = require_existing(list_shares(study).filter(pk=pk).first())
    actions.end_share(study=study, user=share.user, role=Role(share.role), by=require_user(request))
    messages.success(request, _("Share with %(name)s ended.") % {"name": share.user.username})
    # A user who ended the share that let them in would not see the page of members again.
    if share.user == request.user:
        return redirect("studyapp:staff_home")
    return redirect("studyapp:staff_members", study.slug)


@require_POST
@study_page(Act.STUDY_SEE)
def leave(request: StudyRequest, study: Study) -> HttpResponse:
    """End the shares of a study with the user who asks for it."""
    if not request.roles.shared:
        messages.error(request, _("You see this study by your role in the workspace, which its owners end."))
        return redirect("studyapp:staff_study", study.slug)
    actions.leave_study(study=study, user=require_user(request))
    messages.success(request, _("You left the study %(title)s.") % {"title": study.title})
    return redirect("studyapp:staff_home")


def _page(request: HttpRequest, study: Study, form: ShareForm, *, status: int = 200) -> HttpResponse:
    context = {"study": study, "members": list_members(study), "shares": list_shares(study), "form": form}
    return render(request, "studyapp/staff/members.html", context, status=status)
