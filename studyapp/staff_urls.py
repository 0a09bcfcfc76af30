"""URLs of the staff pages that judge answers and run studies; part of `studyapp.urls`."""

from django.urls import path

from studyapp.views import staff_correctness as correctness

_RUN = "staff/correctness/<int:pk>/"
_STUDY = "staff/studies/<slug:slug>/"

urlpatterns = [
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
