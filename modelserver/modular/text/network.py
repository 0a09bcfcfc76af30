"""The network of `text-nmn`: an encoder from transformers, parser and modules; and its folder of weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as save_weights
from torch import Tensor, nn

from modelserver.inputs import encoders
from modelserver.inputs.features import Ints
from modelserver.inputs.windows import Inputs, Window
from modelserver.inputs.windows import Reading as WindowSizes
from modelserver.modular.text.grammar import Language
from modelserver.modular.text.modules import Modules, Text
from modelserver.modular.text.parser import Parser
from modelserver.modular.text.reading import Reading, read
from modelserver.systems import contextual
from modelserver.systems.contextual import NO_PIECE, Encoder
from modelserver.systems.extractive import FORWARD_TOKENS, batches, window_reader
from modelserver.wire.errors import UnreadableWeights
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
    """Question and passage read together, window by window; a word is the first of its pieces.

    A mark that is learned is added to the pieces of words that stand in both question and passage, and each
    word takes in those around it once more: a small encoder learns neither by itself to compare names, nor
    soon what stands near.
    """

    def __init__(self, encoder: Encoder, config: Config) -> None:
        super().__init__()
        self.config, self.tokenizer = config, encoder.tokenizer
        self.encoder = deepcopy(encoder.model)
        self.reader = window_reader(encoder.tokenizer, WindowSizes.of_at_most(config.window))
        size = int(encoder.model.config.hidden_size)
        self.mark = nn.Embedding(2, size)
        nn.init.zeros_(self.mark.weight)
        self.question, self.words = nn.Linear(size, config.width), nn.Linear(size, config.width)
        self.around = nn.ModuleList(
            nn.Conv1d(config.width, config.width, reach, padding=reach // 2) for reach in (5, 11)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.parser, self.modules_ = Parser(config.width), Modules(config.width)

    def language(self, reading: Reading) -> Language:
        """Return what programs over an item may use: nothing looks for numbers where there are none."""
        config = self.config
        return Language(config.extract, config.sorting, bool(len(reading.numbers)), bool(len(reading.dates)))

    def read(self, item: ModuleItem) -> Reading:
        """Raises InvalidRequest as `reading.read` does."""
        return read(item, self.reader)

    def forward(self, readings: Sequence[Reading]) -> list[Text]:
        """Return items in vectors, each for itself, whatever stands beside it in the batch."""
        windows = [(n, window) for n, r in enumerate(readings) for window in self.reader.windows(r.encoded)]
        states: list[Tensor] = [torch.empty(0)] * len(windows)
        lengths = [self.reader.length(window) for _, window in windows]
        for positions in batches(lengths, FORWARD_TOKENS):
            found = self._encode([(readings[windows[p][0]], windows[p][1]) for p in positions])
            for position, state in zip(positions, found, strict=True):
                states[position] = state
        texts = []
        for number, reading in enumerate(readings):
            own = [(w, s) for (n, w), s in zip(windows, states, strict=True) if n == number]
            texts.append(self._text(reading, own))
        return texts

    def _encode(self, windows: Sequence[tuple[Reading, Window]]) -> list[Tensor]:
        """Return the vectors of each window's question and then of its passage, [pieces, size]."""
        device = self.mark.weight.device
        inputs = self.reader.inputs([window for _, window in windows], device)
        tensors = dict(inputs.tensors)
        pieces = self.encoder.get_input_embeddings()(tensors.pop("input_ids"))
        marks = torch.from_numpy(_marks(windows, inputs, pieces.shape[1])).to(device)
        output = self.encoder(inputs_embeds=pieces + self.mark(marks), **tensors).last_hidden_state.float()
        found = []
        for row, (reading, window) in enumerate(windows):
            asked = output[row, inputs.asked : inputs.asked + len(reading.encoded.question)]
            begin = inputs.offset[row]
            found.append(torch.cat((asked, output[row, begin : begin + window.end - window.start])))
        return found

    def _text(self, reading: Reading, windows: Sequence[tuple[Window, Tensor]]) -> Text:
        """Put the windows of an item together: of those that overlap each gives the half deeper in it."""
        asked = len(reading.encoded.question)
        overlap = self.reader.reading.overlap
        inner = [window.start + overlap // 2 for window, _ in windows[1:]]
        parts = [
            state[asked + start - window.start : asked + end - window.start]
            for (window, state), start, end in zip(
                windows, [0, *inner], [*inner, len(reading.encoded)], strict=True
            )
        ]
        question = _rows(windows[0][1][:asked], reading.question_first)
        words = _rows(torch.cat(parts), reading.first)
        both = (self.question(self.dropout(question)), self.words(self.dropout(words)))
        near = [one + mix(one.T[None])[0].T for one, mix in zip(both, self.around, strict=True)]
        return self.modules_.text(near[0], near[1], reading)


def _rows(vectors: Tensor, first: Ints) -> Tensor:
    """Return the vector of each word's first piece, and zeros for a word without one."""
    padded = torch.cat((vectors, vectors.new_zeros(1, vectors.shape[1])))
    return padded[torch.from_numpy(np.where(first == NO_PIECE, len(vectors), first)).to(vectors.device)]


def _marks(windows: Sequence[tuple[Reading, Window]], inputs: Inputs, length: int) -> Ints:
    marks = np.zeros((len(windows), length), dtype=np.int64)
    for row, (reading, window) in enumerate(windows):
        asked, passage = reading.marked
        marks[row, inputs.asked : inputs.asked + len(asked)] = asked
        begin = inputs.offset[row]
        marks[row, begin : begin + window.end - window.start] = passage[window.start : window.end]
    return marks


# --- the folder of weights ------------------------------------------------------------------------------


def save(folder: Path, network: Network) -> None:
    """Write weights (16-bit floats), configuration, and beside them what the encoder is made from.

    Each file appears whole or not at all, the weights last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    contextual.save(folder / contextual.FOLDER, Encoder(network.encoder, network.tokenizer))
    weights = {
        name: (tensor.half() if tensor.is_floating_point() else tensor).detach().cpu().contiguous()
        for name, tensor in network.state_dict().items()
    }
    text = json.dumps(asdict(network.config), indent=2) + "\n"
    (folder / f"{CONFIG}.part").write_text(text, encoding="utf-8")
    (folder / f"{WEIGHTS}.part").write_bytes(save_weights(weights))
    for name in (CONFIG, WEIGHTS):
        (folder / f"{name}.part").replace(folder / name)


def load(folder: Path, device: torch.device) -> tuple[Network, str]:
    """Return the network of a folder, ready to execute, and its revision: a digest of all files.

    Raises UnreadableWeights, naming the file and what is wrong with it.
    """
    digest = hashlib.sha256()
    for name in (CONFIG, WEIGHTS):
        with _blaming(folder / name):
            digest.update((folder / name).read_bytes())
    with _blaming(folder / CONFIG):
        config = Config(**json.loads((folder / CONFIG).read_text(encoding="utf-8")))
        if config.system != Config.system:
            raise ValueError(f"system is {config.system!r}, not {Config.system!r}")
    described = folder / contextual.FOLDER
    with _blaming(described):
        encoder = Encoder(encoders.open_untrained(described), encoders.open_tokenizer(described))
        if config.window > encoder.window:
            raise ValueError(f"window is {config.window}, but the encoder reads {encoder.window} at most")
    digest.update(encoders.digest(described).encode())
    with _blaming(folder / WEIGHTS):
        network = Network(encoder, config)
        weights = load_file(folder / WEIGHTS)
        network.load_state_dict({k: t.float() if t.is_floating_point() else t for k, t in weights.items()})
    return network.to(device).eval(), digest.hexdigest()[:12]


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Turn whatever reading a file raises into our error, with the file's name."""
    try:
        yield
    except OSError as error:
        raise UnreadableWeights(f"{path}: {error.strerror or error}") from error
    except (TypeError, ValueError, RuntimeError, SafetensorError) as error:
        raise UnreadableWeights(f"{path}: {error}") from error
