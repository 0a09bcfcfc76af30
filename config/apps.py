"""Registers the site itself, for its checks and its commands."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """Start-up checks and the demo."""

    name = "config"
    label = "site"

    def ready(self) -> None:
        # Checks register themselves when they are imported, which may happen only once the apps are ready.
        from config import checks  # noqa: F401
