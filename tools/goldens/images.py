"""Conversations with images, as the official processors read them.

A processor renders the chat template, which writes one placeholder an image, cuts the image into patches and multiplies
the placeholder. Images are drawn: of most only the size matters, so that tests make files of that size themselves; those
whose header says more (how it is turned, another format) are tiny files of Pillow's, kept in the golden's first line.
"""
import base64
import io
import json
import random

import families
from conversations import DECLARED
from PIL import Image
from transformers import PreTrainedTokenizerFast
from transformers.image_utils import load_image
from transformers.models.qwen2_5_vl.processing_qwen2_5_vl import Qwen2_5_VLProcessor
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
from transformers.utils.chat_template_utils import render_jinja_template

PLACEHOLDER = "<|image_pad|>"
SHOWN = (
    "{%- macro shown(content) %}{%- if content is string %}{{- content }}{%- else %}{%- for part in content %}"
    "{%- if part.type == 'image' %}{{- '<|vision_start|><|image_pad|><|vision_end|>' }}{%- else %}{{- part.text }}"
    "{%- endif %}{%- endfor %}{%- endif %}{%- endmacro %}"
)
# Rule 2 of crates/families/src/qwen25vl.rs: images where the text-only template has text.
QWEN25VL_EDITS = [
    ("'\\n' + message.content + '<|im_end|>'", "'\\n' + shown(message.content) + '<|im_end|>'"),
    ("{{- message.content }}", "{{- shown(message.content) }}"),
]
ORIENTATION = 0x0112
SYSTEMS = ["You look at pictures.", "Answer in one word.\n"]
WORDS = ["What is this?", "Compare them. ", " and ", "\n", "Look: ", "größer — 图像?", "first", "then this one", " "]
SAYS = ["A cat.", "It is a chart of prices.\nThey rise.", "Both show the same street.", "I see."]


class WithoutVideos:
    """Their processors want one for videos too, which needs torchvision."""

    def check_argument_for_proper_class(self, name, argument):
        return type(argument)


class Qwen25Vl(WithoutVideos, Qwen2_5_VLProcessor):
    pass


class Qwen35(WithoutVideos, Qwen3VLProcessor):
    pass


# Which processor, with what the models' preprocessor_config.json say.
PROCESSORS = {
    "qwen25vl": (Qwen25Vl, {"patch_size": 14, "min_pixels": 3136, "max_pixels": 12845056}),
    "qwen35": (Qwen35, {"patch_size": 16, "min_pixels": 65536, "max_pixels": 16777216}),
}


def file(picture, kind, **how):
    out = io.BytesIO()
    picture.save(out, kind, **how)
    return base64.b64encode(out.getvalue()).decode()


def files():
    """Images whose header says more than a size."""
    picture = Image.new("RGB", (130, 61), (200, 30, 40))
    turned = {}
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[ORIENTATION] = orientation
        turned[orientation] = exif
    made = {f"turned-{at}.jpeg": file(picture, "JPEG", quality=20, exif=exif) for at, exif in turned.items()}
    return made | {
        "turned.png": file(picture, "PNG", exif=turned[6]),
        "turned.webp": file(picture, "WEBP", exif=turned[8]),
        "plain.webp": file(picture, "WEBP"),
        "lossless.webp": file(picture, "WEBP", lossless=True),
        "moving.gif": file(picture, "GIF", save_all=True, append_images=[Image.new("RGB", (130, 61))]),
        "grey.png": file(picture.convert("L"), "PNG"),
        "palette.png": file(picture.convert("P"), "PNG"),
        "progressive.jpeg": file(picture, "JPEG", quality=20, progressive=True),
    }


def sizes(draw):
    """Sizes of all kinds, those where halves are rounded among them."""
    yield from [(1, 1), (13, 2600), (2600, 13), (42, 70), (70, 42), (28, 28), (56, 56), (57, 55), (48, 80), (224, 224), (640, 480)]
    yield from [(5000, 4000), (4096, 3072), (8000, 1400), (1000, 9000), (3584, 3584)]
    for _ in range(40):
        longest = draw.choice([40, 120, 500, 1500])
        yield draw.randint(1, longest), draw.randint(max(1, longest // 30), longest)


def drawn():
    """Fifty conversations."""
    draw = random.Random(20261130)
    names = [f"{width}x{height}" for width, height in sizes(draw)] + list(files())
    draw.shuffle(names)
    pool = iter(names * 4)

    def content(most):
        parts = [{"image": next(pool)} for _ in range(draw.randint(0, most))]
        for _ in range(draw.randint(0 if parts else 1, 3)):
            parts.insert(draw.randint(0, len(parts)), draw.choice(WORDS))
        return parts

    for at in range(50):
        messages = [{"role": "system", "content": draw.choice(SYSTEMS)}] if draw.random() < 0.4 else []
        tools = ["weather"] if at % 3 == 0 else []
        messages.append({"role": "user", "content": ["Hello", {"image": next(pool)}] if at % 5 else content(3)})
        for turn in range(draw.randint(0, 3)):
            if tools and draw.random() < 0.6:
                ids = [f"call_{turn}_{call}" for call in range(draw.randint(1, 2))]
                calls = [{"id": id, "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}} for id in ids]
                messages.append({"role": "assistant", "content": draw.choice(["", "Let me see."]), "tool_calls": calls})
                messages += [{"role": "tool", "tool_call_id": id, "content": draw.choice(["7 degrees", content(2)])} for id in ids]
            else:
                messages.append({"role": "assistant", "content": draw.choice(SAYS)})
                messages.append({"role": "user", "content": content(2)})
        yield {"tools": tools, "messages": messages}


def opened(name, held):
    """The image as the processors load it."""
    if name in held:
        return load_image(held[name])
    width, height = map(int, name.split("x"))
    return Image.new("RGB", (width, height))


def official(message):
    """A message as a template takes it."""
    message = json.loads(json.dumps(message))
    if isinstance(message["content"], list):
        message["content"] = [{"type": "image"} if isinstance(part, dict) else {"type": "text", "text": part} for part in message["content"]]
    for call in message.get("tool_calls", []):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return message


def squeezed(ids, pad):
    """Ids with every run of placeholders as its negative length."""
    out = []
    for id in ids:
        if id != pad:
            out.append(id)
        elif out and out[-1] < 0:
            out[-1] -= 1
        else:
            out.append(-1)
    return out


def golden(name, assets):
    """What a family's processor reads: a line a conversation."""
    family, (processor, settings) = families.FAMILIES[name], PROCESSORS[name]
    template = families.edited(families.edited(assets.template(family.template), family.base), family.edits)
    if name == "qwen25vl":
        template = SHOWN + families.edited(template, QWEN25VL_EDITS)
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(assets.home / family.vocabulary / "tokenizer.json"))
    processor = processor(Qwen2VLImageProcessorPil(**settings), tokenizer, None)
    pad, held = tokenizer.convert_tokens_to_ids(PLACEHOLDER), files()
    yield {"family": name, "vocabulary": family.vocabulary, "files": held}
    known = {}
    for conversation in drawn():
        names = [part["image"] for message in conversation["messages"] if isinstance(message["content"], list) for part in message["content"] if isinstance(part, dict)]
        declared = [DECLARED[tool] for tool in conversation["tools"]] or None
        rendered, _ = render_jinja_template(
            [[official(message) for message in conversation["messages"]]], tools=declared, chat_template=template, add_generation_prompt=True
        )
        pictures = [known.setdefault(image, opened(image, held)) for image in names]
        read = processor(text=rendered[0], images=pictures or None)
        ids = read["input_ids"][0]
        yield {**conversation, "ids": squeezed(list(ids), pad), "grids": [list(map(int, grid)) for grid in read.get("image_grid_thw", [])]}
