"""Every error the workbench raises for something outside itself: bad input, a missing engine, a broken store.

A message is one line that says what is wrong, where, and what would be right. The command line prints it and
exits with 2; a traceback therefore always means a bug of ours. One child per step of the data's way.
"""

LONGEST = 3000  # characters of a message: names and texts that it quotes may have any length


class WorkbenchError(Exception):
    """Base of all errors caused by input or surroundings.

    what: the fault, without a full stop. where: file, folder, question or engine it was found in.
    hint: what would be right ("available: a, b").
    """

    def __init__(self, what: str, *, where: object = None, hint: str | None = None):
        self.what, self.where, self.hint = what, where, hint
        super().__init__(what, where, hint)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where is not None else self.what
        if self.hint:
            text += f" ({self.hint})"
        text = " ".join(text.split())  # one line, whatever was quoted into it
        if len(text) > LONGEST:
            text = f"{text[: LONGEST * 2 // 3]} ... {text[-LONGEST // 3 :]}"
        return text.encode("utf-8", "backslashreplace").decode()  # lone surrogates could not be printed


class BenchmarkError(WorkbenchError):
    """A benchmark folder or one of its files cannot be used."""


class PredictionError(WorkbenchError):
    """A prediction file cannot be paired with the questions."""


class ConfigError(WorkbenchError):
    """A run's configuration or a command's argument is wrong."""


class ParseError(WorkbenchError):
    """A text is not SQL. where: line and column."""


class UnsupportedError(WorkbenchError):
    """A plan cannot express a query, or an engine cannot reach a plan's meaning. what names the construct."""


class PlanError(WorkbenchError):
    """A plan that could not run. kind: one of PLAN_ERROR_KINDS; where: the operator's place, "3 (filter)"."""

    def __init__(self, kind: str, what: str, *, where: object = None, hint: str | None = None):
        self.kind = kind
        super().__init__(what, where=where, hint=hint)

    def __reduce__(self):
        return _restore_plan_error, (self.kind, self.what, self.where, self.hint)


PLAN_ERROR_KINDS = (
    "not_json",
    "truncated",
    "trailing_text",
    "schema_violation",
    "unknown_operator",
    "unknown_table",
    "unknown_column",
    "type_error",
    "unsupported",
)


def _restore_plan_error(kind: str, what: str, where: object, hint: str | None) -> PlanError:
    return PlanError(kind, what, where=where, hint=hint)


class EngineError(WorkbenchError):
    """A database engine is absent, does not start, or cannot be reached."""


class MigrationError(WorkbenchError):
    """A database could not be copied exactly into an engine."""


class ResultsError(WorkbenchError):
    """A stored run cannot be read or written."""


class GenerationError(WorkbenchError):
    """A model cannot be asked."""


class CallRejected(GenerationError):
    """An endpoint refused a call with an HTTP status; retry_after: seconds it asks to wait, code: its own word for why."""

    def __init__(self, what: str, status: int, code: str | None = None, retry_after: float | None = None):
        super().__init__(what)
        self.status, self.code, self.retry_after = status, code, retry_after


class AnswerLost(GenerationError):
    """A call was sent and no whole answer came back; it may have been billed."""


class NotBuiltError(WorkbenchError):
    """A documented command that this version does not have yet."""
