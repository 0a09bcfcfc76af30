"""Webhooks are signed, delivered at least once and tried again.

They never go to addresses that only this machine reaches.
"""

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from annotation.actions import audit
from annotation.actions.projects import add_webhook, end_webhook
from annotation.models import Delivery, Webhook
from jobs import tasks
from jobs.actions import webhooks
from jobs.webhooks import addresses
from jobs.webhooks.addresses import NotFound, Refused, is_public, resolve_address
from jobs.webhooks.queries import list_delivery_tables
from studyapp.models import StudyDelivery
from tests.annotation.factories import make_project, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.database]


class Receiver:
    """A server on loopback that keeps what it gets and answers with `status`."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                self.send_response(receiver.status)
                if receiver.status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    webhook_receiver = Receiver()
    thread = threading.Thread(target=webhook_receiver.server.serve_forever, daemon=True)
    thread.start()
    yield webhook_receiver
    webhook_receiver.server.shutdown()
    webhook_receiver.server.server_close()
    thread.join()


def hook(url: str, *kinds: str) -> Webhook:
    return add_webhook(project=make_project(), url=url, kinds=kinds, by=make_user())


def happen(webhook: Webhook, kind: str = "gold_set") -> None:
    audit.record(project=webhook.project, kind=kind, by=None, data={"item": "Straße 1"})


def run() -> None:
    """Let the worker do what is due: the sweep and the tasks it enqueues."""
    for pk in list(Webhook.objects.values_list("pk", flat=True)):
        tasks.deliver_to("annotation.Delivery", pk)


def wait(seconds: float) -> None:
    """Let time pass: what is due later is due now."""
    for delivery in Delivery.objects.filter(next_at__isnull=False):
        assert delivery.next_at is not None
        Delivery.objects.filter(pk=delivery.pk).update(next_at=delivery.next_at - timedelta(seconds=seconds))


def test_it_works(receiver: Receiver) -> None:
    webhook = hook(receiver.url, "gold_set")
    happen(webhook)
    happen(webhook, "annotation_submitted")  # not asked for
    run()
    ((headers, body),) = receiver.got
    assert json.loads(body)["data"] == {"item": "Straße 1"}
    assert headers["Touchstone-Event"] == "gold_set"
    moment, signature = (part.partition("=")[2] for part in headers["Touchstone-Signature"].split(","))
    expected = hmac.new(webhook.secret.encode(), f"{moment}.".encode() + body, hashlib.sha256)
    assert hmac.compare_digest(signature, expected.hexdigest())
    assert abs(int(moment) - timezone.now().timestamp()) < 60
    delivery = webhook.deliveries.get(kind="gold_set")
    assert (delivery.attempts, delivery.next_at, delivery.last_error) == (1, None, "")
    assert delivery.delivered_at is not None
    run()
    assert len(receiver.got) == 1


def test_the_sweep_enqueues_a_task_for_each_webhook_with_something_due(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    first, _idle = hook("http://127.0.0.1/a"), hook("http://127.0.0.1/b", "never")
    happen(first)
    happen(first)
    sent: list[Any] = []
    monkeypatch.setattr(tasks.deliver_to, "apply_async", lambda arguments, **_options: sent.append(arguments))
    tasks.deliver_webhooks()
    assert sent == [("annotation.Delivery", first.pk)]


def test_the_sweep_looks_at_the_tables_of_all_apps() -> None:
    assert set(list_delivery_tables()) == {Delivery, StudyDelivery}


def test_what_fails_is_tried_again_later_and_at_last_given_up(receiver: Receiver) -> None:
    receiver.status = 503
    webhook = hook(receiver.url, "gold_set")
    happen(webhook)
    for attempt, seconds in enumerate(webhooks.WAITS, start=1):
        run()
        run()  # not due yet
        assert len(receiver.got) == attempt
        delivery = webhook.deliveries.get()
        assert delivery.last_error == "answered 503"
        assert delivery.next_at is not None
        assert delivery.next_at - timezone.now() > timedelta(seconds=seconds - 5)
        wait(seconds)
    run()
    delivery = webhook.deliveries.get()
    assert delivery.next_at is None
    assert delivery.delivered_at is None
    assert delivery.last_error == f"given up after {len(webhooks.WAITS) + 1} tries: answered 503"


def test_one_that_fails_lets_the_others_wait_for_the_next_sweep(receiver: Receiver) -> None:
    receiver.status = 500
    webhook = hook(receiver.url, "gold_set")
    happen(webhook)
    happen(webhook)
    run()
    assert len(receiver.got) == 1
    receiver.status = 204
    wait(10)
    run()
    assert webhook.deliveries.filter(delivered_at__isnull=False).count() == 2


def test_redirects_are_not_followed(receiver: Receiver) -> None:
    receiver.status = 302
    webhook = hook(receiver.url, "gold_set")
    happen(webhook)
    run()
    assert len(receiver.got) == 1
    assert webhook.deliveries.get().last_error == "answered 302; redirects are not followed"


def test_an_address_that_nobody_listens_on(settings: Any) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        webhook = hook(f"http://127.0.0.1:{free.getsockname()[1]}/", "gold_set")
    happen(webhook)
    run()
    assert webhook.deliveries.get().last_error == "All connection attempts failed"


def test_an_answer_that_comes_byte_by_byte_does_not_hold_a_worker(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    monkeypatch.setattr(webhooks, "LONGEST", 0.3)
    ended = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _peer = listener.accept()
        with connection, suppress(OSError):
            while not ended.wait(0.05):
                connection.sendall(b"H")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,), daemon=True)
        thread.start()
        webhook = hook(f"http://127.0.0.1:{listener.getsockname()[1]}/", "gold_set")
        happen(webhook)
        guard = threading.Timer(10, ended.set)
        guard.start()
        run()
        guard.cancel()
        ended.set()
        thread.join()
    assert webhook.deliveries.get().last_error == "did not answer within 0.3 seconds"


def test_a_claimed_delivery_is_left_alone(receiver: Receiver) -> None:
    webhook = hook(receiver.url, "gold_set")
    happen(webhook)
    Delivery.objects.update(next_at=timezone.now() + webhooks.CLAIM)  # another worker is at it
    with webhooks.open_client() as post:
        assert webhooks.deliver(Delivery, delivery=webhook.deliveries.get().pk, post=post)
    assert not receiver.got


def test_an_ended_webhook_is_told_nothing(receiver: Receiver) -> None:
    webhook = hook(receiver.url, "gold_set")
    happen(webhook)
    end_webhook(webhook=webhook, by=make_user())
    happen(webhook)
    run()
    assert not receiver.got


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://10.0.0.1/", "http://192.168.1.1/",
        "http://169.254.169.254/latest/", "http://0.0.0.0/", "http://[::ffff:127.0.0.1]/", "http://2130706433/",
        "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://100.64.0.1/", "http://224.0.0.1/",
        "http://[fe80::1]/", "http://[fd00::1]/", "http://[fec0::1]/",
    ],
)  # fmt: skip
def test_private_addresses_are_refused(url: str) -> None:
    with pytest.raises(Refused, match="not a public address"):
        resolve_address(url, allow_private=False)


@pytest.mark.parametrize(
    "url",
    ["http://[::1", "http://a]b/", "http://exa\u2100mple/", "ftp://example.org/", "http://a.org:99999/"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="is not an http or https address") as refused:
        hook(url)
    assert list(refused.value.message_dict) == ["url"]
    assert not Webhook.objects.exists()


def test_a_private_address_is_refused_when_it_is_saved() -> None:
    with pytest.raises(ValidationError, match="not a public address") as refused:
        hook("http://169.254.169.254/latest/")
    assert list(refused.value.message_dict) == ["url"]
    assert not Webhook.objects.exists()


@pytest.mark.parametrize("url", ["https://me:secret@8.8.8.8/", "https://me@8.8.8.8/"])
def test_an_address_with_a_user_is_refused_when_it_is_saved(url: str) -> None:
    with pytest.raises(ValidationError, match="must not contain a user name or password") as refused:
        hook(url)
    assert list(refused.value.message_dict) == ["url"]


def test_a_name_that_nobody_knows_yet_can_be_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_args: Any, **_options: Any) -> list[Any]:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(addresses.socket, "getaddrinfo", resolve)
    webhook = hook("https://hooks.example/a", "gold_set")
    happen(webhook)
    run()
    assert "cannot be found" in webhook.deliveries.get().last_error
    with pytest.raises(NotFound):
        resolve_address("https://hooks.example/a", allow_private=True)


def test_the_refusal_is_stored_and_nothing_is_sent(receiver: Receiver, settings: Any) -> None:
    webhook = hook(receiver.url, "gold_set")
    settings.WEBHOOK_ALLOW_PRIVATE = False
    happen(webhook)
    run()
    assert not receiver.got
    assert "not a public address" in webhook.deliveries.get().last_error


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, port: int, **_options: Any) -> list[Any]:
        return [(2, 1, 6, "", ("93.184.215.14", port)), (2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", resolve)
    with pytest.raises(Refused, match="127"):
        resolve_address("https://two-faced.example/", allow_private=False)


def test_the_connection_goes_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    port = receiver.server.server_port
    monkeypatch.setattr(
        addresses.socket,
        "getaddrinfo",
        lambda *_args, **_options: [(2, 1, 6, "", ("127.0.0.1", port))],
    )
    webhook = hook(f"http://hooks.example:{port}/a?b=c", "gold_set")
    happen(webhook)
    run()
    ((headers, _body),) = receiver.got  # the name leads nowhere: only the checked address can have been used
    assert headers["Host"] == f"hooks.example:{port}"


def test_public_addresses_pass() -> None:
    assert is_public("93.184.215.14")
    assert is_public("2606:2800:21f:cb07:6820:80da:af6b:8b2c")
    with pytest.raises(Refused, match="not an http"):
        resolve_address("ftp://example.org/", allow_private=False)
