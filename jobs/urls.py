"""URLs of the pages of jobs."""

from django.urls import path

from jobs.views import pages

app_name = "jobs"

urlpatterns = [
    path("jobs/", pages.list_jobs, name="list"),
    path("jobs/<int:pk>/", pages.job, name="job"),
    path("jobs/<int:pk>/progress/", pages.progress, name="progress"),
    path("jobs/<int:pk>/cancel/", pages.cancel, name="cancel"),
    path("jobs/<int:pk>/file/", pages.file, name="file"),
]
