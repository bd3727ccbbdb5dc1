"""Texts, a database, pictures and archives, each in variants that differ in one thing."""

import shutil
import sqlite3
import zipfile

import numpy as np
from PIL import Image


def written(folder, bodies, suffix):
    """A file a text, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in bodies.items():
        (folder / f"{name}{suffix}").write_text(text, "utf-8")
    return {name: str(folder / f"{name}{suffix}") for name in bodies}


def database(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("drop table if exists t")
        connection.execute("create table t (n real)")
        connection.executemany("insert into t values (?)", [(0.5,), (2,)])
    connection.close()
    return str(path)


def pictures(folder):
    """Variants of a picture of 48 x 32."""
    target = folder / "png"
    target.mkdir(parents=True, exist_ok=True)
    ramp = np.add.outer(np.arange(32) * 3, np.arange(48) * 2).astype(np.uint8)
    noise = np.random.default_rng(7).integers(0, 40, ramp.shape, dtype=np.uint8)
    colours = np.stack([ramp, ramp[::-1], ramp[:, ::-1]], axis=2)
    clear = np.dstack([colours, np.zeros_like(ramp)])
    clear[5:17, 3:13, 3] = 255
    images = {
        "base": Image.fromarray(colours),
        "noise": Image.fromarray(colours + noise[..., None]),
        "mirror": Image.fromarray(colours[:, ::-1].copy()),
        "grey": Image.fromarray(ramp),
        "small": Image.fromarray(colours[:20, :30].copy()),
        "large": Image.fromarray(colours).resize((96, 64)),
        "tiny": Image.fromarray(colours[:5, :5].copy()),
        "clear": Image.fromarray(clear),
        "palette": Image.fromarray(colours).quantize(8),
    }
    for name, image in images.items():
        image.save(target / f"{name}.png")
    return {name: str(target / f"{name}.png") for name in images}


def archives(folder, kind, inside):
    """Archives of two files (in the folder `inside`); variants of what is in them."""
    contents = {
        "base": ("one\n", "TWO\n"),
        "case": ("one\n", "two\n"),
        "other": ("one\n", "one\n"),
        "fewer": ("one\n", None),
    }
    shown = {"one\n": "base", "TWO\n": "noise", "two\n": "mirror"}
    found = {}
    for name, texts in contents.items():
        root = folder / f"packed-{kind}{inside}" / name
        (root / inside).mkdir(parents=True, exist_ok=True)
        for file, text in zip("ab", texts, strict=True):
            if text is not None and kind == "image":
                shutil.copy(pictures(folder)[shown[text]], root / inside / file)
            elif text is not None:
                (root / inside / file).write_text(text, "utf-8")
        found[name] = _packed(root)
    return found


def _packed(root):
    """A ZIP without entries of folders and with one date: the same bytes each time."""
    path = root.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(item for item in root.rglob("*") if item.is_file()):
            archive.writestr(zipfile.ZipInfo(str(file.relative_to(root))), file.read_bytes())
    return str(path)
