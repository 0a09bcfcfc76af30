"""The Django app of the predictions."""

from django.apps import AppConfig


class PredictionsConfig(AppConfig):
    """Datasets, the predictions of systems on them, and their scores."""

    name = "predictions"
