"""The models behind the roles: whom stages ask in a real run.

    models = RoleModels(
        {"describe": "qwen3_vl"}, config.models, cache=SqliteReplyCache(path),
        max_cost=config.limits.max_cost, spent_cost=cache.spent_cost(), on_call=journal_call,
    )
    answer = await models.ask("describe", question, DescribeReply)
    reply = await models.reply("describe", question)       # as it came, unread
    await models.aclose()

A question goes: reply cache, the same question in flight, budget, its endpoint's turn, tries. What
comes back is counted, told to `on_call`, kept, and only then read; where it cannot be used, it is
asked for again (`ask_until_usable`). A reply from the cache is read just the same, so that a chain
of asks runs in the next run as in this one without asking anybody.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from affect.llm.ask_until_usable import ask_until_usable
from affect.llm.budget import Budget
from affect.llm.call import Call, OnCall, Outcome
from affect.llm.chat import Answer, ModelFailure, Models, Question, ReplyT
from affect.llm.client import RequestError
from affect.llm.endpoint import Endpoint, open_endpoints
from affect.llm.in_flight import InFlight
from affect.llm.model_section import ModelSection
from affect.llm.read_reply import UnusableReplyError, read_reply
from affect.llm.reply import Reply
from affect.llm.reply_cache import ReplyCache
from affect.llm.request_key import request_key
from affect.llm.retrying import RetryPolicy
from affect.llm.wire_schema import wire_schema


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question on its way, and what a call's record needs to know of it."""

    role: str
    model: str
    question: Question
    schema: dict[str, Any] | None
    num_ask: int
    key: str
    judge: Callable[[Reply], Outcome]

    def call(
        self,
        outcome: Outcome,
        num_attempt: int = 0,
        reply: Reply | None = None,
        cost: float | None = None,
        seconds: float = 0.0,
        from_cache: bool = False,
    ) -> Call:
        return Call(
            self.role,
            self.model,
            self.question.name,
            self.key,
            self.num_ask,
            num_attempt,
            outcome,
            reply.prompt_tokens if reply else None,
            reply.completion_tokens if reply else None,
            cost,
            seconds,
            from_cache,
        )


class RoleModels(Models):
    """Within one event loop; `aclose` ends what is in flight, and belongs to the same loop.

    roles: role -> name of a model. Only models that play a role are reached for.
    cache: None keeps nothing. spent_cost: by earlier runs. limit_name: what the user
    calls max_cost. on_call: told of every call.
    policy: how a request is tried again. before_each: called when it is a try's turn; what it
    raises ends the request, and reaches who asked.

    Raises ValueError for a role's unknown model, a missing key, a limit that can't be kept.
    """

    def __init__(
        self,
        roles: Mapping[str, str],
        models: Mapping[str, ModelSection],
        *,
        cache: ReplyCache | None = None,
        max_asks: int = 3,
        policy: RetryPolicy | None = None,
        max_cost: float | None = None,
        spent_cost: float = 0.0,
        limit_name: str = "limits.max_cost",
        on_call: OnCall = lambda call: None,
        before_each: Callable[[], None] = lambda: None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        for role, name in roles.items():
            if name not in models:
                there = ", ".join(sorted(models)) or "none"
                raise ValueError(f"role {role}: there is no model {name!r}; there are: {there}")
        self._roles = dict(roles)
        playing = {name: models[name] for name in sorted(set(roles.values()))}
        self._budget = Budget(max_cost, spent_cost, limit_name)
        self._budget.require_prices(playing)
        policy = policy or RetryPolicy(max_attempts=6, max_backoff_seconds=60.0)
        self._endpoints = open_endpoints(playing, policy, environ)
        self._cache = cache
        self._in_flight = InFlight[tuple[Reply, bool]]()
        self._max_asks = max_asks
        self._on_call = on_call
        self._before_each = before_each

    @property
    def spent_cost(self) -> float:
        """In all runs, as far as it is known."""
        return self._budget.spent

    def note_spent(self, spent_cost: float) -> None:
        """Others pay from the same budget, too: so much is spent by all together."""
        self._budget.spent = max(self._budget.spent, spent_cost)

    async def ask(
        self,
        role: str,
        question: Question,
        reply_type: type[ReplyT],
        check: Callable[[ReplyT], None] | None = None,
    ) -> Answer[ReplyT]:
        name, endpoint = self._player(role)
        schema = wire_schema(reply_type, question.name)
        allow_fence = not endpoint.section.structured_output

        def judge(reply: Reply) -> Outcome:
            try:
                read_reply(reply, reply_type, check, allow_fence)
            except UnusableReplyError as error:
                return error.kind
            return "usable"

        async def get_reply(asked: Question, num_ask: int) -> Reply:
            key = request_key(endpoint.section, asked, schema)
            return await self._reply(_Asked(role, name, asked, schema, num_ask, key, judge))

        return await ask_until_usable(
            get_reply, name, question, reply_type, check, self._max_asks, allow_fence
        )

    async def reply(
        self, role: str, question: Question, schema: dict[str, Any] | None = None
    ) -> Reply:
        """The first reply of the model in this role as it came: not read, and not asked for again
        where it is cut off, empty or refused.

        schema: what the server is asked to keep to (in words where it takes none); None asks for
        nothing but the question.

        Raises ModelFailure where no reply came, and BudgetSpentError before anything is asked.
        """
        name, endpoint = self._player(role)
        key = request_key(endpoint.section, question, schema)
        return await self._reply(_Asked(role, name, question, schema, 1, key, _outcome_unread))

    async def aclose(self) -> None:
        """Requests in flight are cancelled."""
        await self._in_flight.cancel_all()
        for endpoint in self._endpoints.values():
            await endpoint.client.aclose()

    def _player(self, role: str) -> tuple[str, Endpoint]:
        name = self._roles.get(role)
        if name is None:
            raise ValueError(f"nobody plays the role {role!r}; roles: {', '.join(self._roles)}")
        return name, self._endpoints[name]

    async def _reply(self, asked: _Asked) -> Reply:
        is_first = asked.key not in self._in_flight
        reply, is_bought = await self._in_flight.run(asked.key, lambda: self._kept_or_bought(asked))
        if not (is_first and is_bought):
            self._on_call(asked.call(asked.judge(reply), reply=reply, cost=0.0, from_cache=True))
        return reply

    async def _kept_or_bought(self, asked: _Asked) -> tuple[Reply, bool]:
        """The reply, and whether it was bought just now."""
        if self._cache is not None:
            # In a thread: a cache may lie on another machine.
            kept = await asyncio.to_thread(self._cache.get, asked.key)
            if kept is not None:
                return kept, False
        return await self._buy(asked), True

    def _before(self) -> None:
        self._before_each()
        self._budget.check()

    async def _buy(self, asked: _Asked) -> Reply:
        def on_fault(num_attempt: int, error: RequestError, seconds: float) -> None:
            self._on_call(asked.call(error.kind, num_attempt, seconds=seconds))

        self._before()
        try:
            bought = await self._endpoints[asked.model].request(
                asked.question, asked.schema, on_fault, before=self._before
            )
        except RequestError as error:
            raise ModelFailure(
                error.kind, asked.model, f"{asked.question.name}: {error.detail}"
            ) from None
        reply = bought.reply
        self._budget.add(asked.model, bought.cost)
        self._on_call(
            asked.call(asked.judge(reply), bought.num_attempt, reply, bought.cost, bought.seconds)
        )
        if self._cache is not None:
            await asyncio.to_thread(self._cache.put, asked.key, reply, bought.cost)
        return reply


def _outcome_unread(reply: Reply) -> Outcome:
    return "usable" if reply.finish == "complete" else reply.finish
