"""MCP Events from the other side: what other servers say, as sources; and an attend's decisions, one by one."""

from attend.mcp.feed import DecisionFeed, decision_feed
from attend.mcp.server import HttpServer, McpServer
from attend.mcp.source import McpEventsSource, mcp_events_source
from attend.mcp.transport import TransportServer, stdio_server
from attend.mcp.trouble import SourceTrouble

__all__ = [
    "DecisionFeed",
    "HttpServer",
    "McpEventsSource",
    "McpServer",
    "SourceTrouble",
    "TransportServer",
    "decision_feed",
    "mcp_events_source",
    "stdio_server",
]
