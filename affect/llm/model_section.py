"""How one model is reached: which API, where, within what limits, at what price.

    qwen3_vl:
      api: openai
      base_url: http://gpu7:8000/v1
      model: Qwen/Qwen3-VL-32B-Instruct
      max_concurrent: 32

Keys come from the environment and stand in no configuration.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, field_validator

from affect.config.section import Section

_SECRET = re.compile(
    r"(?i)api[_-]?key|authorization|password|secret|(access|auth|bearer)[_-]?token"
)


class ModelSection(Section):
    """One model, under a name that roles call it by."""

    api: Literal["openai", "gemini"] = Field(
        "openai", description="Whose requests the server understands."
    )
    base_url: str | None = Field(
        None, description="As in http://host:8000/v1; null is the API's own address."
    )
    model: str = Field(description="The name the server knows.")
    api_key_env: str | None = Field(
        None, description="Environment variable with the key; null for servers without one."
    )
    media: Literal["frames", "video_url", "inline", "files"] = Field(
        "frames",
        description="How whole clips are shown. openai: frames or video_url; gemini: frames, "
        "inline bytes or the files API.",
    )
    structured_output: bool = Field(True, description="Whether the server takes a JSON schema.")
    temperature: float = Field(0.0, ge=0, le=2, description="0 takes the likeliest token.")
    top_p: float = Field(1.0, gt=0, le=1, description="Nucleus of what is drawn from.")
    extra_body: dict[str, Any] = Field({}, description="Passed on with each request, unchecked.")
    timeout_seconds: float = Field(300.0, gt=0, description="For one attempt.")
    max_concurrent: int = Field(16, ge=1, description="Requests at once.")
    requests_per_minute: float | None = Field(None, gt=0, description="null for no limit.")
    tokens_per_minute: float | None = Field(
        None, gt=0, description="Of prompts and replies together; null for no limit."
    )
    price_per_million_prompt_tokens: float | None = Field(
        None, ge=0, description="null: unknown, so that the cost is not computed."
    )
    price_per_million_completion_tokens: float | None = Field(
        None, ge=0, description="As for the prompt's; 0 for a server of one's own."
    )

    @field_validator("base_url")
    @classmethod
    def _url_is_whole(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://, as in http://host:8000/v1")
        return url

    @field_validator("extra_body")
    @classmethod
    def _body_holds_no_key(cls, body: dict[str, Any]) -> dict[str, Any]:
        """It stands in `identity`, and so in every file of replies."""
        for name in _names(body):
            if _SECRET.search(name):
                raise ValueError(
                    f"{name} looks like a key, which would stand in files; name the environment "
                    "variable that holds it as api_key_env"
                )
        return body

    @property
    def identity(self) -> dict[str, Any]:
        """What decides its replies; where it stands and what it costs do not."""
        return self.model_dump(
            mode="json",
            include={
                "api", "model", "media", "structured_output", "temperature", "top_p", "extra_body",
            },
        )  # fmt: skip

    def is_same_model(self, other: "ModelSection") -> bool:
        """Whether the words are the same model's, however it is sampled or shown clips."""
        return self.model == other.model


def _names(value: Any) -> Iterator[str]:
    """The keys of all mappings within."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)
