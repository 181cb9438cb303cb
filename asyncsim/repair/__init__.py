"""What to change: repairs of a finding, and what a clean schedule can do without.

Every proposal is a rewritten schedule that ``check`` has proven; nothing is proposed on suspicion.
"""

from asyncsim.repair.edits import Edit
from asyncsim.repair.search import Repair, omissions, removable, repairs

__all__ = ["Edit", "Repair", "omissions", "removable", "repairs"]
