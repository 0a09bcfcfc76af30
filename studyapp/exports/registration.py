"""Pre-registrations: of the newest version of a study, and of its draft."""

import json
import tempfile
from pathlib import Path

from analysis.planning.frozen_version import FILE, load_frozen
from analysis.planning.preregistration import preregistration
from studyapp.exports import documents
from studyapp.exports.documents import Document
from studyapp.exports.study_data import load_study_data
from studyapp.models import Study
from studyapp.queries.design.correctness import add_verdict, build_empty_verdicts, list_shown_answers
from studyapp.queries.design.launches import open_checks, plan_launch


def build_preregistration(study: Study, form: str = "touchstone") -> str:
    """Return the pre-registration as Markdown; it lists what is left open.

    Args:
        study: The study, with a launched version.
        form: A name of `analysis.planning.registration_forms.FORMS`.

    Raises:
        NotFound: The study was never launched.
        AlteredVersion: A frozen version was changed in the database since.
    """
    return _format_preregistration(documents.build_study_version(load_study_data(study, public=False)), form)


def build_draft_preregistration(study: Study, form: str = "touchstone") -> str:
    """Return the pre-registration of the draft, with the hash of its content.

    Raises:
        StudyRefused: The draft cannot be launched.
    """
    plan = plan_launch(study)
    counts: dict[str, Document] = {}
    for answer in list_shown_answers(plan):
        name = answer.condition.definition.name
        counts[name] = add_verdict(counts.get(name) or build_empty_verdicts(name), answer.verdict)
    decided = [check.decision for check in open_checks(study, plan) if check.decision]
    draft = {
        "version": study.versions.count() + 1,
        "hash": plan.content.hash(),
        "correctness": list(counts.values()),
        "decisions": [documents.build_decision_part(row, public=False) for row in decided],
        **documents.build_content_part(plan.content),
    }
    return _format_preregistration({"study": study.slug, "title": study.title, "versions": [draft]}, form)


def _format_preregistration(document: Document, form: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        return preregistration(load_frozen(Path(folder)), form=form)
