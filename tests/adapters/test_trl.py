"""Rollouts for trainers with a real tokenizer: tokens, masks and scores; and a step of TRL's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers", reason="needs transformers: make test-adapters")

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from tests.adapters.played import AGENT, run_scores, said
from toolhop_agents.adapters.trl_rollout import (
    REWARD,
    Rollout,
    Written,
    component_rewards,
    play,
    rollout_func,
    rows,
)
from toolhop_agents.adapters.trl_rollout import reward as reward_of
from toolhop_agents.environment.plain import PlainEnvironments
from toolhop_agents.environment.tokens import TokenizedEpisode, tagged_calls
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.scripted.responder import item_of
from toolhop_env.episode import Episode
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    RawCall,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from toolhop_env.reading import CallFormat
from toolhop_env.trace import Ending
from toolhop_sandbox.errors import SandboxFault
from toolhop_tools.errors import BadChoice
from toolhop_tools.load import load

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
BUILTIN = load("builtin")
TEMPLATES = files("toolhop_agents") / "templates"
CHATML = (TEMPLATES / "chatml-tools.jinja").read_text(encoding="utf-8")
LLAMA = """{{ '<|begin|>' }}{% for m in messages %}<|start|>{{ 'ipython' if m.role == 'tool' else
m.role }}<|end|>

{% if m.tool_calls %}{% for c in m.tool_calls %}{"name": {{ c.function.name | tojson }},\
 "parameters": {{ c.function.arguments | tojson }}}{% endfor %}<|eom|>{% else %}\
{{ m.content | trim }}<|eot|>{% endif %}{% endfor %}{% if add_generation_prompt %}\
<|start|>assistant<|end|>

{% endif %}"""
"""In the manner of Llama 3: words beside calls are dropped, and calls end another way."""


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-pair encoding, learnt here from the items' own texts."""
    learnt = Tokenizer(models.BPE())
    learnt.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learnt.decoder = decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|begin|>", "<|start|>", "<|end|>",
               "<|eot|>", "<|eom|>"]  # fmt: skip
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    texts = [json.dumps(one.parameters) + one.description for item in BUILTIN.items
             for one in (tool.schema for tool in item.tools.values())]  # fmt: skip
    learnt.train_from_iterator(texts, trainer)
    special_ones = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
                    "bos_token": "<|begin|>"}  # fmt: skip
    return PreTrainedTokenizerFast(tokenizer_object=learnt, chat_template=CHATML, **special_ones)


@pytest.fixture(scope="module")
def pool() -> Iterator[PlainEnvironments]:
    with PlainEnvironments(RunSettings(data="builtin", sandbox="process"), most=8) as opened:
        yield opened


def heard(text: str) -> list[Message]:
    """A conversation out of what a model is given."""
    found: list[Message] = []
    calls: tuple[RawCall, ...] = ()
    for role, content in re.findall(r"<\|im_start\|>(\w+)\n(.*?)<\|im_end\|>", text, re.DOTALL):
        match role:
            case "system":
                found.append(SystemMessage(content))
            case "assistant":
                reply = tagged_calls(Reply(content))
                calls = reply.calls
                found.append(AssistantMessage(reply.content, calls))
            case "user" if content.startswith("<tool_response>"):
                (call, *calls_left) = calls
                calls = tuple(calls_left)
                result = content.removeprefix("<tool_response>\n").removesuffix(
                    "\n</tool_response>"
                )
                found.append(ToolMessage(call.id, call.name, result))
            case _:
                found.append(UserMessage(content))
    return found


def spoken(reply: Reply) -> str:
    """As a model of the template writes it; arguments that are no object as a text."""
    text = reply.content
    for call in reply.calls:
        try:
            given = json.loads(call.arguments)
        except ValueError:
            given = call.arguments
        arguments = json.dumps(given if isinstance(given, dict) else call.arguments,
                               ensure_ascii=False)  # fmt: skip
        text += f'<tool_call>\n{{"name": {json.dumps(call.name)}, "arguments": {arguments}}}'
        text += "\n</tool_call>"
    return text


class Policy:
    """A scripted agent that is given tokens and writes tokens."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        agent: str = AGENT,
        call_format: CallFormat = CallFormat.NATIVE,
    ) -> None:
        self.tokenizer, self.agent, self.call_format = tokenizer, agent, call_format
        self.given: list[list[int]] = []
        self.wrote: list[list[int]] = []

    def __call__(self, conversations: list[list[int]]) -> list[Written]:
        return [self._turn(one) for one in conversations]

    def _turn(self, ids: list[int]) -> Written:
        messages = heard(self.tokenizer.decode(ids))
        item = item_of(BUILTIN, messages)
        native = self.call_format is CallFormat.NATIVE
        schemas = [tool.schema for tool in item.tools.values()] if native else []
        reply = said(item, messages, schemas, self.call_format, self.agent)
        written = self.tokenizer.encode(spoken(reply) + "<|im_end|>", add_special_tokens=False)
        self.given.append(ids)
        self.wrote.append(written)
        return written, [-0.5] * len(written)


def test_the_scores_of_a_run_item_by_item_and_tokens_as_written(
    pool: PlainEnvironments, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    expected = run_scores(tmp_path)
    policy = Policy(tokenizer)
    found = play(pool, list(expected), tokenizer, policy)
    assert {one.item: one.reward for one in found} == {
        item: one.value("strict") for item, one in expected.items()
    }
    assert sum(one.conduct.failed_calls for one in expected.values()) > len(expected) / 2
    for one in found:
        check_aligned(one, policy)
    assert sum(len(turns(one)) for one in found) == len(policy.wrote)


def turns(rollout: Rollout) -> list[list[int]]:
    """The tokens of each of the model's turns, by the mask."""
    found: list[list[int]] = []
    before = 0
    for token, mine in zip(rollout.completion_ids, rollout.env_mask, strict=True):
        if mine and not before:
            found.append([])
        if mine:
            found[-1].append(token)
        before = mine
    return found


def check_aligned(rollout: Rollout, policy: Policy) -> None:
    """The mask is on what the policy wrote, and each turn went on from all tokens before it."""
    whole = rollout.prompt_ids + rollout.completion_ids
    own = [
        (given, wrote)
        for given, wrote in zip(policy.given, policy.wrote, strict=True)
        if whole[: len(given) + len(wrote)] == given + wrote
    ]
    assert turns(rollout) == [wrote for _, wrote in own]
    assert own[0][0] == rollout.prompt_ids
    assert rollout.logprobs == [-0.5 * one for one in rollout.env_mask]


def test_rewards_stand_at_the_last_tokens_of_their_turns(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    """Of steps and of the episode, from the same rollouts."""
    weights = {"strict": 1, "milestones": 0.5, "failed_call": -0.25}
    settings = RunSettings(data="builtin", sandbox="process", limit="6")
    with PlainEnvironments(settings, reward=weights, most=6) as pool:
        found = play(pool, list(pool.items), tokenizer, Policy(tokenizer))
        reward = pool.environments.reward
    for one in found:
        assert one.step_rewards is not None
        assert len(one.step_rewards) == len(one.completion_ids)
        assert sum(one.step_rewards) == pytest.approx(one.reward)
        mask = [*one.env_mask, 0]
        ends = [at for at in range(len(mask) - 1) if mask[at] > mask[at + 1]]
        assert [one.step_rewards[at] for at in ends] == reward.by_turn(one.trace)
        assert all(not worth for at, worth in enumerate(one.step_rewards) if at not in ends)
        weighed = sum(reward.weights[name] * value for name, value in one.components.items())
        assert weighed == pytest.approx(one.reward)
    assert any(one.components["failed_call"] for one in found)


def test_turns_of_failed_calls_can_be_masked(
    pool: PlainEnvironments, tokenizer: PreTrainedTokenizerFast
) -> None:
    items = [item.id for item in BUILTIN.items[:8]]
    plain = play(pool, items, tokenizer, Policy(tokenizer))
    masked = play(pool, items, tokenizer, Policy(tokenizer), mask_failed=True)
    left_out = 0
    for before, after in zip(plain, masked, strict=True):
        assert (before.completion_ids, before.reward) == (after.completion_ids, after.reward)
        failed = [
            bool(mine) and all(call.error for call in mine)
            for turn in range(1, len(before.trace.replies) + 1)
            for mine in [[call for call in before.trace.calls if call.turn == turn]]
        ]
        kept = [turn for turn, fails in zip(turns(before), failed, strict=True) if not fails]
        assert turns(after) == kept
        left_out += sum(failed)
    assert left_out > 3


def test_the_tokens_are_those_of_the_whole_conversation(
    pool: PlainEnvironments, tokenizer: PreTrainedTokenizerFast
) -> None:
    """As the template shows it and the tokenizer reads it, down to the last line break."""
    items = [item.id for item in BUILTIN.items[:6]]
    for one in play(pool, items, tokenizer, Policy(tokenizer, "oracle")):
        conversation = heard(tokenizer.decode(one.prompt_ids + one.completion_ids))
        assert isinstance(conversation[-1], AssistantMessage)
        tools = [tool.schema for tool in BUILTIN.by_id[one.item].tools.values()]
        asked = [message for message in conversation if not isinstance(message, SystemMessage)]
        again = TokenizedEpisode(tokenizer, asked, tools).prompt_ids
        begun = tokenizer.encode("\n<|im_start|>assistant\n", add_special_tokens=False)
        assert again == one.prompt_ids + one.completion_ids + begun
        assert one.reward == 1


def test_calls_as_text(
    pool: PlainEnvironments, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    expected = run_scores(tmp_path, limit="5", call_format="text")
    policy = Policy(tokenizer, call_format=CallFormat.TEXT)
    found = play(pool, list(expected), tokenizer, policy, call_format="text")
    assert {one.item: one.reward for one in found} == {
        item: one.value("strict") for item, one in expected.items()
    }
    for one in found:
        check_aligned(one, policy)


def test_another_template_and_a_turn_that_was_cut(tokenizer: PreTrainedTokenizerFast) -> None:
    before = tokenizer.chat_template
    call = AssistantMessage("aside", (RawCall("1", "f", '{"x": 1}'),))
    given = [ToolMessage("1", "f", "42")]
    try:
        tokenizer.chat_template = LLAMA
        ends = tokenizer.convert_tokens_to_ids(["<|eot|>", "<|eom|>"])
        for end, closed in (("<|eom|>", ""), ("<|eot|>", ""), ("", "<|eom|>")):
            episode = TokenizedEpisode(tokenizer, [UserMessage("Why?")], [], ends=ends)
            wrote = tokenizer.encode('{"name": "f"}' + end, add_special_tokens=False)
            assert episode.wrote(wrote) == Reply(
                '{"name": "f"}', finish_reason="stop" if end else "length"
            )
            episode.add(episode.heard(call, given))
            assert tokenizer.decode(episode.ids) == (
                "<|begin|><|start|>user<|end|>\n\nWhy?<|eot|><|start|>assistant<|end|>\n\n"
                f'{{"name": "f"}}{end}{closed}<|start|>ipython<|end|>\n\n42<|eot|>'
                "<|start|>assistant<|end|>\n\n"
            )
            assert episode.logprobs is None
    finally:
        tokenizer.chat_template = before


SHOWN_TOOLS = {"diffusion_gemma", "gemma4", "glm4moe", "gptoss", "lfm2", "llama3_1", "llama3_2",
               "muse_glimmer", "nemotron_3", "qwen2_5", "qwen3"}  # fmt: skip
PARTS = {"idefics3", "llava_next", "smolvlm"}
"""They take a list of parts, of texts and pictures, for a message and nothing else."""


def families(name: str, of: set[str]) -> bool:
    """Whether a template is of one of these; others than the text models' take no tools."""
    return name.startswith(tuple(of)) and not name.startswith("qwen2_5_vl")


def test_every_template_of_trl_goes_on_or_is_refused_at_once(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    """Natively: two calls, calls of no tool, and arguments that are no object among them."""
    folder = files("trl") / "chat_templates"
    texts = {one.name.removesuffix(".jinja"): one.read_text(encoding="utf-8")
             for one in folder.iterdir() if one.name.endswith(".jinja")}  # fmt: skip
    tools = [tool.schema for tool in BUILTIN.items[0].tools.values()]
    replies = [
        AssistantMessage("aside", (RawCall("call_1", tools[0].name, '{"x": 1}'),)),
        AssistantMessage("", (RawCall("call_1", tools[0].name, "[1"), RawCall("call_2", "", "{}"))),
        AssistantMessage("", (RawCall("call_1", "what-the-model-wrote", '"text"'),)),
    ]
    prompt, before = [UserMessage("Why?")], tokenizer.chat_template
    native, text = set[str](), set[str]()
    try:
        for name, tokenizer.chat_template in texts.items():
            with suppress(BadChoice):
                episode = TokenizedEpisode(tokenizer, prompt, tools)
                for reply in replies:
                    said = [ToolMessage(one.id, one.name, f"of {one.id}") for one in reply.calls]
                    given = tokenizer.decode(episode.heard(reply, said))
                    assert all(given.count(one.content) == 1 for one in said), name
                native.add(name)
            with suppress(BadChoice):
                episode = TokenizedEpisode(tokenizer, prompt, [])
                found = episode.heard(AssistantMessage("Action: f"), [UserMessage("of 1")])
                assert tokenizer.decode(found).count("of 1") == 1
                text.add(name)
    finally:
        tokenizer.chat_template = before
    assert len(texts) > 50
    assert native == {name for name in texts if families(name, SHOWN_TOOLS)}
    assert text == {name for name in texts if not families(name, PARTS)}


def test_what_ends_a_rollout(
    pool: PlainEnvironments, tokenizer: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [BUILTIN.items[0].id]
    (whole,) = play(pool, items, tokenizer, Policy(tokenizer, "oracle"))
    most = len(turns(whole)[0]) + 1
    (one,) = play(pool, items, tokenizer, Policy(tokenizer, "oracle"), most_tokens=most)
    assert one.completion_ids == turns(whole)[0]  # and no feedback that nobody would answer
    assert one.trace.ended is not None
    assert one.trace.ended.ending is Ending.STOPPED
    assert one.reward == 0
    (one,) = play(pool, items, tokenizer, Policy(tokenizer, "oracle"), turn_limit=1)
    assert one.completion_ids == turns(whole)[0]

    async def lose(self: Episode, reply: Reply) -> None:
        raise SandboxFault("of the test")

    monkeypatch.setattr(Episode, "step", lose)
    (one,) = play(pool, items, tokenizer, Policy(tokenizer, "oracle"))
    assert one.reward is None


def test_calls_are_found_in_tags() -> None:
    text = 'Now.\n<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>'
    found = tagged_calls(Reply(text + text.replace("Now.", "") + "<tool_call>{nothing</tool_call>"))
    assert found.content == "Now.\n\n<tool_call>{nothing</tool_call>"
    assert [(one.name, one.arguments) for one in found.calls] == [("f", '{"x": 1}')] * 2
    said = Reply('<tool_call>{"name": "f", "arguments": "{x"}')
    assert tagged_calls(said).calls == (RawCall("call_1", "f", "{x"),)
    assert tagged_calls(Reply('<tool_call>{"arguments": {}}</tool_call>')).calls == ()


def test_a_step_of_grpo(
    pool: PlainEnvironments, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch")
    trl = pytest.importorskip("trl")
    from datasets import Dataset
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 2, "num_key_value_heads": 2}  # fmt: skip
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tokenizer), **sizes))
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    seen: list[dict[str, Any]] = []

    def read(reply: Reply) -> Reply:
        """An untrained model calls nothing: whatever it wrote is a call, so that feedback comes."""
        return Reply(reply.content, (RawCall("1", "nowhere", "{}"),))

    roll = rollout_func(pool, read=read, most_tokens=400, turn_limit=2)

    def kept(prompts: list[str], trainer: Any) -> dict[str, Any]:
        seen.append(roll(prompts, trainer))
        return dict(seen[-1])

    def apart(completions: Sequence[Any], **fields: Any) -> list[float]:
        """Rewards that differ within a group, without which nothing is learnt."""
        assert fields[REWARD] == reward_of(completions, **fields) == [0.0] * len(completions)
        return [float(number) for number in range(len(completions))]

    components, weights = component_rewards(pool)
    names = [one.__name__ for one in components]
    assert dict(zip(names, weights, strict=True)) == pool.environments.reward.weights

    trainer = trl.GRPOTrainer(
        model,
        reward_funcs=[reward_of, apart, *components],
        rollout_func=kept,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(rows(pool)[:2]),
        args=trl.GRPOConfig(
            output_dir=str(tmp_path), max_steps=1, per_device_train_batch_size=2,
            num_generations=2, max_completion_length=12, learning_rate=0.01, use_cpu=True,
            bf16=False, report_to=[], disable_tqdm=True, save_strategy="no",
            reward_weights=[0, 1, *weights],
        ),
    )  # fmt: skip
    trainer.train()
    (output,) = seen
    for ids, mask in zip(output["completion_ids"], output["env_mask"], strict=True):
        assert len(ids) == len(mask)
        assert mask[0] == mask[-1] == 1
        assert 0 in mask  # the feedback
        assert sum(mask) <= 24
        text = tokenizer.decode([one for one, mine in zip(ids, mask, strict=True) if not mine])
        assert "There is no tool" in text
    assert any(not torch.equal(before[name], one) for name, one in model.named_parameters())
    told = trainer.state.log_history[0]
    assert told["rewards/failed_call/mean"] == 2
    assert told["rewards/strict/mean"] == told["rewards/milestones/mean"] == 0
    assert told["completions/mean_length"] == pytest.approx(sum(map(sum, output["env_mask"])) / 2)
