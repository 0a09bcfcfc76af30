"""Registers the annotation app."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    """Gold annotation."""

    name = "annotation"
