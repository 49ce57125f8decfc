"""Episodes as tokens, with a tokenizer of characters: what chat templates take, and what a model's
own words may hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import jinja2
import pytest

from toolhop_agents.adapters.trl_rollout import Written, play
from toolhop_agents.environment.plain import PlainEnvironments
from toolhop_agents.environment.tokens import TokenizedEpisode, tagged_calls
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.messages import AssistantMessage, Message, RawCall, Reply, ToolMessage, UserMessage
from toolhop_env.trace import Ending
from toolhop_tools.errors import BadChoice
from toolhop_tools.load import load
from toolhop_tools.model import ToolSchema

ITEM = load("builtin").items[0]
TOOLS = [tool.schema for tool in ITEM.tools.values()]
CHATML = (files("toolhop_agents") / "templates" / "chatml-tools.jinja").read_text("utf-8")
_SPECIAL = re.compile(r"<\|\w+\|>")


class Characters:
    """A tokenizer whose tokens are characters, and texts such as ``<|end|>``."""

    def __init__(self, template: str, end: str = "<|im_end|>") -> None:
        world = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)  # noqa: S701 -- no HTML
        world.globals["stop"] = self._stop
        self._template = world.from_string(template)
        self._special: list[str] = []
        (self.eos_token_id,) = self.encode(end, add_special_tokens=False)

    @staticmethod
    def _stop(why: str) -> None:
        raise jinja2.TemplateError(why)

    def apply_chat_template(self, conversation: Any, tools: Any = None, **options: Any) -> str:
        asks = options["add_generation_prompt"]
        return self._template.render(messages=conversation, tools=tools, add_generation_prompt=asks)

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        found: list[int] = []
        for part in re.split(r"(<\|\w+\|>)", text):
            if _SPECIAL.fullmatch(part):
                if part not in self._special:
                    self._special.append(part)
                found.append(-1 - self._special.index(part))
            else:
                found += map(ord, part)
        return found

    def decode(self, token_ids: Any, *, skip_special_tokens: bool) -> str:
        return "".join(self._special[-1 - one] if one < 0 else chr(one) for one in token_ids)


STRICT = """{% for t in tools or [] %}{{ t.function.name }}{% endfor %}\
{% for m in messages %}{% if m.role != 'tool' %}<|turn|>{{ m.role }}
{% if m.tool_calls %}{% if m.tool_calls | length > 1 %}{{ stop('one call at a time') }}{% endif %}\
{% set f = m.tool_calls[0].function %}{% if f.arguments is not mapping %}\
{{ stop('no object') }}{% endif %}<|call|>{{ f.name }}{{ f.arguments | tojson }}\
{% if loop.last %}<|results|>{% endif %}\
{% for r in messages[loop.index:] if r.role == 'tool' %}<|results|>{{ r.content }}{% endfor %}\
{% endif %}{{ m.content }}{% if not m.tool_calls %}<|im_end|>
{% endif %}{% endif %}{% endfor %}{% if add_generation_prompt and messages[-1].role != 'tool' %}\
<|turn|>assistant
{% endif %}"""
"""In the manner of Gemma 4 and Llama 3.2: words stand behind results, which a token of the model's
opens; one call a reply, of an object.
"""
OBSERVED = """{% for t in tools or [] %}{{ t.function.name }}{% endfor %}\
{% for m in messages %}<|{{ 'observation' if m.role == 'tool' else m.role }}|>\
{{ m.content }}{% for c in m.tool_calls or [] %}call {{ c.function.name }}\
{{ c.function.arguments + '' }}{% endfor %}{% endfor %}\
{% if add_generation_prompt %}<|assistant|>{% endif %}"""
"""In the manner of GLM 4.5, where the next role ends a turn; arguments are put as they came, in
DeepSeek's manner.
"""
BLIND = """{% for m in messages %}<|{{ m.role }}|>
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% else %}<|endoftext|>{% endif %}"""
"""In the manner of Phi 3: no tools; and a conversation that is not gone on with is closed."""
DEAF = """{{ tools }}{% for m in messages if m.role != 'tool' %}<|{{ m.role }}|>{{ m.content }}\
{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}<|im_end|>{% endfor %}\
{% if add_generation_prompt %}<|assistant|>{% endif %}"""
"""Leaves results out."""


def after_calls(template: str, end: str, *calls: tuple[str, str], ends: Sequence[str] = ()) -> str:
    """What is given after a turn of calls that ended with a token, or was cut."""
    tokenizer = Characters(template)
    ids = [tokenizer.encode(one, add_special_tokens=False)[0] for one in ends]
    episode = TokenizedEpisode(tokenizer, [UserMessage("Why?")], TOOLS, ends=ids)
    episode.wrote(tokenizer.encode("calls" + end, add_special_tokens=False))
    raw = tuple(RawCall(f"call_{n}", *one) for n, one in enumerate(calls))
    given = [ToolMessage(one.id, one.name, f"{one.name}:{n}") for n, one in enumerate(raw)]
    found = episode.heard(AssistantMessage("words", raw), given)
    return tokenizer.decode(found, skip_special_tokens=False)


TURN = "\n<|im_start|>assistant\n"
RESULT = "<tool_response>\nf:0\n</tool_response>"


def test_a_call_may_be_named_as_the_mark_for_the_models_words() -> None:
    usual = after_calls(CHATML, "<|im_end|>", ("f", "{}"))
    assert usual.startswith("\n<|im_start|>")
    assert RESULT in usual
    assert usual.endswith(TURN)
    marks = [f"what-the-model-wrote{n}" for n in ("", "-0", "-1")]
    for name in marks:
        for arguments in ("{}", f'{{"x": "{name}"}}', "{" + name, '"what-the-model-\\u0077rote-0"'):
            found = after_calls(CHATML, "<|im_end|>", (name, arguments))
            assert found == usual.replace("f:0", f"{name}:0")


@pytest.mark.parametrize("arguments", ['["x"]', '{"x', "", "3", '{"x": 1}'])
def test_arguments_that_are_no_object(arguments: str) -> None:
    """A template that takes objects alone goes on, and one that takes texts alone as well."""
    ends = ["<|im_end|>", "<|results|>"]
    found = after_calls(STRICT, "<|results|>", ("f", arguments), ends=ends)
    assert found == "f:0"
    found = after_calls(OBSERVED, "<|observation|>", ("f", arguments), ends=["<|observation|>"])
    assert found == "f:0<|assistant|>"


def test_two_calls_where_a_template_takes_one() -> None:
    found = after_calls(
        STRICT, "<|results|>", ("f", "{}"), ("", "["), ends=["<|im_end|>", "<|results|>"]
    )
    assert found == "f:0<|results|>:1"


def test_a_turn_that_was_cut_is_closed_as_calls_are() -> None:
    ends = ["<|im_end|>", "<|results|>"]
    assert after_calls(STRICT, "", ("f", "{}"), ends=ends) == "<|results|>f:0"
    found = after_calls(OBSERVED, "", ("f", "{}"), ends=["<|observation|>"])
    assert found == "<|observation|>f:0<|assistant|>"
    assert after_calls(CHATML, "", ("f", "{}")).startswith("<|im_end|>\n<|im_start|>")


@pytest.mark.parametrize("template", [CHATML, STRICT, OBSERVED, BLIND, DEAF])
def test_the_text_format_needs_no_tools_of_a_template(template: str) -> None:
    tokenizer = Characters(template, "<|user|>" if template == OBSERVED else "<|im_end|>")
    episode = TokenizedEpisode(tokenizer, [UserMessage("Why?")], [])
    end = tokenizer.decode([tokenizer.eos_token_id], skip_special_tokens=False)
    wrote = tokenizer.encode("Action: f" + end, add_special_tokens=False)
    assert episode.wrote(wrote).content == "Action: f"
    episode.add(episode.heard(AssistantMessage("Action: f"), [UserMessage("Observation: 1")]))
    said: list[Message] = [
        UserMessage("Why?"),
        AssistantMessage("Action: f"),
        UserMessage("Observation: 1"),
    ]
    assert episode.ids == TokenizedEpisode(tokenizer, said, []).prompt_ids


@pytest.mark.parametrize(
    ("template", "tools", "says"),
    [
        (BLIND, TOOLS, "does not show tools"),
        (DEAF, TOOLS, "does not show the results of calls"),
        ("{{ tools }}{{ stop('no roles') if messages | length > 1 }}", TOOLS,
         r"cannot show a conversation of user, assistant \(TemplateError: no roles\)"),
        ("{{ nowhere.at.all }}", [], r"cannot show a conversation of user \(UndefinedError"),
        ("nothing", [], "does not show replies"),
        ("{{ tools }}{{ messages | length }}{{ messages[-1].content }}", TOOLS,
         "shows a call otherwise once its result follows it"),
    ],
)  # fmt: skip
def test_a_template_that_cannot_go_on_is_refused_at_once(
    template: str, tools: list[ToolSchema], says: str
) -> None:
    with pytest.raises(BadChoice, match=f"the tokenizer's chat template {says}") as refused:
        TokenizedEpisode(Characters(template), [UserMessage("Why?")], tools)
    assert ('call_format="text"' in str(refused.value)) is bool(tools)


@pytest.mark.parametrize(
    ("wrote", "said"),
    [
        ("<think>f is it</think>yes", "yes"),
        ('<think><tool_call>{"name": "f"}</tool_call></think>no', "no"),
        ('<think><tool_call>{"name": "f"}</tool_call>', ""),
        ("yes</think> no", "no"),
    ],
)
def test_thoughts_are_neither_calls_nor_answers(wrote: str, said: str) -> None:
    tokenizer = Characters(CHATML)
    episode = TokenizedEpisode(tokenizer, [UserMessage("Why?")], TOOLS)
    ids = tokenizer.encode(wrote, add_special_tokens=False)
    assert tagged_calls(episode.wrote(ids)) == Reply(said, finish_reason="length")
    assert episode.completion_ids == ids


class Array(list[Any]):
    """As NumPy's, which a list is added to and not extended by."""

    def __radd__(self, other: list[Any]) -> Any:
        return [one + other[0] for one in self] if other else []


def test_arrays_are_tokens_as_lists_are() -> None:
    tokenizer = Characters(CHATML)
    episode = TokenizedEpisode(tokenizer, [UserMessage("Why?")], TOOLS)
    for turn in ([65, 66], [67]):
        episode.wrote(Array(turn), Array([-0.5] * len(turn)))
    assert (episode.completion_ids, episode.env_mask) == ([65, 66, 67], [1] * 3)
    assert episode.logprobs == [-0.5] * 3


def test_a_thought_that_the_template_begins() -> None:
    tokenizer = Characters(CHATML + "{% if add_generation_prompt %}<think>\n{% endif %}")
    episode = TokenizedEpisode(tokenizer, [UserMessage("Why?")], TOOLS)
    ids = tokenizer.encode("calls</think>words", add_special_tokens=False)
    assert episode.wrote(ids).content == "words"
    episode.add(episode.heard(AssistantMessage("words"), [UserMessage("And?")]))
    assert episode.wrote(ids[:5]).content == ""


@pytest.fixture(scope="module")
def pool() -> Iterator[PlainEnvironments]:
    with PlainEnvironments(RunSettings(data="builtin", sandbox="process"), most=3) as opened:
        yield opened


class Turns:
    """Writes given turns, one after the other, in every conversation."""

    def __init__(self, tokenizer: Characters, *turns: str) -> None:
        self._tokenizer, self._turns = tokenizer, list(turns)

    def __call__(self, conversations: list[list[int]]) -> list[Written]:
        turn = self._turns.pop(0) + "<|im_end|>"
        return [(self._tokenizer.encode(turn, add_special_tokens=False), None)] * len(conversations)


CALL = '<tool_call>{"name": "what-the-model-wrote", "arguments": %s}</tool_call>'
ANSWER = f"<answer>{ITEM.answer}</answer>"


@pytest.mark.heavy
def test_a_wrong_call_is_fed_back_whatever_its_name_and_arguments(pool: PlainEnvironments) -> None:
    for template in (CHATML, STRICT):
        tokenizer = Characters(template)
        turns = Turns(tokenizer, CALL % '"[1"', CALL % "{}" + CALL % "[1]", ANSWER)
        (found,) = play(pool, [ITEM.id], tokenizer, turns)
        assert found.reward == 1
        assert [one.error is not None for one in found.trace.tool_calls] == [True] * 3
        given = tokenizer.decode(
            [one for one, mine in zip(found.completion_ids, found.env_mask, strict=True)
             if not mine], skip_special_tokens=False,
        )  # fmt: skip
        assert given.count("The call was not run") == 3


@pytest.mark.heavy
def test_thoughts_are_kept_in_the_trace(pool: PlainEnvironments) -> None:
    tokenizer = Characters(CHATML)
    wrong = "<think><answer>wrong</answer></think>"
    turns = Turns(tokenizer, wrong + CALL % "{}", wrong + ANSWER)
    (found,) = play(pool, [ITEM.id], tokenizer, turns)
    assert found.reward == 1
    told = [one.reply.thoughts for one in found.trace.replies]
    assert [one and one.text for one in told] == [wrong, wrong]
    cut = tokenizer.encode("<think>so", add_special_tokens=False)
    (found,) = play(pool, [ITEM.id], tokenizer, lambda _: [(cut, None)])
    assert found.trace.ended is not None
    assert found.trace.ended.ending is Ending.CUT_IN_THOUGHT


@pytest.mark.heavy
def test_a_template_that_refuses_a_reply_ends_its_episode_alone(pool: PlainEnvironments) -> None:
    grudge = """{% for m in messages if m.tool_calls and m.tool_calls[0].function.name == 'odd' %}\
{{ stop('an odd call') }}{% endfor %}"""
    tokenizer = Characters(grudge + CHATML)
    odd, even = [
        tokenizer.encode(CALL.replace("what-the-model-wrote", name) % "{}" + "<|im_end|>",
                         add_special_tokens=False) for name in ("odd", "even")
    ]  # fmt: skip
    answer = tokenizer.encode(ANSWER + "<|im_end|>", add_special_tokens=False)
    asked: list[int] = []

    def generate(conversations: list[list[int]]) -> list[Written]:
        asked.append(len(conversations))
        return [(odd, None), (even, None)] if len(asked) == 1 else [(answer, None)]

    lost, whole = play(pool, [ITEM.id, ITEM.id], tokenizer, generate)
    assert asked == [2, 1]
    assert (lost.reward, whole.reward) == (None, 1)
    assert lost.completion_ids == odd
    assert lost.trace.ended is not None
    assert lost.trace.ended.ending is Ending.ERRORED
    assert "an odd call" in lost.trace.ended.reason


@pytest.mark.heavy
def test_a_reader_that_fails_ends_its_episode_alone(pool: PlainEnvironments) -> None:
    tokenizer, read = Characters(CHATML), iter([0, 1])

    def reader(reply: Reply) -> Reply:
        return Reply(ANSWER) if 1 // next(read) else reply

    lost, whole = play(pool, [ITEM.id] * 2, tokenizer, Turns(tokenizer, "words"), read=reader)
    assert sorted((lost.reward, whole.reward), key=str) == [1, None]


@pytest.mark.heavy
def test_a_template_without_calls_costs_no_generation(pool: PlainEnvironments) -> None:
    tokenizer = Characters(BLIND)
    with pytest.raises(BadChoice, match="does not show tools"):
        play(pool, [ITEM.id], tokenizer, Turns(tokenizer))
    (found,) = play(pool, [ITEM.id], tokenizer, Turns(tokenizer, ANSWER), call_format="text")
    assert found.reward == 1


@pytest.mark.heavy
@pytest.mark.parametrize("given", [0, 1, 3])
def test_a_reply_for_each_conversation(pool: PlainEnvironments, given: int) -> None:
    def generate(conversations: list[list[int]]) -> list[Written]:
        return [([65], None)] * given

    with pytest.raises(ValueError, match=f"gave {given} replies for 2 conversations"):
        play(pool, [ITEM.id] * 2, Characters(CHATML), generate)
    assert len(play(pool, [ITEM.id] * 3, Characters(CHATML), lambda all_: [([65], None)] * 3)) == 3
