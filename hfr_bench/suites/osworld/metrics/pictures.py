"""Metrics of pictures. Likeness of structure (SSIM) as scikit-image has it, with its defaults."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops
from scipy.ndimage import uniform_filter  # type: ignore[import-untyped]

from hfr_bench.suites.osworld.metrics.text import Rules

_WINDOW = 7
_LIKE, _MIRRORED = 0.9, 0.99
_RANGE = 255.0
_ABOVE_BASE = 0.01
Grey = NDArray[np.float64]


def structure(one: Grey, other: Grey) -> float:
    """SSIM of two pictures of a size, 0 to 255: windows of 7, covariances of a sample.

    Raises ValueError: a side is shorter than the window.
    """
    if min(one.shape) < _WINDOW:
        raise ValueError(f"a picture of {one.shape} is smaller than the window of {_WINDOW}")
    count = _WINDOW**2
    sample = count / (count - 1)
    means = [uniform_filter(image, _WINDOW) for image in (one, other)]
    spread = [
        sample * (uniform_filter(image * image, _WINDOW) - mean * mean)
        for image, mean in zip((one, other), means, strict=True)
    ]
    common = sample * (uniform_filter(one * other, _WINDOW) - means[0] * means[1])
    steady = (0.01 * _RANGE) ** 2, (0.03 * _RANGE) ** 2
    above = (2 * means[0] * means[1] + steady[0]) * (2 * common + steady[1])
    below = (means[0] ** 2 + means[1] ** 2 + steady[0]) * (spread[0] + spread[1] + steady[1])
    edge = (_WINDOW - 1) // 2
    return float((above / below)[edge:-edge, edge:-edge].mean(dtype=np.float64))


def opened(path: str) -> Image.Image:
    """A picture, wholly read, its file closed. Raises OSError: it is none."""
    with Image.open(path) as image:
        image.load()
        return image


def _grey(image: Any) -> Grey:
    return np.asarray(image.convert("L"), dtype=np.float64)


def compare_images(result: str | None, expected: str | None, **options: Any) -> float:
    """How alike two pictures are, in grey and in the smaller one's size.

    `reference_base_result`: the likeness from which on it counts at all.
    """
    if not result or not expected:
        return 0.0
    images = [opened(path).convert("L") for path in (result, expected)]
    size = min(image.size for image in images)
    one, other = (_grey(image.resize(size, Image.Resampling.LANCZOS)) for image in images)
    like = structure(one, other)
    base = options.get("reference_base_result")
    if base is None:
        return like
    return float((like - base) / (1 - base)) if like >= base + _ABOVE_BASE else 0.0


def compare_image_list(
    result: str | Sequence[str | None] | None, expected: str | Sequence[str | None] | None
) -> float:
    """Whether pictures are the same, pair by pair; one of another size is resized first."""
    if result is None or isinstance(result, str):
        result, expected = [result], [expected]  # type: ignore[list-item]  # both are one
    assert expected is not None
    return float(all(_same(*pair) for pair in zip(result, expected, strict=False)))


def _same(result: str | None, expected: str | None) -> bool:
    if not result or not expected:
        return False
    one, other = (opened(path) for path in (result, expected))
    shown: Image.Image = one
    if shown.size != other.size:
        shown = shown.resize(other.size, Image.Resampling.LANCZOS)
    if shown.mode != other.mode:
        shown = shown.convert(other.mode)
    return ImageChops.difference(shown, other).getbbox() is None


def _alike(one: Any, other: Any, limit: float) -> bool:
    """Whether two pictures are of a size, and alike in structure, colour by colour."""
    if one.size != other.size or min(*one.size) < _WINDOW:
        return False
    colours = [np.asarray(image.convert("RGB"), dtype=np.float64) for image in (one, other)]
    likes = [structure(colours[0][..., band], colours[1][..., band]) for band in range(3)]
    return float(np.mean(likes)) >= limit


def check_structure_sim(result: str | None, expected: str | None) -> float:
    """Whether two pictures are of a size and alike: SSIM of at least 0.9."""
    if result is None or expected is None:
        return 0.0
    try:
        one, other = (opened(path) for path in (result, expected))
        return float(_alike(one, other, _LIKE))
    except (OSError, ValueError):
        return 0.0


def check_file_exists_and_structure_sim(result: str | None, expected: str | None) -> float:
    """Whether a picture is there, and like another."""
    if result is None or expected is None or not Path(result).is_file():
        return 0.0
    return float(_alike(opened(result), opened(expected), _LIKE))


def check_image_mirror(result: str | None, expected: str | None) -> float:
    """Whether a picture is another, left and right exchanged."""
    if result is None or expected is None:
        return 0.0
    one, other = (opened(path) for path in (result, expected))
    return float(_alike(one.transpose(Image.Transpose.FLIP_LEFT_RIGHT), other, _MIRRORED))


def check_image_size(result: str | None, rules: Rules) -> float:
    """Whether a picture is of `height` and `width`, as far as said.

    Of one with a transparent colour, or (`ignore_transparent`) a transparent band, what is to be
    seen counts.
    """
    if result is None:
        return 0.0
    image = opened(result)
    size = image.size
    banded = rules.get("ignore_transparent", False) and image.mode in {"RGBA", "LA"}
    if banded or "transparency" in image.info:
        shown = image.convert("RGBA").getchannel("A").getbbox()
        size = (0, 0) if shown is None else (shown[2] - shown[0], shown[3] - shown[1])
    width, height = rules.get("width"), rules.get("height")
    return float(width in {None, size[0]} and height in {None, size[1]})


def check_image_file_size(result: str | None, rules: Rules) -> float:
    """Whether a file is smaller than `max_size` bytes."""
    return float(result is not None and Path(result).stat().st_size < rules["max_size"])
