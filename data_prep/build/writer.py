"""The one thread that writes to a database: what is asked for at the same time is one transaction.

    writer = Writer(connection, path)
    await writer.write(lambda connection: connection.execute("INSERT ...", values))
    writer.close()                       # after everything asked for is on the disk

A commit that is on the disk takes milliseconds; sixty videos share it instead of queueing for it.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from data_prep.build.run_video import BuildBrokenError
from data_prep.build.schema import explain

Write = Callable[[sqlite3.Connection], object]

_MAX_WRITES_AT_ONCE = 256


class Writer:
    """path: for messages. The connection belongs to this object and is closed with it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._waiting: queue.SimpleQueue[tuple[Write, Future[None]] | None] = queue.SimpleQueue()
        self._broken: BuildBrokenError | None = None
        self._thread = threading.Thread(target=self._serve, name=f"writer of {path.name}")
        self._thread.start()

    async def write(self, write: Write) -> None:
        """Returns when it is committed. Raises BuildBrokenError if it can't be, now or earlier."""
        await asyncio.wrap_future(self.submit(write))

    def submit(self, write: Write) -> Future[None]:
        """As `write`, for who waits in another way, or not at all."""
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # whoever gives up waiting takes nothing back
        self._waiting.put((write, future))
        return future

    def close(self) -> None:
        """May be called again."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()
            self._connection.close()

    def _serve(self) -> None:
        is_open = True
        while is_open:
            batch = [self._waiting.get()]
            while len(batch) < _MAX_WRITES_AT_ONCE and not self._waiting.empty():
                batch.append(self._waiting.get())
            is_open = None not in batch
            self._commit([item for item in batch if item is not None])

    def _commit(self, batch: list[tuple[Write, Future[None]]]) -> None:
        """All or none of the batch; after a failure nothing is written any more, for nobody can
        say what the disk will do next."""
        if self._broken is None:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                for write, _ in batch:
                    write(self._connection)
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._broken = BuildBrokenError(explain(self._path, error))
                self._roll_back()
            except Exception as error:  # noqa: BLE001 - nobody may wait for ever, who asks is told
                self._broken = BuildBrokenError(f"{self._path}: {error!r} while writing")
                self._roll_back()
        for _, future in batch:
            if self._broken is None:
                future.set_result(None)
            else:
                future.set_exception(self._broken)

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            return  # the same disk: nothing was committed, and closing it undoes the rest
