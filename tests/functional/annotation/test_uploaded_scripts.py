"""An uploaded image that is also a page and a script runs nothing.

A person looks at it in a browser.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page

from accounts.models import Role
from foundation.images.image_storage import get_image_folder
from predictions.models import Dataset, Question
from tests import workspaces
from tests.functional.annotation.conftest import Editor

pytestmark = pytest.mark.service

WIDTH = int.from_bytes(b"/*", "little")  # so that a script sees a comment begin where the width is
PAYLOAD = b"*/=1;fetch('/account/tokens/').then(page=>{document.title='ran'});//<script src='../2/'></script>"
# As versions before this one named the files of `p.html` and `p.js`.
NAMES = [f"ab/{'ab' * 32}.{suffix}" for suffix in ("html", "js")]


def polyglot() -> bytes:
    """Return a GIF whose colours are a page and a script.

    The page loads the second such GIF as its script.
    """
    file = io.BytesIO()
    picture = Image.new("P", (WIDTH, 1))
    picture.putpalette(bytes(range(256)) * 3)
    picture.putdata([number % 256 for number in range(WIDTH)])
    picture.save(file, "GIF", optimize=False)
    content = bytearray(file.getvalue())
    assert content[6:8] == b"/*"
    content[13 : 13 + 768] = PAYLOAD.ljust(768)
    # A line break would end the comment that hides the pixels from the script.
    return bytes(content[:781]) + bytes(content[781:]).replace(b"\n", b"\x0b").replace(b"\r", b"\x0c")


@pytest.fixture
def stored(editor: Editor, settings: Any, tmp_path: Path) -> Question:
    settings.VAR_DIR = tmp_path
    (get_image_folder() / "ab").mkdir(parents=True)
    for name in NAMES:
        (get_image_folder() / name).write_bytes(polyglot())
    dataset = Dataset.objects.create(name="photos", source_format="programs", workspace=workspaces.main())
    return Question.objects.create(
        dataset=dataset, external_id="one", text="?", answer="yes", context=[], supporting_facts=[],
        images=[{"path": name, "width": WIDTH, "height": 1} for name in NAMES],
    )  # fmt: skip


def test_a_polyglot_image_runs_no_script(
    editor: Editor, stored: Question, page: Page, django_user_model: Any
):
    user = workspaces.give(django_user_model.objects.create_user("ada"), Role.RESEARCHER)
    editor.log_in(page, user)
    address = f"{editor.server.url}/data/questions/{stored.pk}/images"
    page.goto(f"{address}/1/")
    page.wait_for_timeout(500)
    assert page.title() != "ran"
    page.goto(f"{editor.server.url}/start/")
    loaded = page.evaluate(
        """address => new Promise(done => {
          const script = document.createElement("script");
          script.onload = () => done("loaded");
          script.onerror = () => done("refused");
          script.src = address;
          document.head.append(script);
        })""",
        f"{address}/2/",
    )
    assert (loaded, page.title() != "ran") == ("refused", True)
