"""A Qwen2.5-VL of a few million parameters, made here from random weights.

It has the real architecture, processor and special tokens, a byte-level BPE vocabulary of its own,
learned from the training rows, and a random tower that stays frozen. It stands for a base model
where none can be had: good for trying the pipeline on a laptop, useless for anything else.

Example: python -m affect.model.tiny --rows data/rendered/train.sft.jsonl --out runs/demo/base
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (
    GenerationConfig,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2Tokenizer,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

from affect.jsonl import read_jsonl

# The order and the role of Qwen2.5-VL's special tokens; their ids follow from the vocabulary here.
SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)

# ChatML with vision parts, in our own words: the tokens around a turn and a video are Qwen2.5-VL's.
CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "<|im_start|>{{ message['role'] + '\\n' }}"
    "{%- if message['content'] is string -%}{{ message['content'] }}"
    "{%- else -%}{%- for part in message['content'] -%}"
    "{%- if part['type'] == 'video' -%}<|vision_start|><|video_pad|><|vision_end|>"
    "{%- elif part['type'] == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>"
    "{%- else -%}{{ part['text'] }}{%- endif -%}"
    "{%- endfor -%}{%- endif -%}{{ '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)


def train_tokenizer(texts: Iterable[str], vocabulary_size: int = 1024) -> Qwen2Tokenizer:
    """A byte-level BPE tokenizer of `vocabulary_size` entries with Qwen's special tokens last."""
    # Qwen's own normaliser and splitting, so that a Qwen2Tokenizer built from the result agrees.
    blank = Qwen2Tokenizer()
    learner = Tokenizer(models.BPE())
    learner.normalizer = normalizers.NFC()
    learner.pre_tokenizer = blank.backend_tokenizer.pre_tokenizer
    learner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size - len(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    learned = json.loads(learner.to_str())["model"]
    vocabulary = dict(learned["vocab"])
    for token in SPECIAL_TOKENS:
        vocabulary[token] = len(vocabulary)
    return Qwen2Tokenizer(
        vocab=vocabulary,
        merges=[tuple(pair) for pair in learned["merges"]],
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        extra_special_tokens=[*SPECIAL_TOKENS[3:], "<|im_start|>"],
    )


def tiny_processor(texts: Iterable[str], vocabulary_size: int = 1024) -> Qwen2_5_VLProcessor:
    """A full Qwen2.5-VL processor around a tokenizer learned from `texts`."""
    limits = {"shortest_edge": 56 * 56, "longest_edge": 56 * 56}
    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(size=dict(limits)),
        tokenizer=train_tokenizer(texts, vocabulary_size),
        video_processor=Qwen2VLVideoProcessor(size=dict(limits), cap_pixels_per_frame=False),
        chat_template=CHAT_TEMPLATE,
    )


def tiny_model(
    processor: Any,
    *,
    seed: int = 0,
    hidden_size: int = 128,
    num_layers: int = 4,
    tower_size: int = 192,
    tower_depth: int = 2,
    initializer_range: float = 0.08,
    rope_theta: float = 1_000.0,
) -> Qwen2_5_VLForConditionalGeneration:
    """A random Qwen2.5-VL for `processor`'s vocabulary, reproducible from `seed`.

    Two defaults differ from the published checkpoints, for the sake of a width of 128 and some 500
    tokens: weights start wider (the usual .02 costs the first hundred steps), and the rotary base
    is 1,000 (at a million most pairs hardly turn over so few positions).
    """
    tokenizer = processor.tokenizer
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS}
    head_size = 32
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "initializer_range": initializer_range,
            "hidden_size": hidden_size,
            "intermediate_size": 3 * hidden_size,
            "num_hidden_layers": num_layers,
            "num_attention_heads": hidden_size // head_size,
            "num_key_value_heads": hidden_size // head_size // 2,
            "max_position_embeddings": 8192,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": rope_theta,
                # 16 rotary pairs of a 32-wide head, shared out as in Qwen2.5-VL (16, 24, 24 of 64).
                "mrope_section": [4, 6, 6],
            },
            "bos_token_id": ids["<|endoftext|>"],
            "eos_token_id": ids["<|im_end|>"],
            "pad_token_id": ids["<|endoftext|>"],
            "tie_word_embeddings": True,
        },
        vision_config={
            "depth": tower_depth,
            "hidden_size": tower_size,
            "intermediate_size": 2 * tower_size,
            "num_heads": tower_size // 32,
            "out_hidden_size": hidden_size,
            "fullatt_block_indexes": [tower_depth - 1],
            "window_size": 56,
            # The published checkpoints carry 2; the class's default is 4.
            "tokens_per_second": 2,
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2_5_VLForConditionalGeneration._from_config(config)
    model.generation_config = GenerationConfig(
        eos_token_id=[ids["<|im_end|>"], ids["<|endoftext|>"]], pad_token_id=ids["<|endoftext|>"]
    )
    return model


def save_tiny(folder: Path, texts: Iterable[str], *, seed: int = 0, **sizes: Any) -> None:
    """Write a tiny base model and its processor to `folder`, whole or not at all.

    Raises:
        ValueError: `folder` holds other things than a checkpoint, which would be lost.
    """
    if folder.exists() and not (folder / "config.json").is_file() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty and holds no checkpoint; choose another folder")
    vocabulary_size = sizes.pop("vocabulary_size", 1024)
    processor = tiny_processor(texts, vocabulary_size)
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    tiny_model(processor, seed=seed, **sizes).save_pretrained(partial)
    processor.save_pretrained(partial)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)


def row_texts(path: Path) -> Iterator[str]:
    """Every text of a file of rows, prompts and answers, to learn a vocabulary from.

    Raises:
        ValueError: a line that is no JSON object, or a row without a conversation.
    """
    for row in read_jsonl(path):
        turns = row.get("conversations") or row.get("messages")
        if not turns:
            raise ValueError(f"{path}: row {row.get('id')} has no conversations and no messages")
        for turn in turns:
            text = turn.get("value", turn.get("content"))
            if isinstance(text, str):
                yield text
        if row.get("solution") is not None:
            yield row["solution"]


def main(argv: list[str] | None = None) -> int:
    """Make the base model of a trial run; does nothing if it is there already."""
    parser = argparse.ArgumentParser(
        prog="python -m affect.model.tiny",
        description="Make a tiny random Qwen2.5-VL whose vocabulary fits a file of rows.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--rows", type=Path, required=True, help="JSONL rows to learn words from")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random weights")
    parser.add_argument("--vocabulary-size", type=int, default=1024, help="number of tokens")
    parser.add_argument("--hidden-size", type=int, default=128, help="width of the language model")
    parser.add_argument("--num-layers", type=int, default=4, help="its depth")
    arguments = parser.parse_args(argv)
    if not arguments.rows.is_file():
        parser.error(f"--rows {arguments.rows}: no such file")
    if (arguments.out / "config.json").is_file():
        sys.stdout.write(f"{arguments.out} is there already\n")
        return 0
    try:
        save_tiny(
            arguments.out,
            row_texts(arguments.rows),
            seed=arguments.seed,
            vocabulary_size=arguments.vocabulary_size,
            hidden_size=arguments.hidden_size,
            num_layers=arguments.num_layers,
        )
    except ValueError as error:
        parser.error(str(error))
    sys.stdout.write(f"wrote a tiny random Qwen2.5-VL to {arguments.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
