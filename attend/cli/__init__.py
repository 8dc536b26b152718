"""The `attend` command."""
