"""What scripted servers reply to a row: a strict timeline whose reason says what they were shown.

told(answer)["num_media"], told(answer)["texts"]
"""

import json
import re
from typing import Any

from evaluation.predictions import Answer

REPLIES = "tests.evaluation.predictors.scripted_replies:reply"


def reply(
    name: str, texts: list[str], num_media: int, schema: dict[str, Any] | None, digest: str
) -> str:
    """As text, which no schema binds."""
    end = re.search(r"silent video of (\d+\.\d) seconds", "\n".join(texts))
    shown = {"texts": texts, "num_media": num_media, "schema": schema is not None}
    segment = {
        "start_time": 0.0,
        "end_time": float(end[1]) if end else 2.0,
        "emotion": "Joy",
        "reason": json.dumps(shown),
    }
    return json.dumps({"segments": [segment]})


def told(answer: Answer) -> dict[str, Any]:
    """What the server was shown of the row."""
    assert answer.text is not None, answer
    value: dict[str, Any] = json.loads(json.loads(answer.text)["segments"][0]["reason"])
    return value
