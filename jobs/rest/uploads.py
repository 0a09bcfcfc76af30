"""Uploads that jobs work on, and jobs that make files."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.models import Workspace
from accounts.rest.bodies import check_length, read_blocks
from accounts.rest.idempotency import answer_once, hash_blocks, read_key, start_digest
from accounts.rest.pages import answer
from accounts.rest.views import RestView
from jobs.actions.jobs import store_upload
from jobs.rest.endpoints import build_job_row
from jobs.tasks import start_job

MOST_FILE_BYTES = 2 << 30


def answer_upload(
    view: RestView,
    request: Request,
    *,
    kind: str,
    workspace: Workspace,
    subject: str,
    options: Mapping[str, Any],
    file_name: str,
) -> HttpResponse:
    """Store the file in the body, and answer with the job that works on it.

    The same file with the same ``Idempotency-Key`` makes one job.
    """
    read_key(request)  # refuses a wrong one before the upload
    check_length(request, MOST_FILE_BYTES)
    digest = start_digest(request)
    with store_upload(hash_blocks(read_blocks(request), digest), file_name) as upload:

        def create() -> HttpResponse:
            job = start_job(
                kind=kind, workspace=workspace, by=view.user, subject=subject, options=options, upload=upload
            )
            return answer(build_job_row(request, job), status=202)

        return answer_once(view, request, digest.hexdigest(), create)
