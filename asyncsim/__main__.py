"""``python -m asyncsim``: the command line."""

import sys

from asyncsim.cli.main import main

sys.exit(main())
