"""loadtest is run from the checkout and is not installed."""

import sys
from pathlib import Path

# Last, so that attend is the installed one.
sys.path.append(str(Path(__file__).parents[2]))
