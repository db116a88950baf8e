#!/usr/bin/env python3
"""Write one set of numbers for every engine, from a quantised GGUF file of SmolLM2 or Qwen2.5.

usage: weights.py MODEL.gguf OUT [TOKENIZER]

OUT/hf              a Hugging Face folder, for SGLang and vLLM
OUT/float32.gguf    a GGUF file, for llama-server; not of Qwen2.5, of which it serves MODEL.gguf

TOKENIZER is the folder of Qwen2.5's tokenizer; SmolLM2's is in its file. SmolLM2's numbers are float32,
Qwen2.5's float16, half as much to keep. Both files of SmolLM2 hold each tensor of MODEL.gguf dequantised:
the same numbers, bit by bit. The folder has the rows of the query and key projections in Hugging Face's
order, for llama.cpp keeps Llama's permuted.
Nothing is done when both are there.
"""
import importlib.util
import json
import pathlib
import sys

import gguf
import numpy
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).resolve().parent
FILE_TYPE_F32 = 0
ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}
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
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}


def smollm2(path: pathlib.Path) -> tuple[dict, str]:
    """tokenizer.json and the chat template, by tools/goldens/gguf.py (which has the library's name)."""
    spec = importlib.util.spec_from_file_location("vocabulary", HERE.parent / "goldens/gguf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.smollm2(path)


def hf_name(name: str) -> str:
    """A tensor's name in a Hugging Face folder: blk.3.attn_q.weight -> model.layers.3.self_attn.q_proj.weight"""
    *block, kind, suffix = name.split(".")
    prefix = f"model.layers.{block[1]}." if block else ""
    return f"{prefix}{NAMES[kind]}.{suffix}"


def hf_order(name: str, rows: numpy.ndarray, settings: dict) -> numpy.ndarray:
    """llama.cpp rotates neighbouring rows of a head; Hugging Face rotates row i with row i + width / 2."""
    heads = {"attn_q": "head_count", "attn_k": "head_count_kv"}.get(name.split(".")[-2])
    if heads is None or settings["general.architecture"] != "llama":
        return rows
    count = settings[f"llama.attention.{heads}"]
    return rows.reshape(count, -1, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def qwen25(folder: pathlib.Path) -> tuple[dict, str]:
    """The same of Qwen2.5, from the asset of its tokenizer."""
    template = json.loads((folder / "tokenizer_config.json").read_text())["chat_template"]
    return json.loads((folder / "tokenizer.json").read_text()), template


def write_folder(out: pathlib.Path, tokenizer: dict, template: str, settings: dict, tensors: dict) -> None:
    out.mkdir(parents=True, exist_ok=True)
    family = settings["general.architecture"]
    spelling = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    bos, eos, pad = (settings[f"tokenizer.ggml.{kind}_token_id"] for kind in ("bos", "eos", "padding"))
    bias = "model.layers.0.self_attn.q_proj.bias" in map(hf_name, tensors)
    ends = {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad}
    config = {
        "architectures": [ARCHITECTURES[family]],
        "model_type": family,
        "dtype": str(next(iter(tensors.values())).dtype),
        "attention_bias": bias,
        "hidden_act": "silu",
        "hidden_size": settings[f"{family}.embedding_length"],
        "intermediate_size": settings[f"{family}.feed_forward_length"],
        "max_position_embeddings": settings[f"{family}.context_length"],
        "mlp_bias": False,
        "num_attention_heads": settings[f"{family}.attention.head_count"],
        "num_hidden_layers": settings[f"{family}.block_count"],
        "num_key_value_heads": settings[f"{family}.attention.head_count_kv"],
        "rms_norm_eps": round(settings[f"{family}.attention.layer_norm_rms_epsilon"], 10),
        "rope_theta": settings[f"{family}.rope.freq_base"],
        "tie_word_embeddings": "output.weight" not in tensors,
        "vocab_size": len(tensors["token_embd.weight"]),
        **ends,
    }
    files = {
        "config.json": config,
        "generation_config.json": ends,
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": spelling[bos],
            "eos_token": spelling[eos],
            "pad_token": spelling[pad],
            "clean_up_tokenization_spaces": False,
            "model_max_length": settings[f"{family}.context_length"],
            "chat_template": template,
        },
    }
    for name, value in files.items():
        (out / name).write_text(json.dumps(value, indent=1, ensure_ascii=False))
    (out / "chat_template.jinja").write_text(template)
    ordered = {hf_name(name): numpy.ascontiguousarray(hf_order(name, rows, settings)) for name, rows in tensors.items()}
    save_file(ordered, out / "model.safetensors", metadata={"format": "pt"})


def write_gguf(out: pathlib.Path, reader: gguf.GGUFReader, settings: dict, tensors: dict) -> None:
    writer = gguf.GGUFWriter(out, settings["general.architecture"])
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value = FILE_TYPE_F32 if name == "general.file_type" else field.contents()
        element = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, value, field.types[0], sub_type=element)
    for name, rows in tensors.items():
        writer.add_tensor(name, rows)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(source: pathlib.Path, out: pathlib.Path, tokenizer: pathlib.Path | None = None) -> None:
    done = out / ".done"
    if done.exists():
        return
    reader = gguf.GGUFReader(source)
    settings = {name: field.contents() for name, field in reader.fields.items()}
    family = settings["general.architecture"]
    assert family in ARCHITECTURES, f"the tensors of {family} are not known here"
    dtype = numpy.float32 if family == "llama" else numpy.float16
    tensors = {t.name: gguf.dequantize(t.data, t.tensor_type).astype(dtype) for t in reader.tensors}
    words = qwen25(tokenizer) if tokenizer else smollm2(source)
    write_folder(out / "hf", *words, settings, tensors)
    if family == "llama":
        write_gguf(out / "float32.gguf", reader, settings, tensors)
    done.touch()
    print(f"{out}: {sum(rows.size for rows in tensors.values()):,} numbers in {dtype.__name__}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*map(pathlib.Path, sys.argv[1:]))
