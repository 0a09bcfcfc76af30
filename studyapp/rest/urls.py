"""URLs of studies in the REST API, below ``/api/v1/``."""

from django.urls import path, register_converter

from studyapp.rest import endpoints, payments, webhooks

app_name = "studies_rest"

_STUDY = "studies/<slug:slug>/"


class Table:
    """The name of an exported table with rows of participants."""

    regex = "participants|trials|checks|stages|pre-survey|post-survey|events"

    def to_python(self, value: str) -> str:
        """Return the name of the table in the bundle."""
        return value.replace("-", "_")

    def to_url(self, value: str) -> str:
        """Return the part of the address."""
        return value.replace("_", "-")


register_converter(Table, "table")

urlpatterns = [
    path("studies/", endpoints.Studies.as_view(), name="studies"),
    path(_STUDY, endpoints.OneStudy.as_view(), name="study"),
    path(f"{_STUDY}draft/", endpoints.Draft.as_view(), name="draft"),
    path(f"{_STUDY}launch/", endpoints.Launch.as_view(), name="launch"),
    path(f"{_STUDY}pause/", endpoints.Pause.as_view(), name="pause"),
    path(f"{_STUDY}resume/", endpoints.Resume.as_view(), name="resume"),
    path(f"{_STUDY}close/", endpoints.Close.as_view(), name="close"),
    path(f"{_STUDY}reopen/", endpoints.Reopen.as_view(), name="reopen"),
    path(f"{_STUDY}versions/", endpoints.Versions.as_view(), name="versions"),
    path(f"{_STUDY}payments/", payments.Payments.as_view(), name="payments"),
    path(f"{_STUDY}payments/<int:pk>/settle/", payments.Settle.as_view(), name="settle_payment"),
    path(f"{_STUDY}rehearsals/", payments.Rehearsals.as_view(), name="rehearsals"),
    path(f"{_STUDY}rehearsals/links/", payments.RehearsalLinks.as_view(), name="rehearsal_links"),
    path(f"{_STUDY}links/", endpoints.Links.as_view(), name="links"),
    path(f"{_STUDY}webhooks/", webhooks.Webhooks.as_view(), name="webhooks"),
    path(f"{_STUDY}webhooks/<int:pk>/", webhooks.OneWebhook.as_view(), name="webhook"),
    path(f"{_STUDY}webhooks/<int:pk>/deliveries/", webhooks.Deliveries.as_view(), name="deliveries"),
    path(f"{_STUDY}progress/", endpoints.Progress.as_view(), name="progress"),
    path(f"{_STUDY}flow/", endpoints.Flow.as_view(), name="flow"),
    path(f"{_STUDY}estimates/", endpoints.Estimates.as_view(), name="estimates"),
    path(f"{_STUDY}participants/<str:person>/", endpoints.OnePerson.as_view(), name="person"),
    path(f"{_STUDY}participants/<str:person>/export/", endpoints.PersonFile.as_view(), name="person_file"),
    path(f"{_STUDY}participants/<str:person>/withdraw/", endpoints.Withdraw.as_view(), name="withdraw"),
    path(f"{_STUDY}participants/<str:person>/revoke/", endpoints.Revoke.as_view(), name="revoke"),
    path(f"{_STUDY}<table:table>/", endpoints.Rows.as_view(), name="rows"),
    path(f"{_STUDY}exports/", endpoints.Exports.as_view(), name="exports"),
    path(f"{_STUDY}reports/", endpoints.Reports.as_view(), name="reports"),
]
