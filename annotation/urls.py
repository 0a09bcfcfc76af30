"""URLs of the pages of annotation."""

from urllib.parse import quote, unquote

from django.urls import path, register_converter

from annotation.views import (
    annotators,
    batches,
    items,
    label_pages,
    managers,
    members,
    output_uploads,
    outputs,
    pace,
    reviewers,
    webhooks,
)

app_name = "annotation"


class Name:
    """A URL part that may contain a slash, as names of the Hugging Face hub."""

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        """Decode the name."""
        return unquote(value)

    def to_url(self, value: object) -> str:
        """Encode the name."""
        return quote(str(value), safe="")


register_converter(Name, "name")

urlpatterns = [
    path("annotate/", annotators.home, name="home"),
    path("annotate/work/<int:pk>/", annotators.editor, name="editor"),
    path("annotate/new/", managers.new_project, name="new_project"),
    path("annotate/<slug:slug>/", annotators.project, name="project"),
    path("annotate/<slug:slug>/next/", annotators.next_item, name="next"),
    path("annotate/<slug:slug>/review/", reviewers.waiting, name="review"),
    path("annotate/<slug:slug>/outputs/", outputs.listed, name="outputs"),
    path("annotate/<slug:slug>/outputs/upload/", output_uploads.upload, name="upload_outputs"),
    path("annotate/<slug:slug>/outputs/delete/", output_uploads.delete, name="delete_outputs"),
    path("annotate/<slug:slug>/output-imports/<int:pk>/", output_uploads.preview, name="output_import"),
    path("annotate/<slug:slug>/output-imports/<int:pk>/apply/", output_uploads.apply, name="apply_outputs"),
    path("annotate/<slug:slug>/runs/", outputs.runs, name="output_runs"),
    path("annotate/<slug:slug>/ml-backend/", outputs.set_ml_backend, name="set_ml_backend"),
    path("annotate/<slug:slug>/runs/start/", outputs.start, name="start_outputs"),
    path("annotate/<slug:slug>/runs/<int:pk>/stop/", outputs.stop, name="stop_outputs"),
    path("annotate/<slug:slug>/outputs/<name:system>/<name:revision>/", outputs.system, name="faithfulness"),
    path(
        "annotate/<slug:slug>/outputs/<name:system>/<name:revision>/<int:pk>/",
        outputs.nodes,
        name="node_outputs",
    ),
    path("annotate/<slug:slug>/agreement/", reviewers.agreement, name="agreement"),
    path("annotate/<slug:slug>/items/<int:pk>/", reviewers.item, name="item"),
    path("annotate/<slug:slug>/items/<int:pk>/adjudicate/", reviewers.adjudicate, name="adjudicate"),
    path("annotate/<slug:slug>/items/<int:pk>/accept/", reviewers.accept, name="accept"),
    path("annotate/<slug:slug>/items/<int:pk>/return/", reviewers.send_back, name="return"),
    path("annotate/<slug:slug>/items/", items.listed, name="items"),
    path("annotate/<slug:slug>/items/upload/", items.upload, name="upload_items"),
    path("annotate/<slug:slug>/items/order/", items.order, name="order_items"),
    path("annotate/<slug:slug>/items/<int:pk>/move/", items.move, name="move_item"),
    path("annotate/<slug:slug>/items/<int:pk>/edit/", items.edit, name="edit_item"),
    path("annotate/<slug:slug>/items/<int:pk>/delete/", items.delete, name="delete_item"),
    path("annotate/<slug:slug>/imports/<int:pk>/", items.preview, name="import"),
    path("annotate/<slug:slug>/imports/<int:pk>/apply/", items.apply, name="apply_import"),
    path("annotate/<slug:slug>/imports/<int:pk>/undo/", items.undo, name="undo_import"),
    path("annotate/<slug:slug>/members/", members.listed, name="members"),
    path("annotate/<slug:slug>/members/set/", members.set_member, name="member"),
    path("annotate/<slug:slug>/members/qualify/", members.qualify, name="qualify"),
    path("annotate/<slug:slug>/members/invite/", members.invite, name="invite"),
    path(
        "annotate/<slug:slug>/members/invitations/<int:pk>/revoke/", members.revoke, name="revoke_invitation"
    ),
    path("annotate/<slug:slug>/members/bots/", members.bots, name="bots"),
    path("annotate/<slug:slug>/people.csv", members.people_csv, name="people_csv"),
    path("annotate/<slug:slug>/places/", managers.set_annotators_per_item, name="annotators_per_item"),
    path("annotate/<slug:slug>/under-way/", members.under_way, name="under_way"),
    path("annotate/<slug:slug>/under-way/assign/", members.assign, name="assign"),
    path("annotate/<slug:slug>/under-way/<int:pk>/reclaim/", members.reclaim, name="reclaim"),
    path("annotate/<slug:slug>/batches/", batches.listed, name="batches"),
    path("annotate/<slug:slug>/batches/assign/", batches.assign, name="assign_batch"),
    path("annotate/<slug:slug>/batches/<int:pk>/due/", batches.change_due_date, name="batch_due"),
    path("annotate/<slug:slug>/batches/<int:pk>/release/", batches.release, name="release_batch"),
    path("annotate/<slug:slug>/pace/", pace.shown, name="pace"),
    path("annotate/<slug:slug>/webhooks/", webhooks.listed, name="webhooks"),
    path("annotate/<slug:slug>/webhooks/add/", webhooks.add, name="add_webhook"),
    path("annotate/<slug:slug>/webhooks/<int:pk>/", webhooks.deliveries, name="webhook"),
    path("annotate/<slug:slug>/webhooks/<int:pk>/test/", webhooks.test, name="test_webhook"),
    path("annotate/<slug:slug>/webhooks/<int:pk>/end/", webhooks.end, name="end_webhook"),
    path("annotate/<slug:slug>/export/", managers.export, name="export"),
    path("annotate/<slug:slug>/settings/", managers.settings, name="settings"),
    path("annotate/<slug:slug>/labels/", label_pages.labels, name="labels"),
    path("annotate/<slug:slug>/labels/rename/", label_pages.rename, name="rename_label"),
    path("annotate/<slug:slug>/labels/remove/", label_pages.remove, name="remove_label"),
    path("annotate/<slug:slug>/guidelines/", managers.write_guideline, name="guideline"),
    path("annotate/<slug:slug>/audit/", managers.audit, name="audit"),
    path("annotate/<slug:slug>/close/", managers.change_status, {"act": "close"}, name="close"),
    path("annotate/<slug:slug>/reopen/", managers.change_status, {"act": "reopen"}, name="reopen"),
]
