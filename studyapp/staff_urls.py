"""URLs of the staff pages; part of `studyapp.urls`."""

from django.urls import path

from studyapp.views.staff import (
    correctness,
    designs,
    members,
    payments,
    people,
    responses,
    results,
    running,
    settings,
    sizes,
)
from studyapp.views.staff import webhooks as staff_webhooks
from studyapp.views.studio import launched_preview as preview

_RUN = "correctness/<int:pk>/"
_STUDY = "studies/<slug:slug>/"
_PERSON = f"{_STUDY}participants/<str:person>/"
_RESULTS = f"{_STUDY}results/"
_PAYMENTS = f"{_STUDY}payments/"

urlpatterns = [
    path("sample-size/", sizes.sizes, name="staff_sizes"),
    path("sample-size/systems/", sizes.system_sizes, name="staff_system_sizes"),
    path("sample-size/<int:pk>/", sizes.size, name="staff_size"),
    path("sample-size/<int:pk>/progress/", sizes.size_progress, name="staff_size_progress"),
    path("archive/", running.archive, name="staff_archive"),
    path(f"{_STUDY}preview/", preview.preview, name="staff_preview"),
    path(f"{_STUDY}preview/page/", preview.preview_page, name="staff_preview_page"),
    path(f"{_STUDY}running/", running.show_running_study, name="staff_running"),
    path(f"{_STUDY}conditions/<int:pk>/", running.set_condition, name="staff_set_condition"),
    path(f"{_STUDY}notes/", running.write_note, name="staff_write_note"),
    path(f"{_STUDY}estimates/", running.estimates, name="staff_estimates"),
    path(f"{_STUDY}log/", running.study_log, name="staff_log"),
    path(f"{_STUDY}log.csv", running.export_log, name="staff_log_csv"),
    path(f"{_STUDY}archive/", running.archive_study, name="staff_archive_study"),
    path(f"{_STUDY}duplicate/", designs.duplicate, name="staff_duplicate"),
    path(f"{_STUDY}compare/", designs.compare, name="staff_compare"),
    path(f"{_STUDY}members/", members.members, name="staff_members"),
    path(f"{_STUDY}members/share/", members.share, name="staff_share"),
    path(f"{_STUDY}members/<int:pk>/end/", members.end_share, name="staff_end_share"),
    *staff_webhooks.PAGES.paths(_STUDY),
    path(f"{_STUDY}leave/", members.leave, name="staff_leave"),
    path(f"{_STUDY}participants/", people.people, name="staff_people"),
    path(_PERSON, people.person, name="staff_person"),
    path(f"{_PERSON}file/", people.export_person, name="staff_export_person"),
    path(f"{_PERSON}link/", people.replace_link, name="staff_replace_link"),
    *(path(f"{_PERSON}{act}/", people.act_page(act), name=f"staff_{act}_person") for act in people.ACTS),
    path(_PAYMENTS, payments.payments, name="staff_payments"),
    path(f"{_PAYMENTS}preview/", payments.preview, name="staff_preview_payments"),
    path(f"{_PAYMENTS}start/", payments.start, name="staff_start_payments"),
    path(f"{_PAYMENTS}resume/", payments.resume, name="staff_resume_payments"),
    path(f"{_PAYMENTS}<int:pk>/settle/", payments.settle, name="staff_settle_payment"),
    path(f"{_PAYMENTS}file/", payments.download_file, name="staff_payments_file"),
    path(f"{_PAYMENTS}external-ids/", payments.download_external_ids, name="staff_external_ids"),
    path(f"{_STUDY}responses/", responses.responses, name="staff_responses"),
    path(f"{_STUDY}responses/csv/", responses.export_responses, name="staff_export_responses"),
    path(_RESULTS, results.results, name="staff_results"),
    path(f"{_RESULTS}report/", results.make_report, name="staff_make_report"),
    path(f"{_RESULTS}bundle/", results.export_bundle, name="staff_export_bundle"),
    path(f"{_RESULTS}codebook/", results.download_codebook, name="staff_codebook"),
    path(f"{_RESULTS}preregistration/", results.download_preregistration, name="staff_preregistration"),
    path(f"{_RESULTS}reports/<int:pk>/zip/", results.download_report, name="staff_download_report"),
    path(f"{_RESULTS}reports/<int:pk>/delete/", results.remove_report, name="staff_delete_report"),
    path(f"{_RESULTS}reports/<int:pk>/files/<path:name>", results.report, name="staff_report"),
    path(f"{_STUDY}settings/", settings.settings_page, name="staff_settings"),
    path(f"{_STUDY}links/", settings.make_link, name="staff_make_link"),
    path(f"{_STUDY}bots/", settings.bots, name="staff_bots"),
    path("correctness/", correctness.overview, name="correctness"),
    path(_RUN, correctness.run, name="correctness_run"),
    path(f"{_RUN}queue/", correctness.queue_run, name="correctness_queue_run"),
    path(f"{_RUN}proposals/", correctness.import_proposals, name="correctness_proposals"),
    path(f"{_RUN}judge/", correctness.judge, name="correctness_judge"),
    path(f"{_RUN}judge/store/", correctness.store_judgement, name="correctness_store"),
    path(f"{_RUN}settle/<int:answer>/", correctness.settle, name="correctness_settle"),
    path(f"{_STUDY}correctness/", correctness.study, name="correctness_study"),
    path(f"{_STUDY}correctness/queue/", correctness.queue_study, name="correctness_queue_study"),
    path(f"{_STUDY}correctness/apply/", correctness.apply_decisions, name="correctness_apply"),
]
