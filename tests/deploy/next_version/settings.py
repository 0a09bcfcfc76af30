"""The settings of a site one version later: it has one migration more."""

from config.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.deploy.next_version"]  # noqa: F405
