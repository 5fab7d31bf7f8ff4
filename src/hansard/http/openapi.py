"""The API as OpenAPI 3.1, made from the table of operations and the types of its bodies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from .operation import Operation
from .problem import KINDS, MEDIA_TYPE, PREFIX, Problem

REF: Final = "#/components/schemas/{name}"
CLUSTER: Final = {
    "name": "Hansard-Cluster",
    "in": "header",
    "description": "The cluster's id, if it is known: another cluster refuses the request.",
    "schema": {"type": "string", "format": "cluster"},
}
ALWAYS: Final = ("bad-request", "wrong-cluster", "too-large", "too-slow", "headers-too-large", "failed", "busy")
"""What every operation may answer."""


def described(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    types = _types(operations)
    schemas, components = msgspec.json.schema_components(types, ref_template=REF)
    by_type = {repr(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Hansard",
            "version": version,
            "description": "A sharded, replicated change log: changes in, and the same changes out in order.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _types(operations: Iterable[Operation]) -> list[Any]:
    found: dict[str, Any] = {repr(Problem): Problem}
    for operation in operations:
        forms = [
            *operation.bodies.values(),
            *(form for answer in operation.answers.values() for form in answer.values()),
        ]
        if operation.query is not None:
            forms += [field.type for field in msgspec.structs.fields(operation.query)]
        single = [each for form in forms for each in (form if isinstance(form, tuple) else (form,))]
        found |= {repr(form): form for form in single if form is not None}
    return list(found.values())


def _described(operation: Operation, schemas: Mapping[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": _parameters(operation, schemas),
        "responses": _responses(operation, schemas),
    }
    if operation.bodies:
        content = {media_type: _content(form, schemas) for media_type, form in operation.bodies.items()}
        described["requestBody"] = {"required": operation.body_required, "content": content}
    described["security"] = [{"token": []}, {}] if operation.scope else []
    if operation.scope:
        limited = "" if operation.whole else ", which may be limited to tags"
        described["description"] = (
            f"Takes a token with the scope `{operation.scope}`{limited}, unless the cluster is open."
        )
    return described


def _content(form: Any, schemas: Mapping[str, Any]) -> dict[str, Any]:
    if form is None:
        return {"schema": {"type": "string", "format": "binary"}}
    if isinstance(form, tuple):
        return {"schema": {"anyOf": [schemas[repr(each)] for each in form]}}
    return {"schema": schemas[repr(form)]}


def _parameters(operation: Operation, schemas: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in operation.path_schemas.items()
    ]
    for field in msgspec.structs.fields(operation.query) if operation.query is not None else ():
        schema = dict(schemas[repr(field.type)])
        found.append(
            {"name": field.encode_name, "in": "query", "required": field.required, "schema": _without_null(schema)}
        )
    found += [
        {"name": name, "in": "header", "description": text, "schema": schema}
        for name, (text, schema) in operation.headers.items()
    ]
    return [*found, CLUSTER]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is left out is left out: there is no null in a query."""
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        return dict(options[0])
    return {**schema, "anyOf": options} if options else schema


def _responses(operation: Operation, schemas: Mapping[str, Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {
        str(status): {
            "description": "As asked for." if status < 400 else "Not now.",
            "content": {media_type: _content(form, schemas) for media_type, form in forms.items()},
        }
        for status, forms in operation.answers.items()
    }
    names = [*ALWAYS, *operation.problems]
    if operation.scope:
        names += ["no-token", "not-allowed", "too-many"]
    if operation.bodies:
        names.append("unsupported-body")
    for name in names:
        kind = KINDS[name]
        response = responses.setdefault(str(kind.status), {"description": "", "content": {}})
        response["content"][MEDIA_TYPE] = {"schema": schemas[repr(Problem)]}
        text = f"`{PREFIX}{name}`: {kind.title}."
        if text not in response["description"]:
            response["description"] = " ".join([response["description"], text]).strip()
    return dict(sorted(responses.items()))


def fields_of(form: type[Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(form)]
