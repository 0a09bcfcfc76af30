"""URLs of the site."""

from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.i18n import set_language

from accounts.rest.views import Unknown
from config.web.pages import Schema, ScriptTexts, api_docs, choose_density, choose_theme, search, start
from config.web.user_content import content

handler400 = "config.web.failures.bad_request"
handler500 = "config.web.failures.server_error"
urlpatterns: list[URLPattern | URLResolver] = [
    # The most requested addresses come first: each request tries the patterns in turn.
    path("", include("studyapp.urls")),
    path("annotate/", include("annotation.urls")),
    # The next two hold the same login and logout: ours under the names that our pages use, and before those
    # of allauth, which finds the rest of its pages by names of its own.
    path("accounts/", include("accounts.urls")),
    path("accounts/", include("allauth.urls")),
    path("", include("accounts.people_urls")),
    path("start/", start, name="start"),
    path("search/", search, name="search"),
    path("theme/", choose_theme, name="theme"),
    path("density/", choose_density, name="density"),
    path("language/", set_language, name="set_language"),
    path("api/docs/", api_docs, name="api_docs"),
    path("api/schema/", Schema.as_view(), name="schema"),
    path("api/v1/", include("annotation.rest.urls")),
    path("api/v1/", include("accounts.rest.urls")),
    path("api/v1/", include("jobs.rest.urls")),
    path("api/v1/", include("predictions.rest.urls")),
    path("api/v1/", include("studyapp.rest.urls")),
    re_path("^api/v1/", Unknown.as_view(), name="api_unknown"),
    path("content/<path:token>", content, name="content"),
    # The texts that scripts show, in the language of the page; its address names the language for caches.
    path("words/<slug:language>/", ScriptTexts.as_view(), name="words"),
    path("", include("jobs.urls")),
    path("", include("predictions.urls")),
]
if settings.DJANGO_ADMIN:
    urlpatterns.append(path("admin/", admin.site.urls))
