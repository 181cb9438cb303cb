"""``python -m tests.machine``: carry measured numbers over, bring tables in docs/ up to date."""

from pathlib import Path

from asyncsim import machine
from tests.machine.calibration_page import write_report
from tests.machine.copies import refreshed
from tests.machine.machine_page import FIGURES, PAGE, figures_text, page_text

for name in machine.known_machines():
    path = Path(machine.__file__).with_name(f"{name}.toml")
    path.write_text(refreshed(name), encoding="utf-8")
PAGE.write_text(page_text(), encoding="utf-8")
FIGURES.write_text(figures_text(), encoding="utf-8")
write_report()
