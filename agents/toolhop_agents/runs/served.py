"""Clients of a run's model, one per seed, and the reply cache."""

from __future__ import annotations

import hashlib
import os

from toolhop_agents.models import gguf, prices
from toolhop_agents.models.base import Model
from toolhop_agents.models.cache import CachedModel, RequestContext, ResponseCache
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import Api, Client, ModelOptions
from toolhop_agents.models.rate import Gate
from toolhop_agents.runs.parameters import request_parameters
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit, unit_seed
from toolhop_sandbox.outcome import JSON


class Served:
    """The model of a run. Each epoch has its own seed; all share one set of limits."""

    def __init__(
        self, settings: RunSettings, model: str, connections: Gate, base_url: str | None
    ) -> None:
        """Open the first epoch's client, so that a missing key is reported before anything starts.

        Args:
            settings: the run's settings.
            model: ``PROVIDER/MODEL``.
            connections: limits concurrent requests.
            base_url: URL of the server; None for the provider's own.

        Raises:
            ModelFault: the model cannot be used.
            CacheUnusable: the cache's folder cannot be written.
        """
        self._settings, self._model, self._connections = settings, model, connections
        self._base_url = base_url
        self._cache = ResponseCache.open(settings.cache) if settings.cache else None
        self._clients: dict[int, Client] = {}
        self._client(settings.seed)

    def agent(self, unit: WorkUnit) -> Model:
        """Return the model that plays `unit`."""
        seed = unit_seed(self._settings, unit)
        client = self._client(seed)
        if self._cache is None:
            return client
        return CachedModel(client, self._cache, self._asked(unit, seed))

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()

    def _client(self, seed: int) -> Client:
        if seed not in self._clients:
            settings = self._settings
            self._clients[seed] = open_model(
                self._model,
                ModelOptions(
                    base_url=self._base_url,
                    temperature=settings.temperature,
                    max_tokens=settings.max_tokens,
                    seed=seed,
                    extra=request_parameters(settings),
                    reasoning_history=settings.reasoning_history,
                    api=settings.api,
                    strict_tools=settings.strict_tools == "on",
                    timeout_s=max(settings.timeout_s, gguf.TIMEOUT_S if settings.gguf else 0.0),
                    max_retries=settings.max_retries,
                    connections=self._connections,
                    price=prices.parse(settings.price) if settings.price else None,
                ),
            )
        return self._clients[seed]

    def _asked(self, unit: WorkUnit, seed: int) -> RequestContext:
        settings = self._settings
        return RequestContext(
            model=self._model,
            base_url=_asked_at(settings) or os.environ.get(prices.BASE_URL),
            call_format=settings.call_format.value,
            epoch=unit.epoch,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            seed=seed,
            extra=request_parameters(settings) | _protocol(settings),
            reasoning_history=settings.reasoning_history,
        )


def _protocol(settings: RunSettings) -> dict[str, JSON]:
    """Return protocol and schema options that differ from the original defaults, for cache keys."""
    found: dict[str, JSON] = {} if settings.api is Api.CHAT else {"api": settings.api.value}
    return found | {"strict_tools": True} if settings.strict_tools == "on" else found


def _asked_at(settings: RunSettings) -> str | None:
    """Return the model's address for cache keys. A GGUF model is identified by its content, not
    its port.
    """
    if settings.gguf is None:
        return settings.base_url
    template = hashlib.sha256((settings.chat_template or "").encode()).hexdigest()
    return f"gguf:{gguf.digest(settings.gguf)}:{settings.gguf_context}:{template}"
