"""URLs of the pages of annotation."""

from urllib.parse import quote, unquote

from django.urls import path, register_converter

from annotation.views import (
    annotators,
    batches,
    imports,
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
    path("", annotators.home, name="home"),
    path("annotation/<int:pk>/", annotators.editor, name="editor"),
    path("new/", managers.new_project, name="new_project"),
    path("<slug:slug>/", annotators.project, name="project"),
    path("<slug:slug>/next/", annotators.open_next_item, name="next"),
    path("<slug:slug>/review/", reviewers.list_waiting, name="review"),
    path("<slug:slug>/outputs/", outputs.list_systems, name="outputs"),
    path("<slug:slug>/outputs/upload/", output_uploads.upload, name="upload_outputs"),
    path("<slug:slug>/outputs/delete/", output_uploads.delete, name="delete_outputs"),
    path("<slug:slug>/output-imports/<int:pk>/", output_uploads.preview, name="output_import"),
    path(
        "<slug:slug>/output-imports/<int:pk>/apply/",
        imports.apply,
        {"page": "output_import"},
        name="apply_outputs",
    ),
    path("<slug:slug>/runs/", outputs.runs, name="output_runs"),
    path("<slug:slug>/ml-backend/", outputs.set_ml_backend, name="set_ml_backend"),
    path("<slug:slug>/runs/start/", outputs.start, name="start_outputs"),
    path("<slug:slug>/runs/<int:pk>/stop/", outputs.stop, name="stop_outputs"),
    path("<slug:slug>/outputs/<name:system>/<name:revision>/", outputs.system, name="faithfulness"),
    path(
        "<slug:slug>/outputs/<name:system>/<name:revision>/<int:pk>/",
        outputs.nodes,
        name="node_outputs",
    ),
    path("<slug:slug>/agreement/", reviewers.agreement, name="agreement"),
    path("<slug:slug>/items/<int:pk>/", reviewers.item, name="item"),
    path("<slug:slug>/items/<int:pk>/adjudicate/", reviewers.adjudicate, name="adjudicate"),
    path("<slug:slug>/items/<int:pk>/accept/", reviewers.accept, name="accept"),
    path("<slug:slug>/items/<int:pk>/return/", reviewers.send_back, name="return"),
    path("<slug:slug>/items/", items.list_items, name="items"),
    path("<slug:slug>/items/upload/", items.upload, name="upload_items"),
    path("<slug:slug>/items/order/", items.order, name="order_items"),
    path("<slug:slug>/items/<int:pk>/move/", items.move, name="move_item"),
    path("<slug:slug>/items/<int:pk>/edit/", items.edit, name="edit_item"),
    path("<slug:slug>/items/<int:pk>/delete/", items.delete, name="delete_item"),
    path("<slug:slug>/imports/<int:pk>/", items.preview, name="import"),
    path("<slug:slug>/imports/<int:pk>/apply/", imports.apply, {"page": "import"}, name="apply_import"),
    path("<slug:slug>/imports/<int:pk>/undo/", items.undo, name="undo_import"),
    path("<slug:slug>/members/", members.list_members, name="members"),
    path("<slug:slug>/members/set/", members.set_member, name="member"),
    path("<slug:slug>/members/qualify/", members.qualify, name="qualify"),
    path("<slug:slug>/members/invite/", members.invite, name="invite"),
    path("<slug:slug>/members/invitations/<int:pk>/revoke/", members.revoke, name="revoke_invitation"),
    path("<slug:slug>/members/bots/", members.bots, name="bots"),
    path("<slug:slug>/people.csv", members.export_people, name="people_csv"),
    path("<slug:slug>/annotators-per-item/", managers.set_annotators_per_item, name="annotators_per_item"),
    path("<slug:slug>/under-way/", members.list_open_assignments, name="under_way"),
    path("<slug:slug>/under-way/assign/", members.assign, name="assign"),
    path("<slug:slug>/under-way/<int:pk>/reclaim/", members.reclaim, name="reclaim"),
    path("<slug:slug>/batches/", batches.list_batches, name="batches"),
    path("<slug:slug>/batches/assign/", batches.assign, name="assign_batch"),
    path("<slug:slug>/batches/<int:pk>/due/", batches.change_due_date, name="batch_due"),
    path("<slug:slug>/batches/<int:pk>/release/", batches.release, name="release_batch"),
    path("<slug:slug>/pace/", pace.show_pace, name="pace"),
    *webhooks.PAGES.paths("<slug:slug>/"),
    path("<slug:slug>/export/", managers.export, name="export"),
    path("<slug:slug>/settings/", managers.settings, name="settings"),
    path("<slug:slug>/labels/", label_pages.labels, name="labels"),
    path("<slug:slug>/labels/rename/", label_pages.change_label, {"act": "rename"}, name="rename_label"),
    path("<slug:slug>/labels/remove/", label_pages.change_label, {"act": "remove"}, name="remove_label"),
    path("<slug:slug>/guidelines/", managers.write_guideline, name="guideline"),
    path("<slug:slug>/audit/", managers.audit, name="audit"),
    path("<slug:slug>/close/", managers.change_status, {"act": "close"}, name="close"),
    path("<slug:slug>/reopen/", managers.change_status, {"act": "reopen"}, name="reopen"),
]
