"""The command ``preregister``: a pre-registration from a frozen study."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..planning.declared_plan import load_plan
from ..planning.frozen_version import load_frozen
from ..planning.preregistration import preregistration
from ..planning.registration_forms import FORMS
from .options import Count


def print_preregistration(
    bundle: Path,
    /,
    *,
    plan: Path | None = None,
    study_version: Count | None = None,
    form: Annotated[str, Parameter(choices=FORMS)] = "touchstone",
) -> None:
    """Print a pre-registration of a frozen study, as Markdown.

    Args:
        bundle: Folder with study_version.json.
        plan: Declared plan (JSON): comparisons, margins, sample size and interim analyses; without
            it the study's own.
        study_version: Version to register; without it the newest.
        form: Form whose headings it has.
    """
    declared = load_plan(plan) if plan else None
    sys.stdout.write(preregistration(load_frozen(bundle, study_version), declared, form))
