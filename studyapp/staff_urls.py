"""URLs of the staff pages; part of `studyapp.urls`."""

from django.urls import path

from studyapp.views import staff_correctness as correctness
from studyapp.views import staff_designs as designs
from studyapp.views import staff_members as members
from studyapp.views import staff_preview as preview
from studyapp.views import staff_running as running
from studyapp.views import staff_sizes as sizes
from studyapp.views import staff_webhooks as webhooks

_RUN = "staff/correctness/<int:pk>/"
_STUDY = "staff/studies/<slug:slug>/"

urlpatterns = [
    path("staff/sample-size/", sizes.sizes, name="staff_sizes"),
    path("staff/sample-size/<int:pk>/", sizes.size, name="staff_size"),
    path("staff/sample-size/<int:pk>/progress/", sizes.size_progress, name="staff_size_progress"),
    path("staff/archive/", running.archive, name="staff_archive"),
    path(f"{_STUDY}preview/", preview.preview, name="staff_preview"),
    path(f"{_STUDY}running/", running.running, name="staff_running"),
    path(f"{_STUDY}conditions/<int:pk>/", running.set_condition, name="staff_set_condition"),
    path(f"{_STUDY}notes/", running.write_note, name="staff_write_note"),
    path(f"{_STUDY}estimates/", running.estimates, name="staff_estimates"),
    path(f"{_STUDY}log/", running.study_log, name="staff_log"),
    path(f"{_STUDY}archive/", running.archive_study, name="staff_archive_study"),
    path(f"{_STUDY}restore/", running.restore_study, name="staff_restore_study"),
    path(f"{_STUDY}duplicate/", designs.duplicate, name="staff_duplicate"),
    path(f"{_STUDY}compare/", designs.compare, name="staff_compare"),
    path(f"{_STUDY}members/", members.members, name="staff_members"),
    path(f"{_STUDY}members/share/", members.share, name="staff_share"),
    path(f"{_STUDY}members/<int:pk>/end/", members.end_share, name="staff_end_share"),
    path(f"{_STUDY}webhooks/", webhooks.webhooks, name="staff_webhooks"),
    path(f"{_STUDY}webhooks/add/", webhooks.add, name="staff_add_webhook"),
    path(f"{_STUDY}webhooks/<int:pk>/", webhooks.webhook, name="staff_webhook"),
    path(f"{_STUDY}webhooks/<int:pk>/end/", webhooks.end, name="staff_end_webhook"),
    path(f"{_STUDY}leave/", members.leave, name="staff_leave"),
    path("staff/correctness/", correctness.overview, name="correctness"),
    path(_RUN, correctness.run, name="correctness_run"),
    path(f"{_RUN}queue/", correctness.queue_run, name="correctness_queue_run"),
    path(f"{_RUN}judge/", correctness.judge, name="correctness_judge"),
    path(f"{_RUN}judge/store/", correctness.store_judgement, name="correctness_store"),
    path(f"{_RUN}settle/<int:answer>/", correctness.settle, name="correctness_settle"),
    path(f"{_STUDY}correctness/", correctness.study, name="correctness_study"),
    path(f"{_STUDY}correctness/queue/", correctness.queue_study, name="correctness_queue_study"),
    path(f"{_STUDY}correctness/apply/", correctness.apply_decisions, name="correctness_apply"),
]
