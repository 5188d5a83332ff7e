"""Every code that the sources can give, found by reading them: what `docs/errors.md` must list.

A code is a string that stands where a code belongs: the argument or member `code`, a variable of that name, what a
function called `…_code` returns, or a row of one of the registries.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from negotiator.messages.refusals import REFUSALS
from negotiator.model.findings import DECLARATION_FINDING_CODES
from negotiator.model.obligations import OBLIGATION_KINDS
from negotiator.web.problems import PROBLEMS
from tests.docs.markdown import ROOT

REGISTERED = frozenset(PROBLEMS) | DECLARATION_FINDING_CODES | frozenset(REFUSALS)
REGISTERED |= {kind.code for kind in OBLIGATION_KINDS}


def given_codes() -> frozenset[str]:
    """The codes that some statement, or a policy by the registries of obligations and findings, gives."""
    trees = [ast.parse(path.read_bytes(), str(path)) for path in sorted((ROOT / "negotiator").rglob("*.py"))]
    places = {name: place for tree in trees for name, place in _taking_codes(tree)}
    found = {code for tree in trees for node in ast.walk(tree) for code in _codes(node, places)}
    found.discard("")
    return frozenset(found | DECLARATION_FINDING_CODES | {kind.code for kind in OBLIGATION_KINDS})


def _taking_codes(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield functions that take a code by position, and at which."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [argument.arg for argument in node.args.args if argument.arg != "self"]
            if "code" in names:
                yield node.name, names.index("code")


def _codes(node: ast.AST, places: Mapping[str, int]) -> Iterator[str]:
    match node:
        case ast.keyword(arg="code", value=value):
            yield from _strings(value)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments) if name in places:
            yield from _strings(arguments[places[name]]) if len(arguments) > places[name] else ()
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                yield from _strings(value) if isinstance(key, ast.Constant) and key.value == "code" else ()
        case ast.Assign(targets=[target], value=value):
            yield from _assigned(target, value)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(args=[ast.Dict(values=values)])) if name.endswith(
            "_CODE"
        ):
            for value in values:
                yield from _strings(value)
        case ast.FunctionDef(name=name, body=body) if name.endswith("_code"):
            returns = (found for line in body for found in ast.walk(line) if isinstance(found, ast.Return))
            for found in returns:
                yield from _strings(found.value)


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[str]:
    match target, value:
        case _, ast.IfExp(body=one, orelse=other):
            yield from _assigned(target, one)
            yield from _assigned(target, other)
        case ast.Name(id="code"), _:
            yield from _strings(value)
        case ast.Tuple(elts=targets), ast.Tuple(elts=values):
            for each, given in zip(targets, values, strict=True):
                yield from _assigned(each, given)


def _strings(value: ast.expr | None) -> Iterator[str]:
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from _strings(one)
            yield from _strings(other)


def documented(page: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """Section to code to the further cells of its row."""
    sections: dict[str, dict[str, tuple[str, ...]]] = {}
    rows: dict[str, tuple[str, ...]] = {}
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            rows = sections.setdefault(line.removeprefix("## "), {})
        elif line.startswith("| `"):
            code, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            assert code.strip("`") not in rows, line
            rows[code.strip("`")] = tuple(cells)
    return sections
