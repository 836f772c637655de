"""``python -m docs [FOLDER]`` builds the site in ``build/site``; it needs ``pip install '.[docs]'``."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.site.build import build

if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1] if len(sys.argv) > 1 else "build/site")))
