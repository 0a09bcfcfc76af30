"""Access to the pages of datasets, questions, runs and imports."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase

from accounts.models import User, Workspace
from accounts.policy_table import Act
from accounts.rights.access import NOT_THERE, require, require_existing, require_somewhere, require_user
from accounts.rights.current_workspace import find_chosen_workspace
from accounts.rights.roles import Owned, can
from jobs.models import Job
from jobs.queries import find_user_job
from predictions.models import Dataset, PredictionRun, Question
from predictions.queries.pages import IMPORTS

Page = Callable[..., HttpResponseBase]


class DataRequest(HttpRequest):
    """A request that a guard let through.

    ``manages`` is True if the user may change data there.
    """

    user: User
    manages: bool


def dataset_page(act: Act) -> Callable[[Page], Page]:
    """Let users through who may do this with a dataset; pass the dataset."""
    return _guard(act, Dataset, "workspace")


def question_page(act: Act) -> Callable[[Page], Page]:
    """Let users through who may do this with a dataset; pass a question of it."""
    return _guard(act, Question, "dataset__workspace")


def run_page(act: Act) -> Callable[[Page], Page]:
    """Let users through who may do this with a run; pass the run."""
    return _guard(act, PredictionRun, "dataset__workspace", "system")


def _guard(act: Act, model: type[Model], *related: str) -> Callable[[Page], Page]:
    def decorate(view: Page) -> Page:
        @login_required
        @wraps(view)
        def check_access(request: HttpRequest, pk: int, *args: Any, **kwargs: Any) -> HttpResponseBase:
            row = require_existing(model._default_manager.select_related(*related).filter(pk=pk).first())
            owned = row.dataset if isinstance(row, Question) else cast("Owned", row)
            user = require_user(request)
            require(user, act, owned)
            cast(DataRequest, request).manages = can(user, Act.DATA_MANAGE, owned)
            return view(request, row, *args, **kwargs)

        return check_access

    return decorate


def workspaces_page(act: Act) -> Callable[[Page], Page]:
    """Let users through who may do this somewhere; pass their workspaces.

    They are those in which the user may, or the one of them that the user chose in the menu.
    """

    def decorate(view: Page) -> Page:
        @login_required
        @wraps(view)
        def check_access(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            user = require_user(request)
            allowed = require_somewhere(user, act)
            chosen = find_chosen_workspace(request)
            shown: list[Workspace] = [workspace for workspace in allowed if workspace == chosen] or allowed
            cast(DataRequest, request).manages = any(
                can(user, Act.DATA_MANAGE, workspace) for workspace in shown
            )
            return view(request, shown, *args, **kwargs)

        return check_access

    return decorate


def import_page(view: Callable[..., HttpResponse]) -> Page:
    """Let the person through who started an import and may manage data."""

    @login_required
    @wraps(view)
    def check_access(request: HttpRequest, pk: int) -> HttpResponse:
        user = require_user(request)
        job: Job | None = find_user_job(user, pk)
        if job is None or job.kind not in IMPORTS:
            raise Http404(str(NOT_THERE))
        require(user, Act.DATA_MANAGE, job.workspace)
        return view(request, job)

    return check_access
