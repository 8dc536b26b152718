"""The Lua scripts: one operation a file, read through importlib.resources."""
