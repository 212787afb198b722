"""Asks one model's endpoint: many calls at a time, retried, bounded in time, tokens and money, and none of them twice.

In: Requests from a source, a sender of single calls, a Journal. Out: each Request with its Response or the reason why it has
none. Everything that arrives is in the journal before anyone else sees it; a request whose content was answered before is
answered from there. What no call can mend (a refused key, an unknown model) ends the asking at once.
"""

import asyncio
import re
import time
from collections.abc import Iterator
from queue import SimpleQueue

from anyio.from_thread import start_blocking_portal
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from workbench.budget import UNBOUNDED_OUTPUT, Budget, Usage
from workbench.chat_body import read_body, read_usage
from workbench.config import ModelConfig, Prices
from workbench.constraints import KINDS, constraint_hash, is_enforced, probe, with_constraint
from workbench.errors import AnswerLost, CallRejected, GenerationError
from workbench.journal import Journal
from workbench.llm import Request, Response, Source
from workbench.prompts import CHARACTERS_PER_TOKEN
from workbench.results import content_hash

KEY_VERSION = 1  # raise when the same request would be sent otherwise
FATAL = {401, 402, 403, 404, 405}  # the key, the account, the model or the address: the same for every question
RETRIED = {408, 409, 425, 429}  # and every 5xx
NO_MONEY = "insufficient_quota"  # OpenAI's 429 that no waiting mends
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds between tries, doubled each time, where the endpoint asks for none
_TOO_LONG = re.compile(r"context|too long|too large|maximum|exceed", re.IGNORECASE)


class _NotAsked(Exception):
    """Nothing more is asked; the request stays open for the next run."""


class _ConstraintRefused(Exception):
    """The endpoint does not take the plan language's schema or grammar."""


class Endpoint:
    """stopped: why asking ended before the source did; null while it goes on."""

    def __init__(self, model: ModelConfig, sender: object, journal: Journal):
        self.model, self.sender, self.journal, self.limits = model, sender, journal, model.limits
        self.budget = Budget(model.limits, model.prices)
        self.stopped: str | None = None
        self.fatal: GenerationError | None = None
        for call in journal.all_calls():
            if "answer" in call:
                self.budget.spend(Usage(**call["answer"]["usage"]))
        self.constraint_known = journal.note.get("hash") == constraint_hash()
        self.constraint: str | None = journal.note.get("constraint") if self.constraint_known else None
        self.constraints_left = list(KINDS)

    def answers(self, source: Source) -> Iterator[tuple[Request, Response | GenerationError]]:
        """Answers as they come. Raises GenerationError, one line, for what ends the asking at once."""
        results: SimpleQueue = SimpleQueue()
        under_way, room = 0, 2 * self.limits.concurrency  # so that a slot that falls free has its next request ready
        with start_blocking_portal() as portal:
            portal.call(self._open)
            try:
                while True:
                    while under_way < room and self.stopped is None and (request := source()) is not None:
                        under_way += 1
                        portal.start_task_soon(self._put_answer, request, results)
                    if not under_way:
                        break
                    request, answer = results.get()
                    under_way -= 1
                    if isinstance(answer, BaseException) and not isinstance(answer, GenerationError):
                        raise answer
                    if answer is not None:
                        yield request, answer
            finally:
                portal.call(self.sender.close)
        if self.fatal is not None:
            raise self.fatal

    @property
    def spent(self) -> str:
        """Tokens and money so far, this run's earlier sessions included."""
        money = f", {self.budget.money:.4f} in money" if self.model.prices else ""
        return f"{self.budget.tokens} tokens{money}"

    async def _open(self) -> None:
        self.slots = asyncio.Semaphore(self.limits.concurrency)
        self.detecting = asyncio.Lock()
        self.freed = asyncio.Condition()
        self.same: dict[str, asyncio.Event] = {}  # content under way -> set when it is no more
        self.not_before = 0.0  # by the clock: nothing is sent earlier, since the endpoint asked for a pause
        total = self.limits.total_seconds
        self.deadline = None if total is None else time.monotonic() + total

    async def _put_answer(self, request: Request, results: SimpleQueue) -> None:
        answer: object = None
        try:
            async with self.slots:
                answer = await self._answer(request)
        except _NotAsked:
            answer = None
        except BaseException as error:  # noqa: BLE001 it is raised where the answers are awaited
            answer = error
        finally:
            results.put((request, answer))

    async def _answer(self, request: Request) -> Response:
        while True:
            constraint = await self._find_constraint(request)
            try:
                stored = await self._asked_once(request, constraint)
            except _ConstraintRefused:
                await self._give_up(constraint)
                continue
            return stored_response(stored, constraint, self.model.prices)

    async def _asked_once(self, request: Request, constraint: str | None) -> dict:
        """The stored answer to this content, or the one that comes now; two of the same content are one call."""
        body = request_body(self.model, request)
        key = request_key(body, request.sample, constraint)
        while key in self.same:
            await self.same[key].wait()
        if (stored := self.journal.find(key)) is not None:
            return stored
        over = self.same[key] = asyncio.Event()
        try:
            return await self._retried(request, with_constraint(body, constraint), key, constraint)
        finally:
            del self.same[key]
            over.set()

    async def _retried(self, request: Request, body: dict, key: str, constraint: str | None) -> dict:
        number = 0
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.limits.tries),
            wait=self._wait,
            sleep=self._sleep,
            retry=retry_if_exception(_is_passing),
            reraise=True,
        )
        try:
            async for attempt in retrying:
                with attempt:
                    number += 1
                    return await self._call(request, body, key, number)
        except CallRejected as error:
            is_schema = constraint and error.status in (400, 422, 501) and not _TOO_LONG.search(error.what)
            if is_schema and request.target == "plan":
                raise _ConstraintRefused from None
            if error.status in FATAL or error.code == NO_MONEY:
                self._stop(str(error))
                self.fatal = self.fatal or GenerationError(error.what, where=self.model.name, hint=_hint(error))
                raise _NotAsked from None
            raise GenerationError(_after(number, error)) from None
        except AnswerLost as error:
            raise GenerationError(_after(number, error)) from None
        raise AssertionError("a retried call ends with an answer or an error")

    async def _call(self, request: Request, body: dict, key: str, number: int) -> dict:
        size = self._largest(body)
        await self._let_through(size)
        call = self.journal.begin(
            key,
            question_id=request.question_id,
            db_id=request.db_id,
            target=request.target,
            dialect=request.dialect,
            sample=request.sample,
            attempt=request.attempt,
            number=number,
        )
        self.budget.reserved[call] = size
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self.limits.seconds):
                answer = await self.sender.send(body)
        except (CallRejected, AnswerLost, TimeoutError) as error:
            if isinstance(error, TimeoutError):
                error = AnswerLost(f"no whole answer within {self.limits.seconds:g} s")
            self.journal.failed(call, {"message": error.what, "status": getattr(error, "status", None)})
            raise error from None
        else:
            usage, source = read_usage(answer, body["messages"])
            stored = {
                "body": answer,
                "usage": vars(usage),
                "tokens_source": source,
                "seconds": round(time.monotonic() - begun, 4),
            }
            self.journal.answered(call, key, stored)
            self.budget.spend(usage)
            return stored
        finally:
            del self.budget.reserved[call]
            async with self.freed:
                self.freed.notify_all()

    async def _let_through(self, size: Usage) -> None:
        """Wait until a call may be sent; _NotAsked when none may any more."""
        while (pause := self.not_before - time.monotonic()) > 0 and self.stopped is None:
            await asyncio.sleep(min(pause, 1.0))
        async with self.freed:
            while self.stopped is None and not self.budget.fits(size):
                if not self.budget.reserved:
                    self._stop(self.budget.refusal(size))
                    break
                await self.freed.wait()
        if self.deadline is not None and time.monotonic() > self.deadline:
            self._stop(f"{self.limits.total_seconds:g} s are over")
        if self.stopped is not None:
            raise _NotAsked

    def _largest(self, body: dict) -> Usage:
        """What a call may take at most, as far as that can be said beforehand."""
        size = sum(len(message["content"]) for message in body["messages"])
        return Usage(-(-size // CHARACTERS_PER_TOKEN), self.model.answer_tokens or UNBOUNDED_OUTPUT)

    def _wait(self, state: RetryCallState) -> float:
        """Seconds before the next try: what the endpoint asks for, of all calls; else longer each time."""
        error = state.outcome.exception()
        asked = getattr(error, "retry_after", None)
        if asked is None:
            return wait_exponential_jitter(multiplier=FIRST_WAIT, max=LONGEST_WAIT, jitter=FIRST_WAIT)(state)
        if asked > self.limits.seconds:
            self._stop(f"the endpoint asks to wait {asked:.0f} s: {error}")
            return 0.0
        self.not_before = max(self.not_before, time.monotonic() + asked)
        return asked

    async def _sleep(self, seconds: float) -> None:
        """Wait for the next try, or until nothing more is asked."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and self.stopped is None:
            await asyncio.sleep(min(left, 0.5))

    def _stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason

    async def _find_constraint(self, request: Request) -> str | None:
        """What decoding of this request is bound by; found out once, with one small call for each kind there is."""
        if request.target != "plan" or not self.model.is_constrained or self.model.thinking is not None:
            return None
        async with self.detecting:
            while not self.constraint_known:
                self.constraint = self.constraints_left[0] if self.constraints_left else None
                if self.constraint is None or await self._is_enforced(request, self.constraint):
                    self.constraint_known = True
                    self.journal.remember(constraint=self.constraint, hash=constraint_hash())
                else:
                    self.constraints_left.pop(0)
        return self.constraint

    async def _is_enforced(self, request: Request, kind: str) -> bool:
        messages, settings = probe(kind)
        small = Request(request.model, f"probe of {kind}", "", "probe", None, messages, settings)
        try:
            stored = await self._asked_once(small, None)
        except GenerationError:
            return False
        return is_enforced(kind, read_body(stored["body"])["text"])

    async def _give_up(self, kind: str) -> None:
        """The endpoint binds decoding so, but not to something as large as a plan: look for another way."""
        async with self.detecting:
            if self.constraint_known and self.constraint == kind:
                self.constraints_left = self.constraints_left[self.constraints_left.index(kind) + 1 :]
                self.constraint_known = False


def request_body(model: ModelConfig, request: Request) -> dict:
    """What is sent, but for what decoding is bound by."""
    settings = {name: value for name, value in request.sampling.items() if value is not None}
    return {"model": model.model or model.name, "messages": request.messages} | settings


def stored_response(stored: dict, constraint: str | None, prices: Prices | None) -> Response:
    """The Response of an answer as the journal holds it."""
    usage = Usage(**stored["usage"])
    return Response(
        **read_body(stored["body"]),
        seconds=stored["seconds"],
        input_tokens=usage.input,
        output_tokens=usage.output,
        reasoning_tokens=usage.reasoning,
        cached_tokens=usage.cached,
        tokens_source=stored["tokens_source"],
        constraint=constraint,
        cost=usage.cost(prices),
    )


def request_key(body: dict, sample: int, constraint: str | None) -> str:
    """What an answer is stored under: the model, every sampling setting, the messages, what decoding is bound by."""
    return content_hash(KEY_VERSION, body, sample, constraint and [constraint, constraint_hash()])


def _is_passing(error: BaseException) -> bool:
    if isinstance(error, CallRejected):
        return (error.status in RETRIED or error.status >= 500) and error.code != NO_MONEY and error.status != 501
    return isinstance(error, AnswerLost)


def _after(number: int, error: GenerationError) -> str:
    return error.what if number == 1 else f"no answer in {number} tries, the last: {error.what}"


def _hint(error: CallRejected) -> str:
    if error.status in (401, 403):
        return "the key is read from the variable that key_variable names"
    return "see base_url and model" if error.status in (404, 405) else "see the account"
