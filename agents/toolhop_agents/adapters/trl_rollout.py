"""Episodes as rollouts of TRL's `GRPOTrainer`: tokens, log-probabilities, and a mask.

    with PlainEnvironments(RunSettings(data="builtin"), most=8) as pool:
        GRPOTrainer(
            model,
            reward_funcs=reward,
            rollout_func=rollout_func(pool),
            train_dataset=Dataset.from_list(rows(pool)),
        ).train()

`play` does the same for any other trainer: it needs a tokenizer with a chat template and a function
that generates. Nothing here imports TRL or torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from toolhop_agents.environment.core import EpisodeLost
from toolhop_agents.environment.plain import PlainEnvironment, PlainEnvironments
from toolhop_agents.environment.reward import Unscored
from toolhop_agents.environment.tokens import TokenizedEpisode, Tokenizer, tagged_calls
from toolhop_env.messages import AssistantMessage, Reply
from toolhop_env.reading import CallFormat
from toolhop_env.trace import Trace
from toolhop_tools.errors import BadChoice

REWARD = "toolhop_reward"
"""Key under which `rollout_func` returns the episodes' rewards; of a component, ``REWARD_NAME``."""

Written: TypeAlias = tuple[Sequence[int], Sequence[float] | None]
"""The tokens of a model's turn, including the one that ends it, and their log-probabilities."""
Generate: TypeAlias = Callable[[list[list[int]]], Sequence[Written]]
"""Generates one turn for each of several tokenized conversations."""
RewardFunction: TypeAlias = Callable[..., list[float | None]]
Read: TypeAlias = Callable[[Reply], Reply]
"""Finds native calls in a reply whose content is the model's whole output without thoughts."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """An episode for a trainer. All lists except `prompt_ids` have the same length."""

    item: str
    prompt_ids: list[int]
    completion_ids: list[int]
    """All tokens after the prompt: the model's turns, with the feedback in between."""
    env_mask: list[int]
    """1 for tokens written by the model, 0 for all others."""
    logprobs: list[float] | None
    """0.0 for tokens not written by the model; None if the model's are unknown."""
    reward: float | None
    """None if the episode errored or needs a judge, so that nothing can be learned from it."""
    step_rewards: list[float] | None
    """Each turn's reward at its last token, 0.0 at all others: they sum to `reward`."""
    components: dict[str, float]
    """What the reward is a weighted sum of (`Reward.components`); empty without a reward."""
    trace: Trace
    """The trace, gold answer included."""


class _Seat:
    """An episode in progress."""

    def __init__(
        self, pool: PlainEnvironments, tokenizer: Tokenizer, read: Read, ends: Sequence[int],
        most_tokens: int | None, mask_failed: bool, changes: dict[str, Any], item: str,
    ) -> None:  # fmt: skip
        self.item, self._pool = item, pool
        self._read, self._most_tokens, self._mask_failed = read, most_tokens, mask_failed
        self._ends: list[int] = []
        """Number of tokens after the prompt at the end of each turn."""
        self._environment: PlainEnvironment = pool.environment()
        seen = self._environment.reset(item, **changes)
        self._native = self._environment.trace.started.call_format is CallFormat.NATIVE
        self.over = False
        try:
            self.tokens = TokenizedEpisode(tokenizer, seen.messages, seen.tools, ends=ends)
        except BaseException:
            self.close()
            raise

    def take(self, written: Written) -> None:
        """Process the model's turn, and add the feedback to the tokens."""
        ids, logprobs = written
        begin = len(self.tokens.completion_ids)
        reply = self.tokens.wrote(ids, logprobs)
        try:
            read = replace(self._read(reply), thoughts=reply.thoughts) if self._native else reply
        except Exception as error:  # noqa: BLE001 -- whatever a trainer's own function raises
            self._environment.give_up(f"the calls of a reply cannot be read: {error!r}")
            self.over = True
            return
        try:
            step = self._environment.step(read)
        except (EpisodeLost, Unscored):
            self.over = True
            return
        self.over = step.done
        self._ends.append(begin + len(ids))
        if self._mask_failed and step.only_failed:
            self.tokens.env_mask[begin:] = [0] * len(ids)
        if not self.over:
            new = step.observation.messages
            said = self._environment.conversation[-len(new) - 1]
            assert isinstance(said, AssistantMessage)  # noqa: S101 -- feedback follows a reply
            try:
                given = self.tokens.heard(said, new)
            except BadChoice as error:  # only this reply: the template was tested before
                self._environment.give_up(str(error))
                self.over = True
                return
            room = self._most_tokens
            if room is not None and len(self.tokens.completion_ids) + len(given) >= room:
                self.close()
            else:
                self.tokens.add(given)

    def close(self) -> None:
        """Stop the episode, and release its worker."""
        self._environment.close()
        self.over = True

    def rollout(self) -> Rollout:
        """Return the finished rollout."""
        tokens, trace = self.tokens, self._environment.trace
        reward, steps = self._pool.environments.reward, [0.0] * len(tokens.completion_ids)
        try:
            components = reward.components(Trace(trace.events[:1]), trace)
            for end, worth in zip(self._ends, reward.by_turn(trace), strict=True):
                if end:
                    steps[end - 1] += worth
        except Unscored:
            components = None
        return Rollout(
            self.item, tokens.prompt_ids, tokens.completion_ids, tokens.env_mask, tokens.logprobs,
            None if components is None else reward.total(components),
            None if components is None else steps, components or {}, trace,
        )  # fmt: skip


def play(
    pool: PlainEnvironments,
    items: Sequence[str],
    tokenizer: Tokenizer,
    generate: Generate,
    *,
    read: Read = tagged_calls,
    ends: Sequence[int] = (),
    most_tokens: int | None = None,
    mask_failed: bool = False,
    **changes: Any,  # noqa: ANN401 -- as `Environment.reset`
) -> list[Rollout]:
    """Play an episode of each item, in batches of the pool's size. Items may be repeated.

    Args:
        pool: an entered pool.
        items: ids of the items.
        tokenizer: its chat template renders prompts, tools and feedback.
        generate: called once per turn, for all episodes in progress.
        read: finds native calls; not used in the text format, which the episode parses. If it
            raises, the episode ends as errored.
        ends: tokens that end a turn; by default the tokenizer's own.
        most_tokens: maximum number of tokens after the prompt. Feedback that would reach it ends
            the episode as stopped; the model's last turn may exceed it.
        mask_failed: mask turns whose calls all failed: nothing is learned from writing them.
        changes: settings of these episodes.

    Raises:
        BadChoice: the item or setting does not exist, or the chat template cannot render prompt,
            tools, calls or feedback; nothing has been generated then. If the template only fails
            for a single reply, that episode ends as errored instead.
        EpisodeLost, SandboxUnavailable: the sandbox has no worker; only the first may be temporary.
        ValueError: `generate` returned a wrong number of replies.
    """
    found: list[Rollout] = []
    most = pool.environments.most
    seat = partial(_Seat, pool, tokenizer, read, ends, most_tokens, mask_failed, changes)
    for begin in range(0, len(items), most):
        found += _together(seat, items[begin : begin + most], generate)
    return found


def _together(
    make: Callable[[str], _Seat], items: Sequence[str], generate: Generate
) -> list[Rollout]:
    seats: list[_Seat] = []
    try:
        seats.extend(map(make, items))  # one by one, so that on failure the others are closed
        with ThreadPoolExecutor(max(1, len(seats))) as threads:
            while going := [seat for seat in seats if not seat.over]:
                written = list(generate([seat.tokens.ids for seat in going]))
                if len(written) != len(going):
                    raise ValueError(
                        f"`generate` gave {len(written)} replies for {len(going)} conversations; "
                        "it has to give one for each, in their order"
                    )
                list(threads.map(_Seat.take, going, written))
    finally:
        for seat in seats:
            seat.close()
    return [seat.rollout() for seat in seats]


def rows(pool: PlainEnvironments) -> list[dict[str, str]]:
    """Return the items as rows of a training set. The prompt is the item's id, for
    `rollout_func`.
    """
    return [{"prompt": item} for item in pool.items]


def reward(completions: Sequence[Any], **fields: Any) -> list[float | None]:  # noqa: ANN401 -- TRL passes its columns
    """Return the episodes' rewards. This is the reward function for `GRPOTrainer`."""
    return list(fields[REWARD])


def component_rewards(pool: PlainEnvironments) -> tuple[list[RewardFunction], list[float]]:
    """Return ``reward_funcs`` and ``reward_weights`` for `GRPOTrainer`, one for each component.

    Their weighted sum is that of `reward`, and the trainer reports each by its name.
    """
    weights = pool.environments.reward.weights

    def of(name: str) -> RewardFunction:
        def component(completions: Sequence[Any], **fields: Any) -> list[float | None]:  # noqa: ANN401 -- TRL passes its columns
            return list(fields[f"{REWARD}_{name}"])

        component.__name__ = name
        return component

    return [of(name) for name in weights], [*weights.values()]


def rollout_func(
    pool: PlainEnvironments,
    *,
    read: Read = tagged_calls,
    most_tokens: int | None = None,
    mask_failed: bool = False,
    **changes: Any,  # noqa: ANN401 -- as `Environment.reset`
) -> Callable[[list[str], Any], dict[str, Any]]:
    """Return a function for ``GRPOTrainer(rollout_func=...)`` that plays each prompt, an item's id,
    once.

    The trainer generates with its own backend. Arguments are those of `play`; `most_tokens`
    defaults to the trainer's ``max_completion_length``.
    """

    def roll(prompts: list[str], trainer: Any) -> dict[str, Any]:  # noqa: ANN401 -- a GRPOTrainer
        def generate(conversations: list[list[int]]) -> list[Written]:
            # The trainer's own tool loop calls it the same way.
            generate_turn = trainer._generate_single_turn  # noqa: SLF001 -- it has no public name
            ids, logprobs = generate_turn(conversations, None, {}, 1)
            return list(zip(ids, logprobs or [None] * len(ids), strict=True))

        found = play(
            pool, prompts, trainer.processing_class, generate, read=read,
            ends=trainer.eos_token_ids,
            most_tokens=most_tokens or trainer.max_completion_length, mask_failed=mask_failed,
            **changes,
        )  # fmt: skip
        known = all(one.logprobs is not None for one in found)
        return {
            "prompt_ids": [one.prompt_ids for one in found],
            "completion_ids": [one.completion_ids for one in found],
            "logprobs": [one.logprobs for one in found] if known else None,
            "env_mask": [one.env_mask for one in found],
            REWARD: [one.reward for one in found],
            **{
                f"{REWARD}_{name}": [one.components.get(name) for one in found]
                for name in pool.environments.reward.weights
            },
        }

    return roll
