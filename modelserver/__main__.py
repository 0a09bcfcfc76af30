"""The command line ``python -m modelserver``.

Commands are registered by import path, because torch takes seconds to import:
``--help``, a wrong argument or a taken port answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App

from analysis import __version__
from analysis.io.command_line import build_command_line, run
from modelserver.wire.errors import ModelServerError

COMMANDS = (
    ("serve", "serving.command:serve", "Answer over HTTP."),
    ("list", "registry:list_systems", "List the systems."),
    ("predict", "evaluation.predict_file:predict", "Predict a file of questions in the HotpotQA form."),
    ("predict-parquet", "evaluation.predict_rows:predict_parquet", "Predict Parquet files of questions."),
    ("evaluate", "evaluation.scores:evaluate", "Score a system on questions with gold answers."),
    (
        "search",
        "training.hyperparameter_search:search_costs",
        "Search the costs of the answer-fact coupling at random.",
    ),
    ("convert", "inputs.conversion:convert", "Convert pickled weights to safetensors, running no code."),
    ("world", "world:write_world", "Generate a fictional text world to train and test on."),
    ("scenes", "world.scenes:write_scenes", "Generate pairs of pictures with sentences and programs."),
    (
        "gqa-items",
        "modular.visual.gqa:gqa_items",
        "Write questions of GQA as items to pretrain visual-nmn on.",
    ),
    ("games", "world.games:write_games", "Generate game reports with questions and programs."),
    ("text-table", "training.text_nmn.table:text_table", "Train and score the variants of text-nmn."),
    ("types-table", "training.types_table:types_table", "Train and score predictors of answer types."),
    ("visual-table", "training.visual_nmn.table:visual_table", "Train and score the variants of visual-nmn."),
    (
        "visual-splits",
        "training.visual_nmn.splits:visual_splits",
        "Train visual-nmn on some programs and test it on others.",
    ),
    ("visual-nlvr", "training.visual_nmn.nlvr:visual_nlvr", "Train and score visual-nmn on NLVR."),
    (
        "visual-evaluate",
        "modular.visual.evaluating:evaluate_scenes",
        "Score visual-nmn on scenes or your items.",
    ),
)
TRAINERS = (
    ("qi2019", "recurrent:qi2019", "Joint fact and answer heads over one encoding."),
    ("select-and-forget", "recurrent:select_and_forget", "Selects facts, then answers from them alone."),
    ("qi2019-reg", "recurrent:qi2019_reg", "qi2019 with the coupling regulariser."),
    ("select-and-forget-reg", "recurrent:select_and_forget_reg", "select-and-forget with the same."),
    ("extractive-qa", "extractive:extractive_qa", "Fine-tune any Hugging Face encoder."),
    ("masked-lm", "masked_lm:masked_lm", "Pretrain an encoder on masked words."),
    ("heuristic", "heuristic:heuristic", "Answer types of the heuristic."),
    ("world-lm", "causal:world_lm", "A small causal language model on the generated world."),
    ("visual-nmn", "visual_nmn.command:visual_nmn", "Modular network over images."),
    ("lxmert", "visual_nmn.command:lxmert", "End-to-end baseline over images."),
    ("text-nmn", "text_nmn.trainer:text_nmn", "Modular network over text."),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: Without the program's name; None for those of this process.
    """
    app = build_command_line("python -m modelserver", "Systems and their server.", __version__)
    add_commands(app)
    return run(app, arguments, (ModelServerError,))


def add_commands(app: App, group: str | None = None) -> None:
    """Add the commands of the model server to an app.

    Args:
        app: The command line to extend.
        group: Heading for these commands in the help.
    """
    trainers = build_command_line("train", "Train a system.", __version__)
    for name, path, text in TRAINERS:
        trainers.command(f"modelserver.training.{path}", name=name, help=text)
    if group:
        trainers.group = group
    app.command(trainers)
    for name, path, text in COMMANDS:
        app.command(f"modelserver.{path}", name=name, help=text, group=group)


if __name__ == "__main__":
    sys.exit(main())
