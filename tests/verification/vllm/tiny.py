"""A model that loads in seconds: the Qwen2 architecture with random weights, a tokenizer, and an adapter for it.

It says nothing that makes sense, and all else about it is real: vLLM loads, batches, samples, constrains and aborts as
with any other model. The files are written by hand, so that no torch is needed on this side.
"""

import json
import random
import struct
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from apps.conductor.prompt import PoolEntry, conductor_messages

HIDDEN: Final = 128
INNER: Final = 256
LAYERS: Final = 2
HEADS: Final = 2  # of 64, which every attention kernel knows
KEY_VALUE_HEADS: Final = 1
HEAD: Final = HIDDEN // HEADS
VOCABULARY: Final = 512
CONTEXT: Final = 16_384
RANK: Final = 8

SPECIAL: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHAT: Final = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

Shape = tuple[int, ...]


def make_model(folder: Path, *, seed: int = 1) -> Path:
    """A model in `folder`, as a hub would have it: configuration, tokenizer and weights."""
    folder.mkdir(parents=True)
    numbers = random.Random(seed)
    tokenizer = _tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(folder / "tokenizer_config.json", _tokenizer_config())
    _write(folder / "config.json", _config(tokenizer))
    write_tensors(
        folder / "model.safetensors", {name: (shape, _drawn(name, shape, numbers)) for name, shape in _shapes()}
    )
    return folder


def make_adapter(folder: Path, *, base: Path, seed: int = 2, strength: float = 2.0) -> Path:
    """A LoRA adapter for the model in `base`, strong enough to change what it says."""
    folder.mkdir(parents=True)
    numbers = random.Random(seed)
    targets = {"q_proj": HIDDEN, "v_proj": KEY_VALUE_HEADS * HEAD}
    tensors = {}
    for layer in range(LAYERS):
        for target, width in targets.items():
            name = f"base_model.model.model.layers.{layer}.self_attn.{target}"
            tensors[f"{name}.lora_A.weight"] = ((RANK, HIDDEN), _normal(RANK * HIDDEN, strength, numbers))
            tensors[f"{name}.lora_B.weight"] = ((width, RANK), _normal(width * RANK, strength, numbers))
    write_tensors(folder / "adapter_model.safetensors", tensors)
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": str(base),
        "r": RANK,
        "lora_alpha": 2 * RANK,
        "target_modules": list(targets),
        "bias": "none",
    }
    _write(folder / "adapter_config.json", config)
    return folder


def write_tensors(path: Path, tensors: Mapping[str, tuple[Shape, "array[float]"]]) -> None:
    """The safetensors format: the length of a JSON header, the header, and the numbers (32-bit, little-endian)."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (shape, values) in tensors.items():
        size = len(values) * values.itemsize
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    written = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(written)))
        file.write(written)
        for _, values in tensors.values():
            file.write(values.tobytes())


def _shapes() -> Iterator[tuple[str, Shape]]:
    yield "model.embed_tokens.weight", (VOCABULARY, HIDDEN)
    for layer in range(LAYERS):
        here = f"model.layers.{layer}"
        for name, width in (("q", HEADS), ("k", KEY_VALUE_HEADS), ("v", KEY_VALUE_HEADS)):
            yield f"{here}.self_attn.{name}_proj.weight", (width * HEAD, HIDDEN)
            yield f"{here}.self_attn.{name}_proj.bias", (width * HEAD,)
        yield f"{here}.self_attn.o_proj.weight", (HIDDEN, HEADS * HEAD)
        yield f"{here}.mlp.gate_proj.weight", (INNER, HIDDEN)
        yield f"{here}.mlp.up_proj.weight", (INNER, HIDDEN)
        yield f"{here}.mlp.down_proj.weight", (HIDDEN, INNER)
        yield f"{here}.input_layernorm.weight", (HIDDEN,)
        yield f"{here}.post_attention_layernorm.weight", (HIDDEN,)
    yield "model.norm.weight", (HIDDEN,)
    yield "lm_head.weight", (VOCABULARY, HIDDEN)


def _drawn(name: str, shape: Shape, numbers: random.Random) -> "array[float]":
    size = 1
    for length in shape:
        size *= length
    return array("f", [1.0]) * size if "norm" in name else _normal(size, 0.08, numbers)


def _normal(size: int, deviation: float, numbers: random.Random) -> "array[float]":
    return array("f", (numbers.gauss(0, deviation) for _ in range(size)))


def _tokenizer() -> Tokenizer:
    """A byte-level BPE that learnt its merges from what a conductor is asked: every text can be said in it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    assert tokenizer.get_vocab_size() == VOCABULARY
    return tokenizer


def _corpus() -> Sequence[str]:
    pool = [PoolEntry(slug, slug.title(), "writes and checks") for slug in ("atlas", "birch", "cedar", "delta")]
    return [
        conductor_messages("Which region grew most?", pool, 5, encoding=encoding)[0]["content"]
        for encoding in ("lists", "json")
    ]


def _tokenizer_config() -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": CONTEXT,
        "chat_template": CHAT,
        "clean_up_tokenization_spaces": False,
    }


def _config(tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_VALUE_HEADS,
        "max_position_embeddings": CONTEXT,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 1_000_000.0,
        "tie_word_embeddings": False,
        "bos_token_id": tokenizer.token_to_id("<|endoftext|>"),
        "eos_token_id": tokenizer.token_to_id("<|im_end|>"),
        "torch_dtype": "float32",
    }


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1))
