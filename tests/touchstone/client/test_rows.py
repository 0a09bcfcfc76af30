"""The types of the client have the fields of the site's own types."""

from typing import Any, get_args

import pytest

from accounts.rest import shapes as workspaces
from annotation.api import shapes as annotation
from jobs.rest.endpoints import JobRow
from predictions.rest import shapes as predictions
from studyapp.rest import shapes as studies
from studyapp.rest.urls import Table
from touchstone.client import rows
from touchstone.client import studies as client_studies

PAIRS: list[tuple[Any, Any]] = [
    (rows.WorkspaceRow, workspaces.WorkspaceRow),
    (rows.ShareRow, workspaces.ShareRow),
    (rows.MemberRow, workspaces.WorkspaceMemberRow),
    (rows.InvitationRow, workspaces.InvitationRow),
    (rows.NewInvitationRow, workspaces.MadeInvitation),
    (rows.JobRow, JobRow),
    (rows.DatasetRow, predictions.DatasetRow),
    (rows.QuestionRow, predictions.QuestionRow),
    (rows.SystemRow, predictions.PredictingSystemRow),
    (rows.ServedSystemRow, predictions.ServedSystemRow),
    (rows.ServerRow, predictions.ServerRow),
    (rows.ServedRows, predictions.Served),
    (rows.RunRow, predictions.RunRow),
    (rows.FailureRow, predictions.FailureRow),
    (rows.FailureGroup, predictions.FailureGroup),
    (rows.PredictionRow, predictions.RunPredictionRow),
    (rows.ScoreRow, predictions.ScoreRow),
    (rows.StudyRow, studies.StudyRow),
    (rows.DraftProblem, studies.DraftProblem),
    (rows.VersionRow, studies.VersionRow),
    (rows.LinkRow, studies.LinkRow),
    (rows.NewLinkRow, studies.MadeLink),
    (rows.ConditionProgress, studies.ConditionProgress),
    (rows.ModeProgress, studies.ModeProgress),
    (rows.Progress, studies.Progress),
    (rows.Flow, studies.Flow),
    (rows.EstimateRow, studies.EstimateRow),
    (rows.EstimatesSoFar, studies.EstimatesSoFar),
    (rows.ProjectRow, annotation.ProjectRow),
    (rows.ProjectDetail, annotation.ProjectDetail),
    (rows.ItemRow, annotation.ItemRow),
    (rows.ItemImport, annotation.ImportRow),
    (rows.AnnotationRow, annotation.AnnotationRow),
    (rows.GoldRow, annotation.GoldRow),
]


@pytest.mark.parametrize(("row", "shape"), PAIRS)
def test_fields(row: Any, shape: Any) -> None:
    assert row.__annotations__.keys() == shape.model_fields.keys()


def test_every_type_of_the_client_is_compared() -> None:
    types = {value for value in vars(rows).values() if hasattr(value, "__required_keys__")}
    assert types == {row for row, _shape in PAIRS}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (rows.RoleName, workspaces.RoleName),
        (rows.RunStatus, predictions.RunStatus),
        (rows.StudyStatus, studies.StudyStatus),
        (rows.Mode, studies.ModeName),
        (rows.Purpose, annotation.Purpose),
    ],
)
def test_choices(ours: Any, theirs: Any) -> None:
    assert set(get_args(ours)) == set(get_args(theirs)) != set()


def test_tables() -> None:
    assert set(get_args(rows.TableName)) == set(Table.regex.split("|"))


def test_a_draft_has_the_fields_of_its_state_and_its_etag() -> None:
    fields = client_studies.Draft.__dataclass_fields__.keys()
    assert fields == studies.DraftState.model_fields.keys() | {"etag"}
