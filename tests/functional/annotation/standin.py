"""The site's side of the annotation editor in memory: its rules of editing, its answers, no database.

As a URL configuration it serves the editor's page, its images and the addresses that the editor asks. A test
can stop it from answering (`Works.broken`), which is what a browser sees of a server that is down.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from pydantic import ValidationError

from analysis.programs import Program, agrees, parse
from annotation.editing import OperationIn, Subject, apply, executed, open_nodes
from annotation.errors import BadEdit
from annotation.payloads import Document
from annotation.queries.works import program_tree

IMAGE = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">
<rect width="100%" height="100%" fill="{sky}"/><rect y="62%" width="100%" height="38%" fill="{ground}"/>
<circle cx="30%" cy="60%" r="14%" fill="#b5651d"/><circle cx="36%" cy="46%" r="8%" fill="#c98a4b"/>
<rect x="60%" y="40%" width="22%" height="34%" rx="12" fill="#3c4a5a"/>
<circle cx="85%" cy="16%" r="7%" fill="#ffdf6b"/>
</svg>"""
COLOURS = [{"sky": "#cfe3f3", "ground": "#8fae72"}, {"sky": "#e9e2d4", "ground": "#c9b48a"}]


@dataclass
class Work:
    """One person's work on one item, as the site would store it."""

    pk: int
    program: Program
    subject: Subject
    item: dict[str, Any]
    document: Document = field(default_factory=Document)
    revision: int = 0
    status: str = "reserved"
    history: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    guidelines: dict[str, Any] = field(default_factory=dict)
    predictions: list[dict[str, Any]] | None = None
    requests: int = 0  # to save

    def outcome(self) -> dict[str, Any]:
        execution = executed(self.document, self.program)
        same = agrees(self.program, execution, self.item["answer"])
        return {"values": execution.values, "mismatch": None if same is None else not same}

    def state(self) -> dict[str, Any]:
        return {
            "id": self.pk,
            "task": "annotation",
            "revision": self.revision,
            "status": self.status,
            "reserved_until": None,
            "item": self.item,
            "program": program_tree(self.program),
            "document": self.document.model_dump(mode="json"),
            **self.outcome(),
            "guidelines": self.guidelines,
            "comments": self.comments,
            "predictions": self.predictions,
            "history": self.history[-200:],
            "keys": WORKS.keys,
        }


class Works:
    """All works of the stand-in."""

    def __init__(self) -> None:
        self.rows: dict[int, Work] = {}
        self.keys: dict[str, str] = {}
        self.broken = False
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)

    def add(
        self,
        *,
        program: str,
        text: str,
        kind: Any = "boxes",
        images: Sequence[tuple[int, int]] = ((640, 480), (640, 480)),
        passage: str = "",
        tokens: Sequence[tuple[int, int]] = (),
        answer: Any = None,
        layers: dict[int, Any] | None = None,
        **more: Any,
    ) -> Work:
        pk = next(self.numbers)
        item = {
            "id": pk,
            "external_id": f"item-{pk}",
            "kind": kind,
            "text": text,
            "answer": answer,
            "passage": passage,
            "tokens": [list(token) for token in tokens],
            "images": [
                {
                    "url": f"/standin/{number}-{width}x{height}.svg",
                    "width": width,
                    "height": height,
                    "name": f"{number}.svg",
                }
                for number, (width, height) in enumerate(images if kind == "boxes" else ())
            ],
        }
        subject = Subject(kind=kind, images=len(item["images"]), passage=passage, tokens=tuple(tokens))
        document = Document.model_validate({"layers": layers or {}})
        work = Work(pk, parse(program, kind=kind), subject, item, document, **more)
        self.rows[pk] = work
        return work


WORKS = Works()


def found(pk: int) -> Work:
    if pk not in WORKS.rows:
        raise Http404
    return WORKS.rows[pk]


def answering(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer one request at a time, and none with success while the stand-in is broken."""

    def answer(request: HttpRequest, **arguments: int) -> HttpResponse:
        if WORKS.broken:
            return JsonResponse({"detail": "down"}, status=503)
        with WORKS.lock:
            return view(request, **arguments)

    return answer


@answering
def page(request: HttpRequest, pk: int) -> HttpResponse:
    context = {
        "work_url": f"/api/annotation/work/{pk}/",
        "work_json": found(pk).state(),
        "progress": "12 of 40 done, about 1 min 40 s each",
    }
    return render(request, "annotation/work.html", context)


@answering
def work_view(_request: HttpRequest, pk: int) -> HttpResponse:
    return JsonResponse(found(pk).state())


@answering
def operations(request: HttpRequest, pk: int) -> HttpResponse:
    work = found(pk)
    work.requests += 1
    try:
        sent = [OperationIn.model_validate(one) for one in json.loads(request.body)["operations"]]
    except ValidationError as error:
        return JsonResponse({"detail": str(error), "operation": None, "field": ""}, status=422)
    known = {row["id"]: row for row in work.history}
    new = [one for one in sent if str(one.id) not in known]
    if new and new[0].base != work.revision:
        return JsonResponse(
            {
                "detail": "Somebody else saved in between.",
                "revision": work.revision,
                "document": work.document.model_dump(mode="json"),
                **work.outcome(),
                "operations": [row for row in work.history if row["revision"] > sent[0].base],
            },
            status=409,
        )
    document = work.document
    rows: list[dict[str, Any]] = []
    for one in new:
        try:
            document, inverse = apply(document, one, work.program, work.subject)
        except BadEdit as error:
            return JsonResponse(
                {"detail": str(error), "operation": str(one.id), "field": error.field}, status=422
            )
        rows.append(
            {
                "id": str(one.id),
                "revision": work.revision + len(rows) + 1,
                "operation": one.edit(),
                "inverse": inverse,
                "undoes": str(one.undoes) if one.undoes else None,
            }
        )
    work.document = document
    work.revision += len(rows)
    work.history += rows
    known |= {row["id"]: row for row in rows}
    saved = [{name: known[str(one.id)][name] for name in ("id", "revision", "inverse")} for one in sent]
    return JsonResponse({"revision": work.revision, **work.outcome(), "saved": saved})


@answering
def submit(request: HttpRequest, pk: int) -> HttpResponse:
    work = found(pk)
    if json.loads(request.body)["revision"] != work.revision:
        return JsonResponse({"detail": "Somebody else saved in between."}, status=409)
    left = open_nodes(work.document, work.program)
    if left:
        return JsonResponse({"detail": "Steps are left.", "nodes": left}, status=422)
    work.status = "submitted"
    return JsonResponse({"next": "/standin/done/"})


@answering
def release(_request: HttpRequest, pk: int) -> HttpResponse:
    found(pk).status = "released"
    return JsonResponse({"next": "/standin/done/"})


@answering
def take_back(_request: HttpRequest, pk: int) -> HttpResponse:
    found(pk).status = "reserved"
    return JsonResponse(found(pk).state())


@answering
def comments(request: HttpRequest, pk: int) -> HttpResponse:
    work, new = found(pk), json.loads(request.body)
    row = {"id": len(work.comments) + 1, "by": "ada", "at": "2026-01-05T09:30:00Z", "resolved": False, **new}
    work.comments.append(row)
    return JsonResponse(row, status=201)


@answering
def resolve(_request: HttpRequest, pk: int, comment: int) -> HttpResponse:
    row = next(row for row in found(pk).comments if row["id"] == comment)
    row["resolved"] = True
    return JsonResponse(row)


@answering
def keys(request: HttpRequest) -> HttpResponse:
    WORKS.keys = json.loads(request.body)
    return JsonResponse(WORKS.keys)


def image(_request: HttpRequest, number: int, width: int, height: int) -> HttpResponse:
    drawing = IMAGE.format(width=width, height=height, **COLOURS[number % 2])
    return HttpResponse(drawing, content_type="image/svg+xml")


def done(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("<title>Done</title><h1>Next</h1>")


API = "api/annotation/work/<int:pk>/"
urlpatterns = [
    path("work/<int:pk>/", page),
    path(API, work_view),
    path(f"{API}operations/", operations),
    path(f"{API}submit/", submit),
    path(f"{API}release/", release),
    path(f"{API}take-back/", take_back),
    path(f"{API}comments/", comments),
    path(f"{API}comments/<int:comment>/resolve/", resolve),
    path("api/annotation/keys/", keys),
    path("standin/<int:number>-<int:width>x<int:height>.svg", image),
    path("standin/done/", done),
]
