"""Images from the SDKs' mouths to a trainer's inputs, with a model's own image processor as the judge."""
import base64
import io
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import anthropic
import numpy
import openai
import pytest
from PIL import Image
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from conftest import serving
from server import ROOT, Server
from verbatim import rows as own
from verbatim.adapters.transferqueue import transferqueue_columns
from verbatim.images import PlaceholderMismatch, multimodal_train_inputs

PAD = 151655
ORIENTATION = 0x0112


@pytest.fixture(scope="module")
def vision(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A simulated model that reads images: the engine checks every place."""
    cache = pathlib.Path(os.environ.get("VERBATIM_CACHE", ROOT / ".cache"))
    flags = ("--engine", "sim", "--model", str(cache / "assets/tokenizer-qwen25"))
    settings = ("--set", "family.name=qwen25vl", "--set", "engine.sim_tokens=6")
    yield from serving(tmp_path_factory.mktemp("vision") / "server.log", *flags, *settings)


def processor(**settings: int) -> Any:
    """Qwen2.5-VL's, as its preprocessor_config.json has it."""
    return Qwen2VLImageProcessorPil(**{"min_pixels": 3136, "max_pixels": 12845056, **settings})


def picture(kind: str, width: int, height: int, turned: int = 1) -> bytes:
    out = io.BytesIO()
    exif = Image.Exif()
    exif[ORIENTATION] = turned
    Image.new("RGB", (width, height), (width % 256, 40, 80)).save(out, kind, exif=exif)
    return out.getvalue()


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def url_of(data: bytes) -> str:
    return f"data:image/png;base64,{text_of(data)}"


def ask(client: openai.OpenAI, messages: Any) -> Any:
    return client.chat.completions.create(model="policy", messages=messages, max_tokens=400).choices[0].message


def test_what_the_sdks_show_becomes_what_the_models_processor_makes_of_it(vision: Server) -> None:
    session = vision.open()
    first, second = picture("PNG", 300, 211), picture("JPEG", 90, 400, turned=6)
    shown: Any = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": url_of(first)}}]
    messages: Any = [{"role": "user", "content": shown}]
    with session.client() as client:
        reply = ask(client, messages)
    # The same session in another dialect: the SDK of another house shows a second one.
    source: Any = {"type": "base64", "media_type": "image/png", "data": text_of(first)}
    turned: Any = {"type": "base64", "media_type": "image/jpeg", "data": text_of(second)}
    with session.anthropic() as other:
        other.messages.create(
            model="policy",
            max_tokens=400,
            messages=[
                {"role": "user", "content": [{"type": "text", "text": "What?"}, {"type": "image", "source": source}]},
                {"role": "assistant", "content": reply.content},
                {"role": "user", "content": [{"type": "image", "source": turned}, {"type": "text", "text": "And?"}]},
            ],
        )
    formats = ["jsonl", "parquet", "safetensors"]
    files = {kind: list(own.parse(session.rows_file(kind), kind)) for kind in formats}
    for kind, [row] in files.items():
        assert [image.data for image in row.images] == [first, second], kind
        assert [(image.media_type, image.width, image.height) for image in row.images] == [
            ("image/png", 300, 211), ("image/jpeg", 400, 90),
        ]
        inputs = multimodal_train_inputs(row, processor(), return_tensors="np")
        assert inputs["image_grid_thw"].tolist() == [list(image.grid_thw) for image in row.images]
        assert inputs["pixel_values"].shape == (inputs["image_grid_thw"].prod(axis=1).sum(), 1176)
        tokens, mask = numpy.array(row.tokens), numpy.array(row.loss_mask)
        assert (tokens == PAD).sum() == inputs["image_grid_thw"].prod(axis=1).sum() // 4
        for image in row.images:
            assert (tokens[image.start : image.start + image.length] == PAD).all()
        assert not mask[tokens == PAD].any()
    [row] = files["jsonl"]
    with pytest.raises(PlaceholderMismatch, match="min_pixels and max_pixels"):
        multimodal_train_inputs(row, processor(max_pixels=28 * 28 * 4), return_tensors="np")


def test_a_row_without_images_has_no_inputs(vision: Server) -> None:
    session = vision.open()
    with session.client() as client:
        ask(client, [{"role": "user", "content": "Hello"}])
    [row] = own.parse(session.rows_file("jsonl"), "jsonl")
    assert row.images == [] and multimodal_train_inputs(row, processor()) == {}
    assert "images" not in session.rows_file("jsonl").decode()


def test_a_tool_shows_an_image_and_a_trainers_column_has_it(vision: Server) -> None:
    session = vision.open()
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = {"type": "image_url", "image_url": {"url": url_of(picture("PNG", 64, 64))}}
    messages: Any = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [result]},
    ]
    with session.client() as client:
        ask(client, messages)
    [row] = own.parse(session.rows_file("parquet", rewards={"session": 1.0}), "parquet")
    columns = transferqueue_columns([own.Row(**{**vars(row), "reward": 1.0})], image_processor=Inputs())
    assert columns.fields["multimodal_train_inputs"][0]["image_grid_thw"].tolist() == [[1, 4, 4]]


class Inputs:
    """A processor of numpy, whatever it is asked for."""

    merge_size = 2

    def __call__(self, images: Any, return_tensors: str) -> Any:
        return processor()(images=images, return_tensors="np")


def test_refusals_name_the_field_in_each_sdks_own_words(vision: Server, swift: Server) -> None:
    remote: Any = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
    with vision.open().client() as client:
        with pytest.raises(openai.BadRequestError, match=r"image_url.url: .*data URL"):
            ask(client, [{"role": "user", "content": [remote]}])
        with pytest.raises(openai.BadRequestError, match="input_audio"):
            ask(client, [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}])
    block: Any = {"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}}
    with vision.open().anthropic() as other, pytest.raises(anthropic.BadRequestError, match=r"source.url: .*data URL"):
        other.messages.create(model="policy", max_tokens=8, messages=[{"role": "user", "content": [block]}])
    held: Any = {"type": "image_url", "image_url": {"url": url_of(picture("PNG", 64, 64))}}
    with swift.open().client() as client, pytest.raises(openai.BadRequestError, match="cannot show an image"):
        ask(client, [{"role": "user", "content": [held]}])
