"""Sinks: where a decision is delivered in process."""
