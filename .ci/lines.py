"""Lines of Python by folder, as information; a file of more than 400 lines is an error."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

LIMIT = 400
FOLDERS = ("asyncsim", "hw", "scenarios", "tests")


def main() -> int:
    """Print the table; 1 if a file is too long."""
    root = Path(__file__).parents[1]
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    too_long = []
    for path in sorted(p for folder in FOLDERS for p in (root / folder).glob("**/*.py")):
        name = path.relative_to(root)
        if path.resolve() != root.resolve() / name:
            continue  # seen through one of the links in asyncsim/
        count = len(path.read_text(encoding="utf-8").splitlines())
        folder = "/".join(name.parts[:2]) if len(name.parts) > 2 else name.parts[0]
        lines[folder] += count
        files[folder] += 1
        if count > LIMIT:
            too_long.append((count, name))
    for folder in sorted(lines):
        print(f"{folder:<24} {files[folder]:>4} files {lines[folder]:>7} lines")
    print(f"{'all':<24} {files.total():>4} files {lines.total():>7} lines")
    for count, name in too_long:
        print(f"{name} has {count} lines, the limit is {LIMIT}: split it")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
