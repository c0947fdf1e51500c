"""A Ray cluster for the time of a run: one that is there, or one of our own on this machine.

    with joined("10.0.0.7:6379"):          # None: started here, and gone afterwards
        ray.cluster_resources()

Ray waits minutes for an address at which nobody is, and takes SIGTERM over; neither is let happen.
"""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import ray

_CONNECT_SECONDS = 10.0
_NAMES = ("auto", "local")
"""What Ray takes for an address without a host: the cluster of this machine, a new one."""


@contextmanager
def joined(address: str | None) -> Iterator[None]:
    """Be connected. A connection that is there already is used, and left open.

    Raises ValueError for an address that is none, or at which no cluster is.
    """
    if ray.is_initialized():
        yield
        return
    if address is not None and address not in _NAMES:
        _check_somebody_listens(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        # Without "local", Ray looks for a cluster that somebody else has started here.
        ray.init(address or "local", log_to_driver=False, include_dashboard=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _nobody(address, error) from error
    try:
        signal.signal(signal.SIGTERM, on_sigterm)
        yield
    finally:
        ray.shutdown()


def _check_somebody_listens(address: str) -> None:
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        raise ValueError(
            f"engine.ray_address {address!r}: HOST:PORT of the cluster's head is needed, or auto "
            "on one of its nodes"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _nobody(address, error) from error


def _nobody(address: str | None, error: Exception) -> ValueError:
    return ValueError(
        f"engine.ray_address {address!r}: {error}; start the cluster (ray start --head), or leave "
        "it null for one on this machine"
    )
