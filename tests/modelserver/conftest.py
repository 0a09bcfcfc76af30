"""Folders of tiny encoders of the BERT and the RoBERTa family.

Each folder is made once a session.
"""

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import RobertaConfig, RobertaForQuestionAnswering, RobertaTokenizer

from modelserver.inputs.encoders import create_encoder, save
from modelserver.inputs.hotpot import parse_gold
from modelserver.training.recurrent import list_example_texts
from modelserver.world import generate

READING = '{"window": 96, "overlap": 24, "longest": 8, "threshold": 0.33}'


@pytest.fixture(scope="session")
def gold():
    """Questions of the generated world.

    Each has articles of about four windows in the folders below.
    """
    return parse_gold(generate("dev", 24, 11), "world")


@pytest.fixture(scope="session")
def bert_folder(tmp_path_factory, gold):
    """Word pieces, lower-cased; two texts have types."""
    torch.manual_seed(3)
    model, tokenizer = create_encoder(
        list_example_texts(gold), torch.device("cpu"), hidden=32, layers=1, heads=2, pieces=800
    )
    return _save_encoder(tmp_path_factory.mktemp("bert"), model, tokenizer)


@pytest.fixture(scope="session")
def roberta_folder(tmp_path_factory, gold):
    """Pieces of bytes, in which a space belongs to the word after it.

    Positions begin after the padding's.
    """
    learned = Tokenizer(models.BPE(unk_token="<unk>"))
    learned.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learned.train_from_iterator(
        list_example_texts(gold),
        trainers.BpeTrainer(
            vocab_size=800, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
        ),
    )
    learned.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokenizer = RobertaTokenizer(tokenizer_object=learned, model_max_length=96)
    torch.manual_seed(4)
    model = RobertaForQuestionAnswering(
        RobertaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=98,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
        )
    )
    return _save_encoder(tmp_path_factory.mktemp("roberta"), model, tokenizer)


@pytest.fixture(params=["bert", "roberta"])
def encoder_folder(request):
    """Both, one after the other."""
    return request.getfixturevalue(f"{request.param}_folder")


def _save_encoder(folder, model, tokenizer):
    torch.nn.init.normal_(model.qa_outputs.weight, std=2.0)  # so that logits differ, as trained ones do
    save(folder, model, tokenizer, {"reading.json": READING})
    return folder
