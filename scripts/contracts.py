"""A kind of contract for ``lint-imports``: a list of allowed imports."""

import sys
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class AllowListContract(Contract):
    """The source module imports itself, Python's library and what is allowed."""

    # import-linter replaces each field of an instance by its value.
    source_module: Any = fields.ModuleField()
    allowed_modules: Any = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Collect the direct imports that the list does not allow.

        An imported module of ours is foreign, too, so that indirect imports need no search.
        """
        inside = {self.source_module.name, *graph.find_descendants(self.source_module.name)}
        expected = inside | set(sys.stdlib_module_names) | self.allowed_modules
        foreign = {
            (importer, imported)
            for importer in inside
            for imported in graph.find_modules_directly_imported_by(importer) - expected
        }
        return ContractCheck(kept=not foreign, metadata={"foreign": sorted(foreign)})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each foreign import on a line."""
        for importer, imported in check.metadata["foreign"]:
            output.print_error(f"- {importer} imports {imported}", bold=False)
