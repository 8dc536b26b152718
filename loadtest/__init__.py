"""Load tests: the figures attend is held to, each against a reference measured in the same run."""
