"""HTTP and MCP: a Litestar app that translates and never decides."""
