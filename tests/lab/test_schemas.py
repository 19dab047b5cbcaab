"""Every JSON document that a command prints matches docs/schemas/, and its mutants do not."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import printed_documents
import pytest
import referencing
from threadmark.model.places import ROOT

SCHEMAS = {
    path.stem: json.loads(path.read_text()) for path in (ROOT / "docs/schemas").glob("*.json")
}
# Objects whose contents differ between machines or between runs.
FREE = {"request", "facts", "repeats", "figures", "machine", "explained"}
# Maps: an entry may be absent, but each present entry has a type.
MAPS = {"arguments", "speedups", "times_ns", "threads", "as_is", "seconds", "left_out", "callers",
        "callees", "for", "n", "ended", "environment", "per_second", "gains"}  # fmt: skip
OPTIONAL = {"hold_us", "remedy", "versions", "detail", "serial", "serial_ns", "ns", "x",
            "arguments", "cell", "tasks", "one_ns", "gain_one", "gain_many", "build",
            "try"}  # fmt: skip


def validator(name: str) -> jsonschema.Draft202012Validator:
    """The validator of one schema. The schemas refer to each other by file name."""
    resources = [
        (f"{stem}.json", referencing.Resource.from_contents(each)) for stem, each in SCHEMAS.items()
    ]
    registry: Any = referencing.Registry().with_resources(resources)
    # A reference makes the validator resolve the schema's own references beside its file.
    return jsonschema.Draft202012Validator({"$ref": f"{name}.json"}, registry=registry)


def schema_of(document: dict[str, Any]) -> str:
    """The name of the schema in a document."""
    return str(document["schema"].removeprefix("threadmark").strip("/.").split("/")[0])


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> printed_documents.Documents:
    return printed_documents.all_documents(tmp_path_factory.mktemp("documents"))


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_each_schema_is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


def test_every_document_is_what_its_schema_says(
    documents: printed_documents.Documents,
) -> None:
    for name, document in documents:
        assert isinstance(document["version"], int), name
        errors = [
            f"{name}: {each.json_path}: {each.message[:300]}"
            for each in validator(schema_of(document)).iter_errors(document)
        ]
        assert errors == []
    printed = {schema_of(document) for _, document in documents}
    assert printed == SCHEMAS.keys() - {"common", "figures"}


def test_a_document_without_a_field_or_with_another_type_is_refused(
    documents: printed_documents.Documents,
) -> None:
    tried, accepted = 0, []
    for name, document in documents:
        valid = validator(schema_of(document)).is_valid
        for what, mutant in mutants(small(document)):
            assert not valid(mutant), f"{name}: {what}"
            tried += 1
    assert accepted == []
    assert tried > 1000


def test_published_runs_are_what_their_schemas_say() -> None:
    for path in (ROOT / "docs/runs").glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        validator(schema_of(document)).validate(document)


def small(value: Any) -> Any:
    """The value with the first two elements of each list, because the others are of the same
    type."""
    if isinstance(value, dict):
        return {key: small(each) for key, each in value.items()}
    return [small(each) for each in value[:2]] if isinstance(value, list) else value


def mutants(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The document without each field, with another type in each field, and with one more field in
    each object."""
    for path in places(document):
        *above, last = path
        changed = copy.deepcopy(document)
        owner = changed
        for step in above:
            owner = owner[step]
        old = owner[last]
        owner[last] = "no object" if isinstance(old, dict) else {"no such field": [[[7]]]}
        yield f"{path} of another type", changed
        in_map = bool(above) and above[-1] in MAPS
        if isinstance(last, str) and last not in OPTIONAL and not in_map:
            without = copy.deepcopy(changed)
            owner = without
            for step in above:
                owner = owner[step]
            del owner[last]
            yield f"{path} left out", without
    yield "one more field", {**document, "one_more": 1}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each field and of the first element of each list."""
    if path:
        yield path
    if path and path[-1] in FREE:
        return
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places(each, (*path, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))
