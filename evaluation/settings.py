"""Settings of a prediction that the command, the header and the model share.

Example: `Sampling(max_new_tokens=400)` is greedy; `Sampling(400, temperature=0.8, top_k=50)` not.
"""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampling:
    """How replies are drawn.

    max_new_tokens: where a reply is cut off. temperature: 0 takes the likeliest token each time.
    top_k: 0 means all tokens. top_p: in (0, 1]. seed: of the replies, each row with its own.
    """

    max_new_tokens: int
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"--max-new-tokens must be 1 or more, not {self.max_new_tokens}")
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"--temperature must be 0 or more, not {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"--top-k must be 0 (all tokens) or more, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"--top-p must lie in (0, 1], not {self.top_p}")


def row_seed(seed: int, row_id: str) -> int:
    """The seed of a row's reply: the same whatever the batch, the order or an interruption."""
    digest = hashlib.sha256(f"{seed}\n{row_id}\n0".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
