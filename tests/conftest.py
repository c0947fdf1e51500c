"""What holds for all tests.

A shell starts a background job with SIGINT ignored, and its children inherit that: where the tests
run as one, Ctrl-C would reach neither them nor the commands that they start and interrupt.
"""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
