"""Pages of an annotator: projects, one project, the editor."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import ngettext
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from accounts.access import NOT_THERE, user_of
from accounts.current_workspace import chosen_workspace
from accounts.policy import Act
from accounts.queries.workspaces import workspaces_of
from annotation.actions import assignments, outputs
from annotation.errors import NothingLeft
from annotation.models import Annotation, ImageFile, Membership
from annotation.policies import NotAllowed, roles_here
from annotation.queries.annotations import editor_state, guidelines
from annotation.queries.members import memberships
from annotation.queries.progress import own_annotations, totals
from annotation.views.access import annotation_or_404, member_or_404, members_only
from foundation import image_files


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """List the projects that the person sees."""
    user = user_of(request)
    workspace = chosen_workspace(request)
    context = {
        "memberships": [(member, roles_here(member)) for member in memberships(user, workspace)],
        "may_create": workspaces_of(user, Act.ANNOTATION_MANAGE).exists(),
    }
    return render(request, "annotation/home.html", context)


@require_safe
@members_only()
def project(request: HttpRequest, member: Membership) -> HttpResponse:
    """Show one project: progress, own annotations, and the next item."""
    context = {
        "member": member,
        "project": member.project,
        "totals": totals(member.project),
        "annotations": own_annotations(member),
        "guidelines": guidelines(member.project),
    }
    return render(request, "annotation/project.html", context)


@require_POST
@members_only(Act.ANNOTATE)
def next_item(request: HttpRequest, member: Membership) -> HttpResponse:
    """Assign the next item and open it."""
    try:
        annotation = assignments.next_annotation(member=member)
    except (NothingLeft, NotAllowed) as error:
        messages.info(request, str(error))
        return redirect("annotation:project", member.project.slug)
    return redirect("annotation:editor", annotation.pk)


@require_safe
@login_required
def editor(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the editor."""
    annotation, member = annotation_or_404(request, pk, item=True)
    done = own_annotations(member).filter(task=Annotation.Task.ANNOTATION, submitted_at__isnull=False).count()
    state = editor_state(annotation)
    outputs.note_shown(annotation=annotation, predictions=state["predictions"], to=member.user_id)
    context = {
        "annotation_json": state,
        "annotation_url": reverse("annotation:api_editor", args=[pk]),
        "back_url": reverse("annotation:project", args=[annotation.project.slug]),
        "progress": ngettext("%(done)d item finished", "%(done)d items finished", done) % {"done": done},
    }
    return render(request, "annotation/editor.html", context)


@require_safe
@login_required
@cache_control(private=True, max_age=86_400, immutable=True)
def image(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    """Serve an image to members. Files never change, so caches may keep them."""
    member = member_or_404(request, slug)
    file = get_object_or_404(ImageFile, pk=pk, project=member.project)
    path = image_files.image_folder() / file.path
    if not file.path or not path.is_file():
        raise Http404(NOT_THERE)
    return FileResponse(path.open("rb"))
