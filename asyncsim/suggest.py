"""Did-you-mean for names that a user typed. Imports the standard library only."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.5) -> str:
    """``did you mean 'x'? `` if a known name is close, else an empty string."""
    from difflib import get_close_matches

    close = get_close_matches(name[:100], list(known), n=1, cutoff=cutoff)
    return f"did you mean {close[0]!r}? " if close else ""
