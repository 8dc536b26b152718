"""The arq worker fleet: lane loops around the engine."""
