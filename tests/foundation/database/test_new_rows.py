"""Of two requests that find a name free at once, one gets it.

The other gets a validation error.
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from accounts.actions.workspaces import create_workspace
from accounts.models import Workspace
from annotation.actions.projects import create_project
from tests import workspaces


@pytest.mark.django_db
def test_a_name_that_was_taken_after_the_check_is_named(monkeypatch: pytest.MonkeyPatch):
    check = Workspace.full_clean

    def late(row: Workspace) -> None:
        check(row)
        Workspace.objects.create(slug=row.slug, name="The other")

    monkeypatch.setattr(Workspace, "full_clean", late)
    with pytest.raises(ValidationError) as refused:
        create_workspace(slug="lab", name="Lab", by=None)
    assert list(refused.value.message_dict) == ["slug"]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_of_two_projects_of_one_name_at_the_same_moment_one_is_refused():
    workspace = workspaces.main()
    for number in range(5):
        start = Barrier(2)

        def create(title: str, slug: str = f"dogs-{number}", start: Barrier = start) -> list[str]:
            start.wait()
            try:
                create_project(workspace=workspace, slug=slug, title=title, kind="boxes", by=None)
            except ValidationError as refused:
                return list(refused.message_dict)
            finally:
                connection.close()
            return []

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(create, ("One", "Two"))) == [[], ["slug"]]
