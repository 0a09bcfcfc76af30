"""A bundle in the form of Psych-DS: its description and its tables.

Psych-DS describes a data set by terms of schema.org. It requires name, description and variableMeasured,
which lists every column of the tables. It wants tables below ``data``, in files whose names hold pairs of a
keyword in small letters and a value of letters and digits (rule ``Datafile`` of its schema).
"""

import re
import shutil
from pathlib import Path
from typing import Any

from studyapp.exports.study_data import StudyData

SCHEMA_VERSION = "1.4.0"
DATA = "data"  # the folder of the copies


def build_psych_ds(data: StudyData, codebook: dict[str, Any]) -> dict[str, Any]:
    """Return dataset_description.json.

    Args:
        data: The study.
        codebook: As in codebook.json. Columns that several tables share are described once.
    """
    variables: dict[str, dict[str, Any]] = {}
    for name, table in codebook["tables"].items():
        for column in table["columns"]:
            if column["name"] in variables:
                continue
            described = {"description": f"{column['meaning']} (table {name})", "unitText": column["unit"]}
            described["valueReference"] = column["values"]
            given = {key: value for key, value in described.items() if value}
            variables[column["name"]] = {"@type": "PropertyValue", "name": column["name"], **given}
    variant = "public" if data.public else "internal"
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "schemaVersion": f"Psych-DS {SCHEMA_VERSION}",
        "name": data.study.title,
        "identifier": data.study.slug,
        "description": f"Answers of the participants of the user study {data.study.title!r}, {variant} "
        f"variant: {', '.join(codebook['tables'])}. codebook.md describes every column.",
        "version": ", ".join(str(version.number) for version in data.versions),
        "variableMeasured": list(variables.values()),
    }


def copy_tables(folder: Path, study: str) -> None:
    """Copy a bundle's CSV tables to where Psych-DS wants them.

    Args:
        folder: The bundle.
        study: The study's slug.
    """
    (folder / DATA).mkdir()
    for table in sorted(folder.glob("*.csv")):
        shutil.copyfile(
            table,
            folder
            / DATA
            / f"study-{_simplify_name(study)}_description-{_simplify_name(table.stem)}_data.csv",
        )


def _simplify_name(name: str) -> str:
    return re.sub("[^a-zA-Z0-9]", "", name)
