#!/usr/bin/env python3
"""Score rows again with torch in float32, by another implementation of the model than ours.

usage: torch_score.py MODEL.gguf ROWS.jsonl... [--max-gap NATS] [--mean-gap NATS]

The GGUF file is dequantised into transformers' LlamaForCausalLM. Every sampled token's recorded
logprob is compared with the raw log-softmax there. Prints one JSON object; the exit code is 1 if a
gap is over its bound.
"""
import argparse
import json
import pathlib
import sys

import numpy
import torch
from gguf import GGUFReader, quants
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
    """The model in float32. The head is the embedding, as the file has no other."""
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


def gaps(model: LlamaForCausalLM, row: dict) -> numpy.ndarray:
    """For each sampled token, recorded minus scored."""
    with torch.inference_mode():
        logits = model(torch.tensor([row["tokens"]])).logits[0]
    scored = torch.log_softmax(logits.float(), dim=-1)
    at = [i for i, value in enumerate(row["logprobs"]) if value is not None]
    return numpy.array([row["logprobs"][i] - scored[i - 1, row["tokens"][i]].item() for i in at])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("rows", type=pathlib.Path, nargs="+")
    parser.add_argument("--max-gap", type=float, default=float("inf"))
    parser.add_argument("--mean-gap", type=float, default=float("inf"))
    asked = parser.parse_args()
    model = load(asked.model)
    rows = [json.loads(line) for path in asked.rows for line in path.read_text().splitlines()]
    all_gaps = numpy.abs(numpy.concatenate([gaps(model, row) for row in rows]))
    report = {
        "rows": len(rows),
        "tokens": all_gaps.size,
        "mean": float(all_gaps.mean()),
        "max": float(all_gaps.max()),
        "holds": bool(all_gaps.mean() <= asked.mean_gap and all_gaps.max() <= asked.max_gap),
    }
    print(json.dumps(report))
    return 0 if report["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
