"""``python -m tests.docs [PAGE ...]``: bring what the pages show up to date."""

import sys
from pathlib import Path

from tests.docs.blackwell_table import BLACKWELL_PAGE, with_figures
from tests.docs.case_page import CASES_PAGE, cases_text
from tests.docs.mutant_table import CHECK_PAGE, with_score
from tests.docs.pages import ROOT, pages, update
from tests.docs.proof_tables import HARDWARE_PAGE, with_tables
from tests.docs.ptx_page import PTX_PAGE, ptx_text
from tests.docs.rule_page import RULES_PAGE, rules_text

chosen = [Path(name).resolve() for name in sys.argv[1:]] or pages()
if PTX_PAGE in chosen:
    PTX_PAGE.write_text(ptx_text(), encoding="utf-8")
if CASES_PAGE in chosen:
    CASES_PAGE.write_text(cases_text(), encoding="utf-8")
if RULES_PAGE in chosen:
    RULES_PAGE.write_text(rules_text(), encoding="utf-8")
if HARDWARE_PAGE in chosen:
    HARDWARE_PAGE.write_text(with_tables(HARDWARE_PAGE.read_text("utf-8")), encoding="utf-8")
if CHECK_PAGE in chosen:
    CHECK_PAGE.write_text(with_score(CHECK_PAGE.read_text("utf-8")), encoding="utf-8")
if BLACKWELL_PAGE in chosen:
    BLACKWELL_PAGE.write_text(with_figures(BLACKWELL_PAGE.read_text("utf-8")), encoding="utf-8")
for page in chosen:
    if update(page):
        print(f"changed {page.relative_to(ROOT)}")
