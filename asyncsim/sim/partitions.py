"""The four sub-partitions of an SM, each with its own pipes and tensor core: who runs on which."""

from __future__ import annotations

from collections import Counter

SUB_PARTITIONS = 4


def partition_counts(warps: tuple[int, ...]) -> list[int]:
    """Warps on each of the four sub-partitions; warp w runs on w modulo 4."""
    counts = [0] * SUB_PARTITIONS
    for w in warps:
        counts[w % SUB_PARTITIONS] += 1
    return counts


def told_apart(counts: list[list[int]]) -> tuple[list[list[int]], list[int]]:
    """Of sub-partitions of which every agent asks the same, which are equally busy at any time, the
    first stands for all: the counts of those, and how many each stands for."""
    columns = list(zip(*counts, strict=True))
    alike = Counter(columns)
    first = [columns.index(column) for column in alike]
    return [[each[i] for i in first] for each in counts], list(alike.values())
