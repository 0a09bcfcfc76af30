"""`text-nmn` as the server sees it: items in, executed programs out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import torch
from torch import Tensor

from analysis.programs import Program, ProgramError, parse
from modelserver.inputs.decoding import require_finite_logits
from modelserver.modular.text.execution import choose_answer, choose_value, execute
from modelserver.modular.text.grammar import Derivation, Language, build_derivation
from modelserver.modular.text.modules import Text
from modelserver.modular.text.network import Network
from modelserver.modular.text.network import load as load_network
from modelserver.modular.text.reading import TextFeatures, find_argument_words
from modelserver.modular.text.states import Amount, Attention, State
from modelserver.systems.base import Identified, Identity, Labels
from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import Execution, ModuleItem, NodeOutput

BEAM = 4
SHOWN = 0.5  # of the highest attention: a word of the question above it is an argument's

_PASSAGE = "The Comets gained 312 yards. The Foxes gained 280 yards."


class TextSystem(Identified):
    """A trained network.

    An item without program is parsed; one with a program is executed by that. Words of an argument that
    the question holds are attended to equally. An argument without such words is left to the parser,
    which says where it would look for that module.
    """

    def __init__(self, network: Network, **identity: Unpack[Identity]) -> None:
        super().__init__(**identity)
        self.network = network.eval()
        words = [match.span() for match in re.finditer(r"\S+", _PASSAGE)]
        self.warm_up = ModuleItem(id="warm up", text="Who gained 312 yards?", passage=_PASSAGE, tokens=words)

    def cost(self, item: ModuleItem) -> int:
        """Return the pieces that the encoder reads, each window with the question."""
        reader = self.network.reader
        return sum(map(reader.length, reader.windows(self.network.read(item).encoded)))

    def check(self, item: ModuleItem) -> None:
        """Raise InvalidRequest as `reading.read` does, or for an invalid program."""
        self._parse_program(item, self.network.read(item))

    def execute(self, items: Sequence[ModuleItem]) -> list[Execution]:
        """Execute the items as one batch.

        Raises InvalidRequest as `check` does, and PredictionFailed.
        """
        readings = [self.network.read(item) for item in items]
        given = [self._parse_program(item, reading) for item, reading in zip(items, readings, strict=True)]
        with torch.inference_mode():
            texts = self.network(readings)
            return [self._execute(text, program) for text, program in zip(texts, given, strict=True)]

    def _parse_program(self, item: ModuleItem, reading: TextFeatures) -> Program | None:
        if item.program is None:
            return None
        try:
            program = parse(item.program, kind="spans")
        except ProgramError as error:
            raise InvalidRequest(str(error), field="program") from error
        language = self.network.language(reading)
        if not self.network.config.extract and any(n.module == "extract-answer" for n in program.nodes):
            raise InvalidRequest("this network was trained without extract-answer", field="program")
        for node in program.nodes:  # sorting modules have nothing to learn and are always there
            allowed = Language(numbers=language.numbers, dates=language.dates)
            if not allowed.can_use(node.module):
                raise InvalidRequest(
                    f"the passage states nothing that {node.module} could find", field="program"
                )
        return program

    def _execute(self, text: Text, program: Program | None) -> Execution:
        require_finite_logits(text.similar.cpu().numpy())
        language = self.network.language(text.reading)
        if program is None:
            best = self.network.parser.beam(text.question, language, BEAM)[0]
            asked = self._attend_to_question(text, best, language)
            program = best.program(_find_arguments(text.reading, asked))
        else:
            asked = self._attend_to_arguments(text, program, language)
        states = execute(self.network.modules_, text, program, asked)
        require_finite_logits(*(_read_probabilities(state).cpu().numpy() for state in states))
        return Execution(
            id=text.reading.item.id,
            program=str(program),
            answer=choose_answer(self.network.modules_, text, states[0]),
            modules=[
                _build_output(index, node.module, state)
                for index, (node, state) in enumerate(zip(program.nodes, states, strict=True))
            ],
        )

    def _attend_to_question(self, text: Text, parsed: Derivation, language: Language) -> list[Tensor | None]:
        return list(self.network.parser.force(text.question, [parsed], language)[0].asked)

    def _attend_to_arguments(self, text: Text, program: Program, language: Language) -> list[Tensor | None]:
        """Return each node's attention to the question.

        It is on its argument's words, or else on those that the parser attends to.
        """
        asked, words = (
            self._attend_to_question(text, build_derivation(program), language),
            text.reading.words(),
        )
        for node in program.nodes:
            positions = find_argument_words(node.argument or "", words)
            if asked[node.index] is not None and positions:
                attention = text.question.new_zeros(len(words))
                attention[positions] = 1 / len(positions)
                asked[node.index] = attention
        return asked


def _find_arguments(reading: TextFeatures, asked: Sequence[Tensor | None]) -> list[str | None]:
    """Return the words of the question that each node attends to most."""
    words = reading.words()
    arguments: list[str | None] = []
    for attention in asked:
        chosen = [] if attention is None else (attention > SHOWN * attention.max()).tolist()
        arguments.append(" ".join(word for word, yes in zip(words, chosen, strict=False) if yes) or None)
    return arguments


def _read_probabilities(state: State) -> Tensor:
    return state.weights if isinstance(state, Attention) else state.probabilities


def _build_output(index: int, module: str, state: State) -> NodeOutput:
    attention = [] if isinstance(state, Amount) else state.weights.clamp(0, 1).tolist()
    return NodeOutput(index=index, module=module, attention=attention, value=choose_value(state))


def load(folder: Path, device: torch.device, **labels: Unpack[Labels]) -> TextSystem:
    """Load a folder of weights.

    Raises UnreadableWeights, naming the file and what is wrong with it.
    """
    network, revision = load_network(folder, device)
    return TextSystem(network, revision=revision, **labels)
