"""The policy in torch, and its weights where the engine finds them.

Invariant: the weights that are saved are the ones that the next gradient is taken of, number for number.
"""
from __future__ import annotations

import os
import pathlib

import numpy
import torch
from gguf import GGUFReader, quants
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTSIDE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}


def halves(weight: numpy.ndarray, heads: int) -> numpy.ndarray:
    """Rows of a query or key projection in transformers' order: GGUF keeps the two numbers that
    are rotated together side by side, transformers keeps them half a head apart."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def load(path: pathlib.Path) -> LlamaForCausalLM:
    """The model of a GGUF file in float32. The head is the embedding, as the file has no other."""
    reader = GGUFReader(path)

    def said(key: str) -> float:
        return reader.fields[f"llama.{key}"].contents()

    config = LlamaConfig(
        vocab_size=said("vocab_size"),
        hidden_size=said("embedding_length"),
        intermediate_size=said("feed_forward_length"),
        num_hidden_layers=said("block_count"),
        num_attention_heads=said("attention.head_count"),
        num_key_value_heads=said("attention.head_count_kv"),
        max_position_embeddings=said("context_length"),
        rms_norm_eps=said("attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": said("rope.freq_base")},
        tie_word_embeddings=True,
    )
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    state = {}
    for tensor in reader.tensors:
        weight = quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        name = OUTSIDE.get(tensor.name)
        if name is None:
            _, layer, part, _ = tensor.name.split(".")
            if part in heads:
                weight = halves(weight, heads[part])
            name = f"model.layers.{layer}.{NAMES[part]}.weight"
        state[name] = torch.from_numpy(numpy.array(weight))
    model = LlamaForCausalLM(config)
    missing, unknown = model.load_state_dict(state, strict=False)
    assert (list(missing), list(unknown)) == (["lm_head.weight"], []), (missing, unknown)
    model.tie_weights()
    return model.float().eval()


def save(model: LlamaForCausalLM, folder: pathlib.Path) -> None:
    """Writes the tensors as a Hugging Face folder has them; the file has its name only once it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    # The head is the embedding: it is stored once.
    state = {name: tensor for name, tensor in model.state_dict().items() if name != "lm_head.weight"}
    part = folder / ".part"
    save_file(state, part)
    os.replace(part, folder / "model.safetensors")
