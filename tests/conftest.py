"""Fixtures that every test may ask for, and the order of the tests."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps as global_apps
from django.contrib.contenttypes.management import create_contenttypes
from django.db import connection
from django.db.models.signals import post_migrate
from django.utils import translation
from hypothesis import settings as hypothesis_settings

from scripts.sites.site import prepare_postgres, prepare_site_folder
from tests.soak import WHOLE

# Beside other tests an example may take any time, which says nothing about the code.
hypothesis_settings.register_profile("suite", deadline=None)
hypothesis_settings.load_profile("suite")

# Of processes that tests start, too; `tests/analysis/conftest.py` has the others drawn where they are tested.
os.environ.setdefault("TOUCHSTONE_FIGURES", "svg")

pytest_plugins = ["tests.services", "tests.site"]

# Folders of long files: what starts whole sites and browsers, and what mostly waits, for leases and restarts.
TESTS = Path(__file__).parent
LONG = {"functional": "busy", "load": "busy", "fault": "waits", "soak": "waits", "deploy": "waits"}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without the garbage collector.

    It would take a quarter of the collection's time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 10, 20)
        gc.enable()


@cache
def _of_the_database() -> frozenset[Path]:
    """The files with tests of the database, and the folders that they are in."""
    files = [path for path in TESTS.rglob("*.py") if "mark.database" in path.read_text(encoding="utf-8")]
    return frozenset(files).union(*(path.parents for path in files))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files without tests of the database in a run of those tests.

    The folders that hold such tests are imported, too.
    """
    if config.option.markexpr != "database" or not collection_path.is_relative_to(TESTS):
        return None
    return collection_path not in _of_the_database() or None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave to ``make soak`` what is marked so."""
    if item.get_closest_marker("soak") and not WHOLE:
        pytest.skip("make soak runs it")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first.

    Otherwise one worker is left alone with a long file at the end of a run. Files that wait are spread over
    the others, which have the processors meanwhile.
    """
    kinds: dict[str, list[Path]] = {}
    for path in dict.fromkeys(item.path for item in items):
        kinds.setdefault(LONG.get(path.relative_to(TESTS).parts[0], ""), []).append(path)
    order = {
        path: (not kind, index / len(paths))
        for kind, paths in kinds.items()
        for index, path in enumerate(paths)
    }
    items.sort(key=lambda item: order[item.path])


def _make_workspace(*, using: str, apps: Any = global_apps, **_rest: Any) -> None:
    workspace = apps.get_model("accounts", "Workspace")
    workspace.objects.using(using).get_or_create(slug="main", defaults={"name": "Main"})


@pytest.fixture(scope="session", autouse=True)
def _workspace_after_each_flush() -> None:
    """Create the workspace of the migrations again after each flush.

    Tests with transactions of their own empty the database, and take away the one workspace that the
    migrations create. Django's own permissions, for which nothing here asks, are not created again: they take
    most of a flush.
    """
    post_migrate.connect(_make_workspace, sender=global_apps.get_app_config("accounts"))
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None) -> bool:
    """Copy the migrated database of a whole run, and return True.

    Return False without such a database: the tests migrate theirs.
    """
    if "TEST_PREPARED" not in os.environ:
        return False
    test = connection.settings_dict["TEST"]
    if connection.vendor == "postgresql":
        test["TEMPLATE"] = prepare_postgres(os.environ["TEST_POSTGRES_URL"])
    else:
        shutil.copyfile(prepare_site_folder() / "touchstone.sqlite3", test["NAME"])
    return True


@pytest.fixture(autouse=True)
def _no_language_left() -> Iterator[None]:
    """Deactivate the language of a test's last page.

    Django leaves it active, because a server's next page sets its own.
    """
    yield
    translation.deactivate()
