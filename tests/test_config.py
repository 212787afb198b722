"""Configurations: what is read, and one line for what is wrong."""

import pytest

from workbench.config import read_config, with_settings
from workbench.errors import ConfigError

GOOD = "run: r\nbenchmark: bundled\nmodels: [{name: simulated-3b, provider: simulated}]\n"


def test_a_small_config_has_defaults(tmp_path):
    (tmp_path / "c.yaml").write_text(GOOD)
    config = read_config(tmp_path / "c.yaml")
    assert (config.run, config.engines, config.models[0].targets, config.limits.seconds) == (
        "r",
        ["sqlite"],
        ["sql"],
        30.0,
    )


def test_paths_are_read_from_the_files_folder(tmp_path):
    (tmp_path / "c.yaml").write_text("run: r\nbenchmark: bird\nmodels: [{provider: predictions, files: [p/x.json]}]\n")
    config = read_config(tmp_path / "c.yaml")
    assert config.benchmark == str(tmp_path / "bird")
    assert config.models[0].files == [str(tmp_path / "p" / "x.json")]


BROKEN = {
    "not yaml": ("run: [", "is not YAML"),
    "empty": ("", "is not a mapping"),
    "a list": ("- run", "is not a mapping"),
    "no run": (GOOD.replace("run: r\n", ""), "run: is missing"),
    "no models": ("run: r\nbenchmark: bundled\n", "models: is missing"),
    "unknown key": (GOOD + "enginess: [sqlite]\n", "available: run, benchmark"),
    "a key that holds a secret": (GOOD.replace("simulated}", "simulated, api_key: s3cret}"), "models.0.api_key"),
    "unknown engine": (GOOD + "engines: [oracle]\n", "there is no engine 'oracle', available: sqlite"),
    "engine twice": (GOOD + "engines: [sqlite, sqlite]\n", "an engine is named twice"),
    "no engine": (GOOD + "engines: []\n", "engines: at least 1 is wanted"),
    "unknown provider": (
        GOOD.replace("provider: simulated", "provider: psychic"),
        "models.0.provider: wanted: 'simulated', 'predictions', 'openai', 'litellm' or 'replay'",
    ),
    "model without name": (GOOD.replace("name: simulated-3b, ", ""), "needs a name"),
    "a key in the address": (
        GOOD.replace("simulated}", "openai, base_url: 'http://me:s3cret@host/v1'}"),
        "models.0: base_url is http(s)://host/path",
    ),
    "a port that there is not": (
        GOOD.replace("simulated}", "openai, base_url: 'http://host:99999/v1'}"),
        "models.0: Port out of range 0-65535",
    ),
    "a key in the sampling": (GOOD.replace("simulated}", "openai, sampling: {api_key: s3cret}}"), "sampling.api_key"),
    "money without prices": (GOOD.replace("simulated}", "openai, limits: {money: 1.0}}"), "limits.money needs prices"),
    "an unknown limit": (GOOD.replace("simulated}", "openai, limits: {speed: 1}}"), "models.0.limits.speed"),
    "an unknown target": (GOOD.replace("simulated}", "simulated, targets: [sparql]}"), "models.0.targets.0"),
    "predictions without files": (
        GOOD.replace("name: simulated-3b, provider: simulated", "provider: predictions"),
        "needs files",
    ),
    "model twice": (GOOD.replace("simulated}", "simulated}, {name: simulated-3b, provider: simulated}"), "named twice"),
    "limit of nothing": (GOOD + "limits: {seconds: 0}\n", "limits: limit of 0.0 seconds"),
    "limit as text": (GOOD + "limits: {seconds: long}\n", "limits.seconds"),
    "seed as text": (GOOD + "seed: luck\n", "seed"),
    "limits as a number": (GOOD + "limits: 5\n", "limits: a mapping of keys to values is wanted"),
    "a model that is text": ("run: r\nbenchmark: b\nmodels: [simulated-3b]\n", "models.0: a mapping of keys to values"),
    "models as text": ("run: r\nbenchmark: b\nmodels: simulated-3b\n", "models: a list is wanted"),
    "rows in part": (GOOD + "limits: {rows: many}\n", "limits.rows: a whole number is wanted"),
    "run as a number": (GOOD.replace("run: r", "run: 5"), "run: text is wanted"),
    "a seed below zero": (GOOD + "seed: -1\n", "seed: at least 0 is wanted"),
    "a seed of 30 digits": (GOOD + f"seed: {'9' * 30}\n", "seed: less than 9223372036854775808 is wanted"),
    "a provider with braces": (GOOD + "engines: ['{x}']\n", "there is no engine '{x}'"),
    "unknown figure": (GOOD + "figures: [pie]\n", "figures.0"),
    "not text": (b"\xff\xfe\x00", "is not YAML"),
}


@pytest.mark.parametrize(("text", "line"), BROKEN.values(), ids=BROKEN)
def test_broken_configs_name_the_key(tmp_path, text, line):
    path = tmp_path / "c.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as error:
        read_config(path)
    assert line in str(error.value)
    assert "\n" not in str(error.value)
    assert "s3cret" not in str(error.value)
    assert "Input should" not in str(error.value) and "Config" not in str(error.value)


SETTINGS = {
    "text": (["model=a/b"], {"name": "m", "model": "a/b"}),
    "number": (["samples=3"], {"name": "m", "samples": 3}),
    "inside": (["limits.tokens=9", "limits.tries=2"], {"name": "m", "limits": {"tokens": 9, "tries": 2}}),
    "mapping": (["sampling={top_k: 5, stop: null}"], {"name": "m", "sampling": {"top_k": 5, "stop": None}}),
}


@pytest.mark.parametrize(("texts", "expected"), SETTINGS.values(), ids=SETTINGS)
def test_settings_of_the_command_line(texts, expected):
    assert with_settings({"name": "m"}, texts) == expected


@pytest.mark.parametrize("text", ["samples", "=3", "a..b=3", "a=["])
def test_settings_that_set_nothing_are_refused(text):
    with pytest.raises(ConfigError):
        with_settings({}, [text])


def test_a_missing_config_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read"):
        read_config(tmp_path / "none.yaml")
