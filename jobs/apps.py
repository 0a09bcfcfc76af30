"""Registers the jobs app."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Work that people start on pages or over the API, and workers do."""

    name = "jobs"
