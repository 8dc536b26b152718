"""Recorded events through the real engine in simulated time: what an agent would have heard, and how settings change it."""
