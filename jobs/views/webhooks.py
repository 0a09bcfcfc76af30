"""Pages of webhooks, of whichever app: list, add, deliveries, test, end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from accounts.rights.access import require_existing, require_user
from foundation.errors import Conflict
from foundation.pages.event_labels import Labels
from foundation.pages.tables import Column, Table
from foundation.translated_messages import show_errors
from jobs.actions.webhooks import queue_test
from jobs.webhooks.forms import WebhookForm
from jobs.webhooks.models import TEST, DeliveryBase, WebhookBase
from jobs.webhooks.queries import select_last_deliveries

# A row of each table is the webhook or delivery, and the labels of its events.
WEBHOOKS = Table(
    (
        Column("address", _("Address"), lambda row: row[0].url),
        Column("events", _("Events")),
        Column("state", _("State"), lambda row: not row[0].active),
        Column("waiting", _("Waiting"), lambda row: row[0].waiting, is_number=True),
        Column("failed", _("Failed"), lambda row: row[0].failed, is_number=True),
        Column("actions", _("Actions"), is_silent=True),
    )
)
DELIVERIES = Table(
    (
        Column("event", _("Event")),
        Column("time", _("Time (UTC)"), lambda row: row[0].created_at),
        Column("result", _("Result")),
        Column("attempts", _("Attempts"), lambda row: row[0].attempts, is_number=True),
        Column("next", _("Next attempt (UTC)"), lambda row: row[0].next_at),
    ),
    "-time",
)


@dataclass(frozen=True)
class WebhookPages:
    """The pages of the webhooks of studies or of projects.

    Attributes:
        of: "study" or "project".
        frame: The template that these pages extend.
        names: Prefix of the names of their addresses, such as ``annotation:``.
        guard: Lets people through who may change the study or project, and passes it to the view.
        hooks: Returns its webhooks with their counts.
        kinds: The labels of its events.
        deliveries: The table of its deliveries.
        add: The action that adds a webhook.
        end: The action that ends one.
    """

    of: str
    frame: str
    names: str
    guard: Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]
    hooks: Callable[[Any], QuerySet[Any]]
    kinds: Labels
    deliveries: type[DeliveryBase]
    add: Callable[..., WebhookBase]
    end: Callable[..., None]

    def paths(self, base: str) -> list[URLPattern]:
        """Return the addresses of the pages below that of a study or project."""
        prefix = self.names.rpartition(":")[2]
        return [
            path(f"{base}webhooks/{address}", method(self.guard(view)), name=f"{prefix}{name}")
            for address, method, view, name in (
                ("", require_safe, self._list_webhooks, "webhooks"),
                ("add/", require_POST, self._add, "add_webhook"),
                ("<int:pk>/", require_safe, self._deliveries, "webhook"),
                ("<int:pk>/test/", require_POST, self._test, "test_webhook"),
                ("<int:pk>/end/", require_POST, self._end, "end_webhook"),
            )
        ]

    def _list_webhooks(self, request: HttpRequest, subject: Any) -> HttpResponse:
        return self._page(request, subject, WebhookForm(self.kinds))

    def _add(self, request: HttpRequest, subject: Any) -> HttpResponse:
        form = WebhookForm(self.kinds, request.POST)
        if form.is_valid():
            try:
                hook = self.add(**{self.of: subject}, by=require_user(request), **form.cleaned_data)
            except ValidationError as error:
                form.add_error(None, error)
            else:
                return self._page(request, subject, WebhookForm(self.kinds), added=hook)
        return self._page(request, subject, form, status=422)

    def _page(
        self,
        request: HttpRequest,
        subject: Any,
        form: WebhookForm,
        *,
        added: WebhookBase | None = None,
        status: int = 200,
    ) -> HttpResponse:
        table = (WEBHOOKS.drop_sort_links() if request.method == "POST" else WEBHOOKS).of(request.GET)
        hooks = table.rows((hook, self._labels(hook.kinds)) for hook in self.hooks(subject))
        context = {"hooks": hooks, "table": table, "form": form, "added": added}
        return self._render(request, "jobs/webhooks.html", subject, context, status)

    def _deliveries(self, request: HttpRequest, subject: Any, pk: int) -> HttpResponse:
        hook, table = self._webhook(subject, pk), DELIVERIES.of(request.GET)
        rows = [
            (delivery, *self._labels([delivery.kind]))
            for delivery in select_last_deliveries(hook.deliveries.all())
        ]
        context = {
            "hook": hook,
            "kinds": self._labels(hook.kinds),
            "table": table,
            "deliveries": table.rows(rows),
        }
        return self._render(request, "jobs/webhook.html", subject, context)

    def _test(self, request: HttpRequest, subject: Any, pk: int) -> HttpResponse:
        with show_errors(request, Conflict):
            queue_test(self.deliveries, self._webhook(subject, pk), about={self.of: subject.slug})
            messages.success(
                request, gettext("The test is sent within some seconds. Reload the page for its result.")
            )
        return redirect(f"{self.names}webhook", subject.slug, pk)

    def _end(self, request: HttpRequest, subject: Any, pk: int) -> HttpResponse:
        self.end(webhook=self._webhook(subject, pk), by=require_user(request))
        messages.success(request, gettext("The webhook has ended. Nothing more is sent to its address."))
        return redirect(f"{self.names}webhooks", subject.slug)

    def _webhook(self, subject: Any, pk: int) -> Any:
        return require_existing(self.hooks(subject).filter(pk=pk).first())

    def _labels(self, kinds: list[str]) -> list[str]:
        labels = {**self.kinds, TEST: _("Test")}
        return [str(labels.get(kind, kind)) for kind in kinds]  # one of an older release is its own label

    def _render(
        self, request: HttpRequest, template: str, subject: Any, context: dict[str, Any], status: int = 200
    ) -> HttpResponse:
        frame = {self.of: subject, "subject": subject, "frame": self.frame, "names": self.names}
        return render(request, template, frame | context, status=status)
