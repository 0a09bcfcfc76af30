"""Pages of datasets: the list, one dataset, its deletion."""

from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.models import Workspace
from accounts.policy_table import Act
from accounts.rights.access import require_user
from foundation.errors import Conflict
from foundation.translated_messages import translate_error
from predictions.actions.deletion import delete_dataset
from predictions.models import Dataset
from predictions.queries.pages import list_datasets, list_imports, list_runs
from predictions.views.access import DataRequest, dataset_page, workspaces_page
from predictions.views.tables import runs_and_scores


@require_safe
@workspaces_page(Act.DATA_SEE)
def home(request: HttpRequest, workspaces: list[Workspace]) -> HttpResponse:
    """List the datasets, and the imports in progress."""
    return render(
        request,
        "data/home.html",
        {
            "datasets": list_datasets(workspaces),
            "imports": list_imports(require_user(request), workspaces),
            "several": len(workspaces) > 1,
            "manages": cast(DataRequest, request).manages,
        },
    )


@require_safe
@dataset_page(Act.DATA_SEE)
def overview(request: HttpRequest, dataset: Dataset) -> HttpResponse:
    """Show a dataset with its runs."""
    rows = list_runs([dataset.workspace], dataset=dataset)
    return render(
        request,
        "data/dataset.html",
        {
            "dataset": dataset,
            **runs_and_scores(rows, request.GET, without=("dataset",)),
            "manages": cast(DataRequest, request).manages,
            "takes_programs": dataset.can_take_programs(),
        },
    )


@require_POST
@dataset_page(Act.DATA_MANAGE)
def delete(request: HttpRequest, dataset: Dataset) -> HttpResponse:
    """Delete a dataset that nothing refers to."""
    name = dataset.name
    try:
        delete_dataset(dataset=dataset, by=require_user(request))
    except Conflict as error:
        messages.error(request, translate_error(error))
        return redirect("data:dataset", dataset.pk)
    messages.success(request, _("The dataset %(name)s is deleted.") % {"name": name})
    return redirect("data:home")
