"""Webhook subscriptions of MCP Events: views of the one feed, delivered by whichever process runs lanes."""
