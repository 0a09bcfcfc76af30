"""Claims of Suhr and Artzi (2019), computed from the released examples.

Files are of the form of the release: `train.json`, `dev.json`, and optionally `balanced_dev.json` and
`unbalanced_dev.json`. Values of a file that is not given count as not reproducible.
"""

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..io.errors import InputError
from ..visual_bias.examples import read_examples
from ..visual_bias.pairs import Frequency, VisualBias, group_by_pair
from .claims import Claim, build_cell_claims
from .published import Value, load_paper

PAPER = load_paper("suhr2019")
PARTS = ("balanced", "unbalanced")
LABELS = {
    "pairs": "pairs",
    "expected_same": "expected same",
    "expected_percent": "expected same (%)",
    "observed_same": "observed same",
    "observed_percent": "observed same (%)",
    "balanced_delta": "balanced, delta",
    "unbalanced_delta": "unbalanced, delta",
}
NO_PREDICTIONS = "The predictions of the systems are not released."
NO_FILE = "No file of the {} set was given."
TRIPLES = "The notebook divides by 8; its own rule, 2 / 2^3 of the pairs, gives twice as much, as its table."
FINDINGS = (
    "The notebook's code and its table give the same values from the released examples; what it says of the "
    "training set needs `train.json`.",
    "The notebook's table leaves out the largest frequency of a pair, because its loop stops before it.",
    "For pairs that occur three times the notebook's text expects 345 / 8 = 43.125 with one label; the rule "
    "of its table gives 86.25.",
)


@dataclass(frozen=True)
class Examples:
    """The released examples, by split.

    Attributes:
        splits: Examples by image pair, of "train", "dev" and others.
        parts: IDs of the released balanced and unbalanced examples of the development set.
    """

    splits: dict[str, VisualBias]
    parts: dict[str, frozenset[str]] = field(default_factory=dict)


def read(paths: Sequence[Path]) -> Examples:
    """Read files of examples; the first example's ID names the split.

    Raises:
        InputError: A file is malformed or holds no example, or two are of one split.
    """
    splits: dict[str, VisualBias] = {}
    parts: dict[str, frozenset[str]] = {}
    for path in paths:
        examples = read_examples(path)
        if not examples:
            raise InputError(path, "holds no example")
        part = path.stem.partition("_")[0]
        split = examples[0].identifier.partition("-")[0]
        if part in PARTS:
            parts[part] = frozenset(example.identifier for example in examples)
        elif split in splits:
            raise InputError(path, f"holds examples of the {split} set, as another file does")
        else:
            splits[split] = group_by_pair(examples)
    return Examples(splits, parts)


def list_claims() -> list[Claim[Examples]]:
    """Declare the numbers of the notebook."""
    return [*_list_train_claims(), *_list_dev_claims(), *_list_system_claims()]


def _list_train_claims() -> list[Claim[Examples]]:
    facts, location, no_file = PAPER.facts, "Section Bias in NLVR2", NO_FILE.format("training")
    grid = PAPER.grids["frequency"]

    def find_formula(row: str, column: str) -> Callable[[Examples], Value]:
        return partial(_find_frequency_value, "train", int(row), column)

    def build_twice_claim(row: str, key: str, column: str) -> Claim[Examples]:
        return Claim(location, row, facts[key], find_formula("2", column), decimals=0, reason=no_file)

    return [
        build_twice_claim("Pairs that occur twice", "train_twice", "pairs"),
        build_twice_claim("Of these, pairs with one label", "train_twice_same", "observed_same"),
        Claim(
            location,
            "Pairs that occur three times, expected with one label",
            facts["train_triples_expected"],
            lambda data: 2 / 2**3 * float(grid.get("3", "pairs") or 0),
            decimals=3,
            basis="paper",
            reason=TRIPLES,
        ),
        *build_cell_claims(grid, find_formula, labels=LABELS, reason=no_file),
    ]


def _list_dev_claims() -> list[Claim[Examples]]:
    facts, bias = PAPER.facts, "Section Bias in NLVR2"

    def apply_to_dev(value: Callable[[VisualBias], Value]) -> Callable[[Examples], Value]:
        return lambda data: value(data.splits["dev"]) if "dev" in data.splits else None

    def size(location: str, row: str, key: str, ids: Callable[[VisualBias], Sized]) -> Claim[Examples]:
        return Claim(
            location, row, facts[key], apply_to_dev(lambda dev: len(ids(dev))), decimals=0, reason=reason
        )

    reason = NO_FILE.format("development")
    protocol = "Section New Evaluation Protocol"
    return [
        size(bias, "Examples of the development set", "examples", lambda dev: dev.ids),
        Claim(
            bias,
            "Accuracy of the majority label of each pair (%)",
            facts["majority_label_accuracy"],
            apply_to_dev(lambda dev: 100 * dev.majority_accuracy),
            reason=reason,
        ),
        size(protocol, "Balanced examples", "balanced", lambda dev: dev.balanced_ids),
        size(protocol, "Unbalanced examples", "unbalanced", lambda dev: dev.unbalanced_ids),
        *(
            Claim[Examples](
                protocol,
                f"The released {part} examples are those of the rule",
                "yes",
                partial(_check_same_ids, part),
                reason=f"Neither {part}_dev.json nor dev.json may be missing.",
            )
            for part in PARTS
        ),
        *(
            Claim[Examples](
                "Development set by frequency of a pair (not in the notebook)",
                str(frequency),
                None,
                partial(_find_frequency_value, "dev", frequency, column),
                LABELS[column],
                reason=reason,
            )
            for frequency in (1, 2)
            for column in PAPER.grids["frequency"].columns
        ),
    ]


def _list_system_claims() -> list[Claim[Examples]]:
    """Check the deltas against the accuracies that the notebook prints."""
    grid = PAPER.grids["systems"]

    def find_formula(row: str, column: str) -> Callable[[Examples], Value] | None:
        return (
            partial(_compute_delta, row, column.removesuffix("_delta")) if column.endswith("_delta") else None
        )

    return build_cell_claims(
        grid, find_formula, labels=LABELS, reason=NO_PREDICTIONS, basis="paper", tolerance=0.1
    )


def _find_frequency_value(split: str, frequency: int, column: str, data: Examples) -> float | None:
    if split not in data.splits:
        return None
    rows = {row.frequency: row for row in data.splits[split].frequencies}
    row = rows.get(frequency, Frequency(frequency, 0, 0.0, 2.0 ** (1 - frequency), 0, 0.0))
    share = column.endswith("_percent")
    value: float = getattr(row, column.replace("_percent", "_share"))
    return 100 * value if share else value


def _check_same_ids(part: str, data: Examples) -> str | None:
    if "dev" not in data.splits or part not in data.parts:
        return None
    dev = data.splits["dev"]
    own = dev.balanced_ids if part == "balanced" else dev.unbalanced_ids
    return "yes" if data.parts[part] == set(own) else "no"


def _compute_delta(row: str, part: str, data: Examples) -> float:
    grid = PAPER.grids["systems"]
    value, whole = grid.get(row, part), grid.get(row, "original")
    assert isinstance(value, int | float)
    assert isinstance(whole, int | float)
    return value - whole
