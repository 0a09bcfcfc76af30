"""Pages of uploads of model outputs: upload, preview, apply, deletion."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import require_user
from annotation.actions.outputs import delete_outputs
from annotation.errors import Conflict
from annotation.forms.outputs import OutputsForm
from annotation.importing.outputs import OutputOptions
from annotation.models import Membership
from annotation.views.access import members_only
from annotation.views.imports import OUTPUTS, import_context, import_or_404
from foundation.translated_messages import show_errors
from jobs.models import Job
from jobs.tasks import start_job


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(Act.ANNOTATION_MANAGE)
def upload(request: HttpRequest, member: Membership) -> HttpResponse:
    """Upload a file of outputs, which is previewed before it is imported."""
    form = OutputsForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        job = _preview(request, member, form)
        return redirect("annotation:output_import", member.project.slug, job.pk)
    context = {"project": member.project, "form": form}
    return render(request, "annotation/upload_outputs.html", context, status=422 if form.errors else 200)


def _preview(request: HttpRequest, member: Membership, form: OutputsForm) -> Job:
    file, system, revision = (form.cleaned_data[name] for name in ("file", "system", "revision"))
    options = OutputOptions(project=member.project_id, system=system, revision=revision, dry_run=True)
    return start_job(
        kind=OUTPUTS,
        workspace=member.project.workspace,
        by=require_user(request),
        subject=member.project.slug,
        options=options.model_dump(),
        upload=file.chunks(),
        upload_name=file.name or "outputs.jsonl",
    )


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def preview(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Show the preview of an upload, or the progress of its import."""
    job = import_or_404(request, member, pk, OUTPUTS)
    return render(request, "annotation/output_import.html", import_context(member, job))


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def delete(request: HttpRequest, member: Membership) -> HttpResponse:
    """Delete the imported outputs of a system's revision."""
    system, revision = request.POST.get("system", ""), request.POST.get("revision", "")
    with show_errors(request, Conflict):
        number = delete_outputs(
            project=member.project, system=system, revision=revision, by=require_user(request)
        )
        text = ngettext("Deleted %(number)d output.", "Deleted %(number)d outputs.", number)
        messages.success(request, text % {"number": number})
    return redirect("annotation:outputs", member.project.slug)
