"""The JSON schema of a configuration file, for editors: `python -m attend.config_schema` prints it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attend.config_file import tables
from attend.option import Option
from attend.principal import KEYS, NAME, Right

_TEXTS: dict[str, Any] = {"type": "array", "minItems": 1, "items": {"type": "string"}}

PRINCIPAL: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": list(KEYS),
    "properties": {
        "name": {
            "description": "Whom the token stands for.",
            "type": "string",
            "pattern": f"^{NAME}$",
        },
        "hash": {
            "description": "The token's hash, as attend token new prints it.",
            "type": "string",
            "pattern": "^sha256:[0-9a-f]{64}$",
        },
        "rights": {
            "description": "What it may do.",
            **_TEXTS,
            "items": {"enum": [right.value for right in Right]},
        },
        "scopes": {"description": 'Prefixes of the scopes it may do it in; "" is every scope.', **_TEXTS},
    },
}


def schema() -> dict[str, Any]:
    """The schema, made from the list of settings."""
    found: dict[str, Any] = {name: _table(options) for name, options in tables().items()}
    found["sink"] = {"type": "array", "maxItems": 1, "items": found["sink"]}
    found["principal"] = {"type": "array", "items": PRINCIPAL}
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
