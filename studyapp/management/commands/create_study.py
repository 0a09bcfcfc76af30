"""Make or edit a draft study from a definition file."""

import argparse
from pathlib import Path
from typing import Any

from accounts.policy_table import Act
from jobs.commands.base import JobCommand, add_workspace, read_workspace_option
from studyapp.actions.studies import create_study
from studyapp.definition.definition_file import load_definition
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.yaml_document import definition_error
from studyapp.errors import StudyRefused
from studyapp.queries.design.designs import Design, build_design
from studyapp.queries.design.item_pools import PlannedCondition


class Command(JobCommand):
    help = "Create a draft study from a YAML file, or replace the definition of the study with that name."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", type=Path, metavar="FILE.yaml", help="the definition")
        add_workspace(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"]
        definition = load_definition(path)
        workspace, by = read_workspace_option(options, Act.STUDY_EDIT)
        try:
            create_study(definition=definition, workspace=workspace, by=by)
        except StudyRefused as refusal:
            raise definition_error(path, [(refusal.location, str(refusal))]) from refusal
        self._report(definition, build_design(definition, workspace))

    def _report(self, definition: StudyDefinition, plan: Design) -> None:
        self.stdout.write(f"{definition.study}: {definition.title}")
        for condition in plan.conditions:
            self.stdout.write(
                f"condition {condition.definition.name}: {_describe_condition(plan, condition)}"
            )
        how = "named" if definition.items.ids else f"drawn with seed {definition.items.seed}"
        ids = " ".join(question.external_id for question in plan.questions)
        self.stdout.write(f"{len(plan.questions)} items of {plan.dataset}, {how}: {ids}")
        for language, lacking in definition.find_missing_texts().items():
            if lacking:
                self.stderr.write(f"{language} is not offered; missing: {', '.join(lacking)}")
        self.stdout.write(f"next: .venv/bin/python manage.py launch_study {definition.study}")


def _describe_condition(plan: Design, condition: PlannedCondition) -> str:
    if not condition.definition.advice:
        return "no answer (control condition)"
    shown = plan.content.condition(condition.definition.name).shown.values()
    bare = sum(not (stimulus.facts or stimulus.tokens or stimulus.rationale) for stimulus in shown)
    what = (
        f"{condition.run.system}, revision {condition.run.revision}"
        if condition.run
        else "gold answers and facts"
    )
    return f"{what} ({bare} of {len(shown)} items without an explanation)" if bare else what
