"""A Grounding DINO of random weights and some 100,000 parameters, with a real processor, offline.

    folder = write_tiny_grounding_dino(tmp_path / "tiny_random_grounding_dino")

It has the real architecture and finds nothing. Its word list puts BERT's special tokens and the
full stop where bert-base-uncased has them (100 to 102, 1012, 1029), since the model's own code
knows the ends of phrases by these numbers.
"""

from pathlib import Path

import torch
from transformers import (
    BertConfig,
    BertTokenizer,
    GroundingDinoConfig,
    GroundingDinoForObjectDetection,
    GroundingDinoImageProcessor,
    GroundingDinoProcessor,
    SwinConfig,
)

FIXED_IDS = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, ".": 1012, "?": 1029}
WORDS = (
    "bird", "brown", "dog", "red", "ball", "skate", "##board", "##er", "wet", "sand", "a", "man",
    "'", "s", "hat", "[MASK]",
)  # fmt: skip
NUM_QUERIES = 9
MAX_TEXT_TOKENS = 24


def tiny_tokenizer() -> BertTokenizer:
    vocabulary = [f"[unused{number}]" for number in range(1040)]
    for token, number in FIXED_IDS.items():
        vocabulary[number] = token
    for number, word in enumerate(WORDS, 500):
        vocabulary[number] = word
    return BertTokenizer(vocab={token: number for number, token in enumerate(vocabulary)})


def tiny_processor() -> GroundingDinoProcessor:
    return GroundingDinoProcessor(
        image_processor=GroundingDinoImageProcessor(size={"shortest_edge": 64, "longest_edge": 96}),
        tokenizer=tiny_tokenizer(),
    )


def tiny_model(seed: int = 0) -> GroundingDinoForObjectDetection:
    config = GroundingDinoConfig(
        backbone_config=SwinConfig(
            image_size=64, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=4,
            out_indices=[2, 3, 4],
        ),
        text_config=BertConfig(
            vocab_size=1040, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=32, max_position_embeddings=64,
        ),
        d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32,
        num_queries=NUM_QUERIES, max_text_len=MAX_TEXT_TOKENS,
    )  # fmt: skip
    torch.manual_seed(seed)
    return GroundingDinoForObjectDetection(config).eval()


def write_tiny_grounding_dino(folder: Path, seed: int = 0) -> Path:
    tiny_model(seed).save_pretrained(folder)
    tiny_processor().save_pretrained(folder)
    return folder
