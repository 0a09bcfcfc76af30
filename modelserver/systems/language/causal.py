"""The system ``causal-lm``: a causal language model in a local folder.

It reads the prompt of ``chat`` and writes the same JSON, whose form is enforced token by token
(`constrained_writing`). A YAML file, in the folder or in its stead, sets the prompt, the order and the
relevance.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Unpack

import torch
import transformers
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from analysis.io.errors import describe_os_error
from modelserver.inputs.decoding import require_finite_logits
from modelserver.inputs.encoders import (
    UNBOUNDED,
    find_folder,
    hash_files,
    open_model,
    open_tokenizer,
    silence_transformers,
)
from modelserver.inputs.packing import BatchLimits, choose_batch_tokens, plan_batches
from modelserver.systems.base import Identified, Identity, Labels
from modelserver.systems.language.constrained_writing import (
    AnswerWriter,
    TokenSets,
    compute_text_logprob,
    encode_labels,
    label_logprob,
)
from modelserver.systems.language.questions import (
    PROMPT,
    ModelAnswer,
    Numbers,
    Order,
    Relevance,
    add_usage,
    build_answer_schema,
    build_prediction,
    build_prompt,
    compute_lost_share,
    leave_out,
    number_sentences,
)
from modelserver.wire.errors import InvalidRequest, UnreadableWeights, UnusableSystem
from modelserver.wire.schema import (
    LEAST_LOGPROB,
    LanguageModel,
    QAItem,
    QAPrediction,
    Usage,
    format_first_problem,
)

SYSTEM_FILE = "system.yaml"  # in a folder of weights
Count = Annotated[int, Field(ge=1, le=2_000)]


class CausalFile(BaseModel):
    """The content of a YAML file.

    Attributes:
        folder: The folder of weights, relative to the file.
        prompt: The user message, with the placeholders.
        numbers: Side of a sentence on which its number stands.
        order: The part that the model writes first.
        relevance: The order in which FaRM removes facts.
        longest_answer: Tokens of an answer at most.
        longest_rationale: Tokens of a rationale at most.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str = ""
    prompt: str = PROMPT
    numbers: Numbers = "before"
    order: Order = "explain-first"
    relevance: Relevance = "citation"
    longest_answer: Count = 40
    longest_rationale: Count = 120


class Written(NamedTuple):
    """An answer, log-probabilities of it and of the target, and its tokens."""

    answer: ModelAnswer
    logprob: float
    target: float | None
    usage: Usage


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
        file = self.file
        return LanguageModel(model=self.name, order=file.order, relevance=file.relevance)

    def cost(self, item: QAItem) -> int:
        """Return the tokens of the prompt and of the longest answer."""
        return len(self._prompt(item)) + self._room

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest for an item that is longer than the model reads."""
        cost = self.cost(item)
        if cost > self._most:
            raise InvalidRequest(f"{cost} tokens, and the model reads {self._most}", field="context")

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        """Write the answers to all items in one batch.

        With ``relevance: leave-one-out`` further batches answer each item without each of its sentences. An
        item with a target asks for a probability alone and has the order of citation.
        """
        return [self._prediction(*pair) for pair in zip(items, self._write(items), strict=True)]

    def _prediction(self, item: QAItem, written: Written) -> QAPrediction:
        relevance, usage = None, written.usage
        if self.file.relevance == "leave-one-out" and item.target is None:
            relevance, usage = self._measure_relevance(item, written)
        return build_prediction(
            item,
            written.answer,
            logprob=written.logprob,
            target=written.target,
            usage=usage,
            relevance=relevance,
        )

    def _measure_relevance(self, item: QAItem, whole: Written) -> tuple[dict[int, float], Usage]:
        """Return the relevance of each sentence number, and all tokens."""
        count = len(number_sentences(item.context).facts)
        asked = [
            leave_out(item, number).model_copy(update={"target": whole.answer.answer})
            for number in range(1, count + 1)
        ]
        shares, usage = {}, whole.usage
        limits = BatchLimits(tokens=choose_batch_tokens(self.model.device.type))
        for batch in plan_batches([self.cost(variant) for variant in asked], limits):
            for position, written in zip(batch, self._write([asked[at] for at in batch]), strict=True):
                assert written.target is not None
                shares[position + 1] = compute_lost_share(whole.logprob, written.target)
                usage = add_usage(usage, written.usage)
        return shares, usage

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

    def _write(self, items: Sequence[QAItem]) -> list[Written]:
        """Write the answers of one batch and score the items' targets."""
        prompts = [self._prompt(item) for item in items]
        writers = [self._writer(item.labels) for item in items]
        self._advance(prompts, writers)
        targets = self._target_logprobs(prompts, writers, [item.target for item in items])
        return [
            Written(
                writer.answer(),
                writer.logprob(),
                target,
                Usage(input_tokens=len(prompt), output_tokens=len(writer.tokens)),
            )
            for prompt, writer, target in zip(prompts, writers, targets, strict=True)
        ]

    def _pad(self, texts: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
        """Return tokens and mask, shorter texts padded on the left."""
        device, longest = self.model.device, max(map(len, texts))
        padding = self.tokenizer.pad_token_id or 0
        rows = torch.tensor([[padding] * (longest - len(text)) + text for text in texts], device=device)
        mask = torch.tensor([[0] * (longest - len(text)) + [1] * len(text) for text in texts], device=device)
        return rows, mask

    @torch.inference_mode()
    def _advance(self, prompts: Sequence[list[int]], writers: Sequence[AnswerWriter]) -> None:
        """Let all writers write, a token each at a time."""
        rows, mask = self._pad(prompts)
        device, padding, past = self.model.device, self.tokenizer.pad_token_id or 0, None
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
            require_finite_logits(logits.numpy())
            chosen = [
                padding if writer.done else writer.choose_next_token(row)
                for writer, row in zip(writers, logits, strict=True)
            ]
            if all(writer.done for writer in writers):
                return
            rows = torch.tensor(chosen, device=device)[:, None]
            mask = torch.cat([mask, torch.ones_like(rows)], -1)

    def _target_logprobs(
        self, prompts: Sequence[list[int]], writers: Sequence[AnswerWriter], targets: Sequence[str | None]
    ) -> list[float | None]:
        """Return the log-probabilities of targets in the answers' places.

        They come after all that the model wrote before the answer. Those that the writing does not tell
        are scored in one batch.
        """
        chances = [
            None if target is None else _find_written_logprob(writer, target)
            for writer, target in zip(writers, targets, strict=True)
        ]
        unknown: dict[int, tuple[list[int], list[int]]] = {}
        for number, (prompt, writer, target) in enumerate(zip(prompts, writers, targets, strict=True)):
            if target is not None and chances[number] is None:
                unknown[number] = (
                    self._list_tokens_before_answer(prompt, writer),
                    self._encode_target(writer, target),
                )
        scored = self._logits([*unknown.values()])
        for (number, (_, wanted)), logits in zip(unknown.items(), scored, strict=True):
            writer = writers[number]
            if writer.labels:
                chance = label_logprob(logits, wanted, writer.labels, self._sets)
            else:
                first = writer.type_logprobs["span"] if self.file.order == "explain-first" else 0.0
                chance = first + compute_text_logprob(logits, wanted, self._sets)
            chances[number] = min(0.0, max(LEAST_LOGPROB, chance))
        return chances

    def _encode_target(self, writer: AnswerWriter, target: str) -> list[int]:
        """Return the tokens of a target that is words or a label."""
        if writer.labels:
            return next(list(tokens) for tokens, label in writer.labels.items() if label == target)
        return self._encode(target)

    def _list_tokens_before_answer(self, prompt: list[int], writer: AnswerWriter) -> list[int]:
        """Return all tokens before an answer that is words or a label."""
        if writer.values["type"] in ("span", "label") or self.file.order == "answer-first":
            return prompt + writer.tokens[: writer.starts["answer"]]
        # The model wrote yes or no, and the target is words.
        written = writer.tokens[: writer.starts["type"]]
        return [*prompt, *written, *self._encode("span"), *self._encode('", "answer": "')]

    @torch.inference_mode()
    def _logits(self, texts: Sequence[tuple[list[int], list[int]]]) -> list[Tensor]:
        """Return those after each token of a text's second part, and before it.

        Args:
            texts: The tokens of each, written ones and those that may follow.

        Returns:
            For each text, [tokens of its second part + 1, vocabulary].
        """
        if not texts:
            return []
        rows, mask = self._pad([before + after for before, after in texts])
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        most = max(len(after) for _, after in texts) + 1
        outputs = self.model(input_ids=rows, attention_mask=mask, position_ids=positions, logits_to_keep=most)
        scored = [
            logits[-len(after) - 1 :].float().cpu()
            for (_, after), logits in zip(texts, outputs.logits, strict=True)
        ]
        require_finite_logits(*(logits.numpy() for logits in scored))
        return scored


def _find_written_logprob(writer: AnswerWriter, target: str) -> float | None:
    """Return a target's log-probability if the writing tells it, else None."""
    if target == writer.values["answer"]:
        return writer.logprob()
    if writer.labels:
        return None if target in writer.labels.values() else LEAST_LOGPROB
    if writer.order == "explain-first" and target in ("yes", "no"):
        return max(LEAST_LOGPROB, writer.type_logprobs[target])
    return None


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
    with silence_transformers():  # the first tokens warn of kernels that are not installed
        model.generate(torch.zeros((1, 1), dtype=torch.long, device=model.device), max_new_tokens=2)  # type: ignore[operator]
    settings = file.model_dump(exclude={"folder"}) | {"template": tokenizer.chat_template}
    if file.numbers == "before":  # as in revisions that did not know the field
        del settings["numbers"]
    if file.relevance == "citation":
        del settings["relevance"]
    identity = json.dumps([hash_files(folder), settings, build_answer_schema(file.order)])
    revision = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return CausalSystem(model, tokenizer, file, revision=revision, **labels)


def _read_file(path: Path) -> CausalFile:
    try:
        return CausalFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UnusableSystem(f"{path}: {describe_os_error(error)}") from error
    except yaml.YAMLError as error:
        raise UnusableSystem(f"{path}: cannot be read: {error}") from error
    except ValidationError as error:
        raise UnusableSystem(f"{path}: {format_first_problem(error, whole='file')}") from error
