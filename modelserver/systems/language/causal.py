"""The system ``causal-lm``: a causal language model in a local folder.

It reads the prompt of ``chat`` and writes the same JSON, whose form is enforced token by token
(`constrained_writing`). A YAML file, in the folder or in its stead, sets the prompt and the order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Unpack

import torch
import transformers
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from modelserver.inputs.encoders import UNBOUNDED, digest, find_folder, open_model, open_tokenizer, quiet
from modelserver.systems.base import Identified, Identity, Labels
from modelserver.systems.language.constrained_writing import (
    AnswerWriter,
    LabelTokens,
    TokenSets,
    encode_labels,
    label_chances,
)
from modelserver.systems.language.questions import (
    PROMPT,
    Numbers,
    Order,
    answer_schema,
    build_prompt,
    prediction,
)
from modelserver.wire.errors import InvalidRequest, UnreadableWeights, UnusableSystem
from modelserver.wire.schema import LEAST_LOGPROB, LanguageModel, QAItem, QAPrediction, Usage, first_problem

SYSTEM_FILE = "system.yaml"  # in a folder of weights
Count = Annotated[int, Field(ge=1, le=2_000)]


class CausalFile(BaseModel):
    """The content of a YAML file.

    Attributes:
        folder: The folder of weights, relative to the file.
        prompt: The user message, with the placeholders.
        numbers: Side of a sentence on which its number stands.
        order: The part that the model writes first.
        longest_answer: Tokens of an answer at most.
        longest_rationale: Tokens of a rationale at most.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str = ""
    prompt: str = PROMPT
    numbers: Numbers = "before"
    order: Order = "explain-first"
    longest_answer: Count = 40
    longest_rationale: Count = 120


class CausalSystem(Identified):
    """A causal language model as the server sees it."""

    def __init__(
        self,
        model: transformers.PreTrainedModel,
        tokenizer: transformers.PreTrainedTokenizerBase,
        file: CausalFile,
        **identity: Unpack[Identity],
    ) -> None:
        super().__init__(**identity)
        self.model, self.tokenizer, self.file = model, tokenizer, file
        size: int = model.get_input_embeddings().weight.shape[0]  # type: ignore[assignment,index]
        texts = [str(tokenizer.decode([number])) for number in range(min(size, len(tokenizer)))]
        self._sets = TokenSets.of(texts, tokenizer.all_special_ids, size)
        self._longest = {"answer": file.longest_answer, "rationale": file.longest_rationale}
        self._most = int(getattr(model.config, "max_position_embeddings", UNBOUNDED) or UNBOUNDED)
        kinds = {tokenizer.encode(kind, add_special_tokens=False)[0] for kind in ("span", "yes", "no")}
        if len(kinds) < 3:
            raise UnusableSystem(f"{self.name}: span, yes and no begin with one token of its tokenizer")

    @property
    def language_model(self) -> LanguageModel:
        """Return the model; its texts stay here."""
        return LanguageModel(model=self.name, order=self.file.order, relevance="citation")

    def cost(self, item: QAItem) -> int:
        """Return the tokens of the prompt and of the longest answer."""
        return len(self._prompt(item)) + self._room

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest for an item that is longer than the model reads."""
        cost = self.cost(item)
        if cost > self._most:
            raise InvalidRequest(f"{cost} tokens, and the model reads {self._most}", field="context")

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        """Write the answers to all items in one batch."""
        prompts = [self._prompt(item) for item in items]
        writers = [self._writer(item.labels) for item in items]
        self._write(prompts, writers)
        return [
            prediction(
                item,
                writer.answer(),
                logprob=writer.logprob(),
                target=self._target_logprob(prompt, writer, item.target),
                usage=Usage(input_tokens=len(prompt), output_tokens=len(writer.tokens)),
            )
            for item, prompt, writer in zip(items, prompts, writers, strict=True)
        ]

    @property
    def _room(self) -> int:
        return self.file.longest_answer + self.file.longest_rationale + 120

    def _prompt(self, item: QAItem) -> list[int]:
        text = build_prompt(self.file.prompt, item, self.file.order, self.file.numbers)
        if self.tokenizer.chat_template:
            messages = [{"role": "user", "content": text}]
            shown = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            return self._encode(str(shown))
        return list(self.tokenizer.encode(text))

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def _writer(self, labels: Sequence[str]) -> AnswerWriter:
        decode: Any = self.tokenizer.decode
        tokens = encode_labels(labels, self._encode)
        return AnswerWriter(self.file.order, self._sets, self._encode, decode, self._longest, tokens)

    @torch.inference_mode()
    def _write(self, prompts: Sequence[list[int]], writers: Sequence[AnswerWriter]) -> None:
        """Let all writers write, a token each at a time.

        Shorter prompts are padded on the left.
        """
        device, longest = self.model.device, max(map(len, prompts))
        padding = self.tokenizer.pad_token_id or 0
        rows = torch.tensor([[padding] * (longest - len(one)) + one for one in prompts], device=device)
        mask = torch.tensor([[0] * (longest - len(one)) + [1] * len(one) for one in prompts], device=device)
        past = None
        while True:
            positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -rows.shape[1] :]
            outputs = self.model(
                input_ids=rows,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=past,
                use_cache=True,
                logits_to_keep=1,
            )
            past = outputs.past_key_values
            logits: Tensor = outputs.logits[:, -1].float().cpu()
            chosen = [
                padding if writer.done else writer.next_token(row)
                for writer, row in zip(writers, logits, strict=True)
            ]
            if all(writer.done for writer in writers):
                return
            rows = torch.tensor(chosen, device=device)[:, None]
            mask = torch.cat([mask, torch.ones_like(rows)], -1)

    def _target_logprob(self, prompt: list[int], writer: AnswerWriter, target: str | None) -> float | None:
        """Return the log-probability of a target in the answer's place.

        It comes after all that the model wrote before the answer.
        """
        if target is None:
            return None
        if target == writer.values["answer"]:
            return writer.logprob()
        if writer.labels:
            return self._label_logprob(
                prompt + writer.tokens[: writer.starts["answer"]], target, writer.labels
            )
        first = 0.0
        if self.file.order == "explain-first":
            kind = target if target in ("yes", "no") else "span"
            first = writer.type_logprobs[kind]
            if kind != "span":
                return max(LEAST_LOGPROB, first)
        if writer.values["type"] == "span" or self.file.order == "answer-first":
            before = prompt + writer.tokens[: writer.starts["answer"]]
        else:  # what it wrote says yes or no, and the target is words
            written = writer.tokens[: writer.starts["type"]]
            before = [*prompt, *written, *self._encode("span"), *self._encode('", "answer": "')]
        return max(LEAST_LOGPROB, first + self._scored(before, self._encode(target)))

    @torch.inference_mode()
    def _scored(self, before: list[int], wanted: list[int]) -> float:
        """Return the log-probability that a text goes on so and ends.

        It is among the tokens that a text may have.
        """
        rows = torch.tensor([before + wanted], device=self.model.device)
        logits = self.model(input_ids=rows, logits_to_keep=len(wanted) + 1).logits[0].float().cpu()
        allowed = self._sets.in_text | self._sets.ends_text
        chances = torch.log_softmax(logits.masked_fill(~allowed, -torch.inf), -1)
        total = sum(float(chances[step, token]) for step, token in enumerate(wanted))
        end = float(torch.logsumexp(chances[-1][self._sets.ends_text], -1))
        return min(0.0, max(LEAST_LOGPROB, total + end))

    @torch.inference_mode()
    def _label_logprob(self, before: list[int], label: str, labels: LabelTokens) -> float:
        """Return the log-probability of a label among all of them."""
        wanted = next((list(tokens) for tokens, text in labels.items() if text == label), None)
        if wanted is None:
            return LEAST_LOGPROB
        rows = torch.tensor([before + wanted], device=self.model.device)
        logits = self.model(input_ids=rows, logits_to_keep=len(wanted) + 1).logits[0].float().cpu()
        total = 0.0
        for step, token in enumerate(wanted):
            total += float(label_chances(logits[step], wanted[:step], labels, self._sets)[0][token])
        end = label_chances(logits[-1], wanted, labels, self._sets)[1]
        return min(0.0, max(LEAST_LOGPROB, total + end))


def load(source: Path | None, device: torch.device, **labels: Unpack[Labels]) -> CausalSystem:
    """Load a folder, or the folder that a YAML file names.

    Raises:
        UnreadableWeights: A file of the folder is missing or damaged.
        UnusableSystem: The YAML file is wrong; names the field.
    """
    if source is None:
        name = labels["name"]
        raise UnreadableWeights(f"{name}: no weights are shipped; name a folder: --weights FOLDER")
    if (source / SYSTEM_FILE).is_file():
        source /= SYSTEM_FILE
    file = _read_file(source) if source.suffix in (".yaml", ".yml") else CausalFile()
    folder = find_folder(source.parent / file.folder if source.is_file() else source)
    tokenizer = open_tokenizer(folder)
    model = open_model(folder, device, kind=transformers.AutoModelForCausalLM)
    with quiet():  # the first tokens warn of kernels that are not installed
        model.generate(torch.zeros((1, 1), dtype=torch.long, device=model.device), max_new_tokens=2)  # type: ignore[operator]
    settings = file.model_dump(exclude={"folder"}) | {"template": tokenizer.chat_template}
    if file.numbers == "before":  # as in revisions that did not know the field
        del settings["numbers"]
    identity = json.dumps([digest(folder), settings, answer_schema(file.order)])
    revision = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return CausalSystem(model, tokenizer, file, revision=revision, **labels)


def _read_file(path: Path) -> CausalFile:
    try:
        return CausalFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise UnusableSystem(f"{path}: cannot be read: {error}") from error
    except ValidationError as error:
        raise UnusableSystem(f"{path}: {first_problem(error, whole='file')}") from error
