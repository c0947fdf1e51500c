"""The first thing that pydantic finds wrong with a value, in words that name the field.

first_fault(error)                 # 'fps: Input should be greater than 0'
first_fault(error, "line")         # 'line: ...', where it is the value as a whole
"""

from pydantic import ValidationError


def first_fault(error: ValidationError, whole: str = "") -> str:
    """`FIELD: what is wrong`. whole: what to call the value where the fault is that of all."""
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"])) or whole
    return f"{field}: {first['msg']}"
