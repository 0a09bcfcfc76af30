"""Settings that contradict each other are found at the start."""

import pytest
from django.conf import settings
from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test import override_settings

from config.checks import is_this_machine

PUBLIC = {"SITE_URL": "https://study.example.org", "ALLOWED_HOSTS": ["study.example.org"], "DEBUG": False}
PROXY = ("HTTP_X_FORWARDED_PROTO", "https")


@pytest.fixture(autouse=True)
def private(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    tmp_path.chmod(0o700)


def list_message_ids(**changed: object) -> set[str]:
    with override_settings(**{"DJANGO_ADMIN": False, **changed}):
        return {str(message.id) for message in run_checks(tags=["site"])}


def test_the_defaults_of_one_machine_are_sound():
    assert list_message_ids() == set()


def test_a_site_behind_a_proxy_is_sound():
    assert list_message_ids(**PUBLIC, SECURE_PROXY_SSL_HEADER=PROXY) == set()


def test_files_that_other_users_of_the_machine_can_read(tmp_path):
    tmp_path.chmod(0o755)
    assert list_message_ids(**PUBLIC, SECURE_PROXY_SSL_HEADER=PROXY) == {"site.W012"}
    assert list_message_ids() == set()
    assert list_message_ids(**PUBLIC, SECURE_PROXY_SSL_HEADER=PROXY, VAR_DIR=tmp_path / "none") == set()


@pytest.mark.parametrize(
    ("url", "ids"),
    [
        ("redis://broker.example.org:6379/0", {"site.W013"}),
        ("redis://:secret@broker.example.org:6379/0", set()),
        ("rediss://user:secret@broker.example.org:6379/0", set()),
        ("redis://127.0.0.1:6379/0", set()),
    ],
)
def test_a_broker_elsewhere_needs_a_password(url: str, ids: set[str]):
    assert list_message_ids(**PUBLIC, SECURE_PROXY_SSL_HEADER=PROXY, REDIS_URL=url) - {"site.W006"} == ids


@pytest.mark.parametrize("url", ["study.example.org", "ftp://study.example.org", "https://", ""])
def test_a_site_url_that_is_no_web_address(url: str):
    assert list_message_ids(SITE_URL=url) == {"site.E001"}


def test_a_site_url_that_the_site_itself_refuses():
    assert list_message_ids(SITE_URL="http://127.0.0.1:8000", ALLOWED_HOSTS=["study.example.org"]) == {
        "site.E002"
    }


def test_https_without_a_proxy_would_redirect_without_end():
    assert list_message_ids(**PUBLIC, SECURE_PROXY_SSL_HEADER=None) == {"site.W003"}


def test_debug_on_a_public_site():
    assert list_message_ids(**PUBLIC | {"DEBUG": True}, SECURE_PROXY_SSL_HEADER=PROXY) == {"site.E004"}


def test_the_admin_is_for_developing_alone():
    assert list_message_ids(DJANGO_ADMIN=True, DEBUG=False) == {"site.W011"}
    assert list_message_ids(DJANGO_ADMIN=True, DEBUG=True) == set()


def test_plain_http_on_a_public_site():
    assert list_message_ids(**PUBLIC | {"SITE_URL": "http://study.example.org"}) == {"site.W005"}


@pytest.mark.parametrize(
    ("engine", "broker", "ids"),
    [
        ("foundation.database.sqlite", "redis://broker.example.org:6379/0", {"site.W006"}),
        ("foundation.database.postgresql", "redis://broker.example.org:6379/0", set()),
        ("foundation.database.sqlite", "redis://127.0.0.1:6379/0", set()),
        ("foundation.database.sqlite", "redis+socket:///srv/var/broker.sock", set()),
    ],
)
def test_sqlite_with_a_broker_on_another_machine(
    monkeypatch: pytest.MonkeyPatch, engine: str, broker: str, ids: set[str]
):
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", engine)
    assert list_message_ids(REDIS_URL=broker) == ids


@pytest.mark.parametrize(("seconds", "ids"), [(600, {"site.E007"}), (601, set())])
def test_a_visibility_timeout_shorter_than_a_task(seconds: int, ids: set[str]):
    assert list_message_ids(CELERY_BROKER_TRANSPORT_OPTIONS={"visibility_timeout": seconds}) == ids


def test_a_token_sent_in_the_clear():
    assert list_message_ids(MODEL_SERVER_TOKEN="t", MODEL_SERVER_URL="http://gpu.example.org:8100") == {
        "site.W008"
    }
    assert list_message_ids(MODEL_SERVER_TOKEN="t", MODEL_SERVER_URL="https://gpu.example.org") == set()
    assert list_message_ids(MODEL_SERVER_TOKEN="t", MODEL_SERVER_URL="http://127.0.0.1:8100") == set()
    both = "http://127.0.0.1:8100, http://gpu.example.org:8100"
    assert list_message_ids(MODEL_SERVER_TOKEN="t", MODEL_SERVER_URL=both) == {"site.W008"}


@pytest.mark.parametrize(
    ("urls", "ids"),
    [
        ("", {"site.E009"}),
        (" , ", {"site.E009"}),
        ("gpu.example.org:8100", {"site.E009"}),
        ("http://a:8100,ftp://b", {"site.E009"}),
        ("http://a:8100, https://b/", set()),
    ],
)
def test_every_model_server_has_a_web_address(urls: str, ids: set[str]):
    assert list_message_ids(MODEL_SERVER_URL=urls) == ids


@pytest.mark.parametrize(
    ("url", "ids"),
    [
        ("", set()),
        ("https://api.pwnedpasswords.com/range/", set()),
        ("http://127.0.0.1:9000/range/", set()),
        ("http://leaks.example.org/range/", {"site.E014"}),
        ("https://api.pwnedpasswords.com/range", {"site.E014"}),
        ("leaks.example.org/range/", {"site.E014"}),
    ],
)
def test_leaked_passwords_are_asked_about_over_https(url: str, ids: set[str]):
    assert list_message_ids(LEAKED_PASSWORDS_URL=url) == ids


@pytest.mark.parametrize("url", ["http://localhost:8000", "http://127.0.0.1", "http://[::1]:8000"])
def test_loopback_addresses_are_this_machine(url: str):
    assert is_this_machine(url)
    assert not is_this_machine("http://192.0.2.1")


REPLACED = [
    name for _app, name in MigrationLoader(None).disk_migrations["annotation", "0001_release_0_2"].replaces
]


def set_migrations_of_annotation(*names: str) -> None:
    """Make these the only applied migrations of the app in the database."""
    records = MigrationRecorder.Migration.objects
    records.filter(app="annotation").delete()
    records.bulk_create(MigrationRecorder.Migration(app="annotation", name=name) for name in names)


@pytest.mark.django_db
@pytest.mark.parametrize("applied", [["0001_initial"], REPLACED[:-1]])
def test_a_database_from_before_release_0_2_is_refused_in_one_sentence(applied: list[str]):
    set_migrations_of_annotation(*applied)

    with pytest.raises(SystemCheckError, match=r"made by Touchstone 0\.1") as refused:
        call_command("migrate", verbosity=0, skip_checks=False)

    assert "start with an empty database" in str(refused.value)


@pytest.mark.django_db
def test_a_database_that_has_all_migrations_from_before_the_release_is_used_as_it_is():
    set_migrations_of_annotation(*REPLACED)
    call_command("migrate", verbosity=0, skip_checks=False)
    assert ("annotation", "0001_release_0_2") in MigrationRecorder(connection).applied_migrations()
