"""The site: settings, URLs, the Celery application, start-up checks.

No other package imports it.
"""

from config.celery import app as celery_app

__all__ = ["celery_app"]
