"""`GET /docs`: the API as a page for a browser. It loads nothing from anywhere, and has no script."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any, Final

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }
body { color: #222; background: #fff }
code, pre { font: 14px/1.4 ui-monospace, monospace } pre { background: #f4f4f2; padding: .8em; overflow: auto }
summary { cursor: pointer; padding: .3em 0 } details { border-bottom: 1px solid #ddd; padding: .2em 0 }
.method { display: inline-block; width: 5em; font-weight: 600 } .path { font-family: ui-monospace, monospace }
.about { color: #666; margin-left: 1em } table { border-collapse: collapse }
td, th { text-align: left; padding: .2em 1em .2em 0; vertical-align: top }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1b } pre { background: #2a2a2a }
details { border-color: #444 } .about { color: #aaa } a { color: #8ab4f8 } }
"""


def rendered(described: Mapping[str, Any]) -> str:
    info = described["info"]
    operations = [
        _operation(method, path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = [_schema(name, schema) for name, schema in sorted(described["components"]["schemas"].items())]
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style>"
        f"<h1>{escape(info['title'])}</h1><p>{escape(info['description'])} The same for programs: "
        f"<a href=/openapi.json>/openapi.json</a>.</p><h2>Operations</h2>{''.join(operations)}"
        f"<h2>Bodies</h2>{''.join(schemas)}</html>"
    )


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    head = (
        f"<summary><span class=method>{method.upper()}</span><span class=path>{escape(path)}</span>"
        f"<span class=about>{escape(operation['summary'])}</span></summary>"
    )
    parts = [f"<p>{escape(operation.get('description', 'Takes no token.'))}</p>"]
    rows = [_parameter(parameter) for parameter in operation["parameters"]]
    parts.append(f"<h4>Parameters</h4><table>{''.join(rows)}</table>")
    if "requestBody" in operation:
        parts.append(f"<h4>Body</h4>{_contents(operation['requestBody']['content'])}")
    answers = [
        f"<tr><th>{status}<td>{escape(answer['description'])} {_contents(answer['content'])}"
        for status, answer in operation["responses"].items()
    ]
    parts.append(f"<h4>Answers</h4><table>{''.join(answers)}</table>")
    return f"<details id={escape(operation['operationId'])}>{head}{''.join(parts)}</details>"


def _parameter(parameter: Mapping[str, Any]) -> str:
    schema = escape(json.dumps(parameter["schema"], ensure_ascii=False))
    text = escape(parameter.get("description", ""))
    return f"<tr><th><code>{escape(parameter['name'])}</code><td>{parameter['in']}<td>{text} <code>{schema}</code>"


def _contents(contents: Mapping[str, Any]) -> str:
    return "".join(
        [f"<div><code>{escape(kind)}</code> {_link(content['schema'])}</div>" for kind, content in contents.items()]
    )


def _link(schema: Mapping[str, Any]) -> str:
    name = schema.get("$ref", "").rpartition("/")[2]
    return f"<a href='#{escape(name)}'>{escape(name)}</a>" if name else f"<code>{escape(json.dumps(schema))}</code>"


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    text = escape(json.dumps(schema, indent=2, ensure_ascii=False))
    return f"<details id='{escape(name)}'><summary class=path>{escape(name)}</summary><pre>{text}</pre></details>"
