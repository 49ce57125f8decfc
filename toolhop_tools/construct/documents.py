"""Stages T and R: whether a tool's document is sound, and a refined one keeps what held. Pure."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence

import jsonschema_rs

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.giveaway import gives_away
from toolhop_tools.construct.likeness import NEAR, likeness
from toolhop_tools.construct.orders import orders
from toolhop_tools.construct.promises import disagreements, misnamed
from toolhop_tools.construct.replies import NewTool, ToolDocument
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import resolved, share, texts
from toolhop_tools.construct.vocabulary import like, plain, senses, spoken
from toolhop_tools.construct.wording import limited, unspoken
from toolhop_tools.declared import compiled, declared, fits, required
from toolhop_tools.model import ToolSchema
from toolhop_tools.words import as_text, number_of, scalars, words

_NAME = re.compile(r"[a-z][a-z0-9_]{2,63}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TAKEN = frozenset({"self", "RECORDS"})
_VALUES = frozenset({"default", "const", "enum", "examples"})
"""Keywords whose numbers may be answers; those of others are bounds."""
_STRUCTURE = frozenset({"type", "required", "$ref", "$schema", "format", "$id", "$anchor"})
"""Keywords whose texts say nothing of values."""
MOST_ADDED = 4
MANY = 8
"""Choices that give none of themselves away: as many as a table has records."""


def schema_of(document: ToolDocument) -> ToolSchema:
    """The document as the product has it."""
    return ToolSchema(document.name, document.description, document.parameters)


def in_words(schema: ToolSchema, question: str) -> str:
    """What a sub-question and a tool's document say in words."""
    return f"{question} {schema.name.replace('_', ' ')} {schema.description}"


def document_findings(
    reply: NewTool,
    question: str,
    answers: Sequence[str],
    earlier: Sequence[ToolSchema],
    *,
    of_seed: bool = False,
) -> Findings:
    """The checks of a new tool.

    Args:
        reply: what was replied.
        question: the sub-question, with earlier answers in place.
        answers: the earlier answers.
        earlier: the documents of the item's earlier hops.
        of_seed: whether the sub-question is a seed's, which may say more than the call has to.
    """
    found = _sound(reply.tool) + judged("own-name", _shared_name(reply.tool.name, earlier))
    if found.failed & {"schema"}:
        return found
    return (
        found
        + judged("call", invalid_call(reply.tool.parameters, reply.arguments, answers))
        + judged("answer-no-input", _asked_for(reply, question))
        + judged("says-what-is-asked", _unlike(reply.tool, question, answers))
        + judged("name-of-its-work", misnamed(schema_of(reply.tool), question))
        + judged("every-number-used", () if of_seed else _unused(reply, question, answers))
        + judged("every-word-known", () if of_seed else _unspoken(reply, question, answers))
        + judged("key-of-what-is-asked", other_key(reply, question))
        + judged("knows-what-is-asked", _limited(reply, question))
        + judged("own-document", _alike(schema_of(reply.tool), earlier))
        + judged("no-earlier-answer", earlier_answers(schema_of(reply.tool), answers))
    )


def refined_findings(
    document: ToolDocument,
    first: NewTool,
    answers: Sequence[str],
    earlier: Sequence[ToolSchema],
) -> Findings:
    """The checks of a refined document against the one that it refines."""
    found = _sound(document) + judged("same-name", _renamed(document.name, first.tool.name))
    if found.failed & {"schema"}:
        return found
    return (
        found
        + judged("call", invalid_call(document.parameters, first.arguments, answers))
        + judged("required-kept", _required(document.parameters, first.tool.parameters))
        + judged("knows-no-less", limited(document.description, first.tool.description))
        + judged("more-parameters", _added(document.parameters, first.tool.parameters))
        + judged("own-document", _alike(schema_of(document), earlier))
        + judged("no-earlier-answer", earlier_answers(schema_of(document), answers))
    )


def earlier_answers(document: ToolSchema, answers: Sequence[str]) -> Iterator[str]:
    """Answers of earlier hops that a document says: with them nobody needs these hops."""
    for answer in answers:
        yield from given_away(document, answer, of_keys=True)


def _sound(document: ToolDocument) -> Findings:
    found = judged("name", _bad_name(document.name))
    found += judged("schema", _schema(document.parameters))
    if not found.ok:
        return found
    said = [document.description, *_texts(dict(document.parameters), 0)]
    found += judged("no-order", orders(said, "The document"))
    return found + judged("agrees-with-itself", disagreements(schema_of(document)))


def _bad_name(name: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield f"The name {name!r} is no identifier of 3 to 64 small letters, digits and _."
    elif _is_pythons(name):
        yield f"The name {name!r} is one of Python's own; say what the tool does."


def _is_pythons(name: str) -> bool:
    return keyword.iskeyword(name) or hasattr(builtins, name)


def _shared_name(name: str, earlier: Sequence[ToolSchema]) -> Iterator[str]:
    if any(name.casefold() == other.name.casefold() for other in earlier):
        yield f"An earlier hop's tool is called {name} as well; give this one a name of its own."


def _schema(parameters: Mapping[str, JSON]) -> Iterator[str]:
    try:
        jsonschema_rs.meta.validate({**parameters, "$schema": _DRAFT})
    except (jsonschema_rs.ValidationError, ValueError) as error:
        yield f"The parameters are no JSON Schema of draft 2020-12: {str(error).splitlines()[0]}"
        return
    properties = parameters.get("properties")
    if parameters.get("type") != "object" or not isinstance(properties, dict) or not properties:
        yield "The parameters have to be an object with at least one property."
        return
    if parameters.get("additionalProperties") is not False:
        yield "additionalProperties has to be false."
    if missing := [name for name in required(parameters) if name not in properties]:
        yield f"Required and not described: {', '.join(missing)}."
    for name, schema in properties.items():
        yield from _parameter(name, schema, needed=name in required(parameters))
    if not required(parameters):
        yield "No parameter is required: a tool that can be called with nothing looks at nothing."


def _parameter(name: str, schema: JSON, *, needed: bool) -> Iterator[str]:
    if not _PARAMETER.fullmatch(name) or keyword.iskeyword(name) or name in _TAKEN:
        yield f"The name {name!r} of a parameter cannot be one of a Python function's."
    if not isinstance(schema, dict) or not (schema.get("type") or "enum" in schema):
        yield f"Parameter {name} has no type."
    elif not schema.get("description"):
        yield f"Parameter {name} has no description."
    elif "default" in schema:
        own = compiled(schema)
        if needed:
            yield f"Parameter {name} is required and has a default."
        if own is not None and not own.is_valid(schema["default"]):
            yield f"The default of parameter {name} is not valid under its own schema."
    elif not needed:
        yield f"Parameter {name} is optional and has no default."


_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def invalid_call(
    parameters: Mapping[str, JSON], arguments: Mapping[str, JSON], answers: Sequence[str]
) -> Iterator[str]:
    """Why the simulator does not take a call; nothing where it does."""
    made = resolved(dict(arguments), answers, parameters)
    if not isinstance(made, dict) or fits(compiled(parameters), parameters, made):
        return
    text = json.dumps(made, ensure_ascii=False)
    validator = compiled(parameters)
    listed = validator.iter_errors(made) if validator else ()
    noted = "; ".join(f"{'.'.join(map(str, one.instance_path))}: {one.message}" for one in listed)
    extra = [name for name in made if name not in declared(parameters)]
    noted = noted or f"unknown: {', '.join(extra)}"
    yield f"The call {text} is not valid under the parameters: {noted}"


def _asked_for(reply: NewTool, question: str) -> Iterator[str]:
    """A required parameter whose name is what the question asks for, of what computes nothing."""
    document = reply.tool
    asked = re.search(
        r"\b(?:what|which)(?: is| was| are| were)?(?: the)? ([\w -]+?)(?: of| in| for|\?)",
        question.casefold(),
    )
    if asked is None or reply.kind == "compute":
        return
    wanted = {*words(asked[1])}
    for name in required(document.parameters):
        if (own := {*words(name.replace("_", " "))}) and own == wanted:
            yield f"Parameter {name} is what the sub-question asks for; the tool has to return it."


_EMPTY = frozenset(
    words(
        "a about all an and any are be by can did do does for from give given had has have how in "
        "is it its know like many much name of on one or tell that the their there they thing this "
        "to was were what when where which who whom whose will with would"
    )
)


def content(question: str) -> set[str]:
    """The words of a question that say what is asked: no names, numbers or words of any question.

    Names are words with a capital, but for the first.
    """
    named = {word for name in re.findall(r"(?<=\s)[A-Z]\w+", question) for word in words(name)}
    return {word for word in {*words(question)} - _EMPTY - named if not word[-1].isdigit()}


def _unlike(document: ToolDocument, question: str, answers: Sequence[str]) -> Iterator[str]:
    """A sub-question that says nothing of what the tool does."""
    asked = content(question) - {word for answer in answers for word in words(answer)}
    said = all_said(schema_of(document), {})
    known = {*words(said)} - _EMPTY
    meant = not senses(plain(question)).keys().isdisjoint(spoken(said))
    if not meant and not share(asked, known) and not like(asked, known):
        own = ", ".join(sorted(asked)) or "no word of its own"
        yield (
            f"The sub-question ({own}) and the document share no word: nothing says that the tool "
            "is the one to ask, or what it returns. Say in the description what is returned, with "
            "the sub-question's word for it."
        )


def _unused(reply: NewTool, question: str, answers: Sequence[str]) -> Iterator[str]:
    """A condition that the tool knows nothing of, such as a year."""
    known = " ".join([*texts(reply.arguments), *answers, json.dumps(reply.tool.model_dump())])
    for number in numbers_beside(question, known):
        yield (
            f"The sub-question says {number}, and neither the call nor the document has it: the "
            "answer may be another one under that condition."
        )


def _unspoken(reply: NewTool, question: str, answers: Sequence[str]) -> Iterator[str]:
    """A word that changes what is asked, of which the tool knows nothing."""
    known = f"{all_said(schema_of(reply.tool), reply.arguments)} {' '.join(answers)}"
    given = [value for _, value in scalars(reply.arguments)]
    return unspoken(
        question,
        known,
        computes=reply.kind == "compute",
        off=any(one is False for one in given),
        numbered=any(isinstance(one, int) and not isinstance(one, bool) for one in given),
    )


_KEY = re.compile(
    r"\b(?:name|title|code|symbol) of (?:the|an|a) (?:[a-z]+ )?([a-z]+)"
    r"(?=[.,;]|$| (?:to|as|in|for|that|whose)\b)",
    re.IGNORECASE,
)
_ANYBODY = frozenset(
    ["entity", "entry", "individual", "item", "location", "object", "person", "place", "subject"]
)


def other_key(reply: NewTool, question: str) -> Iterator[str]:
    """A key that is said to be of something of which nothing else speaks."""
    for name, own in _described(reply.tool).items():
        said = f"{question} {reply.tool.description} {name.replace('_', ' ')}"
        for found in _KEY.findall(own) if name in required(reply.tool.parameters) else ():
            if found.casefold() not in _ANYBODY and not like(words(found), words(said)):
                yield (
                    f"The description of {name}, {own!r}, speaks of {found!r}; sub-question and "
                    "description do not: say what is given."
                )


def _described(document: ToolDocument) -> dict[str, str]:
    found = document.parameters.get("properties")
    known = found if isinstance(found, dict) else {}
    return {name: str(one.get("description", "")) for name, one in known.items()
            if isinstance(one, dict)}  # fmt: skip


def _limited(reply: NewTool, question: str) -> Iterator[str]:
    return limited(reply.tool.description, question) if reply.kind == "lookup" else iter(())


def all_said(document: ToolSchema, arguments: Mapping[str, JSON]) -> str:
    """All words of a document and of a call."""
    parts = (*_texts(dict(document.parameters), 0), *arguments, *texts(dict(arguments)))
    return " ".join((document.name, document.description, *parts)).replace("_", " ")


def numbers_beside(question: str, known: str) -> list[str]:
    """The numbers of a question that stand nowhere in another text."""
    said = {*words(known), *re.findall(r"\d+", known)}
    return [word for word in words(question) if word[-1].isdigit() and word not in said
            and number_of(word) is not None]  # fmt: skip


def _alike(schema: ToolSchema, earlier: Sequence[ToolSchema]) -> Iterator[str]:
    for other in earlier:
        if (cosine := likeness(schema, other)) >= NEAR:
            yield (
                f"The document reads like that of {other.name} (TF-IDF cosine {cosine:.2f}, below "
                f"{NEAR:g} is wanted): say what sets the two apart."
            )


def _renamed(name: str, before: str) -> Iterator[str]:
    if name != before:
        yield f"The tool was {before} and is now {name}; its name stays."


def _required(now: Mapping[str, JSON], before: Mapping[str, JSON]) -> Iterator[str]:
    old, new = {*required(before)}, {*required(now)}
    if old != new:
        yield (
            f"Required were {', '.join(sorted(old))} and are now {', '.join(sorted(new))}: calls "
            "that were valid have to stay valid."
        )


def _added(now: Mapping[str, JSON], before: Mapping[str, JSON]) -> Iterator[str]:
    added = [name for name in declared(now) if name not in declared(before)]
    if not 1 <= len(added) <= MOST_ADDED:
        yield f"{len(added)} parameters are new; 1 to {MOST_ADDED} are wanted."
        return
    properties = now.get("properties")
    known = properties if isinstance(properties, dict) else {}
    if not any(_structured(known.get(name)) for name in added):
        yield "None of the new parameters is an enum, a boolean, an array or an object."


def _structured(schema: JSON) -> bool:
    return isinstance(schema, dict) and (
        "enum" in schema or schema.get("type") in {"boolean", "array", "object"}
    )


def given_away(document: ToolSchema, answer: str, *, of_keys: bool = False) -> Iterator[str]:
    """Where a document says an answer, in a text that a model reads.

    Args:
        document: of any tool of the item.
        answer: of any hop.
        of_keys: whether a list of at least `MANY` choices may hold it: what a tool knows may be
            listed, as its errors do. Its own answers may not.
    """
    if len(answer) <= (2 if answer.isdigit() else 1):
        return
    for text in (*_texts(dict(document.parameters), MANY if of_keys else 0), document.description):
        if gives_away(text, answer):
            yield f"The document of {document.name} holds the answer {answer!r}: {text[:120]!r}"
            return


def _texts(value: JSON, many: int) -> Iterator[str]:
    """What a schema says in words, at every depth and under every keyword; lists of choices of at
    least `many` are left out, none where it is 0.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one, many)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key == "properties" and isinstance(one, dict):
                yield from (name.replace("_", " ") for name in one)
                for schema in one.values():
                    yield from _texts(schema, many)
            elif not (
                key in _STRUCTURE
                or (key == "enum" and many and isinstance(one, list) and len(one) >= many)
            ):
                if key in _VALUES:
                    yield from (as_text(n) for _, n in scalars(one) if isinstance(n, int | float))
                yield from _texts(one, many)
