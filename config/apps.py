"""Registers the site itself, for its checks and its commands."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class SiteConfig(AppConfig):
    """Start-up checks and the demo."""

    name = "config"
    label = "site"

    def ready(self) -> None:
        """Register the checks, which need ready apps; observe this process."""
        from config import checks  # noqa: F401

        if settings.METRICS:  # workers have no middleware
            from config.observability.metrics import count_here

            count_here()
        if settings.SENTRY_DSN:
            with _require_package("SENTRY_DSN", "sentry-sdk"):
                from config.observability.error_reports import report_here

                report_here()
        if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            with _require_package("OTEL_EXPORTER_OTLP_ENDPOINT", "opentelemetry-exporter-otlp-proto-http"):
                from config.observability.traces import trace_here

                trace_here()


@contextmanager
def _require_package(setting: str, package: str) -> Iterator[None]:
    """Name the package that a setting needs and this machine lacks.

    Raises:
        ImproperlyConfigured: An import failed.
    """
    try:
        yield
    except ImportError as error:
        raise ImproperlyConfigured(
            f"{setting} is set, and {package} is not installed ({error}). Install it with: "
            f".venv/bin/python -m pip install {package}"
        ) from error
