"""Tests of the admin: every table can be read, and none can be written."""

import pytest
from django.contrib import admin
from django.urls import reverse

from studyapp.models import EntryLink
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

OURS = sorted(
    (model for model in admin.site._registry if model._meta.app_label == "studyapp"),
    key=lambda model: model.__name__,
)


@pytest.fixture
def study():
    study = factories.make_study()
    factories.make_participant(study=study, completed=True)
    return study


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_it_works(admin_client, study, model):
    name = f"admin:studyapp_{model._meta.model_name}"
    assert admin_client.get(reverse(f"{name}_changelist"), {"q": "a"}).status_code == 200
    row = model.objects.first()
    if row is not None:
        page = admin_client.get(reverse(f"{name}_change", args=[row.pk]))
        assert page.status_code == 200
        assert 'name="_save"' not in page.content.decode()


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_nothing_is_written(admin_client, study, model):
    name = f"admin:studyapp_{model._meta.model_name}"
    assert admin_client.post(reverse(f"{name}_add")).status_code == 403
    row = model.objects.first()
    if row is not None:
        assert admin_client.post(reverse(f"{name}_change", args=[row.pk]), {}).status_code == 403
        assert admin_client.post(reverse(f"{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
        assert model.objects.filter(pk=row.pk).exists()


def test_no_secret_is_shown(admin_client, study):
    link = EntryLink.objects.get()
    for name, pk, secret in (
        ("study", study.pk, study.pseudonym_key),
        ("entrylink", link.pk, link.token_hash),
    ):
        page = admin_client.get(reverse(f"admin:studyapp_{name}_change", args=[pk]))
        assert secret not in page.content.decode()
