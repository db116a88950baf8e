"""What a trainer feeds a vision model beside a row's tokens.

Invariant: what the processor makes of a row's images has exactly the placeholders that stand in the row, image by image;
otherwise nothing is returned.
"""
from __future__ import annotations

import io
from typing import Any

from verbatim.rows import Row, RowImage


class PlaceholderMismatch(ValueError):
    """A processor that makes other placeholders of an image than the row has."""


def multimodal_train_inputs(row: Row, image_processor: Any, return_tensors: str = "pt") -> dict[str, Any]:
    """`pixel_values` and `image_grid_thw` of a row's images, as `image_processor` makes them; `{}` if it has none.

    `image_processor` is the model's own, of Hugging Face's: `AutoImageProcessor.from_pretrained(...)`, with the
    `min_pixels` and `max_pixels` that the rollout had. `return_tensors` is handed on to it: `pt` or `np`.

    Raises PlaceholderMismatch if the placeholders of an image are not as many as the row has. Needs pillow.
    """
    if not row.images:
        return {}
    inputs = dict(image_processor(images=[opened(image) for image in row.images], return_tensors=return_tensors))
    merge = image_processor.merge_size**2
    grids = [tuple(int(side) for side in grid) for grid in inputs["image_grid_thw"]]
    if len(grids) != len(row.images):
        raise PlaceholderMismatch(f"the processor made {len(grids)} grids of {len(row.images)} images")
    for at, (image, grid) in enumerate(zip(row.images, grids)):
        length = grid[0] * grid[1] * grid[2] // merge
        if grid != image.grid_thw or length != image.length:
            raise PlaceholderMismatch(
                f"image {at} of {image.width} x {image.height} pixels has the grid {grid} and {length} placeholders"
                f" here, and {image.grid_thw} and {image.length} in the row; give the processor the rollout's"
                " min_pixels and max_pixels"
            )
    return inputs


def opened(image: RowImage) -> Any:
    """The picture, turned as its EXIF data says, in RGB: as transformers' `load_image` reads it."""
    from PIL import Image, ImageOps

    picture = Image.open(io.BytesIO(image.data))
    return ImageOps.exif_transpose(picture).convert("RGB")
