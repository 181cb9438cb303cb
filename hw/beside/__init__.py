"""asyncsim beside other predictors, on the same rows: what ``docs/accuracy.md`` shows.

Each part computes what costs time once and stores it under ``hw/data/beside/``; the page is made
from what is stored, so that a test can hold it.  ``python -m asyncsim.hw.beside --update``.
"""
