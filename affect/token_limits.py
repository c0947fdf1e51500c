"""How many tokens a row may have where nothing else is said, in training and in what checks rows.

Example: `max_prompt_tokens: int = Field(MAX_PROMPT_TOKENS, ge=1)` in a configuration.
"""

MAX_PROMPT_TOKENS = 4096
"""Of a prompt, its video included."""

MAX_TOKENS = 8192
"""Of prompt and answer together, in the cold start."""
