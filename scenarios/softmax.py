"""Online softmax of a block of scores in the accumulator of a wgmma, as compute definitions.

A thread holds two rows, ``half`` 0 and 1: elements 4i + 2 half + {0, 1} of its N/2; four lanes hold
a row together. ``top`` is the maximum of a row so far and ``total`` the sum of a lane's part of it,
two registers each; ``fade`` is what an earlier sum is worth now. Exponents are of base 2: ``scale``
is log2(e) / sqrt(head dimension).
"""

from __future__ import annotations

from math import e, log2, sqrt
from typing import Any

from asyncsim import AccessMode, ComputeDef, ComputeOperand, Work

MINUS_INFINITY = "__int_as_float(0xff800000)"


def _fragment(name: str, mode: AccessMode = AccessMode.READ) -> ComputeOperand:
    return ComputeOperand(name=name, kind="fragment", mode=mode)


def _int(name: str) -> ComputeOperand:
    return ComputeOperand(name=name, kind="int")


def _halves(s: Any) -> Any:
    """(32, N/2) as (8 row pairs, 4 lanes, N/8, half, pair)."""
    return s.reshape(8, 4, -1, 2, 2)


def _per_lane(rows: Any) -> Any:
    """(8 row pairs, half), which four lanes share, as (32, 2)."""
    return rows.repeat(4, axis=0)


def mask_scores(n: int, *, causal: bool) -> ComputeDef:
    """Scores of keys past the last one, and (causal) past the query, become minus infinity."""

    def apply(s: Any, row: Any, column: Any, keys: Any, lane: Any, **_: Any) -> None:
        import numpy as np

        at = np.arange(n // 2)
        columns = column + 8 * (at // 4) + at % 2 + 2 * (lane[:, None] % 4)
        rows = row + lane[:, None] // 4 + 8 * (at // 2 % 2)
        s[(columns >= keys) | (causal & (columns > rows))] = -np.inf

    late = " || at > row + lane / 4 + 8 * (i / 2 % 2)" if causal else ""
    return ComputeDef(
        name="mask_scores",
        operands=(
            _fragment("s", AccessMode.READ_WRITE),
            _int("row"),
            _int("column"),
            _int("keys"),
        ),
        work=lambda row, column, keys: Work(alu=(3 + causal) * n // 2, chain_alu=3),
        cuda=f"""
            #pragma unroll
            for (int i = 0; i < {n // 2}; ++i) {{
              const int at = column + 8 * (i / 4) + i % 2 + 2 * (lane % 4);
              if (at >= keys{late}) s[i] = {MINUS_INFINITY};
            }}
        """,
        numpy=apply,
    )


def online_softmax(n: int, hdim: int, *, first: bool) -> ComputeDef:
    """Scores become exponentials of what they lack to the maximum; ``top`` and ``total`` follow."""
    scale = log2(e) / sqrt(hdim)

    def apply(s: Any, top: Any, total: Any, fade: Any, **_: Any) -> None:
        import numpy as np

        scores, before = _halves(s), top[::4].copy()
        maxima = scores.max(axis=(1, 2, 4))
        if not first:
            maxima = np.maximum(maxima, before)
        base = np.where(maxima == -np.inf, np.float32(0), maxima * scale)
        scores[...] = np.exp2(scores * scale - base[:, None, None, :, None])
        sums = scores.sum(axis=(2, 4), dtype=np.float32).reshape(32, 2)
        top[...] = _per_lane(maxima)
        fade[...] = 0 if first else _per_lane(np.exp2(before * scale - base))
        total[...] = sums if first else total * fade + sums

    begin = MINUS_INFINITY if first else "top[half]"
    worth = "0.f" if first else "exp2_approx(before * scale - base)"
    rounds = n // 4
    return ComputeDef(
        name="first_softmax" if first else "online_softmax",
        operands=(
            _fragment("s", AccessMode.READ_WRITE),
            _fragment("top", AccessMode.WRITE if first else AccessMode.READ_WRITE),
            _fragment("total", AccessMode.WRITE if first else AccessMode.READ_WRITE),
            _fragment("fade", AccessMode.WRITE),
        ),
        work=lambda: (  # the maxima of two rows, by lanes and then between them; the exponentials
            Work(alu=n // 2 + 8, shuffle=4, chain_alu=n // 4 + 14),
            Work(ffma=n + 8, mufu=n // 2 + 2, chain_ffma=n // 4),
        ),
        cuda=f"""
            const float scale = {scale:.9g}f;
            auto exp2_approx = [](float x) {{
              float y;
              asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
              return y;
            }};
            #pragma unroll
            for (int half = 0; half < 2; ++half) {{
              {"" if first else "const float before = top[half];"}
              float most = {begin};
              #pragma unroll
              for (int i = 0; i < {rounds}; ++i)
                most = fmaxf(most, s[4 * (i / 2) + 2 * half + i % 2]);
              most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
              most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
              const float base = most == {MINUS_INFINITY} ? 0.f : most * scale;
              float sum = 0.f;
              #pragma unroll
              for (int i = 0; i < {rounds}; ++i) {{
                float& x = s[4 * (i / 2) + 2 * half + i % 2];
                x = exp2_approx(x * scale - base);
                sum += x;
              }}
              top[half] = most;
              fade[half] = {worth};
              total[half] = {"sum" if first else "total[half] * fade[half] + sum"};
            }}
        """,
        numpy=apply,
    )


def round_weights(n: int, dtype: str) -> ComputeDef:
    """Exponentials become the A of the next product, two to a register."""

    def apply(p: Any, s: Any, **_: Any) -> None:
        p[...] = s.astype(p.dtype)

    return ComputeDef(
        name="round_weights",
        operands=(_fragment("p", AccessMode.WRITE), _fragment("s")),
        work=lambda: Work(cvt=n // 4),
        cuda=f"""
            #pragma unroll
            for (int i = 0; i < {n // 4}; ++i)
              asm("cvt.rn.{dtype}x2.f32 %0, %1, %2;"
                  : "=r"(p[i]) : "f"(s[2 * i + 1]), "f"(s[2 * i]));
        """,
        numpy=apply,
    )


def fade_sums(hdim: int) -> ComputeDef:
    """The sums over earlier blocks, at what they are worth now."""

    def apply(o: Any, fade: Any, **_: Any) -> None:
        _halves(o)[...] *= fade.reshape(8, 4, 1, 2, 1)

    return ComputeDef(
        name="fade_sums",
        operands=(_fragment("o", AccessMode.READ_WRITE), _fragment("fade")),
        work=lambda: Work(ffma=hdim // 2),
        cuda=f"""
            #pragma unroll
            for (int i = 0; i < {hdim // 2}; ++i) o[i] *= fade[i / 2 % 2];
        """,
        numpy=apply,
    )


def divide_by_total(columns: int) -> ComputeDef:
    """``columns`` columns of the sums over all blocks become the result."""

    def apply(out: Any, o: Any, total: Any, **_: Any) -> None:
        sums = total.reshape(8, 4, 2).sum(axis=1)
        result = _halves(o) / _per_lane(sums).reshape(8, 4, 1, 2, 1)
        out[...] = result.reshape(32, -1).astype(out.dtype)

    return ComputeDef(
        name="divide_by_total",
        operands=(_fragment("out", AccessMode.WRITE), _fragment("o"), _fragment("total")),
        work=lambda: Work(ffma=columns // 2, cvt=columns // 2, mufu=2, shuffle=4),
        cuda=f"""
            float share[2];
            #pragma unroll
            for (int half = 0; half < 2; ++half) {{
              float sum = total[half] + __shfl_xor_sync(0xffffffffu, total[half], 1);
              sum += __shfl_xor_sync(0xffffffffu, sum, 2);
              share[half] = __fdividef(1.f, sum);
            }}
            #pragma unroll
            for (int i = 0; i < {columns // 2}; ++i) out[i] = o[i] * share[i / 2 % 2];
        """,
        numpy=apply,
    )
