"""Judges: async functions from a settled window to a verdict."""
