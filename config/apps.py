"""Registers the site itself, for its checks and its commands."""

from django.apps import AppConfig
from django.conf import settings


class SiteConfig(AppConfig):
    """Start-up checks and the demo."""

    name = "config"
    label = "site"

    def ready(self) -> None:
        """Register the checks, which need apps that are ready, and count errors."""
        from config import checks  # noqa: F401

        if settings.METRICS:  # workers have no middleware
            from config.metrics import count_here

            count_here()
