"""Dry runs answer with the status that the OpenAPI document names."""

import json

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from accounts.models import Role
from tests import workspaces
from tests.annotation import factories

ITEMS = "/api/v1/projects/{slug}/items/"
IMPORTS = "/api/v1/imports/"
PROJECT_IMPORTS = "/api/v1/projects/{slug}/imports/"
PAYMENTS = "/api/v1/studies/{slug}/payments/"  # needs a study on a platform; its own tests hold both
ITEM = {"external_id": "one", "kind": "spans", "program": "find[goals]", "text": "How?", "passage": "A goal."}


def documented() -> dict[str, set[str]]:
    """The success codes of each operation that takes ``dry_run``."""
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    return {
        path: {code for code in operation["responses"] if code.startswith("2")}
        for path, operations in paths.items()
        for operation in operations.values()
        if any(parameter["name"] == "dry_run" for parameter in operation.get("parameters", ()))
    }


@pytest.mark.django_db
def test_each_returns_a_documented_status_and_no_other_is_documented(client: Client):
    project = factories.make_project(kind="spans", workspace=workspaces.main())
    user = workspaces.give(factories.make_user(), Role.OWNER)
    client.force_login(workspaces.give(user, Role.MANAGER))
    statuses: dict[str, set[str]] = {ITEMS: set(), IMPORTS: set(), PROJECT_IMPORTS: set()}
    for dry_run in ("true", "false"):
        items = client.post(
            f"{ITEMS.format(slug=project.slug)}?dry_run={dry_run}",
            json.dumps([ITEM]),
            content_type="application/json",
        )
        assert items.status_code < 300, items.content
        statuses[ITEMS].add(str(items.status_code))
        files = {
            IMPORTS: "kind=dataset&workspace=main&name=new&format=hotpot",
            PROJECT_IMPORTS: "format=jsonl",
        }
        for path, query in files.items():
            address = f"{path.format(slug=project.slug)}?{query}&dry_run={dry_run}"
            imported = client.post(address, b"[]", content_type="application/octet-stream")
            assert imported.status_code < 300, imported.content
            statuses[path].add(str(imported.status_code))
    codes = documented()
    assert codes.pop(PAYMENTS) == {"200", "201"}
    assert statuses == codes == {ITEMS: {"200", "201"}, IMPORTS: {"202"}, PROJECT_IMPORTS: {"202"}}
