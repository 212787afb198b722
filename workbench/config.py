"""A run's configuration: one YAML file, checked before anything starts.

    run: demo                       # name under results/, or a path
    benchmark: bundled              # or the folder of BIRD, Spider, KaggleDBQA as downloaded
    engines: [sqlite, postgres]
    models:
      - {name: simulated-8b, provider: simulated, targets: [sql, plan]}
      - {provider: predictions, files: [predict_dev_CodeS-7b.json]}
      - {name: my-model, provider: openai, base_url: "http://localhost:8000/v1", targets: [sql, plan]}
    figures: [portability]
    limits: {seconds: 30}

Paths are read from the folder of the file. An unknown key is an error, so that a misspelt one is not ignored; that also
keeps keys and passwords out of stored headers.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar
from urllib.parse import urlsplit

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from workbench import paths
from workbench.backends import BACKENDS
from workbench.backends.base import Limits
from workbench.errors import ConfigError

T = TypeVar("T", bound=BaseModel)
_SECRET = re.compile(r"key|secret|password|authori[sz]ation|bearer", re.IGNORECASE)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _check_text(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("printable text is wanted")
    return text


def _check_engine(name: str) -> str:
    if name not in BACKENDS:
        raise ValueError(f"there is no engine {name!r}, available: {', '.join(BACKENDS)}")
    return name


def _check_name(name: str) -> str:
    try:
        return paths.check_name(name, "a model")
    except ConfigError as error:
        raise ValueError(str(error)) from None


Text = Annotated[str, AfterValidator(_check_text)]
EngineName = Annotated[str, AfterValidator(_check_engine)]
ModelName = Annotated[str, AfterValidator(_check_name)]
Billions = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]


class LimitsConfig(_Strict):
    """Limits of one statement, see backends.base.Limits."""

    seconds: float = Limits.seconds
    rows: int = Limits.rows
    bytes: int = Limits.bytes
    memory: int = Limits.memory

    @model_validator(mode="after")
    def _are_limits(self) -> "LimitsConfig":
        try:
            Limits(**self.model_dump())
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return self


Count = Annotated[int, Field(ge=1, le=10**12)]
Price = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class CallLimits(_Strict):
    """Limits of the calls to one model. tokens and money end the asking before either is exceeded.

    concurrency: calls at a time. seconds: of one call. total_seconds: after it nothing new is asked. tries: calls for one
    answer, when they fail. tokens, money: over the whole run, prompts included.
    """

    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    seconds: Annotated[float, Field(gt=0, le=86400)] = 300.0
    total_seconds: Annotated[float, Field(gt=0, le=1e8)] | None = None
    tries: Annotated[int, Field(ge=1, le=100)] = 5
    tokens: Count | None = None
    money: Price | None = None


class Prices(_Strict):
    """Per million tokens, in whichever currency; cached: those of the prompt that the endpoint had in its cache."""

    input: Price
    output: Price
    cached: Price | None = None


class ModelConfig(_Strict):
    """One model, or prediction files that somebody already has.

    base_url: the endpoint's, or "embedded": llama.cpp here, see local_model.py. model: its name at the endpoint, where it is another than the one in tables and figures. key_variable: the environment
    variable that holds the key; OPENAI_API_KEY where there is no base_url, else none. sampling: sent as it is, over
    {temperature: 0, seed: ...}; null takes a setting out. is_constrained: bind the decoding of plans where the endpoint
    can. repairs: how often a refused plan goes back. is_optional: go on without it where it cannot be asked. question_limit: it is
    asked only the first questions. files: predictions, or journals (results/RUN/calls/*.jsonl) to replay.
    """

    name: ModelName | None = None
    provider: Literal["simulated", "predictions", "openai", "litellm", "replay"]
    params_b: Billions | None = None
    weights: Literal["open", "closed"] | None = None
    regime: Literal["prompted", "fine-tuned", "purpose-built"] | None = None
    targets: Annotated[list[Literal["sql", "plan"]], Field(min_length=1)] = ["sql"]
    sampling: dict[str, JsonValue] = {}
    samples: Annotated[int, Field(ge=1, le=1000)] = 1
    thinking: Literal["suppressed", "fast", "slow"] | None = None
    context_tokens: Annotated[int, Field(ge=256)] | None = None
    base_url: Text | None = None
    model: Text | None = None
    key_variable: Text | None = None
    is_constrained: bool = True
    repairs: Annotated[int, Field(ge=0, le=10)] = 0
    is_optional: bool = False
    question_limit: Annotated[int, Field(gt=0, le=10**9)] | None = None
    limits: CallLimits = CallLimits()
    prices: Prices | None = None
    files: list[Text] = []
    engine: EngineName | None = None

    @model_validator(mode="after")
    def _fits_provider(self) -> "ModelConfig":
        has_files = self.provider in ("predictions", "replay")
        if has_files and not self.files:
            raise ValueError(f"provider {self.provider} needs files")
        if self.provider != "predictions" and (self.name is None or (self.files and not has_files)):
            raise ValueError(f"provider {self.provider} needs a name and takes no files")
        is_address = self.base_url not in (None, "embedded")
        if is_address and ("@" in self.base_url or "?" in self.base_url or not self.base_url.startswith("http")):
            raise ValueError("base_url is http(s)://host/path; a key comes from the variable that key_variable names")
        if is_address:
            urlsplit(self.base_url).port  # noqa: B018 raises ValueError where it is none
        if self.limits.money is not None and self.prices is None:
            raise ValueError("limits.money needs prices")
        secret = next((key for key in self.sampling if _SECRET.search(key)), None)
        if secret is not None:
            raise ValueError(f"sampling.{secret}: keys are read from the variable that key_variable names")
        return self

    @property
    def answer_tokens(self) -> int | None:
        """The most that an answer may have, where the sampling says so."""
        found = next(
            (self.sampling[name] for name in ("max_completion_tokens", "max_tokens") if self.sampling.get(name)), None
        )
        return found if isinstance(found, int) and not isinstance(found, bool) else None


FigureName = Literal[  # figures.FIGURES, whose drawing library is not needed here
    "portability",
    "crossover",
    "fine_tuning",
    "errors_by_category",
    "errors_by_model",
    "failures",
    "meta_forest",
    "meta_coefficients",
    "meta_heterogeneity",
    "accuracy",
    "jaccard",
    "ves",
    "accuracy_by_difficulty",
    "jaccard_by_difficulty",
    "ves_by_difficulty",
    "error_types",
]


class Config(_Strict):
    """Everything that `workbench run` needs."""

    run: Text
    benchmark: Text
    databases: Text | None = None
    engines: Annotated[list[EngineName], Field(min_length=1)] = ["sqlite"]
    models: Annotated[list[ModelConfig], Field(min_length=1)]
    question_limit: Annotated[int, Field(gt=0, le=10**9)] | None = None
    metrics: Annotated[
        list[Literal["df_match", "df_match_strict", "df_match_paper", "bird_ex"]], Field(min_length=1)
    ] = ["df_match"]  # the first is the headline
    baseline: ModelName | None = None  # the model that HES-SQL's gaps are counted from
    repeats: Annotated[int, Field(ge=1, le=1000)] = 5  # rounds that time right answers, for figures of efficiency
    figures: list[FigureName] = ["portability"]
    limits: LimitsConfig = LimitsConfig()
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0

    @field_validator("engines")
    @classmethod
    def _distinct_engines(cls, engines: list[str]) -> list[str]:
        if len(set(engines)) < len(engines):
            raise ValueError("an engine is named twice")
        return engines

    @field_validator("models")
    @classmethod
    def _distinct_models(cls, models: list[ModelConfig]) -> list[ModelConfig]:
        names = [model.name for model in models if model.name and model.provider != "predictions"]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{twice[0]!r} is named twice")
        return models


def read_config(path: str | Path) -> Config:
    """Read and check a configuration; its relative paths become absolute. ConfigError names the key that is wrong."""
    path = Path(path)
    try:
        data = yaml.load(path.read_text("utf-8"), _Loader)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=path) from error
    except RecursionError:
        raise ConfigError("is nested too deeply", where=path) from None
    except (yaml.YAMLError, ValueError) as error:  # also impossible dates, endless numbers, bytes that are not UTF-8
        raise ConfigError(f"is not YAML: {str(error)[:300]}", where=path) from error
    if not isinstance(data, dict):
        raise ConfigError("is not a mapping of keys to values", where=path, hint="needed: run, benchmark, models")
    config = checked(Config, data, path)
    base = paths.real(path).parent
    files = [file for model in config.models for file in model.files]
    places = [paths.real(base / file) for file in files]
    again = next((index for index, place in enumerate(places) if place in places[:index]), None)
    if again is not None:
        first = files[places.index(places[again])]
        raise ConfigError(f"models: {files[again]!r} is {first!r} again", where=path)
    return config.model_copy(
        update={
            "benchmark": config.benchmark if config.benchmark == "bundled" else str(base / config.benchmark),
            "databases": config.databases and str(base / config.databases),
            "models": [m.model_copy(update={"files": [str(base / file) for file in m.files]}) for m in config.models],
        }
    )


def checked(kind: type[T], data: object, where: object = None) -> T:
    """Data as a configuration of some kind; ConfigError that names the first key which is wrong."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "config"
        more = f"; {error.error_count() - 1} more" if error.error_count() > 1 else ""
        said = first["msg"].removeprefix("Value error, ")
        if first["type"] in _SAID:
            said = _SAID[first["type"]].format(**first.get("ctx", {}))
        raise ConfigError(f"{key}: {said}{more}", where=where, hint=_keys(first)) from error


def with_settings(data: dict, settings: Sequence[str]) -> dict:
    """The data with "key=value" set, "a.b=value" inside a mapping; values are YAML. ConfigError for what is neither."""
    for text in settings:
        path, sign, value = text.partition("=")
        keys = path.split(".")
        if not sign or not all(keys):
            raise ConfigError(f"{text!r} sets nothing", hint="--set key=value")
        try:
            found = yaml.load(value, _Loader)
        except (yaml.YAMLError, ValueError) as error:
            raise ConfigError(f"{value!r} is not YAML", where=path) from error
        inner = data = dict(data)
        for key in keys[:-1]:
            inner[key] = dict(inner.get(key) or {})
            inner = inner[key]
        inner[keys[-1]] = found
    return data


# pydantic's kinds of faults, in the words of one who has never seen a model of it; others as it says them
_SAID = {
    "missing": "is missing",
    "extra_forbidden": "there is no such key",
    "model_type": "a mapping of keys to values is wanted",
    "dict_type": "a mapping of keys to values is wanted",
    "list_type": "a list is wanted",
    "too_short": "at least {min_length} is wanted",
    "string_type": "text is wanted",
    "int_type": "a whole number is wanted",
    "float_type": "a number is wanted",
    "literal_error": "wanted: {expected}",
    "greater_than": "more than {gt} is wanted",
    "greater_than_equal": "at least {ge} is wanted",
    "less_than": "less than {lt} is wanted",
    "less_than_equal": "at most {le} is wanted",
}


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice, where YAML would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise yaml.MarkedYAMLError(problem=f"key {twice!r} stands twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


def _keys(error: dict) -> str | None:
    """The keys that would have been right, for a key that is not known."""
    if error["type"] != "extra_forbidden":
        return None
    home = {"models": ModelConfig, "limits": LimitsConfig}.get(str(error["loc"][0]), Config)
    return f"available: {', '.join(home.model_fields)}"
