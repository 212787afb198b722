"""A run's configuration: one YAML file, checked before anything starts.

    run: demo                       # name under results/, or a path
    benchmark: bundled              # or the folder of BIRD, Spider, KaggleDBQA as downloaded
    engines: [sqlite, postgres]
    models:
      - {name: simulated-8b, provider: simulated, targets: [sql]}
      - {provider: predictions, files: [predict_dev_CodeS-7b.json]}
    figures: [portability]
    limits: {seconds: 30}

Paths are read from the folder of the file. An unknown key is an error, so that a misspelt one is not ignored; that also
keeps keys and passwords out of stored headers.
"""

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from workbench.backends import BACKENDS
from workbench.backends.base import Limits
from workbench.errors import ConfigError


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LimitsConfig(_Strict):
    """Limits of one statement, see backends.base.Limits."""

    seconds: Annotated[float, Field(gt=0, le=3600)] = Limits.seconds
    rows: Annotated[int, Field(gt=0)] = Limits.rows
    bytes: Annotated[int, Field(gt=0)] = Limits.bytes
    memory: Annotated[int, Field(gt=0)] = Limits.memory


class ModelConfig(_Strict):
    """One model, or prediction files that somebody already has."""

    name: Annotated[str, Field(min_length=1)] | None = None
    provider: Literal["simulated", "predictions", "openai"]
    params_b: Annotated[float, Field(gt=0)] | None = None
    weights: Literal["open", "closed"] | None = None
    regime: Literal["prompted", "fine-tuned", "purpose-built"] | None = None
    targets: list[Literal["sql", "plan"]] = ["sql"]
    sampling: dict[str, float | int | str | None] = {}
    files: list[str] = []
    engine: str | None = None

    @model_validator(mode="after")
    def _fits_provider(self) -> "ModelConfig":
        if self.provider == "predictions" and not self.files:
            raise ValueError("provider predictions needs files")
        if self.provider != "predictions" and (self.name is None or self.files):
            raise ValueError(f"provider {self.provider} needs a name and takes no files")
        return self


class Config(_Strict):
    """Everything that `workbench run` needs."""

    run: Annotated[str, Field(min_length=1)]
    benchmark: Annotated[str, Field(min_length=1)]
    databases: str | None = None
    engines: Annotated[list[str], Field(min_length=1)] = ["sqlite"]
    models: Annotated[list[ModelConfig], Field(min_length=1)]
    question_limit: Annotated[int, Field(gt=0)] | None = None
    metrics: list[Literal["bird_ex"]] = ["bird_ex"]
    figures: list[Literal["portability"]] = ["portability"]
    limits: LimitsConfig = LimitsConfig()
    seed: int = 0

    @field_validator("engines")
    @classmethod
    def _known_engines(cls, engines: list[str]) -> list[str]:
        for engine in engines:
            if engine not in BACKENDS:
                raise ValueError(f"there is no engine {engine!r}, available: {', '.join(BACKENDS)}")
        if len(set(engines)) < len(engines):
            raise ValueError("an engine is named twice")
        return engines

    @field_validator("models")
    @classmethod
    def _distinct_models(cls, models: list[ModelConfig]) -> list[ModelConfig]:
        names = [model.name for model in models if model.name and model.provider != "predictions"]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"model {twice[0]!r} is named twice")
        return models


def read_config(path: str | Path) -> Config:
    """Read and check a configuration; its relative paths become absolute. ConfigError names the key that is wrong."""
    path = Path(path)
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=path) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"is not YAML: {error}", where=path) from error
    if not isinstance(data, dict):
        raise ConfigError("is not a mapping of keys to values", where=path, hint="needed: run, benchmark, models")
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "config"
        more = f"; {error.error_count() - 1} more" if error.error_count() > 1 else ""
        raise ConfigError(
            f"{key}: {first['msg'].removeprefix('Value error, ')}{more}", where=path, hint=_keys(first)
        ) from error
    base = path.resolve().parent
    return config.model_copy(
        update={
            "benchmark": config.benchmark if config.benchmark == "bundled" else str(base / config.benchmark),
            "databases": config.databases and str(base / config.databases),
            "models": [m.model_copy(update={"files": [str(base / file) for file in m.files]}) for m in config.models],
        }
    )


def _keys(error: dict) -> str | None:
    """The keys that would have been right, for a key that is not known."""
    if error["type"] != "extra_forbidden":
        return None
    home = {"models": ModelConfig, "limits": LimitsConfig}.get(str(error["loc"][0]), Config)
    return f"available: {', '.join(home.model_fields)}"
