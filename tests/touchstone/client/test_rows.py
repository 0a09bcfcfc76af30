"""The types of the client have the fields that the site declares."""

from typing import Any, get_args

import pytest

from annotation.downloads import FORMATS as EXPORT_FORMATS
from annotation.importing.items import FORMATS as IMPORT_FORMATS
from annotation.rest import annotation_shapes as annotations
from annotation.rest import output_shapes as outputs
from annotation.rest import shapes as projects
from studyapp.models import WebhookEvent
from studyapp.queries.running.progress import ConditionProgress, ModeName, ModeProgress
from studyapp.rest import shapes as studies
from studyapp.rest.urls import Table
from touchstone.client import project_rows, rows
from touchstone.client import studies as client_studies

PAIRS: list[tuple[Any, Any]] = [
    (rows.ConditionProgress, ConditionProgress),
    (rows.ModeProgress, ModeProgress),
    (project_rows.AnnotationRow, annotations.AnnotationRow),
    (project_rows.AnnotationDetail, annotations.AnnotationDetail),
    (project_rows.EditorState, annotations.EditorState),
    (project_rows.NextItem, annotations.NextItem),
    (project_rows.GoldRow, projects.GoldRow),
    (project_rows.OutputRow, outputs.OutputRow),
]


@pytest.mark.parametrize(("row", "shape"), PAIRS)
def test_fields(row: Any, shape: Any) -> None:
    fields = getattr(shape, "model_fields", shape.__annotations__)
    assert row.__annotations__.keys() == fields.keys()


def test_modes() -> None:
    assert set(get_args(rows.Mode)) == set(get_args(ModeName)) != set()


def test_formats_of_items() -> None:
    assert set(get_args(project_rows.ImportFormat)) == set(IMPORT_FORMATS)
    assert set(get_args(project_rows.ExportFormat)) == set(EXPORT_FORMATS)


def test_tables() -> None:
    assert set(get_args(rows.TableName)) == set(Table.regex.split("|"))


def test_kinds_of_webhooks() -> None:
    assert set(get_args(rows.WebhookKind)) == set(WebhookEvent.values)


def test_a_draft_has_the_fields_of_its_state_and_its_etag() -> None:
    fields = client_studies.Draft.__dataclass_fields__.keys()
    assert fields == studies.DraftState.model_fields.keys() | {"etag"}
