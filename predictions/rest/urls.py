"""URLs of datasets and predictions in the REST API, below ``/api/v1/``."""

from django.urls import path

from predictions.rest import endpoints

app_name = "predictions_rest"

urlpatterns = [
    path("datasets/", endpoints.Datasets.as_view(), name="datasets"),
    path("datasets/<int:pk>/", endpoints.OneDataset.as_view(), name="dataset"),
    path("datasets/<int:pk>/questions/", endpoints.Questions.as_view(), name="questions"),
    path("imports/", endpoints.Imports.as_view(), name="imports"),
    path("imports/<int:pk>/apply/", endpoints.ApplyImport.as_view(), name="apply_import"),
    path("systems/", endpoints.Systems.as_view(), name="systems"),
    path("systems/served/", endpoints.ServedSystems.as_view(), name="served_systems"),
    path("runs/", endpoints.Runs.as_view(), name="runs"),
    path("runs/<int:pk>/", endpoints.OneRun.as_view(), name="run"),
    path("runs/<int:pk>/score/", endpoints.StartScoring.as_view(), name="start_scoring"),
    path("runs/<int:pk>/saliency/", endpoints.StartSaliency.as_view(), name="start_saliency"),
    path("runs/<int:pk>/cancel/", endpoints.Cancel.as_view(), name="cancel_run"),
    path("runs/<int:pk>/errors/", endpoints.Errors.as_view(), name="run_errors"),
    path("runs/<int:pk>/predictions/", endpoints.Predictions.as_view(), name="predictions"),
    path("runs/<int:pk>/scores/", endpoints.Scores.as_view(), name="scores"),
]
