"""The editor in a real browser, and the items that it opens.

Only this module says where the editor is served from, and how items come to be.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.servers.basehttp import ThreadedWSGIServer
from django.core.wsgi import get_wsgi_application
from django.test import Client
from django.test.testcases import QuietWSGIRequestHandler
from django.utils import timezone
from PIL import Image as Picture
from PIL import ImageDraw
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from accounts.models import User
from annotation.actions import assignments, data, projects, review
from annotation.content.schemas import Document, Image, ItemRecord
from annotation.models import Annotation, KeyBindings, SystemOutput
from scripts.sites.processes import ROOT
from tests.annotation import factories
from tests.services import require

DESKTOP = ViewportSize(width=1280, height=860)
PHONE = ViewportSize(width=390, height=844)
SIZE = (640, 480)


class Server:
    """The site on a thread of this process. While `down`, every answer is 503."""

    def __init__(self) -> None:
        self.down = False
        self.site = StaticFilesHandler(get_wsgi_application())
        self.server = ThreadedWSGIServer(("127.0.0.1", 0), QuietWSGIRequestHandler, ipv6=False)
        self.server.daemon_threads = True
        self.server.set_app(self.answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if self.down:
            start_response("503 Service Unavailable", [("Content-Type", "text/plain")])
            return [b"down"]
        return self.site(environ, start_response)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Editor:
    """A served editor: creates works and opens them as their annotator.

    It also returns what the site has stored.
    """

    def __init__(self, server: Server, pictures: Path) -> None:
        self.server = server
        self.pictures = pictures

    def make(
        self,
        *,
        layers: dict[int, Any] | None = None,
        predictions: list[dict[str, Any]] | None = None,
        guidelines: dict[str, str] | None = None,
        comments: list[tuple[int, str, str]] | None = None,
        submitted: bool = False,
        **item: Any,
    ) -> int:
        """Create a work on a new item in a project of its own.

        ``layers`` are marked on it already.
        """
        kind = item.setdefault("kind", "boxes")
        if kind == "boxes":
            item["images"] = (Image(name="left.png"), Image(name="right.png"))
        member = factories.make_member(factories.make_project(kind=kind, show_predictions=bool(predictions)))
        record = ItemRecord.model_validate({"external_id": "item", **item})
        data.import_items(records=[record], project=member.project, image_folder=self.pictures)
        for module, text in (guidelines or {}).items():
            projects.write_guideline(project=member.project, module=module, text=text, by=member.user)
        annotation = assignments.assign_next_annotation(member=member)
        for output in predictions or []:
            SystemOutput.objects.create(item=annotation.item, **output)
        for node, name, text in comments or []:
            review.add_comment(annotation=annotation, node=node, object_id=name, text=text, by=member.user)
        annotation.document = Document.model_validate({"layers": layers or {}}).model_dump(mode="json")
        if submitted:
            annotation.status, annotation.submitted_at = Annotation.Status.SUBMITTED, timezone.now()
        annotation.save()
        return annotation.pk

    def open(self, page: Page, annotation: int) -> Page:
        """Open a work's page in the browser, logged in as its annotator."""
        self.log_in(page, self.row(annotation).annotator)
        page.goto(f"{self.server.url}/annotate/annotation/{annotation}/")
        expect(page.locator("#editor[data-ready]")).to_be_attached()
        return page

    def log_in(self, page: Page, user: User) -> None:
        """Give the browser the session of a user."""
        client = Client()
        client.force_login(user)
        session = client.cookies["sessionid"].value
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": self.server.url}])

    def row(self, annotation: int) -> Annotation:
        return Annotation.objects.select_related("annotator").get(pk=annotation)

    def stored(self, annotation: int) -> dict[str, Any]:
        """The document as the site has it."""
        document = self.row(annotation).document
        return document if isinstance(document, dict) else {}

    def layer(self, annotation: int, node: int) -> dict[str, Any]:
        layer: dict[str, Any] = self.stored(annotation)["layers"].get(
            str(node), {"state": "open", "objects": [], "note": "", "value": None}
        )
        return layer

    def objects(self, annotation: int, node: int) -> list[dict[str, Any]]:
        objects: list[dict[str, Any]] = self.layer(annotation, node)["objects"]
        return objects

    def revision(self, annotation: int) -> int:
        return self.row(annotation).revision

    def keys(self, annotation: int) -> dict[str, str]:
        """The keys that the annotator has chosen."""
        bindings = KeyBindings.objects.filter(user=self.row(annotation).annotator).first()
        return bindings.keys if bindings else {}


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two images."""
    folder = tmp_path_factory.mktemp("pictures")
    for name, sky in (("left.png", "#cfe3f3"), ("right.png", "#e9e2d4")):
        picture = Picture.new("RGB", SIZE, sky)
        draw = ImageDraw.Draw(picture)
        draw.rectangle((0, 300, *SIZE), fill="#8fae72")
        draw.ellipse((120, 200, 280, 360), fill="#b5651d")
        draw.rectangle((390, 190, 520, 350), fill="#3c4a5a")
        picture.save(folder / name)
    return folder


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The site for all tests of the editor."""
    if not (ROOT / "node_modules/@annotorious/annotorious/dist").is_dir():
        require("Annotorious is not installed (npm ci).")
    server = Server()
    yield server
    server.close()


@pytest.fixture
def editor(transactional_db: None, server: Server, pictures: Path) -> Iterator[Editor]:
    """The editor on an empty database."""
    yield Editor(server, pictures)
    server.down = False


@pytest.fixture
def context(browser: Browser, editor: Editor) -> Iterator[BrowserContext]:
    """A fresh browser profile, whose errors fail the test.

    They are errors of the page, and what its security policy forbids.
    """
    context = browser.new_context(viewport=DESKTOP)
    wrong: list[str] = []
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.on("console", lambda line: wrong.append(line.text) if "Security Policy" in line.text else None)
    yield context
    context.close()
    assert wrong == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page on a desktop."""
    return context.new_page()
