"""URLs of the site."""

from django.contrib import admin
from django.urls import include, path

from config.views import Schema, start

urlpatterns = [
    path("accounts/", include("accounts.urls")),
    path("admin/", admin.site.urls),
    path("start/", start, name="start"),
    path("api/schema/", Schema.as_view(), name="schema"),
    path("", include("annotation.urls")),
    path("", include("studyapp.urls")),
]
