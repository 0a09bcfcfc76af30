"""Reads of the draft of a study."""

from pydantic import ValidationError

from studyapp.definition import StudyDefinition
from studyapp.models import Study
from studyapp.queries.designs import StudyRefused


def definition_of(study: Study) -> StudyDefinition:
    """The draft as a definition. Raises StudyRefused where it is none."""
    try:
        return StudyDefinition.model_validate(study.definition)
    except ValidationError as error:
        raise StudyRefused(
            (), f"study {study.slug!r} has no definition that can be launched; give it one with create_study"
        ) from error
