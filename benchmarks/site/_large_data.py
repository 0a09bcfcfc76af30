"""A workspace with many rows of each kind that a page lists.

The benchmark `benchmarks.site.large_pages` and `tests/load` measure the pages over it. Django has to be set
up before this is imported. The actions of the site make tables of few rows; others are inserted in bulk, in
the form that the actions would have given them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from django.db import connection, models
from django.utils import timezone

from accounts.models import AuditEntry, Membership, Role, User, Workspace
from annotation.actions.data import import_items
from annotation.actions.projects import create_project
from annotation.content.schemas import ItemRecord
from annotation.models import Annotation, AuditEvent, Gold, Item, OutputFailure, OutputRun, Project
from annotation.models import Membership as Member
from jobs.models import Job
from predictions.models import Dataset, Prediction, PredictionFailure, PredictionRun, Question, System
from studyapp.actions.conduct import read_item_times, recount
from studyapp.actions.links import create_link
from studyapp.actions.studies import create_study, launch_study
from studyapp.definition.schema import StudyDefinition
from studyapp.models import Event, ItemTime, Mode, Participant, Study, StudyVersion, Trial

ITEMS = 8  # of each participant
STUDY = {
    "study": "large",
    "title": "A large study",
    "dataset": "large",
    "conditions": [{"system": "first"}, {"ground_truth": True}],
    "items": {"count": ITEMS, "seed": 1},
    "consent": "I take part.",
    "instructions": "Judge each answer.",
    "exclusions": [
        {"name": "fast", "kind": "min_time", "clock": "server", "seconds": 10},
        {"name": "trapped", "kind": "flagged", "flag": "straight_lining"},
    ],
}
PASSAGE = "Ada kicked a 30-yard goal. Bo kicked a 40-yard goal."
PROGRAM = "count(filter[long](find[goals]))"


@dataclass(frozen=True)
class Large:
    """The objects that the addresses of pages name."""

    workspace: Workspace
    owner: User
    dataset: Dataset
    run: PredictionRun
    study: Study
    project: Project


def fill(rows: int) -> Large:
    """Fill the database with ``rows`` rows of each kind."""
    workspace = Workspace.objects.get_or_create(slug="main", defaults={"name": "Main"})[0]
    owner = User.objects.create(username="owner", password="!", is_superuser=True)  # noqa: S106
    Membership.objects.create(workspace=workspace, user=owner, role=Role.OWNER)
    dataset, run = _fill_data(workspace, rows)
    study = _fill_study(workspace, owner, rows)
    project = _fill_project(workspace, owner, rows)
    _fill_records(workspace, owner, rows)
    _analyse()
    return Large(workspace, owner, dataset, run, study, project)


def find_large_data() -> Large | None:
    """Return what an earlier `fill` made; None in an empty database."""
    study = Study.objects.filter(slug="large").select_related("workspace").first()
    if study is None:
        return None
    run = PredictionRun.objects.select_related("dataset").latest("pk")
    owner, project = User.objects.get(username="owner"), Project.objects.get(slug="large-project")
    return Large(study.workspace, owner, run.dataset, run, study, project)


def _fill_data(workspace: Workspace, rows: int) -> tuple[Dataset, PredictionRun]:
    dataset = Dataset.objects.create(
        workspace=workspace, name="large", source_format="hotpot", question_count=rows
    )
    context = [[f"Film {number}", ["It is a film.", "Ada Brenn directed it."]] for number in range(10)]
    _store(
        Question(
            dataset=dataset, external_id=f"q{number}", answer=f"Kolwen {number}", kind="bridge", level="easy",
            text=f"Where was the director of film {number} born?", context=context,
            supporting_facts=[["Film 0", 1]],
        )
        for number in range(rows)
    )  # fmt: skip
    runs = [_create_run(dataset, name) for name in ("first", "second")]
    # The second run fails on half of the questions.
    _store(
        Prediction(
            run=run, question_id=question, facts=[["Film 0", 1]],
            answer="Elsewhere" if number % 3 == 0 else f"Kolwen {number}",
        )
        for run, part in zip(runs, (1, 2), strict=True)
        for number, question in enumerate(_list_keys(dataset.questions))
        if number % part == 0
    )  # fmt: skip
    _store(
        PredictionFailure(
            run=runs[1], question_id=question, kind=f"kind{number % 5}", message=f"Question {number} is long."
        )
        for number, question in enumerate(_list_keys(dataset.questions))
        if number % 2
    )
    return dataset, runs[1]


def _create_run(dataset: Dataset, system: str) -> PredictionRun:
    return PredictionRun.objects.create(
        dataset=dataset, system=System.objects.create(name=system), revision="r1", schema_version=1,
        source=PredictionRun.Source.SERVER, status=PredictionRun.Status.DONE, finished_at=timezone.now(),
    )  # fmt: skip


def _fill_study(workspace: Workspace, owner: User, rows: int) -> Study:
    study = create_study(workspace=workspace, definition=StudyDefinition.model_validate(STUDY), by=owner)
    launch_study(study=study, by=owner, accept={"judging": "a benchmark", "rehearsal": "a benchmark"})
    link, _token = create_link(study=study, by=owner)
    version, now = study.versions.get(), timezone.now()
    conditions, items = list(version.conditions.all()), list(version.items.all())

    def participants() -> Iterator[Participant]:
        for number in range(rows // ITEMS):
            condition, came = conditions[number % 2], now - timedelta(minutes=number)
            is_done = number % 10 < 8  # of ten, eight completed, one is there, and one left
            yield Participant(
                version=version, link=link, public_id=f"p{number:06}", mode=Mode.LIVE, group=condition.name,
                condition=condition, consented_at=came, assigned_at=came, started_at=came, last_seen_at=came,
                items_submitted=ITEMS, status="completed" if is_done else "active",
                outcome="done" if is_done else "", completion_code="c" if is_done else "",
                completed_at=came + timedelta(seconds=300 + number % 900) if is_done else None,
                ended_at=came + timedelta(seconds=300 + number % 900) if is_done else None,
            )  # fmt: skip

    def trials() -> Iterator[Trial]:
        for number, key in enumerate(_list_keys(Participant.objects.filter(version=version))):
            for index, item in enumerate(items):
                came = now - timedelta(minutes=number)
                # Answers follow the person's number, so that few agree in all of them.
                certainty = 1 + (number // 5**index) % 5
                yield Trial(
                    participant_id=key, item=item, condition=conditions[number % 2], position=index + 1,
                    shown_at=came, submitted_at=came + timedelta(seconds=5 + (number + 7 * index) % 60),
                    client_total_ms=14_000 + number % 4_000, client_hidden_ms=number % 5_000, changes={},
                    answers={"rated_correct": True, "known_before": False, "certainty": certainty,
                             "helpfulness": 3},
                )  # fmt: skip

    _store(participants())
    _store(trials())
    recount(Participant.objects.filter(version=version))
    recount_times(version)
    _store(
        Event(study=study, participant_id=key, kind=("item_shown", "item_submitted")[turn % 2])
        for key in _list_keys(Participant.objects.filter(version=version))
        for turn in range(ITEMS)
    )
    return study


def _fill_project(workspace: Workspace, owner: User, rows: int) -> Project:
    project = create_project(
        workspace=workspace, slug="large-project", title="A large project", kind="spans", by=owner
    )
    words, start = [], 0
    for word in PASSAGE.split(" "):
        words.append((start, start + len(word)))
        start += len(word) + 1
    record = {"kind": "spans", "program": PROGRAM, "passage": PASSAGE, "tokens": words, "answer": 1}
    import_items(
        project=project,
        records=[
            ItemRecord.model_validate(
                {**record, "external_id": f"i{number}", "text": f"How many goals in game {number}?"}
            )
            for number in range(rows)
        ],
    )
    first, _second = annotators = [User.objects.create(username=name) for name in ("ann", "bea")]
    Member.objects.bulk_create(Member(project=project, user=user) for user in annotators)
    _annotate(project, annotators)
    finished = Annotation.objects.filter(project=project, annotator=first, status="accepted")
    _store(
        Gold(item_id=item, version=1, method=Gold.Method.ACCEPTED, document={}, annotation_id=key, by=owner)
        for key, item in finished.order_by("pk").values_list("pk", "item").iterator()
    )
    run = OutputRun.objects.create(project=project, system="net", revision="r1", created_by=owner)
    _store(
        OutputFailure(run=run, item_id=key, kind="error", message=f"Item {number} has no image 'a{number}'.")
        for number, key in enumerate(_list_keys(project.items))
    )
    _store(
        AuditEvent(project=project, actor=owner, kind="accepted", data={"item": number})
        for number in range(rows)
    )
    return project


def _annotate(project: Project, annotators: Sequence[User]) -> None:
    """Let both annotators finish most items, a fifth of them with gold."""
    now, wanted = timezone.now(), len(annotators)
    statuses = ["accepted", "submitted", "submitted", "in review", "reserved"]
    keys = list(_list_keys(project.items))
    _store(
        Annotation(
            project=project, item_id=key, annotator=annotator, status=statuses[number % 5], revision=1,
            document={"layers": {}}, reserved_until=now, saved_at=now, active_seconds=20,
            submitted_at=None if number % 5 == 4 else now - timedelta(minutes=number),
        )
        for number, key in enumerate(keys)
        for annotator in annotators
    )  # fmt: skip
    Item.objects.filter(project=project).update(annotators_wanted=wanted, assigned=wanted, submitted=wanted)
    Item.objects.filter(project=project, annotations__status="reserved").update(submitted=0)


def _fill_records(workspace: Workspace, owner: User, rows: int) -> None:
    """Store people, their roles, audit entries and jobs."""
    now = timezone.now()
    _store(
        User(username=f"person{number:06}", email=f"person{number}@example.org", password="!")  # noqa: S106
        for number in range(rows)
    )
    people = User.objects.filter(username__startswith="person")
    _store(Membership(workspace=workspace, user_id=key, role=Role.VIEWER) for key in _list_keys(people))
    _store(
        AuditEntry(
            workspace=workspace, actor=owner, kind=("login", "role_given")[number % 2], subject="owner"
        )
        for number in range(rows)
    )
    _store(AuditEntry(kind="login", actor_id=key, subject="") for key in _list_keys(people))
    _store(
        Job(workspace=workspace, kind="export_bundle", subject="large", status="done", created_by=owner,
            finished_at=now, options={"study": 1})
        for _number in range(rows)
    )  # fmt: skip


def _list_keys(rows: Any) -> Iterator[int]:
    yield from rows.order_by("pk").values_list("pk", flat=True).iterator()


def _store(rows: Iterable[models.Model], size: int = 5_000) -> None:
    """Insert rows part by part, so that few are in memory at once."""
    pending = iter(rows)
    while part := list(islice(pending, size)):
        type(part[0])._base_manager.bulk_create(part)


def _analyse() -> None:
    """Let the database count its rows."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def list_pages(large: Large) -> dict[str, str]:
    """Return the addresses of the pages that list the rows, by name."""
    return {
        **_list_study_pages(large),
        **_list_data_pages(large),
        **_list_annotation_pages(large),
        **_list_site_pages(large),
    }


def _list_study_pages(large: Large) -> dict[str, str]:
    study, at = large.study, f"/staff/studies/{large.study.slug}/"
    keys = list(_list_keys(Participant.objects.filter(version__study=study)))
    middle, last, person = keys[len(keys) // 2], keys[-1], f"p{len(keys) // 2:06}"
    people = {
        "first": "", "middle": f"before={middle}", "last": f"before={keys[20]}",
        "completed": "state=completed",
        "stale": "state=stale", "withdrawn": "state=withdrawn", "condition": "group=first",
        "mode": "mode=live",
        "no mode": "mode=bot", "any flag": "flag=any", "flag": "flag=straight_lining",
        "alike": "flag=identical_pattern", "no flag": "flag=honeypot", "excluded": "excluded=yes",
        "not excluded": "excluded=no", "last flagged": f"flag=any&before={keys[20]}",
    }  # fmt: skip
    responses = {
        "first": "", "middle": f"after={middle}.3", "last": f"after={keys[-20]}.1",
        "condition": "condition=first",
        "excluded": "excluded=yes", "not excluded": f"excluded=no&after={middle}.1", "no mode": "mode=bot",
        "participant": f"participant={person}", "no participant": "participant=nobody", "item": "item=q7",
        "state": "state=completed", "not submitted": "answered=no", "flag": "flag=any",
        "columns": "column=item_id&column=flags&column=certainty", "last of flag": f"flag=any&after={last}.1",
    }  # fmt: skip
    log = {
        "first": "", "middle": "page=500", "last": "page=100000", "kind": "kind=item_submitted",
        "no such kind": "kind=note", "participants": "who=participants", "person": "who=owner",
        "days": "since=2020-01-01&until=2020-02-01",
    }  # fmt: skip
    return {
        "studies": "/staff/",
        "study: overview": at,
        "study: figures": f"{at}progress/",
        "study: running": f"{at}running/",
        "study: results": f"{at}results/",
        "study: participant": f"{at}participants/{person}/",
        "study: judged answers": "/staff/correctness/",
        **_add_queries("study: participants", f"{at}participants/", people),
        **_add_queries("study: responses", f"{at}responses/", responses),
        **_add_queries("study: log", f"{at}log/", log),
    }


def _list_data_pages(large: Large) -> dict[str, str]:
    keys = list(_list_keys(large.dataset.questions))
    at, middle = f"/data/{large.dataset.pk}/", keys[len(keys) // 2]
    questions = {
        "first": "", "middle": f"after={middle}", "last": f"before={keys[-1]}", "end": f"after={keys[-9]}",
        "common word": "q=director", "middle of common word": f"q=director&after={middle}",
        "no such word": "q=zeppelin", "two words": "q=born+zeppelin", "ID": f"q=q{len(keys) - 1}",
        "number": f"q={len(keys) - 1}", "one letter": "q=z",
    }  # fmt: skip
    return {
        "data": "/data/",
        "dataset": at,
        "question": f"/data/questions/{middle}/",
        "systems": "/systems/",
        "run with errors": f"/systems/runs/{large.run.pk}/",
        "run: progress": f"/systems/runs/{large.run.pk}/progress/",
        "start of predictions": f"/systems/predict/?dataset={large.dataset.pk}",
        **_add_queries("questions", f"{at}questions/", questions),
    }


def _list_annotation_pages(large: Large) -> dict[str, str]:
    at = f"/annotate/{large.project.slug}/"
    keys = list(_list_keys(large.project.items))
    rows = len(keys)
    items = {
        "first": "", "middle": f"after={rows // 2}", "last": f"before={rows}", "common word": "search=goals",
        "no such word": "search=zeppelin", "ID": f"search=i{rows - 1}",
        "last in progress": f"state=in+progress&after={rows - 9}",
        **{state: f"state={state.replace(' ', '+')}"
           for state in ("open", "in progress", "complete", "gold", "no gold", "known")},
        "gold and no word": "state=gold&search=zeppelin",
        **{
            f"by {order}, {page}": f"sort={order}&page={number}"
            for order in ("item", "-item", "submitted", "-submitted", "-position")
            for page, number in (("first", 1), ("middle", rows // 100), ("last", rows // 50))
        },
        "by item, last of common word": f"search=goals&sort=item&page={rows // 50}",
        "by item, gold": "state=gold&sort=item",
    }  # fmt: skip
    log = {"first": "", "middle": "page=500", "last": "page=1000000", "oldest": "sort=time"}
    return {
        "projects": "/annotate/",
        "project: overview": at,
        "project: review": f"{at}review/",
        "project: agreement": f"{at}agreement/",
        "project: item": f"{at}items/{keys[rows // 2]}/",
        "project: members": f"{at}members/",
        "project: in progress": f"{at}under-way/",
        "project: uploads": f"{at}items/upload/",
        "project: outputs": f"{at}outputs/",
        "project: exports": f"{at}export/",
        "project: settings": f"{at}settings/",
        **_add_queries("project: items", f"{at}items/", items),
        **_add_queries("project: audit log", f"{at}audit/", log),
    }


def _list_site_pages(large: Large) -> dict[str, str]:
    at = f"/people/{large.workspace.slug}/"
    entries = list(_list_keys(AuditEntry.objects.filter(workspace=large.workspace)))
    audit = {
        "first": "", "middle": f"before={entries[len(entries) // 2]}", "last": f"before={entries[9]}",
        "person": "person=owner", "nobody": "person=nobody", "kind": "kind=role_given",
        "no such kind": "kind=export_downloaded", "days": "since=2020-01-01&until=2020-02-01",
    }  # fmt: skip
    accounts = {
        "first": "", "middle": "page=500", "last": "page=1000000", "common word": "search=person",
        "nobody": "search=zeppelin", "address": "search=person77@",
    }  # fmt: skip
    words = {"nothing": "q=zeppelin", "common": "q=person", "item": "q=i7", "dataset": "q=large"}
    return {
        "start": "/start/",
        "jobs": "/jobs/",
        "workspaces": "/people/",
        "people of a workspace": at,
        **_add_queries("audit log", f"{at}audit/", audit),
        **_add_queries("audit log of the site", "/people/site/audit/", audit),
        **_add_queries("accounts", "/people/site/accounts/", accounts),
        **_add_queries("search", "/search/", words),
    }


def _add_queries(name: str, address: str, queries: dict[str, str]) -> dict[str, str]:
    return {f"{name}, {label}": f"{address}?{query}" for label, query in queries.items()}


def recount_times(version: StudyVersion) -> None:
    """Count the times of a version's items again."""
    ItemTime.objects.filter(version=version).delete()
    groups = Participant.objects.filter(version=version).order_by().values_list("mode", "group").distinct()
    for mode, group in list(groups):
        trials = Trial.objects.filter(participant__version=version, participant__mode=mode)
        counts = Counter(read_item_times(trials.filter(participant__group=group)))
        ItemTime.objects.bulk_create(
            ItemTime(version=version, mode=mode, group=group, tenths=tenths, number=number)
            for tenths, number in counts.items()
        )
