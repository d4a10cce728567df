"""Keeps a handful of processes running: starts them, waits until they answer, starts again what died, stops in order.

One thread only: children ask Linux to end with the thread that started them.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from studio.embedded import processes
from studio.embedded.trouble import Trouble, explain
from studio.up.directory import bound_logs, last_words
from studio.up.signals import Signals

STARTS_WITHIN_S = 60
STEADY_S = 30  # who lived this long starts again at once
LONGEST_PAUSE_S = 30.0
HURRIED_S = 0.2


@dataclass(frozen=True)
class Child:
    """What is to run. Children of one `stage` are stopped together, lower stages first."""

    name: str
    command: list[str]
    stage: int
    env: Mapping[str, str] = field(repr=False)
    ready: Callable[[], bool] = lambda: True
    before: Callable[[], None] = lambda: None  # each time it is about to start
    stop: signal.Signals = signal.SIGTERM
    grace_s: float = 1.5
    urgent: signal.Signals = signal.SIGKILL  # when the grace is over
    death: signal.Signals = signal.SIGKILL  # when the supervisor is killed
    account: tuple[int, int] | None = None
    cwd: Path | str | None = None


@dataclass
class Running:
    """One child and its present process."""

    child: Child
    process: subprocess.Popen[bytes]
    began: float
    log: Path
    log_from: int
    answered: bool = False
    failures: int = 0
    again_at: float | None = None  # when to start it anew; None while it runs

    @property
    def alive(self) -> bool:
        return self.process.poll() is None


class Supervisor:
    """Runs children of one data directory. `say` is told what a person at the terminal should know."""

    def __init__(self, data: Path, *, signals: Signals, say: Callable[[str], None]) -> None:
        self.data, self.signals, self.say = data, signals, say
        self.running: dict[str, Running] = {}
        self._logs_checked = time.monotonic()

    # --- starting ---------------------------------------------------------------------------------------------------

    def start(self, child: Child) -> None:
        self.running[child.name] = self._spawned(child)

    def _spawned(self, child: Child, failures: int = 0) -> Running:
        path = self.data / "logs" / f"{child.name}.log"
        child.before()
        with path.open("ab") as log:
            before = log.tell()
            process = processes.spawn(
                child.command, log=log, env=child.env, death=child.death, account=child.account, cwd=child.cwd
            )
        try:
            processes.note(self.data / "run", child.name, process.pid, child.stop)
        except OSError:
            processes.end(process, first=child.stop, grace_s=child.grace_s)
            raise
        return Running(child, process, time.monotonic(), path, before, failures=failures)

    def wait_ready(self, names: Iterable[str], *, within_s: float = STARTS_WITHIN_S) -> None:
        """Wait until each of the named children answers.

        :raises Trouble: one ended instead, or did not answer in time.
        :raises Stopped: a request to stop came first.
        """
        waiting = [self.running[name] for name in names]
        self.until(lambda: not [one for one in waiting if not self._answers(one)], what=waiting, within_s=within_s)

    def _answers(self, one: Running) -> bool:
        if not one.answered and one.alive:
            one.answered = one.child.ready()
        return one.answered

    def until(self, done: Callable[[], bool], *, what: Iterable[Running] = (), within_s: float) -> None:
        """Wait for `done` while looking after the children named in `what`."""
        end = time.monotonic() + within_s
        while not done():
            self.signals.check()
            for one in what:
                if not one.alive:
                    raise Trouble(f"{one.child.name} did not start: {how(one.process)}.{said(one)}")
            if time.monotonic() > end:
                late = ", ".join(one.child.name for one in what if not one.answered)
                raise Trouble(f"{late} did not answer within {within_s:.0f} s; see {self.data / 'logs'}.")
            self.signals.wait(0.03)

    def begin(self, name: str, command: list[str], *, env: Mapping[str, str], cwd: Path) -> None:
        """Start a command that comes to an end by itself; `finish` waits for it."""
        self.start(Child(name=name, command=command, stage=0, env=env, cwd=cwd, death=signal.SIGTERM))

    def finish(self, name: str, *, within_s: float = 600) -> None:
        """Wait for a command that has begun.

        :raises Trouble: it failed.
        """
        one = self.running[name]
        self.until(lambda: not one.alive, within_s=within_s)
        self._stop([one])
        if one.process.returncode != 0:
            raise Trouble(f"{name} failed ({how(one.process)}).{said(one)}")

    # --- watching ---------------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Look after the children until somebody asks to stop."""
        while not self.signals.asked:
            for name, one in list(self.running.items()):
                self._tend(name, one)
            if time.monotonic() - self._logs_checked > 60:
                self._logs_checked = time.monotonic()
                bound_logs(self.data)
            self.signals.wait(self._pause())

    def _pause(self) -> float:
        unsettled = any(one.again_at is not None or not one.answered for one in self.running.values())
        return 0.1 if unsettled else 5.0  # the end of a child ends the wait

    def _tend(self, name: str, one: Running) -> None:
        now = time.monotonic()
        if one.again_at is not None:
            if now >= one.again_at:
                self._start_again(name, one)
        elif not one.alive:
            one.failures = 0 if now - one.began > STEADY_S else one.failures + 1
            self.say(f"{name} ended ({how(one.process)}); starting it again {self._later(one)}. Its log: {one.log}")
        elif not one.answered and self._answers(one):
            self.say(f"{name} is back.")

    def _start_again(self, name: str, one: Running) -> None:
        try:
            self.running[name] = self._spawned(one.child, one.failures)
        except (OSError, Trouble) as error:
            one.failures += 1
            why = explain(error) if isinstance(error, OSError) else error
            self.say(f"{name} cannot start; trying again {self._later(one)}. {why}")

    def _later(self, one: Running) -> str:
        """Decide when a child is started again, and say it in words."""
        pause = min(LONGEST_PAUSE_S, 0.25 * 2**one.failures) if one.failures else 0.0
        one.again_at = time.monotonic() + pause
        return "now" if pause < 1 else f"in {pause:.0f} s"

    # --- stopping ---------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop everything, stage by stage. A further request to stop shortens every grace."""
        patience = self.signals.asked
        for stage in sorted({one.child.stage for one in self.running.values()}):
            self._stop([one for one in self.running.values() if one.child.stage == stage], patience)

    def _stop(self, group: list[Running], patience: int = 0) -> None:
        for one in group:
            if one.alive:
                processes.send(one.process.pid, one.child.stop)
        self._wait(group, lambda one: one.child.grace_s, patience)
        for one in group:
            if one.alive:
                processes.send(one.process.pid, one.child.urgent)
        self._wait(group, lambda one: 1 if one.child.urgent != signal.SIGKILL else 0, patience)
        for one in group:
            if one.alive:
                os.killpg(one.process.pid, signal.SIGKILL)
            one.process.wait()
            processes.forget(self.data / "run", one.child.name)
            self.running.pop(one.child.name, None)

    def _wait(self, group: list[Running], grace: Callable[[Running], float], patience: int) -> None:
        began = time.monotonic()
        while any(one.alive and time.monotonic() - began < self._cut(grace(one), patience) for one in group):
            self.signals.wait(0.02)

    def _cut(self, grace_s: float, patience: int) -> float:
        return min(grace_s, HURRIED_S) if self.signals.asked > patience else grace_s


def how(process: subprocess.Popen[bytes]) -> str:
    """How a process ended, in words."""
    code = process.returncode
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def said(one: Running) -> str:
    words = last_words(one.log, one.log_from)
    if "No space left on device" in words:
        return " The disk is full: free some space, or choose another place with --data."
    return f" It said: {words} (all of it in {one.log})" if words else f" See {one.log}."
