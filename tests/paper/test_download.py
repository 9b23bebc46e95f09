"""Downloads from a server on this machine: retries, checksums, being offline."""

import hashlib
import socket
import sys
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import made_up
import pytest

from paper.datasets import (
    SOURCES,
    DataFormatError,
    DataNotFoundError,
    load,
)
from paper.datasets.files import home as data_home

pytest.importorskip("pooch")
NAME = "wholesale+customers.zip"


class Server:
    """Answers each path from a queue of (status, content); the last one stays."""

    def __init__(self):
        self.answers, self.asked = {}, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                queue = outer.answers[self.path]
                status, content = queue.pop(0) if len(queue) > 1 else queue[0]
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server():
    server = Server()
    thread = Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)


@pytest.fixture
def content(tmp_path):
    folder = tmp_path / "published"
    folder.mkdir()
    made_up.wholesales(folder)
    return (folder / NAME).read_bytes()


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def publish(monkeypatch, url, sha256=None):
    """Let Wholesales be published at a URL."""
    source = SOURCES["wholesales"]
    file = replace(source.files[0], url=url, sha256=sha256)
    changed = replace(source, files=(file,))
    monkeypatch.setitem(SOURCES, "wholesales", changed)


def left_in(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_a_file_is_downloaded_once(server, content, home, monkeypatch):
    publish(monkeypatch, f"{server.url}/x", hashlib.sha256(content).hexdigest())
    server.answers["/x"] = [(200, content)]
    for _ in range(2):
        assert load("wholesales", data_home=home).shape == (2, 6)
    assert server.asked == ["/x"]
    assert left_in(home) == [NAME]


def test_a_failed_answer_is_tried_again(server, content, home, monkeypatch):
    publish(monkeypatch, f"{server.url}/x", hashlib.sha256(content).hexdigest())
    server.answers["/x"] = [(503, b"busy"), (200, content[:-5]), (200, content)]
    assert load("wholesales", data_home=home).shape == (2, 6)
    assert server.asked == ["/x"] * 3
    assert left_in(home) == [NAME]


def test_a_wrong_checksum_is_an_error(server, content, home, monkeypatch):
    publish(monkeypatch, f"{server.url}/x", "0" * 64)
    server.answers["/x"] = [(200, content)]
    with pytest.raises(DataFormatError, match="checksum differs") as caught:
        load("wholesales", data_home=home)
    assert all(part in str(caught.value) for part in (NAME, server.url, str(home)))
    assert left_in(home) == []


@pytest.mark.parametrize("sent", [b"<!doctype html>sorry", b"PK\x03\x04 not a zip"])
def test_a_download_that_cannot_be_read_does_not_stay(sent, server, home, monkeypatch):
    publish(monkeypatch, f"{server.url}/x")
    server.answers["/x"] = [(200, sent)]
    with pytest.raises(DataFormatError, match="cannot be read as Wholesales"):
        load("wholesales", data_home=home)
    assert left_in(home) == []


def test_a_missing_page_is_an_error_that_says_what_to_do(server, home, monkeypatch):
    publish(monkeypatch, f"{server.url}/x")
    server.answers["/x"] = [(404, b"gone")]
    with pytest.raises(DataNotFoundError, match="404") as caught:
        load("wholesales", data_home=home)
    assert all(part in str(caught.value) for part in (NAME, server.url, str(home)))
    assert left_in(home) == []


def test_being_offline_is_an_error_that_says_what_to_do(home, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/x"
    publish(monkeypatch, url)
    with pytest.raises(DataNotFoundError, match="THREECPO_DATA") as caught:
        load("wholesales", data_home=home)
    assert isinstance(caught.value, OSError)
    assert all(part in str(caught.value) for part in (NAME, url, str(home)))


def test_a_folder_that_is_none_is_an_error(server, content, tmp_path, monkeypatch):
    publish(monkeypatch, f"{server.url}/x")
    server.answers["/x"] = [(200, content)]
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataNotFoundError, match="cannot be downloaded"):
        load("wholesales", data_home=tmp_path / "file" / "home")


def test_without_pooch_local_files_are_read_and_others_ask_for_it(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pooch", None)
    made_up.wholesales(tmp_path)
    assert load("wholesales", data_home=tmp_path).shape == (2, 6)
    with pytest.raises(ImportError, match="--group paper"):
        load("human_dendritic", data_home=tmp_path)
    monkeypatch.delenv("THREECPO_DATA", raising=False)
    with pytest.raises(ImportError, match="THREECPO_DATA"):
        load("wholesales")


def test_the_default_folder_is_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("THREECPO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_home(None).name in ("threecpo", "Cache")


def test_a_home_may_be_named_by_a_tilde(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert data_home("~/data") == tmp_path / "data"
