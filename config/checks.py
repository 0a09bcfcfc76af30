"""Start-up checks for settings that contradict each other.

An error stops commands and the start of the web server; a warning is printed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from modelserver.wire.redaction import redact_logins


def is_this_machine(url: str) -> bool:
    """Tell whether a URL leads to loopback addresses or a unix socket alone."""
    hosts = urlsplit(url).netloc.rpartition("@")[2].split(",")  # Sentinels are several
    return all(_is_loopback(urlsplit(f"//{host}").hostname) for host in hosts)


def _is_loopback(host: str | None) -> bool:
    if host is None or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@register("site")
def check_site_url(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> Iterator[CheckMessage]:
    """Check SITE_URL and the settings that depend on it."""
    parts = urlsplit(settings.SITE_URL)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        hint = "Set it to the address of the site, such as https://study.example.org."
        yield Error(
            f"SITE_URL is {settings.SITE_URL!r}, which is not a web address.", hint=hint, id="site.E001"
        )
        return
    if parts.hostname not in settings.ALLOWED_HOSTS and "*" not in settings.ALLOWED_HOSTS:
        yield Error(
            f"{parts.hostname} of SITE_URL is not in ALLOWED_HOSTS: every link would return 400.",
            hint="Add it to ALLOWED_HOSTS, or leave that unset.",
            id="site.E002",
        )
    if parts.scheme == "https" and settings.SECURE_PROXY_SSL_HEADER is None:
        yield Warning(
            "SITE_URL is https and BEHIND_PROXY is off: requests from a proxy look like http and are "
            "redirected endlessly.",
            hint="Set BEHIND_PROXY=true if a proxy terminates TLS and sets X-Forwarded-Proto.",
            id="site.W003",
        )


@register("site")
def check_public_site(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> Iterator[CheckMessage]:
    """Check the settings of a site that other machines can reach."""
    if is_this_machine(settings.SITE_URL):
        return
    if settings.DEBUG:
        yield Error(
            f"DEBUG is on while SITE_URL is {settings.SITE_URL}: error pages would show participants the "
            "code and the settings.",
            hint="Unset DEBUG.",
            id="site.E004",
        )
    if urlsplit(settings.SITE_URL).scheme == "http":
        yield Warning(
            "SITE_URL is http: passwords, cookies and answers travel unencrypted.",
            hint="Put a proxy with a certificate in front and set SITE_URL to its https address.",
            id="site.W005",
        )
    yield from _check_var_dir()
    yield from _check_broker_password()


def _check_var_dir() -> Iterator[CheckMessage]:
    """Check that other users of the machine cannot read the site's files."""
    folder = Path(settings.VAR_DIR)
    if not folder.is_dir() or not folder.stat().st_mode & 0o077:
        return
    yield Warning(
        f"Other users of this machine may read {folder}, which holds answers and uploads.",
        hint=f"chmod 700 {folder}",
        id="site.W012",
    )


def _check_broker_password() -> Iterator[CheckMessage]:
    """Check that a broker on another machine asks for a password."""
    if is_this_machine(settings.REDIS_URL) or urlsplit(settings.REDIS_URL).password:
        return
    yield Warning(
        f"REDIS_URL leads to {urlsplit(settings.REDIS_URL).hostname} without a password: every "
        "program that reaches it can enqueue tasks and lift the limits against guessing.",
        hint="Set a password there, and write REDIS_URL as redis://:PASSWORD@HOST:6379/0.",
        id="site.W013",
    )


@register("site")
def check_leaked_passwords(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> Iterator[CheckMessage]:
    """Check that the service of leaked passwords is asked over https."""
    url = settings.LEAKED_PASSWORDS_URL
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_this_machine(url))
    if not url or (is_safe and parts.hostname and url.endswith("/")):
        return
    yield Error(
        f"LEAKED_PASSWORDS_URL is {redact_logins(url)!r}, which is not an https address ending with a slash.",
        hint="Set it to https://api.pwnedpasswords.com/range/ or to another service of that form.",
        id="site.E014",
    )


@register("site")
def check_admin(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> Iterator[CheckMessage]:
    """Check that Django's admin is for developing alone."""
    if not settings.DJANGO_ADMIN or settings.DEBUG:
        return
    yield Warning(
        "DJANGO_ADMIN is on while DEBUG is off: staff users would read the tables of every workspace.",
        hint="Unset DJANGO_ADMIN.",
        id="site.W011",
    )


@register("site")
def check_parts(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> Iterator[CheckMessage]:
    """Check database, broker and workers together."""
    sqlite = settings.DATABASES["default"]["ENGINE"] == "foundation.database.sqlite"
    if sqlite and not is_this_machine(settings.REDIS_URL):
        yield Warning(
            "The broker is on another machine while the database is a SQLite file: a worker "
            "there would use a different database.",
            hint="Set DATABASE_URL to a PostgreSQL server that every machine reaches.",
            id="site.W006",
        )
    visibility = settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"]
    if visibility <= settings.CELERY_TASK_TIME_LIMIT:
        yield Error(
            f"CELERY_VISIBILITY_TIMEOUT is {visibility} s, not longer than the "
            f"{settings.CELERY_TASK_TIME_LIMIT} s that a task may take: slow tasks would run twice.",
            hint="Leave it unset, or set a longer one.",
            id="site.E007",
        )


@register("site")
def check_model_servers(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> Iterator[CheckMessage]:
    """Check the URLs of the model servers, and the token sent to them."""
    urls = [url.strip() for url in settings.MODEL_SERVER_URL.split(",") if url.strip()]
    wrong = [
        url for url in urls if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname
    ]
    if wrong or not urls:
        yield Error(
            f"MODEL_SERVER_URL contains {redact_logins(wrong[0])!r}, which is not a web address."
            if wrong
            else "MODEL_SERVER_URL is empty.",
            hint="Set it to an address such as http://127.0.0.1:8100, or to several separated by commas.",
            id="site.E009",
        )
    open_to_all = [url for url in urls if urlsplit(url).scheme == "http" and not is_this_machine(url)]
    if settings.MODEL_SERVER_TOKEN and open_to_all:
        yield Warning(
            f"MODEL_SERVER_TOKEN is sent unencrypted to another machine, {redact_logins(open_to_all[0])}.",
            hint="Set an https address in MODEL_SERVER_URL, or keep that network private.",
            id="site.W008",
        )


@register(Tags.database)
def check_release(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> Iterator[CheckMessage]:
    """Refuse a database from before release 0.2."""
    # Django passes databases to this check when it migrates, and none when it only starts.
    for alias in filter(_is_from_before_0_2, databases or ()):
        yield Error(
            f"The database {settings.DATABASES[alias]['NAME']} was made by Touchstone 0.1, or by a state "
            "before release 0.2, whose tables this release does not read: start with an empty database; "
            "exported bundles and gold files of 0.1 can still be read.",
            id="site.E010",
        )


def _is_from_before_0_2(alias: str) -> bool:
    """Return True if a first migration would make tables again."""
    applied = MigrationRecorder(connections[alias]).applied_migrations().keys()
    apps = {app for app, _name in applied}
    return any(
        key[0] in apps and key not in applied and not applied >= set(migration.replaces)
        for key, migration in MigrationLoader(None).disk_migrations.items()
        if migration.replaces
    )
