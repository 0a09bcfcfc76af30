"""Label configurations to begin with."""

import pytest

from annotation.content.label_templates import TEMPLATES
from annotation.content.labels import LabelTask, label_yaml, read_label_task
from annotation.forms.projects import TASKS


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_template_is_a_task_with_a_name(name: str) -> None:
    task = LabelTask.model_validate({"layers": TEMPLATES[name]})
    assert read_label_task(label_yaml(task)) == task
    assert name in TASKS
