"""The version, in one place: packaging and every handshake read it here."""

__version__ = "0.1.0"
