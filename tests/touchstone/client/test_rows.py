"""The types of the client have the fields of the site's own types."""

from typing import Any, get_args

import pytest

from accounts.rest import shapes as workspaces
from annotation.downloads import FORMATS as EXPORT_FORMATS
from annotation.imports import FORMATS as IMPORT_FORMATS
from annotation.rest import annotation_shapes as annotations
from annotation.rest import batches
from annotation.rest import output_shapes as outputs
from annotation.rest import shapes as projects
from jobs.rest import webhooks
from jobs.rest.endpoints import JobRow
from predictions.rest import shapes as predictions
from studyapp.models import WebhookEvent
from studyapp.queries.progress import ConditionProgress, ModeProgress
from studyapp.rest import shapes as studies
from studyapp.rest.urls import Table
from touchstone.client import project_rows, rows
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
    (rows.LaunchCheck, studies.LaunchCheck),
    (rows.VersionRow, studies.VersionRow),
    (rows.DecisionRow, studies.DecisionRow),
    (rows.PaymentLine, studies.PaymentLine),
    (rows.PaymentPlan, studies.PaymentPlan),
    (rows.PaymentRow, studies.PaymentRow),
    (rows.LinkRow, studies.LinkRow),
    (rows.NewLinkRow, studies.MadeLink),
    (rows.WebhookRow, webhooks.WebhookRow),
    (rows.NewWebhookRow, webhooks.MadeWebhook),
    (rows.DeliveryRow, webhooks.DeliveryRow),
    (rows.ConditionProgress, ConditionProgress),
    (rows.ModeProgress, ModeProgress),
    (rows.Progress, studies.Progress),
    (rows.Flow, studies.Flow),
    (rows.EstimateRow, studies.EstimateRow),
    (rows.EstimatesSoFar, studies.EstimatesSoFar),
    (project_rows.ProjectRow, projects.ProjectRow),
    (project_rows.ProjectDetail, projects.ProjectDetail),
    (project_rows.ProjectMemberRow, projects.MemberRow),
    (project_rows.GuidelineRow, projects.GuidelineRow),
    (project_rows.ImageRow, projects.ImageRow),
    (project_rows.ItemRow, projects.ItemRow),
    (project_rows.ItemImport, projects.ImportCounts),
    (project_rows.CommentRow, annotations.CommentRow),
    (project_rows.AnnotationRow, annotations.AnnotationRow),
    (project_rows.HistoryRow, annotations.HistoryRow),
    (project_rows.BatchRow, batches.BatchRow),
    (project_rows.PaceRow, batches.PaceRow),
    (project_rows.AnnotationDetail, annotations.AnnotationDetail),
    (project_rows.SavedOperation, annotations.SavedRow),
    (project_rows.Saved, annotations.Saved),
    (project_rows.EditorState, annotations.EditorState),
    (project_rows.NextItem, annotations.NextItem),
    (project_rows.GoldRow, projects.GoldRow),
    (project_rows.AgreementRow, projects.AgreementRow),
    (project_rows.FirstDifference, projects.FirstDifference),
    (project_rows.Agreement, projects.ProjectAgreement),
    (project_rows.OutputRow, outputs.OutputRow),
    (project_rows.OutputSystem, outputs.SystemRow),
    (project_rows.Figure, outputs.FigureRow),
    (project_rows.WorstItem, outputs.WorstRow),
    (project_rows.Faithfulness, outputs.FaithfulnessRow),
    (project_rows.Comparison, outputs.ComparisonRow),
    (project_rows.OutputRun, outputs.OutputRunRow),
]


@pytest.mark.parametrize(("row", "shape"), PAIRS)
def test_fields(row: Any, shape: Any) -> None:
    fields = getattr(shape, "model_fields", shape.__annotations__)
    assert row.__annotations__.keys() == fields.keys()


def test_every_type_of_the_client_is_compared() -> None:
    named = {**vars(rows), **vars(project_rows)}
    types = {value for value in named.values() if hasattr(value, "__required_keys__")}
    assert types == {row for row, _shape in PAIRS}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (rows.RoleName, workspaces.RoleName),
        (rows.RunStatus, predictions.RunStatus),
        (rows.StudyStatus, studies.StudyStatus),
        (rows.Mode, studies.ModeName),
        (rows.WebhookKind, studies.WebhookKind),
        (project_rows.Purpose, projects.Purpose),
        (project_rows.ProjectRole, projects.ProjectRoleName),
        (project_rows.AnnotationStatus, annotations.AnnotationStatus),
        (project_rows.Averaging, outputs.Averaging),
    ],
)
def test_choices(ours: Any, theirs: Any) -> None:
    assert set(get_args(ours)) == set(get_args(theirs)) != set()


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
