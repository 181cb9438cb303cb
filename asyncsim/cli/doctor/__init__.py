"""What this machine has and lacks: packages, a proof and a prediction, compiler, GPU."""

from asyncsim.cli.doctor.item import Group, Item
from asyncsim.cli.doctor.packages import installed
from asyncsim.cli.doctor.text import diagnosis_json, diagnosis_text
from asyncsim.cli.doctor.trials import compiler, gpu, prove_and_predict

__all__ = [
    "Group",
    "Item",
    "compiler",
    "diagnosis_json",
    "diagnosis_text",
    "gpu",
    "installed",
    "prove_and_predict",
]
