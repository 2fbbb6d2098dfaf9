"""Chromium without a window, driven through its debugging pipe: pages, pointer events, screenshots.

Only the standard library: the pipe takes JSON messages, each ended by a zero byte.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time

SECONDS = 240  # to wait for anything; the machine may be busy


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    print("skipped: no Chromium here; install the package chromium")
    sys.exit(77)


class Navigated(Exception):
    """The page that was asked has made way for another."""


class Browser:
    """One tab. Complaints of pages (exceptions, violated policies) and addresses that they ask for are kept."""

    def __init__(self, folder):
        to_browser, self._from_us = os.pipe()
        self._to_us, from_browser = os.pipe()
        # The browser reads file descriptor 3 and writes to 4.
        redirect = f"exec 3<&{to_browser} 4>&{from_browser}; exec \"$@\""
        self._process = subprocess.Popen(
            ["bash", "-c", redirect, "-", find(), "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--remote-debugging-pipe", "--allow-file-access-from-files",
             f"--user-data-dir={folder}"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._count, self._session = b"", 0, None
        self.complaints, self.asked, self._events = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self._session = None
        self.call("Browser.close")
        self._process.wait(SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _message(self):
        end = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._to_us], [], [], max(0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._to_us, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(parameters["entry"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(parameters["request"]["url"])
        self._events.append(method)

    def call(self, method, **parameters):
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._from_us, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                if "navigated" in answer.get("error", {}).get("message", ""):
                    raise Navigated
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._note(answer)

    def open(self, page):
        self._events.clear()
        self.complaints.clear()
        self.asked.clear()
        self.call("Page.navigate", url=page.as_uri())
        while "Page.loadEventFired" not in self._events:
            self._note(self._message())

    def run(self, script):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait_for(self, condition):
        """Also of pages that reload themselves: while one goes and the next comes, there is no answer."""
        end = time.monotonic() + SECONDS
        while not self._is_true(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.05)

    def _is_true(self, condition):
        try:
            return self.run(condition)
        except Navigated:
            return False

    def screen(self, width, height, dark=False, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def place(self, selector, x, y):
        """Where a point of an element is on the screen; x, y: shares of its width and height."""
        box = self.run(f"(e => (e.scrollIntoView({{block: 'nearest'}}), (b => [b.left, b.top, b.width, b.height])"
                       f"(e.getBoundingClientRect())))(document.querySelector('{selector}'))")
        return box[0] + x * box[2], box[1] + y * box[3]

    def click(self, selector):
        self.stroke(selector, [(0.5, 0.5)])

    def stroke(self, selector, points):
        """Mouse: pressed at the first point, moved over the others, released at the last."""
        places = [self.place(selector, *point) for point in points]
        for kind, (x, y) in [("mousePressed", places[0]), *(("mouseMoved", at) for at in places[1:]),
                             ("mouseReleased", places[-1])]:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def finger(self, selector, points):
        places = [self.place(selector, *point) for point in points]
        for k, (x, y) in enumerate(places):
            self.call("Input.dispatchTouchEvent", type="touchMove" if k else "touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def picture(self, file, whole=True):
        """A screenshot, of the whole page or of what the screen shows."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))
