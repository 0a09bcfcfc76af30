"""The OpenAPI document is true: every endpoint of the API is in it, and answers as it says."""

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given
from schemathesis.specs.openapi import checks

from accounts.models import User
from annotation.models import Membership, Role
from tests.annotation.factories import finished, make_annotation, make_member, make_project
from tests.tokens import bearer

pytestmark = pytest.mark.django_db(transaction=True)

# What is not about annotation: the studies are listed for staff only, and tested where they live.
PREFIX = "/api/annotation/"
EXAMPLES = 8  # of each endpoint; the whole takes some ten seconds


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return made


def test_every_endpoint_of_the_api_is_described(document: dict[str, Any]) -> None:
    described = set(document["paths"])
    addresses = {str(one.pattern) for one in _patterns() if str(one.pattern).startswith("api/")}
    assert len(addresses) > 20
    for address in addresses - {"api/schema/", "api/docs/"}:
        plain = "/" + address.replace("<slug:", "<").replace("<int:", "<").replace("<pk>", "<id>")
        assert plain.replace("<", "{").replace(">", "}") in described


def test_a_dry_run_is_described(document: dict[str, Any]) -> None:
    # Found by chance: the generated requests seldom ask for one.
    responses = document["paths"]["/api/annotation/projects/{slug}/items/"]["post"]["responses"]
    assert {"200", "201"} <= responses.keys()


def _patterns() -> Iterator[Any]:
    for one in get_resolver().url_patterns:
        yield from getattr(one, "url_patterns", [one])


def test_it_is_served_to_who_has_a_login(client: Any) -> None:
    assert client.get("/api/schema/").status_code in (401, 403)
    client.force_login(User.objects.create_user("reader"))
    response = client.get("/api/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert response.status_code == 200
    assert "/api/v1/studies/" in response.json()["paths"]


@pytest.fixture
def manager() -> Membership:
    """A manager of a project with an item, a finished work, and gold."""
    member = make_member(make_project(slug="a-project", show_predictions=True), Role.MANAGER)
    finished(make_annotation(make_member(member.project)))
    make_annotation(member)
    return member


def test_answers_are_what_the_document_says(
    document: dict[str, Any], manager: Membership, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    schema = schemathesis.openapi.from_dict(document)
    schema.app = get_wsgi_application()
    tested, headers = 0, bearer(manager.user)
    for result in schema.get_all_operations():
        operation = result.ok()
        if not operation.path.startswith(PREFIX):
            continue
        _call(operation, manager, headers)
        tested += 1
    assert tested > 25


def _call(operation: Any, manager: Membership, headers: dict[str, str]) -> None:
    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def call(case: Any) -> None:
        if "slug" in (case.path_parameters or {}):
            case.path_parameters["slug"] = manager.project.slug  # a name at random is a 404 nearly always
        if (case.path_parameters or {}).get("id", 1) % 2 == 0:  # and half of the ids are there
            rows = manager.project.annotations if "items" not in case.path else manager.project.items
            case.path_parameters["id"] = rows.latest("pk").pk
        response = case.call_and_validate(
            headers=headers,
            checks=[schemathesis.checks.not_a_server_error, *_conformance()],
        )
        assert response.status_code < 500

    call()


def _conformance() -> list[Any]:
    return [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
