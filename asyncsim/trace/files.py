"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_whole(path: str | Path, data: bytes) -> None:
    """Write ``data`` beside ``path``, then rename: a reader never sees half a file.

    A device, a pipe or a link is written to, not replaced. Raises OSError.
    """
    target = Path(path)
    if target.is_symlink() or (target.exists() and not target.is_file()):
        target.write_bytes(data)
        return
    handle, temporary = tempfile.mkstemp(
        prefix=f".{target.name}.", suffix=".part", dir=target.parent
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def replace_folder(path: str | Path, files: Mapping[str, str]) -> None:
    """Write a folder of text files beside ``path``, then rename: what was there before goes when
    the new one is complete, and not if anything fails. Raises OSError."""
    target = Path(path)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    new, old = beside / "new", beside / "old"
    try:
        new.mkdir()
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8")
        if target.exists():
            target.rename(old)
        try:
            new.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
