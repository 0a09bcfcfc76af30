"""URLs of the data API."""

from django.urls import path

from annotation.api import data, outputs, projects

_PROJECT = "api/annotation/projects/<slug:slug>/"

urlpatterns = [
    path("api/annotation/projects/", projects.ProjectsView.as_view(), name="api_projects"),
    path(_PROJECT, projects.ProjectView.as_view(), name="api_project"),
    path(f"{_PROJECT}members/", projects.MembersView.as_view(), name="api_members"),
    path(f"{_PROJECT}guidelines/", projects.GuidelinesView.as_view(), name="api_guidelines"),
    path(f"{_PROJECT}webhooks/", projects.WebhooksView.as_view(), name="api_webhooks"),
    path(f"{_PROJECT}webhooks/<int:pk>/", projects.WebhookView.as_view(), name="api_webhook"),
    path(f"{_PROJECT}items/", data.ItemsView.as_view(), name="api_items"),
    path(f"{_PROJECT}items/<int:pk>/", data.ItemView.as_view(), name="api_item"),
    path(f"{_PROJECT}items/<int:pk>/gold/", data.ItemGoldView.as_view(), name="api_item_gold"),
    path(f"{_PROJECT}annotations/", data.AnnotationsView.as_view(), name="api_annotations"),
    path(f"{_PROJECT}annotations/<int:pk>/", data.AnnotationView.as_view(), name="api_annotation"),
    path(f"{_PROJECT}gold/", data.GoldView.as_view(), name="api_gold"),
    path(f"{_PROJECT}predictions/", data.PredictionsView.as_view(), name="api_predictions"),
    path(f"{_PROJECT}predictions/systems/", outputs.SystemsView.as_view(), name="api_systems"),
    path(f"{_PROJECT}predictions/faithfulness/", outputs.FaithfulnessView.as_view(), name="api_faithfulness"),
    path(f"{_PROJECT}predictions/comparison/", outputs.ComparisonView.as_view(), name="api_comparison"),
]
