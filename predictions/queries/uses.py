"""Uses of datasets and runs: what must go before they can be deleted."""

from importlib import import_module
from typing import Protocol, cast

from django.conf import settings
from django.utils.translation import ngettext

from predictions.models import Dataset, PredictionRun, ReadingProbe


class DataUser(Protocol):
    """A module that `settings.DATA_USERS` names; its app refers to datasets."""

    def uses_of_dataset(self, dataset: Dataset) -> list[str]:
        """Return the names of what refers to a dataset, as "the study X"."""

    def uses_of_run(self, run: PredictionRun) -> list[str]:
        """Return the names of what refers to a run, as "the study X"."""


def uses_of_dataset(dataset: Dataset) -> list[str]:
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
    return own + [name for user in _users() for name in user.uses_of_dataset(dataset)]


def uses_of_run(run: PredictionRun) -> list[str]:
    """Return the names of what refers to a run; empty if it is unused."""
    return [name for user in _users() for name in user.uses_of_run(run)]


def _users() -> list[DataUser]:
    return [cast(DataUser, import_module(name)) for name in settings.DATA_USERS]
