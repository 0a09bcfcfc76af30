"""The Celery application, configured by CELERY_* of config.settings."""

import gc
import os
from typing import Any

from celery import Celery, Task
from celery.signals import celeryd_init, worker_init
from django.db import InterfaceError, OperationalError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# A worker would drop what Django's checks find, and they import every page: a third of its start.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")


class PatientTask(Task[Any, Any]):
    """A task that starts again when the database is back."""

    autoretry_for = (InterfaceError, OperationalError)
    max_retries = 60
    retry_backoff = True
    retry_backoff_max = 60  # seconds


app = Celery("touchstone", task_cls=PatientTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_init.connect
def _imports_begin(**_: Any) -> None:
    gc.disable()  # as in config.wsgi


@worker_init.connect
def _imports_end(**_: Any) -> None:
    gc.freeze()  # the forks of this process share what nobody writes to
    gc.enable()
