"""Endpoints of a study's webhooks."""

from django.http import HttpResponse, HttpResponseBase
from rest_framework.request import Request

from accounts.access import existing
from accounts.policy import Act
from accounts.rest.bodies import read_body, read_query
from accounts.rest.describe import described
from accounts.rest.idempotency import once
from accounts.rest.pages import Page, answer, page_of
from jobs.rest.webhooks import (
    DeliveryPage,
    NewWebhookRow,
    WebhookPage,
    WebhookRow,
    delivery_rows,
    made_webhook,
    webhook_rows,
)
from studyapp.actions.webhooks import add_webhook, end_webhook
from studyapp.models import StudyDelivery, StudyWebhook
from studyapp.queries.webhooks import webhooks_of
from studyapp.rest import shapes
from studyapp.rest.endpoints import StudyView


class Webhooks(StudyView):
    """The webhooks of a study."""

    @described(answers=WebhookPage, query=Page)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List the webhooks of a study."""
        rows = webhooks_of(self.study(slug, Act.STUDY_EDIT))
        return page_of(request, read_query(request, Page), rows, webhook_rows)

    @described(answers=NewWebhookRow, status=201, takes=shapes.NewStudyWebhook, creates=True)
    @once
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Add a webhook to a study; its secret is shown only once."""
        study = self.study(slug, Act.STUDY_EDIT)
        new = read_body(request, shapes.NewStudyWebhook)
        hook = add_webhook(study=study, url=new.url, kinds=new.kinds, by=self.user)
        return answer(made_webhook(hook), status=201)


class WebhookView(StudyView):
    """The base of the endpoints of one webhook."""

    def webhook(self, slug: str, pk: int) -> StudyWebhook:
        """Return a webhook of a study that the user may change."""
        return existing(webhooks_of(self.study(slug, Act.STUDY_EDIT)).filter(pk=pk).first())


class OneWebhook(WebhookView):
    """One webhook."""

    @described(answers=WebhookRow)
    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """One webhook of a study."""
        return answer(next(iter(webhook_rows([self.webhook(slug, pk)]))))

    @described(status=204)
    def delete(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """End a webhook of a study."""
        end_webhook(webhook=self.webhook(slug, pk), by=self.user)
        return HttpResponse(status=204)


class Deliveries(WebhookView):
    """The deliveries of a webhook."""

    @described(answers=DeliveryPage, query=Page)
    def get(self, request: Request, slug: str, pk: int) -> HttpResponseBase:
        """List the deliveries of a webhook of a study."""
        rows = StudyDelivery.objects.filter(webhook=self.webhook(slug, pk))
        return page_of(request, read_query(request, Page), rows, delivery_rows)
