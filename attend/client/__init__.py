"""A client of a running attend: send it lines, look at a scope, hear its decisions."""

from attend.client.body import Body, Conflict, IngestReply, Rejected
from attend.client.client import DEFAULT_URL, Client
from attend.client.decisions import START, Decisions, Occurrence
from attend.client.stream import Stream

__all__ = [
    "DEFAULT_URL",
    "START",
    "Body",
    "Client",
    "Conflict",
    "Decisions",
    "IngestReply",
    "Occurrence",
    "Rejected",
    "Stream",
]
