"""Registers the study app."""

from django.apps import AppConfig


class StudyappConfig(AppConfig):
    """Data, predictions, scores and studies."""

    name = "studyapp"
