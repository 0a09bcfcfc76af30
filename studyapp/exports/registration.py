"""The pre-registration of the newest version of a study."""

import json
import tempfile
from pathlib import Path

from analysis.planning.declared_plan import Plan
from analysis.planning.preregistration import FILE, load_frozen, preregistration
from studyapp.exports import documents
from studyapp.exports.rows import load
from studyapp.models import Study


def preregistration_text(study: Study) -> str:
    """Return the pre-registration as Markdown; it lists what is left open.

    Raises:
        NotFound: The study was never launched.
        AlteredVersion: A frozen version was changed in the database since.
    """
    document = documents.study_version(load(study, public=False))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        return preregistration(load_frozen(Path(folder)), Plan())
