"""``python -m tracejit``: the same as the ``tracejit`` command."""

from __future__ import annotations

import sys

from .tools.cli import main

sys.exit(main())
