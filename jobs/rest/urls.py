"""URLs of jobs in the REST API, below ``/api/v1/``."""

from django.urls import path

from jobs.rest import endpoints

app_name = "jobs_rest"

urlpatterns = [
    path("jobs/", endpoints.Jobs.as_view(), name="jobs"),
    path("jobs/<int:pk>/", endpoints.OneJob.as_view(), name="job"),
    path("jobs/<int:pk>/cancel/", endpoints.Cancel.as_view(), name="cancel"),
    path("jobs/<int:pk>/file/", endpoints.File.as_view(), name="file"),
]
