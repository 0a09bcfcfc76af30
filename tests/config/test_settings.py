"""The settings come from the environment, and say what is wrong with it."""

import json
import os
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from scripts.sites.processes import ROOT


def load(var: Path, **environment: str) -> dict[str, Any]:
    """Return the settings of an environment without anything else, as JSON."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update({"VAR_DIR": str(var), **environment})
    try:
        names = runpy.run_path(str(ROOT / "config/settings.py"))
    finally:
        os.environ.clear()
        os.environ.update(before)
    return json.loads(
        json.dumps({name: value for name, value in names.items() if name.isupper()}, default=str)
    )


def settings(var: Path, **environment: str) -> dict[str, Any]:
    return load(var, **{"SECRET_KEY": "k" * 50, **environment})


def test_one_machine_needs_nothing_but_a_key(tmp_path: Path):
    site_settings = settings(tmp_path)
    assert site_settings["DEBUG"] is False
    assert site_settings["ALLOWED_HOSTS"] == ["127.0.0.1"]
    assert site_settings["REDIS_URL"] == f"redis+socket://{tmp_path}/broker.sock"
    assert site_settings["DATABASES"]["default"]["NAME"] == str(tmp_path / "touchstone.sqlite3")
    assert site_settings["DATABASES"]["default"]["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_there_is_no_default_key(tmp_path: Path):
    with pytest.raises(ImproperlyConfigured, match=r"SECRET_KEY is not set\. Set it in the environment"):
        load(tmp_path)


def test_the_file_of_the_demo_is_read_and_the_environment_wins(tmp_path: Path):
    (tmp_path / "env").write_text("SECRET_KEY=from-the-file\nSITE_URL=http://127.0.0.1:8123\n")
    assert settings(tmp_path, SECRET_KEY="from-the-environment")["SECRET_KEY"] == "from-the-environment"
    site_settings = load(tmp_path)
    assert site_settings["SECRET_KEY"] == "from-the-file"
    assert site_settings["SITE_URL"] == "http://127.0.0.1:8123"


def test_a_loopback_site_works_without_a_certificate(tmp_path: Path):
    site_settings = settings(tmp_path, SITE_URL="http://127.0.0.1:8000")
    assert not site_settings["SESSION_COOKIE_SECURE"]
    assert not site_settings["SECURE_SSL_REDIRECT"]
    assert site_settings["SECURE_HSTS_SECONDS"] == 0


def test_an_https_site_sends_its_cookies_by_https_alone(tmp_path: Path):
    site_settings = settings(tmp_path, SITE_URL="https://study.example.org/", BEHIND_PROXY="true")
    assert site_settings["SITE_URL"] == "https://study.example.org"
    assert site_settings["ALLOWED_HOSTS"] == ["study.example.org"]
    assert site_settings["SESSION_COOKIE_SECURE"]
    assert site_settings["CSRF_COOKIE_SECURE"]
    assert site_settings["SECURE_SSL_REDIRECT"]
    assert site_settings["SECURE_PROXY_SSL_HEADER"] == ["HTTP_X_FORWARDED_PROTO", "https"]


def test_postgres_comes_from_one_url(tmp_path: Path):
    database = settings(tmp_path, DATABASE_URL="postgres://ann:pw@db.example.org:5433/study")["DATABASES"][
        "default"
    ]
    assert database["ENGINE"] == "foundation.database.postgresql"
    assert (database["HOST"], database["PORT"], database["NAME"]) == ("db.example.org", 5433, "study")
    assert database["CONN_HEALTH_CHECKS"] is True


def test_the_admin_is_not_there_unless_asked_for(tmp_path: Path):
    assert "django.contrib.admin" not in settings(tmp_path)["INSTALLED_APPS"]
    assert "django.contrib.admin" in settings(tmp_path, DJANGO_ADMIN="true")["INSTALLED_APPS"]


def test_mail_is_sent_where_a_server_is_named(tmp_path: Path):
    without = settings(tmp_path)
    assert without["EMAIL_BACKEND"].endswith("dummy.EmailBackend")
    assert without["ACCOUNT_EMAIL_VERIFICATION"] == "none"
    with_server = settings(
        tmp_path,
        EMAIL_URL="smtp+tls://ann:pw@mail.example.org:587",
        DEFAULT_FROM_EMAIL="lab@example.org",
    )
    assert with_server["EMAIL_BACKEND"].endswith("smtp.EmailBackend")
    assert (with_server["EMAIL_HOST"], with_server["EMAIL_PORT"]) == ("mail.example.org", 587)
    assert with_server["EMAIL_USE_TLS"] is True
    assert with_server["DEFAULT_FROM_EMAIL"] == "lab@example.org"
    assert with_server["ACCOUNT_EMAIL_VERIFICATION"] == "optional"


def test_providers_of_openid_connect_come_as_json(tmp_path: Path):
    provider = {"id": "uni", "name": "University", "client_id": "t", "secret": "s"}
    providers = [{**provider, "server_url": "https://login.example.org"}]
    social_providers = settings(tmp_path, OIDC_PROVIDERS=json.dumps(providers))["SOCIALACCOUNT_PROVIDERS"]
    (app,) = social_providers["openid_connect"]["APPS"]
    assert (app["provider_id"], app["name"], app["client_id"], app["secret"]) == (
        "uni",
        "University",
        "t",
        "s",
    )
    assert app["settings"] == {"server_url": "https://login.example.org"}


@pytest.mark.parametrize("text", ["{", "{}", '["uni"]', '[{"id": "uni"}]', '[{"id": 1}]'])
def test_providers_that_are_malformed_are_explained(tmp_path: Path, text: str):
    with pytest.raises(ImproperlyConfigured, match="OIDC_PROVIDERS"):
        load(tmp_path, SECRET_KEY="k" * 50, OIDC_PROVIDERS=text)


SETTINGS = ("config/settings.py", "config/environment/databases.py")


@pytest.mark.parametrize("path", [*SETTINGS, "scripts/demo.py", "modelserver/serving/command.py"])
def test_every_variable_is_in_the_reference(path: str):
    code = (ROOT / path).read_text(encoding="utf-8")
    patterns = [
        r'env\.\w+\(\s*"([A-Z0-9_]+)"',
        r'environ\.get\("([A-Z_]+)"\)',
        r'\bport\("([A-Z_]+)"',
        r'_secret\("([A-Z0-9_]+)"',
        r'_choice\("([A-Z0-9_]+)"',
    ]
    names = {name for pattern in patterns for name in re.findall(pattern, code)}
    reference = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    assert names
    assert not {name for name in names if f"`{name}`" not in reference}


SECRETS = {
    "SECRET_KEY": ("s" * 50, "SECRET_KEY"),
    "SECRET_KEY_FALLBACKS": ("a" * 50 + "," + "b" * 50, "SECRET_KEY_FALLBACKS"),
    "DATABASE_URL": ("postgres://u:p@db:5432/site", "DATABASES"),
    "DATABASE_POOL_URL": ("postgres://u:p@pool:6432/site", "DATABASES"),
    "REDIS_URL": ("redis+sentinel://:p@queue:26379/site", "REDIS_URL"),
    "REDIS_SENTINEL_PASSWORD": ("q", "CELERY_BROKER_TRANSPORT_OPTIONS"),
    "EMAIL_URL": ("smtp+tls://u:p@mail.example.org:587", "EMAIL_URL"),
    "MODEL_SERVER_URL": ("http://u:p@models:8100", "MODEL_SERVER_URL"),
    "MODEL_SERVER_TOKEN": ("token", "MODEL_SERVER_TOKEN"),
    "METRICS_TOKEN": ("scrape", "METRICS_TOKEN"),
    "PROLIFIC_WEBHOOK_SECRET": ("hook", "PROLIFIC_WEBHOOK_SECRET"),
    "S3_ACCESS_KEY": ("access", "STORAGES"),
    "S3_SECRET_KEY": ("secret", "STORAGES"),
    "OIDC_PROVIDERS": (
        json.dumps([dict.fromkeys(("id", "name", "server_url", "client_id", "secret"), "x")]),
        "SOCIALACCOUNT_PROVIDERS",
    ),
}


def test_every_secret_may_come_from_a_file(tmp_path: Path):
    """A file has precedence over a value from the environment.

    A default of the image therefore does not win over what is handed in.
    """
    for name, (text, _setting) in SECRETS.items():
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    files = {f"{name}_FILE": str(tmp_path / name) for name in SECRETS}
    from_files = settings(tmp_path, **files, SECRET_KEY="other")
    from_environment = settings(tmp_path, **{name: text for name, (text, _setting) in SECRETS.items()})
    for _text, setting in SECRETS.values():
        assert from_files[setting] == from_environment[setting]


def test_a_file_of_a_secret_that_is_not_there_is_named(tmp_path: Path):
    message = "MODEL_SERVER_TOKEN_FILE is '/nowhere', which cannot be read"
    with pytest.raises(ImproperlyConfigured, match=message):
        load(tmp_path, SECRET_KEY="k", MODEL_SERVER_TOKEN_FILE="/nowhere")


def test_no_secret_is_written_in_the_settings():
    """Each secret is read from the environment or a file.

    None has a default that would be known.
    """
    text = "".join((ROOT / path).read_text(encoding="utf-8") for path in SETTINGS)
    for name in SECRETS:
        assert f'_secret("{name}"' in text
        assert f'env.str("{name}"' not in text


@pytest.mark.parametrize(
    "url, seconds", [("https://a.example.org", 31_536_000), ("http://127.0.0.1:8000", 0)]
)
def test_strict_transport_security_is_for_https(tmp_path: Path, url: str, seconds: int):
    site_settings = settings(tmp_path, SITE_URL=url)
    assert site_settings["SECURE_HSTS_SECONDS"] == seconds
    assert (site_settings["SECURE_HSTS_INCLUDE_SUBDOMAINS"], site_settings["SECURE_HSTS_PRELOAD"]) == (
        False,
        False,
    )


def test_strict_transport_security_may_be_shorter_or_wider(tmp_path: Path):
    chosen = {"HSTS_SECONDS": "300", "HSTS_SUBDOMAINS": "true", "HSTS_PRELOAD": "true"}
    site_settings = settings(tmp_path, SITE_URL="https://a.example.org", **chosen)
    assert site_settings["SECURE_HSTS_SECONDS"] == 300
    assert site_settings["SECURE_HSTS_INCLUDE_SUBDOMAINS"] is site_settings["SECURE_HSTS_PRELOAD"] is True


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("LOG_FORMAT", "xml", "LOG_FORMAT is 'xml'; set it to text or json."),
        ("METRICS_NETWORKS", "10.1.0.0/16,home", "METRICS_NETWORKS must be networks such as"),
        ("METRICS_NETWORKS", "10.1.0.5/16", "METRICS_NETWORKS must be networks such as"),
        ("API_RATE", "fast", "API_RATE is 'fast'; set it to N/sec, N/min, N/hour or N/day with N from 1"),
        ("API_RATE", "10/fortnight", "API_RATE is '10/fortnight'; set it to N/sec"),
        ("API_RATE", "0/min", "API_RATE is '0/min'; set it to N/sec"),
        ("LOG_LEVEL", "LOUD", "LOG_LEVEL is 'LOUD'; set it to DEBUG, INFO, WARNING, ERROR or CRITICAL."),
        ("BEHIND_PROXY", "maybe", "BEHIND_PROXY is 'maybe'; set it to true or false."),
        ("PASSWORD_RESET_TIMEOUT", "abc", "PASSWORD_RESET_TIMEOUT is 'abc'; set it to a whole number."),
        ("DATABASE_URL", "nonsense", "DATABASE_URL is 'nonsense'; set it to an address such as postgres://"),
        ("DATABASE_URL", "mysql://u:p@x", "DATABASE_URL is 'mysql://x'; set it to an address"),
        ("DATABASE_URL", "u:p@x/site", "DATABASE_URL is 'x/site'; set it to an address"),
        ("DATABASE_URL", "postgres://x:port/site", "DATABASE_URL is 'postgres://x:port/site'; set it to"),
        ("DATABASE_POOL_URL", "nonsense", "DATABASE_POOL_URL is 'nonsense'; set it to an address"),
        ("EMAIL_URL", "nonsense", "EMAIL_URL is 'nonsense'; set it to an address such as smtp+tls://"),
    ],
)
def test_settings_that_cannot_be_meant_are_explained(tmp_path: Path, name: str, value: str, message: str):
    with pytest.raises(ImproperlyConfigured, match=re.escape(message)):
        load(tmp_path, SECRET_KEY="k", **{name: value})


@pytest.mark.parametrize(
    "word, is_on", [("TRUE", True), ("on", True), ("1", True), ("No", False), ("", False)]
)
def test_switches_take_the_usual_words(tmp_path: Path, word: str, is_on: bool):
    assert settings(tmp_path, BEHIND_PROXY=word)["BEHIND_PROXY"] is is_on
