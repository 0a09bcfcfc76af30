"""Execute the programs of questions on the model server."""

import base64
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from analysis.programs import ProgramError
from foundation.images.image_files import read_image
from foundation.imports.import_fields import format_first_error
from jobs.model_servers.gateway import execute_items
from modelserver.wire.schema import Execution, ItemError, ModuleImage, ModuleItem
from predictions.explanations.executions import build_module_item, format_answer, list_steps
from predictions.explanations.program_steps import IMAGES, STEPS, ItemImage
from predictions.models import Question

Outcome = dict[str, Any] | ItemError  # the columns of a prediction, or why there is none


def execute_questions(*, system: str, revision: str, questions: Sequence[Question]) -> list[Outcome]:
    """Return the columns of a prediction or an error for each question.

    Raises as `execute_items`.
    """
    requests = [_build_request(question) for question in questions]
    items = [request for request in requests if isinstance(request, ModuleItem)]
    answers = iter(execute_items(system=system, revision=revision, items=items) if items else [])
    return [
        request if isinstance(request, ItemError) else _build_columns(next(answers), request)
        for request in requests
    ]


def _build_request(question: Question) -> ModuleItem | ItemError:
    try:
        return build_module_item(
            external_id=question.external_id,
            text=question.text,
            context=question.context,
            steps=None if question.steps is None else STEPS.validate_python(question.steps),
            images=[_build_image(image) for image in IMAGES.validate_python(question.images)],
        )
    except ValidationError as error:
        return _build_refusal(question.external_id, "invalid_item", format_first_error(error))
    except (ValueError, OSError) as error:
        return _build_refusal(question.external_id, "invalid_item", str(error))


def _build_image(image: ItemImage) -> ModuleImage:
    return ModuleImage(name=image.name or image.path, data=base64.b64encode(read_image(image.path)))


def _build_columns(outcome: Execution | ItemError, item: ModuleItem) -> Outcome:
    if isinstance(outcome, ItemError):
        return outcome
    try:
        steps = list_steps(outcome, item)
    except ProgramError as error:
        return _build_refusal(item.id, "prediction_failed", f"program: {error.message}")
    stored = None if steps is None else STEPS.dump_python(steps, mode="json")
    return {"answer": format_answer(outcome.answer), "facts": [], "steps": stored}


def _build_refusal(external_id: str, error: Any, message: str) -> ItemError:
    return ItemError(id=external_id, error=error, message=message)
