"""URLs of annotation projects in the REST API, below ``/api/v1/``."""

from django.urls import path

from annotation.rest import annotations, batches, files, items, outputs, projects

app_name = "projects_rest"

_PROJECT = "projects/<slug:slug>/"
_ANNOTATION = "annotations/<int:pk>/"

urlpatterns = [
    path("projects/", projects.Projects.as_view(), name="projects"),
    path(_PROJECT, projects.OneProject.as_view(), name="project"),
    path(f"{_PROJECT}labels/", projects.Labels.as_view(), name="labels"),
    path(f"{_PROJECT}labels/rename/", projects.LabelNames.as_view(), name="rename_label"),
    path(f"{_PROJECT}labels/remove/", projects.LabelRemovals.as_view(), name="remove_label"),
    path(f"{_PROJECT}close/", projects.Close.as_view(), name="close"),
    path(f"{_PROJECT}reopen/", projects.Reopen.as_view(), name="reopen"),
    path(f"{_PROJECT}members/", projects.Members.as_view(), name="members"),
    path(f"{_PROJECT}members/<str:user>/", projects.OneMember.as_view(), name="member"),
    path(f"{_PROJECT}members/<str:user>/qualify/", projects.Qualification.as_view(), name="qualify"),
    path(f"{_PROJECT}invitations/", projects.Invitations.as_view(), name="invitations"),
    path(f"{_PROJECT}invitations/<int:pk>/", projects.OneInvitation.as_view(), name="invitation"),
    path(f"{_PROJECT}guidelines/", projects.Guidelines.as_view(), name="guidelines"),
    path(f"{_PROJECT}webhooks/", projects.Webhooks.as_view(), name="webhooks"),
    path(f"{_PROJECT}webhooks/<int:pk>/", projects.OneWebhook.as_view(), name="webhook"),
    path(f"{_PROJECT}webhooks/<int:pk>/deliveries/", projects.Deliveries.as_view(), name="deliveries"),
    path(f"{_PROJECT}items/", items.Items.as_view(), name="items"),
    path(f"{_PROJECT}items/order/", items.ItemOrder.as_view(), name="item_order"),
    path(f"{_PROJECT}items/<int:pk>/", items.OneItem.as_view(), name="item"),
    path(f"{_PROJECT}items/<int:pk>/gold/", items.ItemGold.as_view(), name="item_gold"),
    path(f"{_PROJECT}items/<int:pk>/adjudicate/", annotations.Adjudicate.as_view(), name="adjudicate"),
    path(f"{_PROJECT}images/", items.Images.as_view(), name="images"),
    path(f"{_PROJECT}images/<int:pk>/", items.OneImage.as_view(), name="image"),
    path(f"{_PROJECT}imports/", files.Imports.as_view(), name="imports"),
    path(f"{_PROJECT}exports/", files.Exports.as_view(), name="exports"),
    path(f"{_PROJECT}gold/", items.AllGold.as_view(), name="gold"),
    path(f"{_PROJECT}agreement/", items.Agreement.as_view(), name="agreement"),
    path(f"{_PROJECT}next/", annotations.Next.as_view(), name="next"),
    path(f"{_PROJECT}annotations/", annotations.Annotations.as_view(), name="annotations"),
    path(f"{_PROJECT}batches/", batches.Batches.as_view(), name="batches"),
    path(f"{_PROJECT}batches/<int:pk>/", batches.OneBatch.as_view(), name="batch"),
    path(f"{_PROJECT}pace/", batches.Pace.as_view(), name="pace"),
    path(f"{_PROJECT}outputs/", outputs.Outputs.as_view(), name="outputs"),
    path(f"{_PROJECT}outputs/systems/", outputs.Systems.as_view(), name="systems"),
    path(f"{_PROJECT}outputs/acceptance/", outputs.Acceptance.as_view(), name="acceptance"),
    path(f"{_PROJECT}outputs/faithfulness/", outputs.Faithfulness.as_view(), name="faithfulness"),
    path(f"{_PROJECT}outputs/comparison/", outputs.Comparison.as_view(), name="comparison"),
    path(f"{_PROJECT}ml-backend/", outputs.MlBackend.as_view(), name="ml_backend"),
    path(f"{_PROJECT}ml-backend/ask/", outputs.AskMlBackend.as_view(), name="ask_ml_backend"),
    path(f"{_PROJECT}runs/", outputs.Runs.as_view(), name="runs"),
    path(f"{_PROJECT}runs/<int:pk>/cancel/", outputs.CancelRun.as_view(), name="cancel_run"),
    path(_ANNOTATION, annotations.OneAnnotation.as_view(), name="annotation"),
    path(f"{_ANNOTATION}editor/", annotations.Editor.as_view(), name="editor"),
    path(f"{_ANNOTATION}operations/", annotations.Operations.as_view(), name="operations"),
    path(f"{_ANNOTATION}submit/", annotations.Submit.as_view(), name="submit"),
    path(f"{_ANNOTATION}release/", annotations.Release.as_view(), name="release"),
    path(f"{_ANNOTATION}take-back/", annotations.TakeBack.as_view(), name="take_back"),
    path(f"{_ANNOTATION}shown/", annotations.Shown.as_view(), name="shown"),
    path(f"{_ANNOTATION}accept/", annotations.Accept.as_view(), name="accept"),
    path(f"{_ANNOTATION}return/", annotations.Return.as_view(), name="return"),
    path(f"{_ANNOTATION}comments/", annotations.Comments.as_view(), name="comments"),
    path(
        f"{_ANNOTATION}comments/<int:comment>/resolve/",
        annotations.ResolveComment.as_view(),
        name="resolve_comment",
    ),
    path("keys/", annotations.Keys.as_view(), name="keys"),
]
