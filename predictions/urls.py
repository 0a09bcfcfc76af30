"""URLs of the pages of data and systems."""

from django.urls import path

from predictions.models import PredictionRun
from predictions.views import datasets, questions, runs, uploads

app_name = "data"

_RUN = "systems/runs/<int:pk>/"

urlpatterns = [
    path("data/", datasets.home, name="home"),
    path("data/new/", uploads.new, name="new"),
    path("data/imports/<int:pk>/", uploads.show_import, name="import"),
    path("data/imports/<int:pk>/apply/", uploads.apply, name="apply"),
    path("data/imports/<int:pk>/discard/", uploads.discard, name="discard"),
    path("data/questions/<int:pk>/", questions.question, name="question"),
    path("data/questions/<int:pk>/images/<int:number>/", questions.image, name="image"),
    path("data/<int:pk>/", datasets.overview, name="dataset"),
    path("data/<int:pk>/delete/", datasets.delete, name="delete"),
    path("data/<int:pk>/questions/", questions.questions, name="questions"),
    path("data/<int:pk>/questions.csv", questions.export, name="questions_csv"),
    path("data/<int:pk>/predictions/", uploads.predictions, name="predictions"),
    path("systems/", runs.systems, name="systems"),
    path("systems/predict/", runs.start, {"kind": PredictionRun.Kind.PREDICT}, name="start_predict"),
    path("systems/execute/", runs.start, {"kind": PredictionRun.Kind.EXECUTE}, name="start_execute"),
    path(_RUN, runs.overview, name="run"),
    path(f"{_RUN}failures.csv", runs.export_failures, name="failures_csv"),
    path(f"{_RUN}progress/", runs.progress, name="run_progress"),
    path(f"{_RUN}cancel/", runs.cancel, name="cancel_run"),
    path(f"{_RUN}restart/", runs.restart, name="restart_run"),
    path(f"{_RUN}score/", runs.score, name="score_run"),
    path(f"{_RUN}saliency/", runs.weigh, name="weigh_run"),
    path(f"{_RUN}delete/", runs.delete, name="delete_run"),
]
