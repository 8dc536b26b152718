"""The numbers of the errors of MCP Events, which are not settled for everyone yet."""

from __future__ import annotations

PROFILES: dict[str, dict[str, int]] = {
    "sep-3415": {
        "NotFound": -32023,
        "Forbidden": -32024,
        "ResourceExhausted": -32025,
        "Unsupported": -32026,
        "CallbackEndpointError": -32027,
    },
    "openai": {
        "NotFound": -32011,
        "Forbidden": -32012,
        "ResourceExhausted": -32013,
        "Unsupported": -32014,
        "CallbackEndpointError": -32015,
    },
}
"""Each set of numbers by its name: SEP-3415's, and those of the sketch before it, which ChatGPT reads."""
