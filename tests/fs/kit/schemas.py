# SPDX-License-Identifier: GPL-2.0-or-later
"""What the programs print as JSON, held to docs/schema."""

import functools
import json
import pathlib
import re

import jsonschema

DIRECTORY = pathlib.Path(__file__).resolve().parents[3] / "docs/schema"
# What 'run' prints is dedupd's.
NAMES = {path.stem: path.stem for path in DIRECTORY.glob("*.json")} | {"run": "report"}


@functools.lru_cache(maxsize=None)
def schema(name):
    return json.loads((DIRECTORY / f"{name}.json").read_text("utf-8"))


def with_all_required(part):
    """The same schema of objects that lack nothing of what they may have."""
    if isinstance(part, list):
        return [with_all_required(one) for one in part]
    if not isinstance(part, dict):
        return part
    whole = {name: with_all_required(one) for name, one in part.items()}
    return whole | {"required": list(part["properties"])} if part.get("type") == "object" else whole


def alternative(document, name):
    """Which of the schemas that @name.json allows is that of a record with a type; None: there is one alone."""
    found = {"$ref": f"#/$defs/{document.get('type', 'store')}"} if isinstance(document, dict) else None
    return found["$ref"] if found in schema(name).get("oneOf", []) else None


@functools.lru_cache(maxsize=None)
def validator(name, may_lack, part=None):
    whole = schema(name) if may_lack else with_all_required(schema(name))
    if part:
        whole = {"$ref": part, "$defs": whole["$defs"]}
    jsonschema.Draft202012Validator.check_schema(whole)
    return jsonschema.Draft202012Validator(whole)


def check(document, name, may_lack=False):
    """Fails unless @document is what docs/schema/@name.json promises; columns are lacking with @may_lack alone."""
    # Trying all alternatives on each line of an export took most of the time of some tests.
    validates = validator(name, may_lack, alternative(document, name))
    problems = [f"{problem.json_path}: {problem.message}" for problem in validates.iter_errors(document)]
    assert not problems, problems


def name_of(words):
    """The schema of what `dedupctl WORDS` prints."""
    for word, after in zip(words, [*words[1:], ""]):
        for verb in (f"{word}-{after}", word):
            if verb in NAMES:
                return NAMES[verb]
    raise AssertionError(f"no schema of what {words} prints")


def documents(text):
    """All JSON documents in @text, which has nothing else."""
    found = []
    while text := text.lstrip():
        document, end = json.JSONDecoder().raw_decode(text)
        found.append(document)
        text = text[end:]
    return found


def check_printed(words, text):
    """Hold what `dedupctl WORDS` printed to its schema, if that was to be JSON."""
    words = [str(word) for word in words]
    if text and "export" in words and "--help" not in words:
        for line in text.splitlines():
            check(json.loads(line), "export", may_lack=True)
    elif text and not {"--json", "-J", "--format=json"}.isdisjoint(words):
        may_lack = any(re.match(r"-[a-zA-Z]*o|--output", word) for word in words)
        for document in documents(text):
            check(document, name_of(words), may_lack)
