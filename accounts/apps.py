"""Registers the accounts app."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users, roles and login."""

    name = "accounts"
