"""The network of `text-nmn`: encoder, parser, modules; its weights folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from modelserver.inputs import encoders
from modelserver.inputs.features import Ints
from modelserver.inputs.packing import WINDOW_LIMITS, plan_batches
from modelserver.inputs.weight_files import (
    load_half_weights,
    name_file_in_errors,
    require_system,
    serialise_half_weights,
)
from modelserver.inputs.windows import Inputs, Window, WindowSettings
from modelserver.modular.text.grammar import Language
from modelserver.modular.text.modules import Modules, Text
from modelserver.modular.text.parser import Parser
from modelserver.modular.text.reading import TextFeatures, read
from modelserver.systems import contextual
from modelserver.systems.contextual import Encoder
from modelserver.systems.extractive import make_window_reader
from modelserver.wire.schema import ModuleItem

WEIGHTS, CONFIG = "model.safetensors", "config.json"


@dataclass(frozen=True)
class Config:
    """Sizes of a network, and which modules its programs may use."""

    system: str = "text-nmn"
    width: int = 64  # entries of a vector that modules work on
    window: int = 384  # pieces that are read at once
    dropout: float = 0.1
    extract: bool = True
    sorting: bool = True


class Network(nn.Module):
    """Question and passage read together, window by window.

    A word is the first of its pieces. A learned mark is added to the pieces of words that occur in both
    question and passage, and each word takes in those around it once more: a small encoder alone neither
    learns to compare names nor soon learns which words are near.
    """

    def __init__(self, encoder: Encoder, config: Config) -> None:
        super().__init__()
        self.config, self.tokenizer = config, encoder.tokenizer
        self.encoder = deepcopy(encoder.model)
        self.reader = make_window_reader(encoder.tokenizer, WindowSettings.of_at_most(config.window))
        size = int(encoder.model.config.hidden_size)
        self.mark = nn.Embedding(2, size)
        nn.init.zeros_(self.mark.weight)
        self.question, self.words = nn.Linear(size, config.width), nn.Linear(size, config.width)
        self.around = nn.ModuleList(
            nn.Conv1d(config.width, config.width, reach, padding=reach // 2) for reach in (5, 11)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.parser, self.modules_ = Parser(config.width), Modules(config.width)

    def language(self, reading: TextFeatures) -> Language:
        """Return the modules that programs over an item may use.

        Nothing looks for numbers if there are none.
        """
        config = self.config
        return Language(config.extract, config.sorting, bool(len(reading.numbers)), bool(len(reading.dates)))

    def read(self, item: ModuleItem) -> TextFeatures:
        """Read an item; raise InvalidRequest as `reading.read` does."""
        return read(item, self.reader)

    def forward(self, readings: Sequence[TextFeatures]) -> list[Text]:
        """Return each item in vectors, independent of the rest of the batch."""
        windows = [(n, window) for n, r in enumerate(readings) for window in self.reader.windows(r.encoded)]
        states: list[Tensor] = [torch.empty(0)] * len(windows)
        lengths = [self.reader.length(window) for _, window in windows]
        for positions in plan_batches(lengths, WINDOW_LIMITS):
            encoded = self._encode([(readings[windows[p][0]], windows[p][1]) for p in positions])
            for position, state in zip(positions, encoded, strict=True):
                states[position] = state
        texts = []
        for number, reading in enumerate(readings):
            own = [(w, s) for (n, w), s in zip(windows, states, strict=True) if n == number]
            texts.append(self._text(reading, own))
        return texts

    def _encode(self, windows: Sequence[tuple[TextFeatures, Window]]) -> list[Tensor]:
        """Return each window's question and passage vectors, [pieces, size]."""
        device = self.mark.weight.device
        inputs = self.reader.inputs([window for _, window in windows], device)
        tensors = dict(inputs.tensors)
        pieces = self.encoder.get_input_embeddings()(tensors.pop("input_ids"))
        marks = torch.from_numpy(_build_marks(windows, inputs, pieces.shape[1])).to(device)
        output = self.encoder(inputs_embeds=pieces + self.mark(marks), **tensors).last_hidden_state.float()
        vectors = []
        for row, (reading, window) in enumerate(windows):
            asked = output[row, inputs.asked : inputs.asked + len(reading.encoded.question)]
            begin = inputs.offset[row]
            vectors.append(torch.cat((asked, output[row, begin : begin + window.end - window.start])))
        return vectors

    def _text(self, reading: TextFeatures, windows: Sequence[tuple[Window, Tensor]]) -> Text:
        """Merge the windows of an item; of overlaps each gives its deeper half."""
        asked = len(reading.encoded.question)
        shares = self.reader.shares(reading.encoded)
        parts = [
            state[asked + start : asked + end]
            for (_, state), (_, start, end) in zip(windows, shares, strict=True)
        ]
        question = contextual.look_up(windows[0][1][:asked], reading.question_first)
        words = contextual.look_up(torch.cat(parts), reading.first)
        both = (self.question(self.dropout(question)), self.words(self.dropout(words)))
        near = [vectors + mix(vectors.T[None])[0].T for vectors, mix in zip(both, self.around, strict=True)]
        return self.modules_.text(near[0], near[1], reading)


def _build_marks(windows: Sequence[tuple[TextFeatures, Window]], inputs: Inputs, length: int) -> Ints:
    marks = np.zeros((len(windows), length), dtype=np.int64)
    for row, (reading, window) in enumerate(windows):
        asked, passage = reading.marked
        marks[row, inputs.asked : inputs.asked + len(asked)] = asked
        begin = inputs.offset[row]
        marks[row, begin : begin + window.end - window.start] = passage[window.start : window.end]
    return marks


# --- the folder of weights ------------------------------------------------------------------------------


def save(folder: Path, network: Network) -> None:
    """Write weights (16-bit floats), configuration, and encoder files.

    Each file appears whole or not at all, the weights last.
    """
    contextual.save(folder / contextual.FOLDER, Encoder(network.encoder, network.tokenizer))
    with encoders.stage_files(folder, last=WEIGHTS) as part:
        text = json.dumps(asdict(network.config), indent=2) + "\n"
        (part / CONFIG).write_text(text, encoding="utf-8")
        (part / WEIGHTS).write_bytes(serialise_half_weights(network))


def load(folder: Path, device: torch.device) -> tuple[Network, str]:
    """Return a folder's network, ready to execute, and its revision.

    The revision is a digest of all files. Raises UnreadableWeights, naming the file and what is wrong
    with it.
    """
    digest = hashlib.sha256()
    for name in (CONFIG, WEIGHTS):
        with name_file_in_errors(folder / name):
            digest.update((folder / name).read_bytes())
    with name_file_in_errors(folder / CONFIG):
        fields = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        require_system(fields, Config.system)
        config = Config(**fields)
    described = folder / contextual.FOLDER
    with name_file_in_errors(described):
        encoder = contextual.open_encoder(described, config.window)
    digest.update(encoders.hash_files(described).encode())
    with name_file_in_errors(folder / WEIGHTS):
        network = Network(encoder, config)
        load_half_weights(network, folder / WEIGHTS)
    return network.to(device).eval(), digest.hexdigest()[:12]
