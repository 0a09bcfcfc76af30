"""Load every table of a bundle with the types of its codebook.

A bundle holds a copy as load.py. A bundle may hold people, pilots and bots, and it holds excluded trials:
the loader asks which of them are wanted, and has no default that mixes them.

Needs pandas only (and pyarrow for Parquet); knows nothing of the site. In the folder of a bundle:

    from load import load

    tables = load(".", mode="live", exclusions="applied")
    print(tables["trials"].groupby("condition")["rated_correct"].mean())
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

MODES = ("live", "pilot", "bot")
TYPES = {
    "string": "string",
    "mixed": "string",
    "json": "string",
    "integer": "Int64",
    "number": "Float64",
    "boolean": "boolean",
}
# Texts that spreadsheet programs would take for formulas have an apostrophe before them in CSV files.
FORMULA = r"^'('*[=+\-@\t\r\n＝＋－＠])"
TRUTH = {"true": True, "false": False, True: True, False: False}


def load(folder: str | Path = ".", *, mode: str | Sequence[str], exclusions: str) -> dict[str, pd.DataFrame]:
    """Return a data frame per table.

    Times are in UTC, a missing value is NA, JSON columns stay text.

    Args:
        folder: The bundle.
        mode: "live", "pilot" or "bot", a list of them, or "all". Tables of participants have these only.
        exclusions: "applied" leaves out the trials that the rules exclude, and participants whom they exclude
            with all their rows; "kept" leaves nothing out.

    Raises:
        ValueError: The mode or the exclusions are none of these.
    """
    modes = MODES if mode == "all" else (mode,) if isinstance(mode, str) else tuple(mode)
    if not modes or not set(modes) <= set(MODES):
        raise ValueError(f'mode must be some of {", ".join(MODES)}, or "all", not {mode!r}')
    if exclusions not in ("applied", "kept"):
        raise ValueError(f'exclusions must be "applied" or "kept", not {exclusions!r}')
    folder = Path(folder)
    codebook = json.loads((folder / "codebook.json").read_text(encoding="utf-8"))
    tables = {name: _read_table(folder, name, table["columns"]) for name, table in codebook["tables"].items()}
    people = tables["participants"]
    wanted = people["mode"].isin(modes)
    if exclusions == "applied":
        wanted &= people["excluded_by"].isna()
        trials = tables["trials"]
        tables["trials"] = trials[trials["excluded_by"].isna()]
    out = people.loc[~wanted, "participant_id"]
    return {
        name: table[~table["participant_id"].isin(out)].reset_index(drop=True)
        if "participant_id" in table
        else table
        for name, table in tables.items()
    }


def _read_table(folder: Path, name: str, columns: list[dict[str, str]]) -> pd.DataFrame:
    path = next(path for path in sorted(folder.glob(f"{name}.*")) if path.suffix in _READERS)
    frame = _READERS[path.suffix](path)
    if frame.empty:  # JSON Lines without rows has no columns
        frame = frame.reindex(columns=[column["name"] for column in columns])
    typed = {column["name"]: _convert_values(frame[column["name"]], column["type"]) for column in columns}
    return pd.DataFrame(typed)


def _convert_values(values: pd.Series, kind: str) -> pd.Series:
    if kind == "time":
        return pd.to_datetime(values, utc=True, format="ISO8601")
    if kind == "boolean":
        values = values.map(TRUTH)
    return values.astype(pd.api.types.pandas_dtype(TYPES[kind]))


def _read_csv(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, dtype="string", keep_default_na=False, na_values=[""])
    return frame.replace(FORMULA, r"\1", regex=True)


def _read_jsonl(path: Path) -> pd.DataFrame:
    with path.open(encoding="utf-8") as lines:
        return pd.DataFrame([json.loads(line) for line in lines], dtype="object")


def _read_parquet(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path)


_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_jsonl,
}
