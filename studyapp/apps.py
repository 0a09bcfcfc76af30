"""Registers the study app."""

from django.apps import AppConfig


class StudyappConfig(AppConfig):
    """User studies: definitions, participants, results and exports."""

    name = "studyapp"
