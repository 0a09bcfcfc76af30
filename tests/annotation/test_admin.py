"""The admin shows every table without its secrets, and writes none."""

import pytest
from django.contrib import admin
from django.urls import reverse

from annotation.actions.projects import add_webhook
from annotation.models import Webhook
from tests.annotation.factories import finished, make_annotation

pytestmark = pytest.mark.django_db

OURS = sorted(
    (model for model in admin.site._registry if model._meta.app_label == "annotation"),
    key=lambda model: model.__name__,
)


def test_it_works(admin_client, admin_user):
    annotation = finished(make_annotation())
    hook = add_webhook(project=annotation.project, url="https://example.org/hook", kinds=[], by=admin_user)
    assert len(OURS) >= 10
    for model in OURS:
        name = f"admin:annotation_{model._meta.model_name}"
        assert admin_client.get(reverse(f"{name}_changelist")).status_code == 200
        row = model._default_manager.first()
        if row is not None:
            page = admin_client.get(reverse(f"{name}_change", args=[row.pk])).content.decode()
            assert 'name="_save"' not in page
            assert hook.secret not in page
            assert admin_client.post(reverse(f"{name}_delete", args=[row.pk])).status_code == 403
    assert Webhook.objects.count() == 1
