"""Images in questions are shown on the page, and to nobody else.

The import refuses questions whose images the site lacks.
"""

import hashlib
import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from PIL import Image

from foundation.images.image_files import store_image
from foundation.images.image_storage import get_image_folder
from studyapp.errors import StudyRefused
from studyapp.exports.bundle import write_bundle
from studyapp.models import DraftRevision
from studyapp.queries.design.drafts import read_current_draft
from studyapp.queries.studies import load_frozen_study
from studyapp.web.forms.participants import render_empty_questions
from tests.html import join_lines
from tests.studyapp.factories import launch, make_study, make_user
from tests.studyapp.studio.sending import sent

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(tmp_path):
    Image.new("RGB", (8, 8), "red").save(tmp_path / "red.png")
    return store_image(tmp_path / "red.png").partition("/")[2]


def asking(file, **fields):
    question = {"key": "seen", "text": "What do you see?", "scale": "yes_no", **fields}
    image = {"file": file, "alt": "A red square"}
    return {"template": "xqa-2020", "post_survey": [{**question, "image": image}]}


def test_it_works(client, file):
    study = make_study(questionnaire=asking(file))
    version = study.versions.get()
    content = load_frozen_study(version)
    viewer = content.viewer(content.conditions)
    html = render_empty_questions(version, "survey", "en", viewer)
    address = reverse("studyapp:item_image", args=[study.slug, file])
    assert f'<img class="asked-image" src="{address}" alt="A red square">' in join_lines(html)
    assert client.get(address).status_code == 404
    client.force_login(make_user())
    shown = client.get(address)
    assert shown["Content-Type"] == "image/png"
    shown.close()


def test_an_image_that_the_site_lacks(file):
    with pytest.raises(StudyRefused, match="is not in the image folder") as refused:
        make_study(questionnaire=asking("0" * 64 + ".png"))
    assert refused.value.location == ("questionnaire", "post_survey")


@pytest.mark.parametrize("name", ["../../etc/passwd", "red.png", "A" * 64 + ".png"])
def test_only_names_of_images(name):
    with pytest.raises(ValueError, match="pattern"):
        make_study(questionnaire=asking(name))


def form_of(page):
    """Return what a browser sends of a step of the studio."""
    return {**sent(page.context["form"].widgets), "base": page.context["now"].number}


IMAGE = "questionnaire.post_survey.0.image"


@pytest.fixture
def draft(client):
    """A draft with a question that is to have an image, and its address.

    The question was added by the form, as a browser would send it.
    """
    question = {"key": "seen", "text": "What do you see?", "scale": "yes_no"}
    study = make_study(launched=False, questionnaire={"template": "xqa-2020", "post_survey": [question]})
    client.force_login(make_user())
    address = reverse("studyapp:studio_step", args=[study.slug, "questionnaire"])
    client.post(f"{address}add/{IMAGE}/", form_of(client.get(address)))
    return study, address


def upload(client, draft, name, content):
    _study, address = draft
    file = SimpleUploadedFile(name, content)
    fields = form_of(client.get(address)) | {f"upload:{IMAGE}.file": file, f"{IMAGE}.alt": "A photo"}
    return client.post(f"{address}image/{IMAGE}.file/", fields, follow=True)


def photo(**options):
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), "blue").save(buffer, "JPEG", **options)
    return buffer.getvalue()


def test_an_upload_is_cleaned_shown_frozen_and_exported(client, draft, tmp_path):
    exif = Image.Exif()
    exif[0x010E] = "taken at my house"
    page = upload(client, draft, "me.jpg", photo(exif=exif))
    study, _address = draft
    study.refresh_from_db()
    [question] = read_current_draft(study).draft["questionnaire"]["post_survey"]
    file = question["image"]["file"]
    stored = (get_image_folder() / file[:2] / file).read_bytes()
    assert b"my house" not in stored
    assert file == f"{hashlib.sha256(stored).hexdigest()}.jpg"
    assert f'src="{reverse("studyapp:item_image", args=[study.slug, file])}"' in page.content.decode()
    preview = reverse("studyapp:studio_preview", args=[study.slug, "questionnaire"])
    assert file in client.get(preview, {"preview_page": "survey"}).content.decode()
    version = launch(study)
    assert version.frozen["post_survey"][0]["image"] == {"file": file, "alt": "A photo"}
    write_bundle(study, tmp_path / "out")
    assert (tmp_path / "out" / "images" / file).read_bytes() == stored
    write_bundle(study, tmp_path / "out", public=True)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("page.html", b"<script>alert(1)</script>", "page.html: is not an image that browsers show"),
        ("cut.png", b"\x89PNG\r\n\x1a\n", "cut.png: is not an image that browsers show"),
        ("big.png", b"\0" * (10 * 2**20 + 1), "big.png: is larger than 10 MB"),
    ],
)
def test_what_is_no_image_is_refused_and_nothing_is_saved(client, draft, name, content, sentence):
    before = DraftRevision.objects.count()
    page = upload(client, draft, name, content)
    assert page.status_code == 409
    assert sentence in page.content.decode()
    assert DraftRevision.objects.count() == before


def test_an_upload_without_a_file_or_a_field(client, draft):
    _study, address = draft
    page = client.post(f"{address}image/{IMAGE}.file/", form_of(client.get(address)))
    assert "Choose a file first." in page.content.decode()
    for path in ("questionnaire.post_survey.0.text", "title", "questionnaire.post_survey.0.image.alt"):
        assert client.post(f"{address}image/{path}/").status_code == 404
