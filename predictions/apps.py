"""Registers the predictions app."""

from django.apps import AppConfig


class PredictionsConfig(AppConfig):
    """Datasets, systems' predictions on them, and the scores of those predictions."""

    name = "predictions"
