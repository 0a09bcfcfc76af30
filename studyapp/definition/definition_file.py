"""Read a study definition from its YAML file.

Pure: no Django.
"""

from pathlib import Path

from pydantic import ValidationError

from foundation.validation_messages import describe_error
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.yaml_document import (
    MAX_PROBLEMS,
    build_located_error,
    locate_errors,
    read_document,
    read_file,
)


def load_definition(path: Path) -> StudyDefinition:
    """Read a definition from a YAML file.

    Raises:
        DefinitionError: the file cannot be read, is no YAML, or breaks a rule of the form; up to
            MAX_PROBLEMS problems of the form are named at once.
    """
    return read_definition(read_file(path), str(path))


def read_definition(text: str, name: str) -> StudyDefinition:
    """Read a definition from the text of a YAML file that goes by a name.

    Raises as `load_definition`.
    """
    node, data = read_document(text, name)
    try:
        return StudyDefinition.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)[:MAX_PROBLEMS]
        problems = list(zip(locate_errors(node, details), map(describe_error, details), strict=True))
        raise build_located_error(name, node, problems) from error
