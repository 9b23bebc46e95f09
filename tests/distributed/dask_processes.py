"""Schedulers and workers as processes that tests can kill."""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import dask

import distributed

TIMEOUT = 600


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Processes:
    """A scheduler at one address, and workers of one thread without nannies."""

    def __init__(self, folder):
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = None
        self.workers = []
        self._folder = folder

    def start_scheduler(self):
        self.scheduler = self._start(
            *("scheduler", "--host", "127.0.0.1", "--port", str(self.port)),
            "--no-dashboard",
        )
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.scheduler.poll() is None, "the scheduler has ended"
            time.sleep(0.02)
        raise TimeoutError

    def start_workers(self, n_workers=2):
        self.workers += [
            self._start(
                *("worker", self.address, "--nthreads", "1", "--no-nanny"),
                *("--no-dashboard", "--host", "127.0.0.1"),
                *("--local-directory", str(self._folder)),
            )
            for _ in range(n_workers)
        ]

    def kill_workers(self):
        for worker in self.workers:
            kill(worker)
        self.workers.clear()

    def kill_all(self):
        if self.scheduler is not None:
            kill(self.scheduler)
        self.kill_workers()

    def _start(self, *arguments):
        silent = subprocess.DEVNULL
        command = [sys.executable, "-m", "dask", *arguments]
        return subprocess.Popen(command, stdout=silent, stderr=silent)


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=TIMEOUT)


@contextmanager
def started(folder, n_workers=2):
    """Processes that run, and a client of them."""
    processes = Processes(folder)
    try:
        processes.start_scheduler()
        processes.start_workers(n_workers)
        client = distributed.Client(processes.address, set_as_default=False)
        try:
            client.wait_for_workers(n_workers, timeout=TIMEOUT)
            yield processes, client
        finally:
            client.close(timeout=5)
    finally:
        processes.kill_all()


@contextmanager
def local_cluster(n_workers=2):
    """Workers whose nannies start others when they die, however long that takes."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster


def kill_worker_of(cluster, number=0):
    """Kill the process of a worker that runs; its nanny starts another.

    A nanny gives up if its worker dies before it has started. Returns whether there was
    one to kill.
    """
    processes = [nanny.process for nanny in list(cluster.workers.values())]
    running = [
        pid
        for process in processes
        if process is not None and process.status == distributed.Status.running
        if (pid := process.pid) is not None
    ]
    if running:
        with suppress(ProcessLookupError):
            os.kill(running[number % len(running)], signal.SIGKILL)
    return bool(running)


class Hooked:
    """A client that calls a function before or after the n-th task of a kind."""

    def __init__(self, client, task, number=0, before=None, after=None):
        self._client, self._task, self._number = client, task, number
        self._before, self._after = before, after
        self.n_tasks = 0

    def __getattr__(self, name):
        return getattr(self._client, name)

    def submit(self, task, *arguments, **options):
        self.n_tasks += task is self._task
        now = task is self._task and self.n_tasks == self._number
        if now and self._before is not None:
            self._before()
        future = self._client.submit(task, *arguments, **options)
        if now and self._after is not None:
            self._after()
        return future
