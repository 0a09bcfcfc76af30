"""URLs of the studio; part of `studyapp.urls`."""

from django.urls import path

from studyapp.views.studio import items as studio_items
from studyapp.views.studio import preview, review
from studyapp.views.studio import steps as studio

_STUDY = "studio/<slug:slug>/"
_STEP = f"{_STUDY}step/<slug:name>/"

urlpatterns = [
    path("studio/", studio.home, name="studio"),
    path("studio/new/", studio.start, name="studio_start"),
    path("studio/file/", studio.start_from_file, name="studio_start_from_file"),
    path(f"{_STUDY}review/", review.review, name="studio_review"),
    path(f"{_STUDY}undo/", studio.undo, name="studio_undo"),
    path(f"{_STUDY}redo/", studio.redo, name="studio_redo"),
    path(f"{_STUDY}revisions/<int:number>/", studio.go_to, name="studio_go_to"),
    path(f"{_STUDY}definition.yaml", studio.export, name="studio_export"),
    path(f"{_STUDY}file/", review.replace, name="studio_replace"),
    path(f"{_STUDY}accept/<slug:check>/", review.accept, name="studio_accept"),
    path(f"{_STUDY}rehearsal/bots/", review.rehearse, name="studio_rehearse"),
    path(f"{_STUDY}rehearsal/link/", review.rehearsal_link, name="studio_rehearsal_link"),
    path(f"{_STUDY}launch/", review.launch, name="studio_launch"),
    path(f"{_STUDY}preregistration/<slug:form>.md", review.preregistration, name="studio_preregistration"),
    path(f"{_STUDY}items/", studio_items.pick, name="studio_items"),
    path(f"{_STUDY}items/change/", studio_items.change, name="studio_change_items"),
    path(f"{_STUDY}preview/<slug:step>/", preview.page, name="studio_preview"),
    path(_STEP, studio.step, name="studio_step"),
    path(f"{_STEP}next/", studio.step, {"go_on": True}, name="studio_next"),
    path(f"{_STEP}add/<str:path>/", studio.add, name="studio_add"),
    path(f"{_STEP}remove/<str:path>/", studio.remove, name="studio_remove"),
    path(f"{_STEP}up/<str:path>/", studio.move, {"by": -1}, name="studio_up"),
    path(f"{_STEP}down/<str:path>/", studio.move, {"by": 1}, name="studio_down"),
    path(f"{_STEP}image/<str:path>/", studio.upload_image, name="studio_upload_image"),
    path(f"{_STEP}kind/<str:path>/", studio.change_kind, name="studio_kind"),
    path(f"{_STEP}to-scales/<str:path>/", studio.go_to_scales, name="studio_to_scales"),
    path(f"{_STEP}scales/<str:path>/", studio.scales, name="studio_scales"),
]
