"""The JSON schema of a configuration file, for editors: `python -m attend.config_schema` prints it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attend.config_file import tables
from attend.option import Option


def schema() -> dict[str, Any]:
    """The schema, made from the list of settings."""
    found: dict[str, Any] = {name: _table(options) for name, options in tables().items()}
    found["sink"] = {"type": "array", "maxItems": 1, "items": found["sink"]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "attend.toml",
        "description": "Settings of attend. Flags and ATTEND_ variables win over them.",
        "type": "object",
        "additionalProperties": False,
        "properties": found,
    }


def _table(options: Mapping[str, Option]) -> dict[str, Any]:
    if "" in options:
        return _setting(options[""])
    properties = {key: _setting(each) for key, each in options.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _setting(option: Option) -> dict[str, Any]:
    about = f"{option.help}. Default: {option.default}. {option.flag}, {option.variable}."
    return {"description": about[0].upper() + about[1:], **option.schema}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
