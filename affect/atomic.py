"""Write a whole file or nothing: through a temporary name in the same folder and a rename.

A reader, or a run that starts after a crash, sees the old file or the new one, never half of one.

    write_text_atomic(Path("runs/demo/done.json"), '{"steps": 120}\\n')
    write_bytes_atomic(Path("cache/0a1b.safetensors"), data)
"""

import os
import secrets
from pathlib import Path


def write_text_atomic(path: Path, text: str) -> None:
    """Replace `path` by `text` (UTF-8, newlines as given); see `write_bytes_atomic`."""
    write_bytes_atomic(path, text.encode())


def write_bytes_atomic(path: Path, data: bytes) -> None:
    """Replace `path` by `data`; missing folders are made.

    The bytes are on the disk before the name points at them, so a power cut leaves one of the two.
    A device or a pipe (/dev/null, /dev/stdout) is written into: a rename would put a file there.
    """
    if _is_device(path):
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if error.errno is None:
            raise
        # Told by the name that was asked for; the errno chooses the same kind of OSError again.
        raise OSError(error.errno, error.strerror, str(path)) from error
    except BaseException:  # also Ctrl-C: tidy up, then raise it again
        temporary.unlink(missing_ok=True)
        raise


def _is_device(path: Path) -> bool:
    # /dev/stdout is a link, and where output goes into a file that is what it leads to.
    in_dev = path.parent in (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))
    return path.exists() and (in_dev or not (path.is_file() or path.is_dir()))
