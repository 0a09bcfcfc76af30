"""Uses of datasets and runs: what must go before they can be deleted."""

from importlib import import_module
from typing import Protocol, cast

from django.conf import settings
from django.utils.translation import ngettext

from predictions.models import Dataset, PredictionRun, ReadingProbe


class DataUser(Protocol):
    """A module that `settings.DATA_USERS` names; its app refers to datasets."""

    def list_dataset_uses(self, dataset: Dataset) -> list[str]:
        """Return the names of what refers to a dataset, as "the study X"."""

    def list_run_uses(self, run: PredictionRun) -> list[str]:
        """Return the names of what refers to a run, as "the study X"."""


def list_dataset_uses(dataset: Dataset) -> list[str]:
    """Return the names of what refers to a dataset; empty if it is unused."""
    own = [
        ngettext("%(number)d run of a system", "%(number)d runs of systems", number) % {"number": number}
        for number in [dataset.runs.count()]
        if number
    ]
    probes = ReadingProbe.objects.filter(dataset=dataset).count()
    if probes:
        own.append(
            ngettext("%(number)d reading probe", "%(number)d reading probes", probes) % {"number": probes}
        )
    return own + [name for user in _load_data_users() for name in user.list_dataset_uses(dataset)]


def list_run_uses(run: PredictionRun) -> list[str]:
    """Return the names of what refers to a run; empty if it is unused."""
    return [name for user in _load_data_users() for name in user.list_run_uses(run)]


def _load_data_users() -> list[DataUser]:
    return [cast(DataUser, import_module(name)) for name in settings.DATA_USERS]
