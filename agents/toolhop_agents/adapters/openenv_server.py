"""An OpenEnv environment over HTTP and WebSocket. Needs openenv.

A session is an environment of one pool: `reset` takes an item and settings, `step` takes a turn and
returns reward and done. Only what a player sees is sent: messages and schemas in OpenAI's form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from fastapi import FastAPI
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

import toolhop_env
from toolhop_agents.environment.core import EpisodeLost, NothingInPlay
from toolhop_agents.environment.core import Observation as Seen
from toolhop_agents.environment.plain import PlainEnvironment, PlainEnvironments
from toolhop_agents.environment.reward import Unscored
from toolhop_agents.models.loopback import LOOPBACK, REFUSED, is_own
from toolhop_agents.models.wire_sending import messages_to_wire
from toolhop_env.messages import RawCall, Reply, Thoughts
from toolhop_sandbox.errors import SandboxUnavailable
from toolhop_tools.errors import BadChoice


class CallIn(BaseModel):
    """A call of one tool."""

    model_config = ConfigDict(extra="forbid")

    name: str
    arguments: dict[str, Any] | str = Field(
        default_factory=dict, description="An object, or the text that a model wrote for one."
    )
    id: str = Field(default="", description="The model's own, if it gave one.")


class TurnAction(Action):
    """A turn: calls, or text. Text without calls is the answer, or in the text tool-call format
    a reply that may contain calls.
    """

    text: str = ""
    calls: list[CallIn] = Field(default_factory=list)
    reasoning_content: str = Field(
        default="", description="What the model thought before: kept, and never read."
    )


class TurnObservation(Observation):
    """What a player sees at the start and after each turn."""

    messages: list[dict[str, Any]] = Field(
        default_factory=list, description="New since the last turn, in OpenAI's form."
    )
    tools: list[dict[str, Any]] = Field(
        default_factory=list, description="That can be called now, in OpenAI's form."
    )
    ending: str | None = Field(default=None, description="Why the episode is over.")
    truncated: bool = Field(default=False, description="Whether a limit ended it.")
    components: dict[str, float] = Field(
        default_factory=dict, description="What the reward is a weighted sum of, by name."
    )
    only_failed: bool = Field(
        default=False, description="Whether the turn had calls, and all of them failed."
    )


class EpisodeState(State):
    """State of a session."""

    item: str | None = None


class ToolHopEnvironment(Environment[TurnAction, TurnObservation, EpisodeState]):
    """A session. Its methods block, because the server calls them in a thread of the session."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, pool: PlainEnvironments, seat: PlainEnvironment) -> None:
        """Create a session on an entered pool."""
        super().__init__()
        self._pool, self._seat = pool, seat
        self._split = pool.environments.settings.data
        self._state = EpisodeState()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        item: str | None = None,
        split: str | None = None,
        index: int | None = None,
        **settings: Any,  # noqa: ANN401 -- `PlainEnvironment.reset` checks them
    ) -> TurnObservation:
        """Start an episode. An episode in progress ends as stopped.

        Args:
            seed: seed of the episode's random choices, and of the draw of an item if needed.
            episode_id: name for the session's state.
            item: id of the item, instead of `split` and `index`; drawn if neither is given.
            split: name of the data set, which is the only split.
            index: position of the item in the data, from 0.
            settings: settings of this episode only, such as ``feedback``, ``mode`` or
                ``turn_limit``.

        Raises:
            BadChoice: the item, index, split or setting does not exist, or too many episodes are
                open.
            EpisodeLost: the sandbox had no worker; try again.
        """
        if split is not None:
            self._ids(split)
        if item is not None and index is not None:
            raise BadChoice(f"item {item!r} and index {index} were given", fix="give one of them")
        if item is None and index is not None:
            item = str(self.get_task(split or self._split, _whole("index", index))["id"])
        seed = None if seed is None else _whole("seed", seed)
        if item is None:
            item = Random(seed).choice(list(self._pool.items))
        seen = self._seat.reset(item, **settings, **({} if seed is None else {"seed": seed}))
        episode = episode_id or self._seat.trace.started.episode
        self._state = EpisodeState(episode_id=episode, item=item)
        return _observation(seen)

    def step(
        self,
        action: TurnAction,
        timeout_s: float | None = None,
        **_: Any,  # noqa: ANN401 -- OpenEnv's signature
    ) -> TurnObservation:
        """Take a turn. `timeout_s` is ignored, since calls and episodes have their own limits.

        Raises:
            NothingInPlay: there is no episode, or it has ended.
            EpisodeLost, Unscored: the episode has no reward; leave it out.
        """
        number = self._state.step_count + 1
        calls = tuple(_raw(one, f"call_{number}_{place}") for place, one in enumerate(action.calls))
        thoughts = Thoughts(action.reasoning_content) if action.reasoning_content else None
        step = self._seat.step(Reply(action.text, calls, thoughts=thoughts))
        self._state.step_count = number
        found = _observation(step.observation)
        found.reward, found.done = step.reward, step.done
        found.ending, found.truncated = step.ending, step.truncated
        found.components, found.only_failed = dict(step.components), step.only_failed
        return found

    @property
    def state(self) -> EpisodeState:
        """The current item and the number of turns."""
        return self._state

    def close(self) -> None:
        """Release the session's worker."""
        self._seat.close()

    def get_metadata(self) -> EnvironmentMetadata:
        """Return the name, description and version."""
        title = self._pool.environments.binding.benchmark.title
        about = f"{title}: multi-hop tool use over isolated tools"
        return EnvironmentMetadata(
            name="toolhop", description=about, version=toolhop_env.__version__
        )

    def list_splits(self) -> list[dict[str, str]]:
        """Return the data set as the only split."""
        return [{"name": self._split, "type": "test"}]

    def num_tasks(self, split: str) -> int:
        """Return the number of items."""
        return len(self._ids(split))

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return the ids and questions of all items."""
        return [self.get_task(split, index) for index in range(self.num_tasks(split))]

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return an item's id and question.

        Raises:
            BadChoice: the split or the index does not exist.
        """
        ids = self._ids(split)
        if not 0 <= index < len(ids):
            raise BadChoice(f"there is no item {index}", fix=f"give 0 to {len(ids) - 1}")
        item = self._pool.items[ids[index]]
        return {"id": item.id, "index": index, "question": item.question}

    def _ids(self, split: str) -> Sequence[str]:
        if split != self._split:
            raise BadChoice(f"there is no split {split!r}", fix=f"give {self._split!r}")
        return list(self._pool.items)


def _observation(seen: Seen) -> TurnObservation:
    tools = [schema.to_openai() for schema in seen.tools]
    return TurnObservation(messages=messages_to_wire(seen.messages), tools=tools)


def _whole(name: str, given: object) -> int:
    """Check that a value from a request is an integer."""
    if not isinstance(given, int) or isinstance(given, bool):
        raise BadChoice(f"{name} cannot be {given!r}", fix="give a whole number, from 0")
    return given


def _raw(call: CallIn, name: str) -> RawCall:
    given = call.arguments
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return RawCall(call.id or name, call.name, text)


def application(pool: PlainEnvironments, *, sessions: int, hosts: Sequence[str] = ()) -> FastAPI:
    """Create the server's application on an entered pool.

    Args:
        pool: allows at least `sessions` open episodes.
        sessions: maximum number of sessions; more are refused.
        hosts: accepted host names besides those of this machine.
    """

    def environment() -> ToolHopEnvironment:
        return ToolHopEnvironment(pool, pool.environment())

    app: FastAPI = create_fastapi_app(
        environment,
        TurnAction,
        TurnObservation,
        max_concurrent_envs=sessions,
        env_name="toolhop",
        state_cls=EpisodeState,
    )
    for status, kinds in STATUSES.items():
        for kind in kinds:
            app.add_exception_handler(kind, _answering(status))
    app.add_middleware(OwnHosts, hosts=frozenset({*LOOPBACK, *hosts}))
    return app


STATUSES: Mapping[int, tuple[type[Exception], ...]] = {
    400: (BadChoice,),
    409: (EpisodeLost, NothingInPlay, Unscored),
    503: (SandboxUnavailable,),
}
"""HTTP statuses of errors: the request is invalid, the episode cannot continue, or nothing can
be played here. Over the WebSocket the message says so."""


def _answering(status: int) -> Callable[[Request, Exception], Response]:
    def answer(_: Request, error: Exception) -> Response:
        alone = "; each request by HTTP is a session of its own, so play over the WebSocket"
        more = alone if isinstance(error, NothingInPlay) else ""
        return JSONResponse({"detail": f"{error}{more}"}, status)

    return answer


class OwnHosts:
    """Middleware that refuses requests for host names that are not the server's, and requests
    from pages of other origins, which would act unnoticed by the browser's user.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        """Wrap `app`."""
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or connection."""
        if scope["type"] in ("http", "websocket") and not self._ours(scope):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": REFUSED.encode()})
            return
        await self._app(scope, receive, send)

    def _ours(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        return is_own(headers.get("host", ""), headers.get("origin"), self._hosts)
