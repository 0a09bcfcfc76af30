"""The frozen version of a study, as a bundle has it."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from ..io.errors import AnalysisError, InputError
from ..io.whole_files import parse_model, read_json
from ..participants.exclusion_rules import Rule, parse_rules
from ..participants.measures import Measure, build_own_measures, build_scale_measures
from ..participants.study_version import Definition, Version
from ..participants.tasks import TASKS

FILE = "study_version.json"


class _Item(BaseModel):
    id: str


class _Condition(BaseModel):
    name: str
    weight: float = 1.0
    quota: int | None = None
    revision: str | None = None


class _Definition(Definition):
    """The part of the hashed definition that the text needs.

    A bundle made elsewhere may lack any of it.
    """

    dataset: str | None = None
    items_seed: int | None = None
    items: list[_Item] = []
    conditions: list[_Condition] = []
    instructions: str | list[dict[str, Any]] | None = None
    rules: list[Any] | None = None
    order_seed: int | None = None
    assignment_block: int | None = None
    participants: int | None = None
    closes: str | None = None

    @property
    def source(self) -> str:
        """The recruitment platform, or what stands for it."""
        return self.platform or "entry links of the study"


class _Frozen(Version):
    frozen_at: str | None = None
    definition: _Definition = _Definition()


class _Document(BaseModel):
    study: str
    title: str
    versions: list[_Frozen] = Field(min_length=1)


@dataclass(frozen=True)
class FrozenVersion:
    """One frozen version as the text needs it.

    Attributes:
        study: Name of the study.
        title: Its title.
        version: The frozen definition.
        frozen_at: Time of the freeze in the form of ISO 8601; None if it is not recorded.
        definition: The parts of the definition that the text needs beside that.
        rules: The exclusion rules; None if the version does not hold them.
        verified: True if the definition gives the hash; None if there is no definition to hash.
    """

    study: str
    title: str
    version: Version
    frozen_at: str | None
    definition: _Definition
    rules: list[Rule] | None
    verified: bool | None

    @property
    def measures(self) -> list[Measure]:
        """Measures that the questionnaires allow, own questions last."""
        return list_measures(self.version)


def list_measures(version: Version) -> list[Measure]:
    """Return the measures that questionnaires allow, own questions last."""
    roles = {question.role for question in (*version.item_questionnaire, *version.post_survey)}
    task = TASKS[version.task.kind]
    if task.pairs:
        return list(task.own_measures(version.task))
    given = roles | {"system_correct", "time"} | task.given
    own = build_own_measures(version.item_questionnaire, version.post_survey)
    scales = build_scale_measures(version.scale_scores)
    return [measure for measure in task.measures if set(measure.needs) <= given] + own + scales


def load_frozen(folder: Path, version: int | None = None) -> FrozenVersion:
    """Read a version of the study_version.json in a folder.

    Args:
        folder: Bundle of the study.
        version: Version to read; None for the newest.

    Returns:
        The version with its definition and rules.

    Raises:
        InputError: The file or the version is missing or malformed.
    """
    path = folder / FILE
    raw = read_json(path)
    document = parse_model(_Document, raw, path)
    numbers = [frozen.version for frozen in document.versions]
    wanted = max(numbers) if version is None else version
    if wanted not in numbers:
        raise InputError(path, f"the study has no version {wanted}; it has {numbers}")
    index = numbers.index(wanted)
    frozen = document.versions[index]
    try:
        rules = None if frozen.definition.rules is None else parse_rules(frozen.definition.rules)
    except AnalysisError as error:
        raise InputError(path, str(error)) from None
    definition = raw["versions"][index].get("definition")
    return FrozenVersion(
        study=document.study,
        title=document.title,
        version=frozen,
        frozen_at=frozen.frozen_at,
        definition=frozen.definition,
        rules=rules,
        verified=_hash_definition(definition) == frozen.hash if definition else None,
    )


def _hash_definition(definition: Any) -> str:
    """Hash the definition as JSON, as a launch does."""
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
