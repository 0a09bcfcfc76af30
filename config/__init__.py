"""The site: settings, URLs, the Celery application and start-up checks. Imported by no other package."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
