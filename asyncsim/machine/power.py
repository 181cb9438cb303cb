"""What a board draws, and what it may draw.

Energies are those at the boost clock; those of what happens in an SM fall with the voltage,
squared, the others do not: L2 and DRAM have clocks and voltages of their own.  Imports the standard
library only.  See docs/power.md.
"""

__all__ = ["Power"]

from dataclasses import dataclass

from asyncsim.machine.quantity import Picojoules, Share, Watts


@dataclass(frozen=True, slots=True)
class Power:
    """Of a whole board.  Matrix operations count products and sums; `*_zeros` are of operands of
    zeros, all others of random ones."""

    limit_watts: Watts
    held_share: Share  # of the limit, that a throttled board keeps to
    base_watts: Watts  # nothing runs, clocks up
    awake_watts: Watts  # beside it: a warp on every SM
    voltage_share: Share  # it falls as this power of the clock
    f16_picojoules: Picojoules  # of wgmma and tcgen05, beside their reads of shared memory
    f8_picojoules: Picojoules
    tf32_picojoules: Picojoules
    f16_zeros_picojoules: Picojoules
    f8_zeros_picojoules: Picojoules
    mma_picojoules: Picojoules  # of mma.sync, f16, operands in registers
    smem_picojoules: Picojoules  # a byte to or from shared memory, for wgmma as well
    smem_zeros_picojoules: Picojoules
    fill_picojoules: Picojoules  # a byte on its way into an SM, which lines that SMs share pay too
    l2_picojoules: Picojoules  # a byte that a GPC fetches from L2
    moved_zeros_share: Share  # of fill and l2, if what is moved is zeros
    dram_picojoules: Picojoules
    dram_zeros_share: Share
    store_picojoules: Picojoules  # a byte from an SM to L2
    ffma_picojoules: Picojoules  # a warp instruction
    alu_picojoules: Picojoules
    mufu_picojoules: Picojoules
    peak_watts: Watts  # of the power and the next three, whatever the operands
    peak_f16_picojoules: Picojoules
    peak_f8_picojoules: Picojoules
    peak_smem_picojoules: Picojoules
    peak_fill_picojoules: Picojoules
