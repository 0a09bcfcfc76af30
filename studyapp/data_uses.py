"""Uses of datasets and runs by studies: a module of `settings.DATA_USERS`."""

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from predictions.models import Dataset, PredictionRun
from predictions.queries.predictions import find_latest_run
from studyapp.models import Condition, Item, JudgedAnswer, Study


def list_dataset_uses(dataset: Dataset) -> list[str]:
    """Return the studies over a dataset, and its judged answers."""
    shown = Item.objects.filter(question__dataset=dataset).values("version__study")
    drafts = Q(workspace=dataset.workspace_id, definition__dataset=dataset.name)
    studies = Study.every.filter(Q(pk__in=shown) | drafts)  # rehearsals keep what they show, too
    judged = JudgedAnswer.objects.filter(question__dataset=dataset).count()
    return _name_studies(studies) + (
        [ngettext("%(number)d judged answer", "%(number)d judged answers", judged) % {"number": judged}]
        if judged
        else []
    )


def list_run_uses(run: PredictionRun) -> list[str]:
    """Return the studies that show a run, or whose draft needs it."""
    shown = Condition.objects.filter(run=run).values("version__study")
    studies = Q(pk__in=shown)
    dataset, system = run.dataset, run.system.name
    if find_latest_run(dataset, system) == run:
        named = {"system": system}
        drafts = Study.objects.filter(workspace=dataset.workspace_id, definition__dataset=dataset.name)
        studies |= Q(pk__in=[draft.pk for draft in drafts if _has_condition(draft, named)])
    return _name_studies(Study.every.filter(studies))


def _has_condition(study: Study, named: dict[str, str]) -> bool:
    """Return True if a condition of the draft has these values."""
    conditions = study.definition.get("conditions") or []
    return any(isinstance(condition, dict) and named.items() <= condition.items() for condition in conditions)


def _name_studies(studies: QuerySet[Study]) -> list[str]:
    """Name each study once, although it has rehearsals."""
    owners = dict.fromkeys(study.rehearsal_of or study for study in studies.select_related("rehearsal_of"))
    return [_("the study “%(title)s”") % {"title": study.title} for study in owners]
