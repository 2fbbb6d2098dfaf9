"""Fetching over HTTP: broken transfers, wrong files, absent ones, a full disk. The server is on 127.0.0.1.

Usage: fetch_test.py PEER, where PEER is the fetch_peer program.
"""

import gzip
import hashlib
import http.server
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PEER = sys.argv.pop(1)
NAME = "images"
CONTENT = random.Random(1).randbytes(300_000)
PACKED = gzip.compress(CONTENT)
ENTRY = [NAME, str(len(CONTENT)), hashlib.sha256(CONTENT).hexdigest()]


class Server(http.server.ThreadingHTTPServer):
    """Serves one body under every path, as told by its fields."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.status, self.ranges = PACKED, 200, True
        self.only = ""  # the one path that there is; empty: all
        self.cut_after = []  # bytes sent of the first, second, ... answer before the connection drops
        self.pause = 0  # seconds between the halves of an answer
        self.asked = []  # (path, first byte) of each request
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass  # a client that hangs up is what some tests are about


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        first = int(wanted[1]) if wanted else 0
        server.asked.append((self.path, first))
        if server.status != 200:
            return self.send_error(server.status)
        if server.only and self.path != server.only:
            return self.send_error(404)
        if not server.ranges:
            first, wanted = 0, None
        if wanted and first >= len(server.body):
            return self.send_error(416)
        rest = server.body[first:]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        sent = rest[: server.cut_after.pop(0)] if server.cut_after else rest
        self.wfile.write(sent[: len(sent) // 2])
        self.wfile.flush()
        time.sleep(server.pause)
        self.wfile.write(sent[len(sent) // 2 :])

    def log_message(self, *_):
        pass


class Fetch(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.to = pathlib.Path(folder.name)
        self.file = self.to / "small" / f"{NAME}.gz"
        self.part = self.to / "small" / f"{NAME}.gz.part"

    def fetch(self, code, source=None, limit=""):
        command = [PEER, source or self.server.url, self.to, *ENTRY]
        if limit:  # an ignored SIGXFSZ makes a write beyond the limit fail, as on a full disk
            command = ["bash", "-c", f"trap '' XFSZ; ulimit -f {limit}; exec \"$@\"", "-", *command]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual(result.returncode, code, result.stdout)
        return result.stdout

    def assert_whole(self):
        self.assertEqual(gzip.decompress(self.file.read_bytes()), CONTENT)
        self.assertEqual([p.name for p in self.file.parent.iterdir()], [self.file.name])

    def test_a_file_arrives_once(self):
        self.fetch(0)
        self.assert_whole()
        self.assertIn("already there", self.fetch(0))
        self.assertEqual(self.server.asked, [(f"/{NAME}.gz", 0)])

    def test_a_broken_transfer_goes_on_where_it_broke(self):
        self.server.cut_after = [100_000, 50_000]
        self.fetch(0)
        self.assert_whole()
        self.assertEqual([first for _, first in self.server.asked], [0, 100_000, 150_000])

    def test_what_an_earlier_call_left_is_used(self):
        self.part.parent.mkdir()
        self.part.write_bytes(PACKED[:123_456])
        self.fetch(0)
        self.assert_whole()
        self.assertEqual(self.server.asked[0][1], 123_456)

    def test_a_part_that_is_whole_needs_only_its_name(self):
        self.part.parent.mkdir()
        self.part.write_bytes(PACKED)
        self.fetch(0)
        self.assert_whole()

    def test_a_part_of_another_file_is_started_over(self):
        self.part.parent.mkdir()
        self.part.write_bytes(b"x" * 1000)
        self.fetch(0)
        self.assert_whole()
        self.assertEqual([first for _, first in self.server.asked], [1000, 0])

    def test_a_server_without_ranges_sends_all_again(self):
        self.server.ranges = False
        self.server.cut_after = [100_000]
        self.fetch(0)
        self.assert_whole()

    def test_a_dead_connection_keeps_what_came(self):
        self.server.cut_after = [100_000] + [0] * 9
        self.assertIn("100000 bytes are kept", self.fetch(1))
        self.assertFalse(self.file.exists())
        self.assertEqual(self.part.read_bytes(), PACKED[:100_000])

    def test_a_signal_stops_and_keeps_what_came(self):
        self.server.pause = 30
        process = subprocess.Popen([PEER, self.server.url, self.to, *ENTRY], stdout=subprocess.DEVNULL)
        while not (self.part.exists() and self.part.stat().st_size > 100_000):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 3)
        self.assertFalse(self.file.exists())
        self.server.pause = 0
        self.fetch(0)
        self.assert_whole()

    def test_a_wrong_file_gets_no_name(self):
        for body, says in [
            (gzip.compress(CONTENT[:-1] + b"?"), "sha256"),
            (gzip.compress(CONTENT + b"?"), "more than 300000 bytes"),
            (PACKED[:-9], "truncated"),
            (PACKED + b"and more", f"{NAME}.gz: there are foreign bytes"),
            (b"<html>moved</html>", "sha256"),
        ]:
            self.server.body = body
            self.assertIn(says, self.fetch(1))
            self.assertFalse(self.file.parent.exists())

    def test_a_damaged_file_of_the_final_name_is_replaced(self):
        self.file.parent.mkdir()
        self.file.write_bytes(PACKED[:5000])
        self.assertIn("again", self.fetch(0))
        self.assert_whole()

    def test_an_absent_file_is_named(self):
        self.server.status = 404
        said = self.fetch(1)
        self.assertIn(f"{self.server.url}/{NAME}.gz: the server answers 404", said)
        self.assertFalse(self.file.parent.exists(), "no empty folder is left")
        self.assertEqual([path for path, _ in self.server.asked],
                         [f"/{NAME}.gz", f"/{NAME}", f"/small/{NAME}.gz", f"/small/{NAME}"])

    def test_a_url_may_have_plain_files_in_the_folder_of_the_set(self):
        self.server.only, self.server.body = f"/small/{NAME}", CONTENT
        self.fetch(0)
        self.assertEqual((self.to / "small" / NAME).read_bytes(), CONTENT)
        self.assertEqual(len(list(self.file.parent.iterdir())), 1)

    def test_a_slash_at_the_end_of_a_url_is_not_doubled(self):
        self.server.only = f"/{NAME}.gz"
        self.fetch(0, f"{self.server.url}/")
        self.assert_whole()

    def test_a_wrong_plain_file_hides_nothing(self):
        self.file.parent.mkdir()
        (self.to / "small" / NAME).write_bytes(b"hidden")
        self.file.write_bytes(PACKED)
        said = self.fetch(0)
        self.assertIn(f"{NAME}: the sha256 of its 6 unpacked bytes is", said)
        self.assertIn(f"{NAME}.gz: already there", said)
        self.assertEqual(sorted(p.name for p in self.file.parent.iterdir()), [f"{NAME}.gz", f"{NAME}.wrong"])

    def test_the_next_mirror_helps(self):
        absent = Server()
        self.addCleanup(absent.server_close)
        self.addCleanup(absent.shutdown)
        absent.status = 404
        self.fetch(0, f"{absent.url},{self.server.url}")
        self.assert_whole()
        self.assertEqual(len(absent.asked), 1)

    def test_no_server_is_said(self):
        self.assertIn("127.0.0.1:1/", self.fetch(1, "http://127.0.0.1:1"))

    def test_a_full_disk_is_said(self):
        said = self.fetch(1, limit=100)  # kB
        self.assertIn(f"{NAME}.gz.part: cannot be written: File too large", said)
        self.assertFalse(self.file.exists())
        self.fetch(0)
        self.assert_whole()

    def test_a_folder_serves_as_a_mirror(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, NAME)
            self.assertIn(f"has no {NAME}", self.fetch(1, folder))
            path.write_bytes(CONTENT[:-1])
            self.assertIn("sha256", self.fetch(1, folder))
            self.assertFalse(self.file.parent.exists())
            path.write_bytes(CONTENT)
            self.fetch(0, folder)
        self.assertEqual((self.to / "small" / NAME).read_bytes(), CONTENT)


unittest.main(verbosity=2)
