"""Answers from journals of earlier runs, without a call: the same content gets the answer it got then.

In: `files` of the model's config, journals (results/RUN/calls/*.jsonl). Out: the stored Response; GenerationError where
nothing was stored for a request's content.
"""

from pathlib import Path

from workbench.config import ModelConfig
from workbench.constraints import KINDS
from workbench.endpoint import request_body, request_key, stored_response
from workbench.errors import GenerationError
from workbench.journal import Journal
from workbench.llm import Request, Response


class Replay:
    """The stored answers of one model."""

    def __init__(self, model: ModelConfig):
        self.model = model
        missing = next((file for file in model.files if not Path(file).is_file()), None)
        if missing is not None:
            raise GenerationError("there is no such journal", where=missing, hint="results/RUN/calls/*.jsonl")
        self.journals = [Journal(Path(file), is_read_only=True) for file in model.files]

    def answer(self, request: Request) -> Response:
        body = request_body(self.model, request)
        kinds = [*KINDS, None] if request.target == "plan" else [None]
        for journal in self.journals:
            for kind in kinds:
                stored = journal.find(request_key(body, request.sample, kind))
                if stored is not None:
                    return stored_response(stored, kind, self.model.prices)
        raise GenerationError("nothing is stored for this prompt and these settings", where=self.model.name)
