"""URLs of the study app: participants and staff."""

from django.urls import include, path

from studyapp import staff_urls, studio_urls
from studyapp.views import home, images, privacy
from studyapp.views.participants import recruitment
from studyapp.views.participants import walk as participants
from studyapp.views.staff import studies as staff

app_name = "studyapp"

_STAFF = [
    path("", staff.studies, name="staff_home"),
    path("studies/<slug:slug>/", staff.study, name="staff_study"),
    path("studies/<slug:slug>/progress/", staff.progress, name="staff_progress"),
    path("studies/<slug:slug>/pause/", staff.pause, name="staff_pause"),
    path("studies/<slug:slug>/resume/", staff.resume, name="staff_resume"),
    path("studies/<slug:slug>/close/", staff.close, name="staff_close"),
    path("studies/<slug:slug>/reopen/", staff.reopen, name="staff_reopen"),
    path("studies/<slug:slug>/restore/", staff.restore, name="staff_restore_study"),
    *staff_urls.urlpatterns,
    *studio_urls.urlpatterns,
    path("studies/<slug:slug>/privacy/", privacy.study_privacy, name="staff_privacy"),
]
# Participants come first, their items before all: each request tries the patterns in turn.
urlpatterns = [
    path("study/<slug:slug>/item/<int:position>/", participants.page, name="item"),
    path("", home.home, name="home"),
    path("join/<str:token>/", participants.join, name="join"),
    path("resume/<str:token>/", participants.resume, name="resume"),
    path("study/<slug:slug>/", participants.study, name="study"),
    path("study/<slug:slug>/consent/", participants.consent, name="consent"),
    path("study/<slug:slug>/declined/", participants.show_declined, name="declined"),
    path("study/<slug:slug>/stage/<slug:name>/", participants.page, name="stage"),
    path("study/<slug:slug>/image/<str:name>", images.item_image, name="item_image"),
    path("study/<slug:slug>/survey/", participants.page, name="survey"),
    path("study/<slug:slug>/done/", participants.done, name="done"),
    path("withdraw/", privacy.withdraw, name="withdraw"),
    path("recruitment/prolific/webhook/", recruitment.prolific_webhook, name="prolific_webhook"),
    path("staff/", include(_STAFF)),
]
