"""A durable log in front of attend: producers append, a source reads it into a scope."""
