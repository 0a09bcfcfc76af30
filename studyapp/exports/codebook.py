"""The codebook of a bundle: every column of every table.

It is written as JSON and as a page, both from the declarations of columns.
"""

from typing import Any

from studyapp.exports.columns import TABLES, Column
from studyapp.exports.fields import FIELDS
from studyapp.exports.rows import Tally
from studyapp.exports.study_data import StudyData
from studyapp.exports.task_columns import build_task_columns

_PUBLIC_DIFFERENCES = {
    "date": "the date only",
    "pseudonym": "another pseudonym",
    "withheld": "withheld, always empty",
}


def list_table_columns(data: StudyData, name: str) -> tuple[Column, ...]:
    """Return the columns of a table, with those of the questionnaire."""
    table = TABLES[name]
    questions = data.questions(table.questionnaire) if table.questionnaire else ()
    if table.questionnaire == "item_questionnaire":
        questions = (*build_task_columns(data.frozen.values()), *questions)
    return table.columns(questions)


def build_codebook(data: StudyData, tally: Tally | None = None) -> dict[str, Any]:
    """Return codebook.json.

    With a ``tally`` that has counted all trials it says by which clocks they were judged.
    """
    return {
        "study": data.study.slug,
        "variant": "public" if data.public else "internal",
        "tables": {
            name: {
                "row": TABLES[name].row,
                "columns": [_describe_column(column) for column in list_table_columns(data, name)],
            }
            for name in TABLES
        },
        "time_rules": [
            {"mode": mode, "rule": rule, "clock": clock, "trials": read}
            | {"excluded": counts["hits_by_clock"][rule].get(clock, 0)}
            for mode, counts in sorted(tally.counts.items() if tally else ())
            for rule, clocks in counts.get("clocks", {}).items()
            for clock, read in clocks.items()
        ],
        "fields": {name: field._asdict() for name, field in FIELDS.items()},
    }


def _describe_column(column: Column) -> dict[str, str | None]:
    return {
        "name": column.name,
        "type": column.type,
        "unit": column.unit or None,
        "values": column.values or None,
        "meaning": column.meaning,
        "public": column.public,
    }


def build_codebook_page(document: dict[str, Any]) -> str:
    """Return codebook.md, the codebook as a page."""
    lines = [
        f"# Codebook of {document['study']}",
        "",
        f"This is the {document['variant']} variant. A missing value is an empty cell, whatever the type.",
    ]
    for name, table in document["tables"].items():
        lines += ["", f"## {name}", "", f"One row per {table['row']}.", ""]
        lines += ["| column | type | unit | values | meaning | public variant |", "|---|---|---|---|---|---|"]
        lines += [_format_line(column) for column in table["columns"]]
    if document["time_rules"]:
        lines += ["", "## Clocks of the rules about time", ""]
        lines += ["| mode | rule | clock | trials judged by it | excluded by it |", "|---|---|---|---|---|"]
        lines += ["| " + " | ".join(map(str, row.values())) + " |" for row in document["time_rules"]]
    lines += ["", "## What becomes of each field of the database", ""]
    lines += ["| field | internal variant | public variant | where, or why not |", "|---|---|---|---|"]
    for name, field in document["fields"].items():
        lines.append(f"| {name} | {field['internal']} | {field['public']} | {_escape_cell(field['note'])} |")
    return "\n".join(lines) + "\n"


def _format_line(column: dict[str, str | None]) -> str:
    public = _PUBLIC_DIFFERENCES.get(column["public"] or "", "the same")
    cells = (column["name"], column["type"], column["unit"], column["values"], column["meaning"], public)
    return "| " + " | ".join(_escape_cell(cell or "") for cell in cells) + " |"


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
