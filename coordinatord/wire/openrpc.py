"""The OpenRPC document of a list of request classes: what ``rpc.discover`` answers.

Pure. Source: the OpenRPC 1.3 specification; the schemas come from the classes themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from coordinatord.errors import REASONS
from coordinatord.wire.jsonrpc import Code
from coordinatord.wire.requests import Mutation, Request, method_of, result_of

OPENRPC: Final = "1.3.2"
_REFERENCE: Final = "#/components/schemas/"


def document(requests: Sequence[type[Request[Any]]], version: str) -> dict[str, Any]:
    """The document for these methods, in this order.

    Args:
        version: of the program that answers.
    """
    methods, components = described(requests)
    return {
        "openrpc": OPENRPC,
        "info": {
            "title": "coordinatord",
            "version": version,
            "description": "JSON-RPC 2.0 over a Unix socket, one message per line.",
        },
        "methods": methods,
        "components": {
            "schemas": components,
            "errors": {
                "refused": {
                    "code": int(Code.REFUSED),
                    "message": "Refused; data.reason says why, data.hint what to do.",
                    "data": {"reasons": dict(REASONS)},
                }
            },
        },
    }


def described(
    requests: Sequence[type[Request[Any]]],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The methods as OpenRPC method objects, and the schemas that they refer to by name."""
    results = [result_of(each) for each in requests]
    schemas, components = msgspec.json.schema_components(
        [*requests, *results], ref_template=_REFERENCE + "{name}"
    )
    methods = []
    for request, asked, answered in zip(requests, schemas, schemas[len(requests) :], strict=False):
        own = components.pop(asked["$ref"].removeprefix(_REFERENCE))
        methods.append(_method(request, own, answered))
    return methods, components


def _method(
    request: type[Request[Any]], own: dict[str, Any], answered: dict[str, Any]
) -> dict[str, Any]:
    text = inspect.getdoc(request) or ""
    required = set(own.get("required", ()))
    return {
        "name": method_of(request),
        "summary": text.partition("\n\n")[0].replace("\n", " "),
        "description": text,
        "paramStructure": "by-name",
        "params": [
            _param(name, schema, name in required)
            for name, schema in own["properties"].items()
            if name != "method"
        ],
        "result": {"name": "result", "schema": answered},
        "errors": [{"$ref": "#/components/errors/refused"}],
        "x-access": request.access.value,
        "x-mutates": issubclass(request, Mutation),
    }


def _param(name: str, schema: dict[str, Any], required: bool) -> dict[str, Any]:
    param = {"name": name, "required": required, "schema": schema}
    description = schema.get("description") or _description_inside(schema)
    if description:
        param["description"] = description
    return param


def _description_inside(schema: dict[str, Any]) -> str | None:
    """The description of the one described type of a union with null."""
    found = [each["description"] for each in schema.get("anyOf", ()) if "description" in each]
    return found[0] if found else None
