"""Registers the site itself, for its checks and its commands."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """Start-up checks and the demo."""

    name = "config"
    label = "site"

    def ready(self) -> None:
        """Register the checks, which needs apps that are ready."""
        from config import checks  # noqa: F401
