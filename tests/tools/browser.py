# A headless Chromium, driven over a pipe by its own protocol (--remote-debugging-pipe: JSON, each
# message ended by a NUL byte), for tests that look at pages. No port, no driver program, no library;
# the profile is in a folder that goes when the browser does.
#   with Browser(find_browser()) as browser:
#       page = browser.open(path, width=1280, height=900, dark=True)
#       page.evaluate("document.title"); page.press("j"); page.screenshot(path)
#       page.problems          what it said: exceptions, console errors, what it refused to load
#       page.requests          the addresses that it asked for
import base64
import collections
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
SECONDS = 120  # an answer that takes longer never comes


def find_browser():
    """The path of a browser, or None."""
    found = (shutil.which(name) for name in NAMES)
    return next((path for path in found if path), None)


class Browser:
    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()  # to the browser, and from it
        # Above all numbers that the redirections below write to.
        inherited = [fcntl.fcntl(number, fcntl.F_DUPFD, 10) for number in (ours[0], theirs[1])]
        command = [program, "--headless", "--remote-debugging-pipe", "--disable-gpu",
                   "--disable-ipc-flooding-protection",  # it may go from link to link quickly
                   "--hide-scrollbars", "--no-first-run", "--force-color-profile=srgb",
                   "--disable-dev-shm-usage", "--font-render-hinting=none",
                   f"--user-data-dir={self.folder.name}/profile"]
        if os.geteuid() == 0:  # its sandbox refuses root; the pages are our own
            command.append("--no-sandbox")
        self.log = open(f"{self.folder.name}/log", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            ["bash", "-c", 'exec "${@:3}" 3<&"$1" 4>&"$2"', "-", *map(str, inherited), *command],
            pass_fds=inherited, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, "HOME": self.folder.name})
        for number in (ours[0], theirs[1], *inherited):
            os.close(number)
        self.output, self.input = ours[1], theirs[0]
        self.pending, self.events, self.answers = b"", collections.deque(), {}
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(20)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            pass
        self.process.kill()
        self.process.wait()
        os.close(self.output)
        os.close(self.input)
        self.log.close()
        self.folder.cleanup()

    def read(self, deadline):
        """Takes what the browser sends next."""
        ready, _, _ = select.select([self.input], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError(f"the browser says nothing for {SECONDS} s")
        data = os.read(self.input, 1 << 20)
        if not data:
            self.log.seek(0)
            raise OSError("the browser ended: " + self.log.read()[-2000:])
        *messages, self.pending = (self.pending + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.events.append(message)

    def call(self, method, session=None, **parameters):
        """What the browser answers; its refusal is an OSError."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        deadline = time.monotonic() + SECONDS
        while self.count not in self.answers:
            self.read(deadline)
        answer = self.answers.pop(self.count)
        if "error" in answer:
            raise OSError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, path, fragment="", **looks):
        """A new tab with a file in it, loaded."""
        return Page(self, pathlib.Path(path).resolve().as_uri() + fragment, **looks)

    def colors(self, picture):
        """How many pixels of a PNG have each colour: {(r, g, b): count}."""
        page = Page(self, "about:blank")
        counted = page.evaluate("""(async picture => {
            const image = await createImageBitmap(await (await fetch(picture)).blob());
            const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
            canvas.drawImage(image, 0, 0);
            const pixels = canvas.getImageData(0, 0, image.width, image.height).data, count = {};
            for (let i = 0; i < pixels.length; i += 4) {
                const color = `${pixels[i]} ${pixels[i + 1]} ${pixels[i + 2]}`;
                count[color] = (count[color] || 0) + 1;
            }
            return count;
        })(%s)""" % json.dumps("data:image/png;base64," + base64.b64encode(picture).decode()))
        page.close()
        return {tuple(map(int, color.split())): count for color, count in counted.items()}


class Page:
    def __init__(self, browser, address, width=1280, height=900, dark=False, scripts=True):
        self.browser, self.problems, self.requests = browser, [], []
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target,
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.load(address)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def listen(self):
        """Sorts what has come. Returns the names of the events of this tab."""
        names = []
        while self.browser.events:
            event = self.browser.events.popleft()
            if event.get("sessionId") != self.session:
                continue
            name, what = event["method"], event["params"]
            names.append(name)
            if name == "Runtime.exceptionThrown":
                details = what["exceptionDetails"]
                self.problems.append(details.get("exception", details).get("description", str(details)))
            elif name == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
                self.problems.append(str(what["args"]))
            elif name == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                self.problems.append(what["entry"]["text"])
            elif name == "Network.requestWillBeSent":
                self.requests.append(what["request"]["url"])
        return names

    def load(self, address):
        """Goes to an address and waits until all is there. Returns how many seconds that took."""
        start = time.monotonic()
        self.listen()
        problem = self.call("Page.navigate", url=address).get("errorText")
        if problem:
            raise OSError(f"{address}: {problem}")
        deadline = start + SECONDS
        while "Page.loadEventFired" not in self.listen():
            self.browser.read(deadline)
        return time.monotonic() - start

    def resize(self, width, height):
        """Of the window, in CSS pixels, as on a telephone: narrower than any window can be."""
        self.width, self.height = width, height
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)

    def evaluate(self, expression):
        """The value of an expression of JavaScript; what it throws is an OSError."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise OSError(details.get("exception", details).get("description", str(details)))
        self.listen()
        return result["result"].get("value")

    def press(self, key):
        """A key, as from a keyboard: a character, or a name such as Escape."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        codes = {"Enter": 13, "Escape": 27, "Tab": 9}
        code = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def click(self, selector):
        """With the mouse, on the middle of the first element that matches, wherever it is."""
        place = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const r = e.getClientRects()[0];"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left",
                      clickCount=1)

    def media(self, name):
        """"print", or "" for the screen."""
        self.call("Emulation.setEmulatedMedia", media=name)

    def screenshot(self, path=None, whole=False):
        """What the window shows, or all of the page, as PNG: its bytes, and a file if named."""
        options = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options = {"captureBeyondViewport": True,
                       "clip": {"x": 0, "y": 0, "width": size["width"],
                                "height": min(size["height"], 16000), "scale": 1}}
        data = self.call("Page.captureScreenshot", format="png", **options)["data"]
        data = base64.b64decode(data)
        if path:
            pathlib.Path(path).write_bytes(data)
        return data

    def print(self):
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
