"""Registers the accounts app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users, roles and login."""

    name = "accounts"

    def ready(self) -> None:
        """Connect the signals, which needs models that are loaded."""
        from accounts.login import signals  # noqa: F401
