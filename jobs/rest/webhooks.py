"""Endpoints of webhooks and their deliveries, of whichever app."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase
from rest_framework.request import Request

from accounts.rest.bodies import Payload, read_body, read_query
from accounts.rest.describe import describe_method
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.pages import Page, PageOf, answer, answer_page, build_row
from accounts.rest.views import RestView
from accounts.rights.access import require_existing
from jobs.webhooks.models import DeliveryBase, WebhookBase
from touchstone.client.rows import DeliveryRow, NewWebhookRow, WebhookRow

WebhookPage, DeliveryPage = PageOf[WebhookRow], PageOf[DeliveryRow]


def build_webhook_endpoints(
    view: type[RestView],
    *,
    of: str,
    owner: Callable[[Any, str], Any],
    hooks: Callable[[Any], QuerySet[Any]],
    takes: type[Payload],
    add: Callable[..., WebhookBase],
    end: Callable[..., None],
) -> tuple[type[RestView], type[RestView], type[RestView]]:
    """Return the endpoints of all webhooks, of one, and of its deliveries.

    Args:
        view: The base of the endpoints of one study or project.
        of: "study" or "project".
        owner: Returns it by its short name, if the user of the view may change it.
        hooks: Returns its webhooks.
        takes: The type of a new webhook.
        add: The action that adds one to the ``of``.
        end: The action that ends one.
    """

    def get_all(self: RestView, request: Request, slug: str) -> HttpResponseBase:
        return answer_page(request, read_query(request, Page), hooks(owner(self, slug)), _build_rows)

    def post(self: RestView, request: Request, slug: str) -> HttpResponse:
        subject = owner(self, slug)
        hook = add(**{of: subject}, **dict(read_body(request, takes)), by=self.user)
        # It has no deliveries yet.
        return answer(build_row(NewWebhookRow, hook, waiting=0, failed=0), status=201)

    def hook_of(self: RestView, slug: str, pk: int) -> Any:
        return require_existing(hooks(owner(self, slug)).filter(pk=pk).first())

    def get(self: RestView, request: Request, slug: str, pk: int) -> HttpResponse:
        return answer(build_row(WebhookRow, hook_of(self, slug, pk)))

    def delete(self: RestView, request: Request, slug: str, pk: int) -> HttpResponse:
        end(webhook=hook_of(self, slug, pk), by=self.user)
        return HttpResponse(status=204)

    def get_deliveries(self: RestView, request: Request, slug: str, pk: int) -> HttpResponseBase:
        return answer_page(
            request, read_query(request, Page), hook_of(self, slug, pk).deliveries.all(), _build_delivery_rows
        )

    get_all.__doc__ = f"List the webhooks of a {of}."
    post.__doc__ = f"Add a webhook to a {of}; its secret is shown only once."
    get.__doc__ = f"One webhook of a {of}."
    delete.__doc__ = f"End a webhook of a {of}."
    get_deliveries.__doc__ = f"List the deliveries of a webhook of a {of}."
    every = {
        "get": describe_method(answers=WebhookPage, query=Page)(get_all),
        "post": describe_method(answers=NewWebhookRow, status=201, takes=takes, creates=True)(
            run_once_per_key(post)
        ),
    }
    single = {
        "get": describe_method(answers=WebhookRow)(get),
        "delete": describe_method(status=204)(delete),
    }
    deliveries = {"get": describe_method(answers=DeliveryPage, query=Page)(get_deliveries)}
    return (
        type("Webhooks", (view,), every),
        type("OneWebhook", (view,), single),
        type("Deliveries", (view,), deliveries),
    )


def _build_rows(hooks: Sequence[WebhookBase]) -> Iterable[WebhookRow]:
    return (build_row(WebhookRow, hook) for hook in hooks)


def _build_delivery_rows(deliveries: Sequence[DeliveryBase]) -> Iterable[DeliveryRow]:
    return (build_row(DeliveryRow, delivery) for delivery in deliveries)
