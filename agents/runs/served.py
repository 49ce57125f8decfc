"""Who plays the episodes of a run with a model: clients, one for each seed, and the cache."""

from __future__ import annotations

import os

from agents.models import prices
from agents.models.base import Model
from agents.models.cache import Asked, CachedModel, ResponseCache
from agents.models.clients import Client, open_model
from agents.models.rate import Connections
from agents.runs.runner import Unit, unit_seed
from agents.runs.settings import RunSettings


class Served:
    """The model of a run. Every epoch is asked with a seed of its own, over one set of limits."""

    def __init__(self, settings: RunSettings, model: str, connections: Connections) -> None:
        """Open the first epoch's client, so that a missing key is told before anything starts.

        Raises:
            ModelFault: the model cannot be asked at all.
            CacheUnusable: the cache's folder cannot be written.
        """
        self._settings, self._model, self._connections = settings, model, connections
        self._cache = ResponseCache.open(settings.cache) if settings.cache else None
        self._clients: dict[int, Client] = {}
        self._client(settings.seed)

    def player(self, unit: Unit) -> Model:
        """Who plays `unit`."""
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
                base_url=settings.base_url,
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
                seed=seed,
                timeout_s=settings.timeout_s,
                max_retries=settings.max_retries,
                connections=self._connections,
                price=prices.parse(settings.price) if settings.price else None,
            )
        return self._clients[seed]

    def _asked(self, unit: Unit, seed: int) -> Asked:
        settings = self._settings
        return Asked(
            model=self._model,
            base_url=settings.base_url or os.environ.get(prices.BASE_URL),
            dialect=settings.dialect.value,
            epoch=unit.epoch,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            seed=seed,
        )
