"""What a read found and what it means (condition H), in words."""

from __future__ import annotations

from asyncsim.check.model import Touch
from asyncsim.memory.region import SmemRegion
from asyncsim.stream.dyn import FILL, Tag


def stale_message(reader: Touch, writer: Touch | None, brought: Tag | None, tag: Tag | None) -> str:
    region = reader.access.region
    assert isinstance(region, SmemRegion)
    meant = tag_text(tag)
    if writer is None:
        return f"{region.name} is read where nothing has been written; {meant} is meant"
    return f"{region.name} holds {tag_text(brought)}; the read means {meant}"


def tag_text(tag: Tag | None) -> str:
    """The tensor, and the tensor index that stands at the tile's origin."""
    if tag is None:
        return "computed data"
    if tag == FILL:
        return "zeros that cp.async has filled in"
    tensor, origin = tag
    return f"{tensor} from [{', '.join(map(str, origin))}]"
