"""``python -m tests.docs``: bring what the pages show up to date."""

from tests.docs.pages import ROOT, pages, update
from tests.docs.rule_page import RULES_PAGE, rules_text

RULES_PAGE.write_text(rules_text(), encoding="utf-8")
for page in pages():
    if update(page):
        print(f"changed {page.relative_to(ROOT)}")
