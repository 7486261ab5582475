"""The long mixed run behind Deploy/soak: load, faults, samples, plot, verdict. Python 3's own library only.

Events are numbered, and the number is in the event_id: what was answered, what arrived upstream, at the webhook, in the
line files and in the archive are sets of numbers, kept as bitmaps.
"""
import argparse
import gzip
import http.client
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import socketserver
import statistics
import subprocess
import sys
import threading
import time

SAMPLE_SECONDS = 5
CONFIGURATION = """
data_dir: ./data
ingest: {{ listen: ["127.0.0.1:0"], header_timeout: 5s, body_timeout: 5s }}
admin: {{ listen: "127.0.0.1:0" }}
apps:
  - {{ name: ios, write_key: aso_wk_ios, default: true }}
  - {{ name: web, write_key: aso_wk_web }}
log: {{ segment_size: 8MiB, max_size: 1GiB, min_free_disk: 64MiB }}
upstream:
  url: "http://127.0.0.1:{upstream}"
  linger: 200ms
  timeout: 5s
  retry: {{ initial: 1s, max: 5s }}
  rate_limit: {{ events_per_minute: 0, per_install_per_minute: 0 }}
sinks:
  - {{ name: raw, type: ndjson, path: "./events/%H-%M.ndjson", rotate: {{ size: 64MiB, every: 1h }} }}
  - {{ name: audit, type: archive, path: ./archive, rotate: {{ size: 16MiB, every: 1h }} }}
  - name: hook
    type: webhook
    url: "http://127.0.0.1:{hook}/hook"
    secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
    retry: {{ initial: 1s, max: 5s, give_up_after: 1d }}
"""


def bytes_below(directory):
    """Bytes of all files below it. Files come and go meanwhile: one that is gone has none."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                pass
    return total


class Numbers:
    """A set of numbers from 0 on, as a bitmap; safe from any thread."""

    def __init__(self):
        self.bits, self.lock, self.repeated = bytearray(), threading.Lock(), 0

    def add(self, numbers):
        with self.lock:
            for number in numbers:
                at, bit = number >> 3, 1 << (number & 7)
                if at >= len(self.bits):
                    self.bits.extend(bytes(at + 65536 - len(self.bits)))
                if self.bits[at] & bit:
                    self.repeated += 1
                self.bits[at] |= bit

    def as_integer(self):
        with self.lock:
            return int.from_bytes(self.bits, "little")


def event_id(number):
    return f"{number >> 32 & 0xFFFFFFFF:08x}-{number >> 16 & 0xFFFF:04x}-4{number >> 4 & 0xFFF:03x}-a000-00000000000{number & 0xF:x}"


def number_of(identifier):
    return (int(identifier[0:8], 16) << 32) | (int(identifier[9:13], 16) << 16) | (int(identifier[15:18], 16) << 4) \
        | int(identifier[35], 16)


class Receiver(http.server.BaseHTTPRequestHandler):
    """The upstream and the webhook's receiver; `mode` of its server says how it behaves just now."""
    protocol_version = "HTTP/1.1"
    # An answer in one piece: in two, each would wait for the other side's delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        mode, server = self.server.mode, self.server
        server.seen[mode] = server.seen.get(mode, 0) + 1
        if mode == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.close_connection = True
            return
        if mode == "stall":
            time.sleep(7)
        if mode == "unavailable":
            return self.answer(503, b'{"error":{"code":"server_error","message":"away"}}')
        if mode == "rate_limited":
            return self.answer(429, b'{"error":{"code":"rate_limited","message":"slow down"}}', ("Retry-After", "3"))
        document = json.loads(body)
        events = document.get("events") or [entry["event"] for entry in document["data"]["events"]]
        server.numbers.add([number_of(event["event_id"]) for event in events])
        if mode == "lost answer":
            self.close_connection = True
            return
        self.answer(200, json.dumps({"accepted": len(events), "rejected": [], "clamped": []}).encode())

    def answer(self, status, body, *headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Receiver)
        self.mode, self.numbers, self.seen = "well", Numbers(), {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass


class Soak:
    def __init__(self, options):
        self.options, self.random = options, random.Random(options.seed)
        self.out = pathlib.Path(options.out)
        self.ended, self.lock = threading.Event(), threading.Lock()
        self.next, self.answered, self.refused = 0, Numbers(), 0
        self.counts, self.samples, self.faults = {}, [], []

    def start(self):
        if self.out.exists():
            shutil.rmtree(self.out)
        self.out.mkdir(parents=True)
        self.upstream, self.hook = Server(), Server()
        self.config = self.out / "relay.yaml"
        self.config.write_text(CONFIGURATION.format(
            upstream=self.upstream.server_address[1], hook=self.hook.server_address[1]))
        self.relay = subprocess.Popen(
            [self.options.relay, "run", "--config", str(self.config)], stderr=open(self.out / "relay.log", "wb"))
        deadline = time.monotonic() + 30
        while True:
            try:
                addresses = json.loads((self.out / "data/addresses.json").read_text())
                self.ingest, self.admin = addresses["ingest"][0], addresses["admin"]
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            except (OSError, ValueError, KeyError):
                pass
            if self.relay.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the relay did not start; see {self.out}/relay.log")
            time.sleep(0.05)

    def ask(self, method, path, timeout=30):
        connection = http.client.HTTPConnection(self.admin, timeout=timeout)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def numbers(self, count):
        with self.lock:
            self.next += count
            return range(self.next - count, self.next)

    # Load

    def event(self, number, now):
        return (f'{{"event_id":"{event_id(number)}","name":"purchase_completed","anonymous_id":"install-{number % 5000}",'
                f'"user_id":"u_{number % 9000}","occurred_at":"{now}","properties":{{"product_id":"pro_yearly",'
                f'"price":39.990,"currency":"USD","trial":true,"step":{number % 12}}},"context":{{"app_version":"2.4.0",'
                f'"build":"412","os_version":"18.1","device_model":"iPhone16,2","locale":"en_US"}}}}')

    def sender(self, key, batch, rate, compressed):
        """Posts batches at a steady rate of events a second; what got no answer is sent again, as an SDK does."""
        connection, due = None, time.monotonic()
        while not self.ended.is_set():
            due += batch / rate
            time.sleep(max(0, due - time.monotonic()))
            numbers = self.numbers(batch)
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            body = ('{"events":[' + ",".join(self.event(number, now) for number in numbers) + "]}").encode()
            headers = {"Content-Type": "application/json", "X-Write-Key": key}
            if compressed:
                body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
            for _ in range(5):
                try:
                    connection = connection or http.client.HTTPConnection(self.ingest, timeout=30)
                    connection.request("POST", "/v1/events", body, headers)
                    answer = connection.getresponse()
                    text = answer.read()
                    self.count(f"{answer.status}")
                    if answer.status == 200:
                        if json.loads(text)["accepted"] == batch:
                            self.answered.add(numbers)
                        break
                    self.refused += 1
                    time.sleep(0.2)
                except (OSError, http.client.HTTPException):
                    self.count("no answer")
                    connection.close()
                    connection = None

    def nuisance(self):
        """Senders that do what they shouldn't: slow, cut off, broken, too big, wrong key, bombs."""
        host, port = self.ingest.rsplit(":", 1)
        bomb = gzip.compress(bytes(64 << 20), 9)
        head = b"POST /v1/events HTTP/1.1\r\nHost: x\r\nX-Write-Key: aso_wk_ios\r\n"
        requests = [
            head + b"Content-Length: 100\r\n\r\n{", b"GET / HTTP/1.1\r\nHo", b"\0\1\2\3\r\n\r\n",
            head + b"Content-Length: 3\r\n\r\n{]}", head + b"Content-Length: 9000000\r\n\r\n" + bytes(300000),
            head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb,
            head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"eve\r\n", b"POST /nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
        ]
        kept = []
        while not self.ended.wait(0.05):
            try:
                connection = socket.create_connection((host, int(port)), timeout=10)
                connection.sendall(self.random.choice(requests))
                self.count("nuisance")
                kept.append(connection)
            except OSError:
                self.count("nuisance refused")
            while len(kept) > 60:
                kept.pop(self.random.randrange(len(kept))).close()

    def watcher(self):
        """Scrapes, asks for status, reloads: what tools do all day."""
        while not self.ended.wait(2):
            try:
                for path in ("/metrics", "/status", "/healthz"):
                    self.ask("GET", path)
                if self.random.random() < 0.05:
                    self.count("reload")
                    self.ask("POST", "/reload")
            except OSError:
                self.count("no scrape")

    def trouble(self):
        """Upstream and webhook fail in turn, each for a while."""
        modes = ["unavailable", "reset", "stall", "rate_limited", "lost answer"]
        while not self.ended.wait(self.random.uniform(10, 25)):
            server, name = self.random.choice([(self.upstream, "upstream"), (self.hook, "hook")])
            mode, lasts = self.random.choice(modes), self.random.uniform(5, 25)
            self.faults.append((round(time.monotonic() - self.began, 1), name, mode, round(lasts, 1)))
            server.mode = mode
            self.ended.wait(lasts)
            server.mode = "well"

    # Samples

    def sample(self):
        status = dict(
            line.split(":", 1) for line in pathlib.Path(f"/proc/{self.relay.pid}/status").read_text().splitlines())
        times = pathlib.Path(f"/proc/{self.relay.pid}/stat").read_text().rsplit(")", 1)[1].split()
        log = bytes_below(self.out / "data")
        self.samples.append({
            "seconds": round(time.monotonic() - self.began, 1), "resident_kib": int(status["VmRSS"].split()[0]),
            # Without the pages of the program's own file, which the kernel maps and takes away as it likes.
            "own_kib": int(status["RssAnon"].split()[0]) + int(status["RssShmem"].split()[0]),
            "descriptors": len(os.listdir(f"/proc/{self.relay.pid}/fd")), "threads": int(status["Threads"]),
            "cpu_seconds": (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK"), "data_bytes": log,
        })

    def run(self):
        rate = self.options.rate
        threads = [
            threading.Thread(target=self.sender, args=arguments, daemon=True) for arguments in [
                ("aso_wk_ios", 100, rate * 0.5, False), ("aso_wk_web", 100, rate * 0.3, True),
                ("aso_wk_ios", 20, rate * 0.15, False), ("aso_wk_web", 1, rate * 0.05, False)]
        ] + [threading.Thread(target=target, daemon=True) for target in (self.nuisance, self.watcher, self.trouble)]
        self.began = time.monotonic()
        for thread in threads:
            thread.start()
        end = self.began + self.options.minutes * 60
        while (left := end - time.monotonic()) > 0:
            if self.relay.poll() is not None:
                sys.exit(f"the relay ended with {self.relay.returncode}; see {self.out}/relay.log")
            self.sample()
            if sys.stderr.isatty():
                last = self.samples[-1]
                print(f"\r{last['seconds']:7.0f} s  {last['resident_kib'] / 1024:6.1f} MB  {last['descriptors']} descriptors  "
                      f"{last['threads']} threads ", end="", file=sys.stderr)
            time.sleep(min(SAMPLE_SECONDS, left))
        self.ended.set()
        for thread in threads:
            thread.join(60)
        self.upstream.mode = self.hook.mode = "well"

    # Verdict

    def settle(self):
        """Waits until nothing is owed to any destination, then stops the relay."""
        deadline = time.monotonic() + 180
        while True:
            self.ask("POST", "/flush?timeout=5s", timeout=60)
            self.status = json.loads(self.ask("GET", "/status")[1])
            if all(one["pending"] == 0 for one in self.status["destinations"]):
                break
            if time.monotonic() > deadline:
                sys.exit("something still waits 3 minutes after the end: " + json.dumps(self.status["destinations"]))
            time.sleep(1)
        self.doctor = subprocess.run(
            [self.options.relay, "doctor", "--config", str(self.config)], capture_output=True, text=True)
        self.relay.send_signal(signal.SIGTERM)
        self.stopped = self.relay.wait(60)

    def lines(self):
        numbers = Numbers()
        for path in sorted((self.out / "events").rglob("*.ndjson")):
            with open(path, "rb") as file:
                numbers.add(number_of(json.loads(line)["event"]["event_id"]) for line in file)
        return numbers

    def archived(self):
        numbers = Numbers()
        for path in sorted((self.out / "archive").rglob("*.ndjson.gz")):
            with gzip.open(path, "rb") as file:
                numbers.add(number_of(json.loads(line)["event"]["event_id"]) for line in file)
        return numbers

    def verdict(self):
        wrong, debts = [], self.answered.as_integer()
        everywhere = {"upstream": self.upstream.numbers, "hook": self.hook.numbers, "raw": self.lines(), "audit": self.archived()}
        sums = {"events answered with 200": debts.bit_count(), "requests": self.counts,
                "faults": {}, "destinations": {}, "lines": {}}
        for _, name, mode, _ in self.faults:
            key = f"{name}: {mode}"
            sums["faults"][key] = sums["faults"].get(key, 0) + 1
        for name, numbers in everywhere.items():
            missing = (debts & ~numbers.as_integer()).bit_count()
            sums["destinations"][name] = {"missing": missing, "repeated": numbers.repeated}
            if missing:
                wrong.append(f"{missing} events are missing at {name}")
            # (An event whose request got no answer is stored twice when it is sent again: only the line files and the
            # archive together can tell; they must agree.)
        if everywhere["raw"].repeated != everywhere["audit"].repeated:
            wrong.append("line files and archive don't hold the same events")
        if not debts:
            wrong.append("no event was answered")
        if self.doctor.returncode:
            wrong.append("doctor: " + self.doctor.stdout + self.doctor.stderr)
        verified = subprocess.run([self.options.relay, "archive", "verify", str(self.out / "archive")],
                                  capture_output=True, text=True)
        if verified.returncode:
            wrong.append("archive verify: " + verified.stdout + verified.stderr)
        if self.stopped:
            wrong.append(f"the relay ended with {self.stopped}")
        for name, unit, slack in (
                ("own_kib", "KiB", 4096), ("resident_kib", "KiB", None), ("descriptors", "", 25), ("threads", "", 1)):
            line = [sample[name] for sample in self.samples]
            third = max(1, len(line) // 3)
            first, last = statistics.median(line[third:2 * third] or line), statistics.median(line[-third:])
            sums["lines"][name] = {
                "least": min(line), "most": max(line), "median of the middle third": first, "of the last third": last}
            if slack is not None and last - first > slack:
                wrong.append(f"{name} grows: median {first} {unit} in the middle third, {last} {unit} in the last")
        sums["minutes"], sums["cpu_seconds"] = self.options.minutes, self.samples[-1]["cpu_seconds"]
        sums["wrong"] = wrong
        return sums

    def plot(self):
        """Small plots over one another: memory, descriptors, threads, with the outages behind."""
        width, height, left, gap = 760, 110, 60, 34
        span = max(sample["seconds"] for sample in self.samples) or 1
        rows = (("own memory, MB", "own_kib", 1 / 1024), ("with the program's own pages, MB", "resident_kib", 1 / 1024),
                ("open descriptors", "descriptors", 1), ("threads", "threads", 1))
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{len(rows) * (height + gap) + 20}" '
               'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
        for row, (title, name, scale) in enumerate(rows):
            top, values = 24 + row * (height + gap), [sample[name] * scale for sample in self.samples]
            highest = max(values) * 1.15 or 1
            x = lambda seconds: left + seconds / span * (width - left - 10)
            for at, _, _, lasts in self.faults:
                out.append(f'<rect x="{x(at):.1f}" y="{top}" width="{max(1, x(min(span, at + lasts)) - x(at)):.1f}" '
                           f'height="{height}" fill="#f3e3c8"/>')
            points = " ".join(f'{x(sample["seconds"]):.1f},{top + height - value / highest * height:.1f}'
                              for sample, value in zip(self.samples, values))
            out += [f'<text x="{left}" y="{top - 7}">{title}</text>',
                    f'<line x1="{left}" x2="{width - 10}" y1="{top + height}" y2="{top + height}" stroke="#888"/>',
                    f'<text x="{left - 6}" y="{top + height}" text-anchor="end">0</text>',
                    f'<text x="{left - 6}" y="{top + height - max(values) / highest * height + 4:.1f}" text-anchor="end">'
                    f'{max(values):.0f}</text>',
                    f'<polyline points="{points}" fill="none" stroke="#1f5fa8" stroke-width="1.4"/>']
        bottom = 24 + len(rows) * (height + gap) - gap + 14
        out += [f'<text x="{left}" y="{bottom}">0</text>',
                f'<text x="{width - 10}" y="{bottom}" text-anchor="end">{span / 60:.0f} min; shaded: upstream or webhook failing'
                '</text>', "</svg>"]
        (self.out / "soak.svg").write_text("\n".join(out) + "\n")
        names = ["seconds", "own_kib", "resident_kib", "descriptors", "threads", "cpu_seconds", "data_bytes"]
        (self.out / "samples.tsv").write_text("\t".join(names) + "\n" + "".join(
            "\t".join(str(sample[name]) for name in names) + "\n" for sample in self.samples))


def main():
    parser = argparse.ArgumentParser(prog="Deploy/soak")
    parser.add_argument("--relay", required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=2000, help="events a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="data/soak")
    soak = Soak(parser.parse_args())
    soak.start()
    try:
        soak.run()
        soak.plot()
        soak.settle()
    finally:
        if soak.relay.poll() is None:
            soak.relay.kill()
    sums = soak.verdict()
    text = json.dumps(sums, indent=2)
    (soak.out / "summary.json").write_text(text + "\n")
    print(text)
    sys.exit(1 if sums["wrong"] else 0)


main()
