"""A model's endpoint for tests: real HTTP that speaks chat completions, and misbehaves on cue.

`with ModelServer() as server:` serves in a thread; `python tests/model_server.py LATENCY` serves alone and prints its address.
`server.script[word]` lists what is done, in turn, with the calls whose last message holds the word; then all is "ok".
`server.calls` says of each call what it was, whether it was billed, and whether a whole answer was sent.
"""

import asyncio
import json
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count
from typing import Self

SQL = "```sql\nSELECT n FROM t\n```"
PLAN = '```json\n[{"scan":"t"},{"project":["t.n"]}]\n```'
PROMPT_TOKENS, OUTPUT_TOKENS = 100, 10
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
UNBILLED = ("401", "404", "429", "500", "503", "schema", "quota", "context")


class ModelServer:
    """answer: (messages, body) -> text. enforces: kinds of constraint that are obeyed; refuses: those answered with 400."""

    def __init__(self, latency: float = 0.0, answer: Callable[[list, dict], str] | None = None):
        self.latency, self.answer = latency, answer or _answer
        self.script: dict[str, list[str]] = defaultdict(list)
        self.calls: list[dict] = []
        self.enforces: set[str] = set()
        self.refuses: set[str] = set()
        self.refuses_plans: set[str] = set()
        self.key: str | None = None
        self.echo = ""  # what an error says besides
        self.on_call: Callable[[int, str], None] = lambda number, moment: None
        self.numbers = count(1)
        self.is_counting = True

    def __enter__(self) -> Self:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self.start(), self.loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        if self.thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self.loop).result(10)
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(10)
            self.loop.close()

    async def _end(self) -> None:
        self.server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def start(self) -> None:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/v1"

    @property
    def answered(self) -> list[dict]:
        return [call for call in self.calls if call["is_whole"]]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                method, _path, _ = line.decode().split()
                headers = {}
                while (line := await reader.readline()).strip():
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if method == "GET" and self.key and headers.get("authorization") != f"Bearer {self.key}":
                    self._send(writer, 401, _error(f"401 {self.echo}"))
                elif method == "GET":
                    self._send(writer, 200, {"object": "list", "data": [{"id": "m"}]})
                else:
                    await self._complete(json.loads(body), headers, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _complete(self, body: dict, headers: dict, writer: asyncio.StreamWriter) -> None:
        number, last = next(self.numbers), body["messages"][-1]["content"]
        word = next((word for word in self.script if word in last), None)
        cue = self.script[word].pop(0) if word and self.script[word] else "ok"
        kind = next(
            (name for name, key in (("json_schema", "response_format"), ("grammar", "grammar")) if key in body), ""
        )
        is_probe = "good morning" in last
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            cue = "401"
        if kind in self.refuses or (kind in self.refuses_plans and not is_probe):
            cue = "schema"
        call = {
            "question": last,
            "cue": cue,
            "kind": kind,
            "is_billed": not cue.startswith(UNBILLED),
            "is_whole": False,
        }
        call["body"] = body if not self.is_counting else None
        self.calls.append(call)
        self.on_call(number, "begun")
        await asyncio.sleep(self.latency)
        text = self.answer(body["messages"], body)
        if is_probe:
            word = (
                {"json_schema": '{"word": "zq7"}', "grammar": "zq7"}.get(kind, "")
                if kind in self.enforces
                else "Bonjour"
            )
            text = word
        elif kind in self.enforces:
            text = text.removeprefix("```json\n").removesuffix("\n```")
        answer = _completion(number, text)
        status, _, wait = cue.partition(" after ")
        if status[:3].isdigit():
            extra = {"Retry-After": _http_date(float(wait[5:])) if wait.startswith("date ") else wait} if wait else {}
            self._send(writer, int(status[:3]), _error(f"{status} on cue {self.echo}".strip()), extra)
        elif cue == "schema":
            self._send(writer, 400, _error(f"cannot use this {kind}"))
        elif cue == "context":
            self._send(writer, 400, _error("the prompt exceeds the context length"))
        elif cue == "quota":
            self._send(writer, 429, _error("no money left", "insufficient_quota"))
        elif cue == "reset":
            writer.transport.abort()
        elif cue == "reset in the body":
            writer.write(_message(200, json.dumps(answer).encode())[:-50])
            await writer.drain()
            writer.transport.abort()
        elif cue == "stall":
            await asyncio.sleep(30)
        elif cue == "drip":
            for byte in _message(200, json.dumps(answer).encode()):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
        elif cue == "cut JSON":
            writer.write(_message(200, json.dumps(answer).encode()[:-40]))
        elif cue == "wrong type":
            writer.write(_message(200, b"<html>hello</html>", {"Content-Type": "text/html"}))
        else:
            if cue == "empty choices":
                answer["choices"] = []
            if cue == "length":
                answer["choices"][0] |= {"finish_reason": "length", "message": {"content": "```sql\nSELECT n FROM"}}
            if cue == "missing usage":
                del answer["usage"]
            if cue == "thinking":
                answer["choices"][0]["message"]["reasoning_content"] = "because " * 10
            data = _message(200, json.dumps(answer).encode())
            writer.write(data[:50])
            self.on_call(number, "half")
            writer.write(data[50:])
            call["is_whole"] = True
            if cue == "duplicate delivery":
                writer.write(data)
            await writer.drain()
            self.on_call(number, "ended")

    def _send(self, writer: asyncio.StreamWriter, status: int, body: dict, headers: dict | None = None) -> None:
        writer.write(_message(status, json.dumps(body).encode(), headers))


def _answer(messages: list[dict], body: dict) -> str:
    return PLAN if "query plan" in messages[0]["content"] else SQL


def _completion(number: int, text: str) -> dict:
    usage = {
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": PROMPT_TOKENS + OUTPUT_TOKENS,
    }
    usage["prompt_tokens_details"] = {"cached_tokens": 60}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {
        "id": f"c{number}",
        "object": "chat.completion",
        "model": "m",
        "created": 0,
        "choices": [choice],
        "usage": usage,
    }


def _error(message: str, code: str | None = None) -> dict:
    return {"error": {"message": message, "type": "error", "code": code}}


def _http_date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def _message(status: int, body: bytes, headers: dict | None = None) -> bytes:
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))} | (headers or {})
    lines = [
        f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def _alone(latency: float) -> None:
    server = ModelServer(latency)
    await server.start()
    print(server.url, flush=True)
    await server.server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_alone(float(sys.argv[1])))
