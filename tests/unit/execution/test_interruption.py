from __future__ import annotations

import os
import select
import signal
import threading
import time

import pytest

from trialwise.execution.interruption import Interruption


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def wait_until(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def is_readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


def test_the_first_control_c_asks_and_the_second_abandons():
    told: list[bool] = []
    with Interruption(told.append) as interruption:
        assert not interruption.requested
        send(signal.SIGINT)
        wait_until(lambda: told == [False])
        assert (interruption.requested, interruption.at_once) == (True, False)
        assert not is_readable(interruption.descriptor)
        send(signal.SIGINT)
        wait_until(lambda: told == [False, True])
        assert interruption.at_once
        assert is_readable(interruption.descriptor)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_term_and_hang_up_abandon_at_once(number: int):
    with Interruption() as interruption:
        send(number)
        wait_until(lambda: interruption.at_once)
        wait_until(lambda: is_readable(interruption.descriptor))


def test_handlers_are_put_back():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_signal_that_was_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            send(signal.SIGHUP)
            time.sleep(0.05)
            assert not interruption.requested
    finally:
        signal.signal(signal.SIGHUP, before)


def test_sleep_ends_at_its_time_or_at_a_request():
    with Interruption() as interruption:
        begin = time.monotonic()
        interruption.sleep_until(time.time() + 0.05)
        assert 0.04 < time.monotonic() - begin < 30
        timer = threading.Timer(0.05, send, [signal.SIGINT])
        timer.start()
        interruption.sleep_until(time.time() + 60)
        timer.join()
        assert time.monotonic() - begin < 50


def test_many_signals_do_no_harm():
    with Interruption() as interruption:
        for _ in range(200):
            interruption._receive(signal.SIGTERM)
        wait_until(lambda: interruption.at_once)


def test_outside_of_the_main_thread_it_never_interrupts():
    seen: list[bool] = []

    def work() -> None:
        with Interruption() as interruption:
            interruption.sleep_until(time.time() + 0.01)
            seen.append(interruption.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]
