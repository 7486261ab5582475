#!/usr/bin/env python3
"""Holds the relay's judgement of events against a validator that was written from the specification alone.

Generates events from a seed, has `event-relay validate` judge them as lines of one file, posts them to a running relay in
bodies of up to 100, and compares every answer: which events are rejected, with which id and code, which are clamped, how many
are accepted, and whole bodies that are refused. Exits with 1 when anything differs, and shows the first differences.

`--self-check` also judges by validators with one rule changed each: every one of them must be found out.
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

# (Nothing is left in the tree.)
sys.dont_write_bytecode = True

import validator  # noqa: E402
from generator import Generator  # noqa: E402

SHOWN_MAX = 10
# What another validator might get wrong: the name of a constant or function here, and what it becomes.
MUTANTS = {
    "a name of 64 characters is too long": ("NAME", re.compile(r"[A-Za-z0-9_.:-]{1,63}")),
    "a reserved name may have 65 characters": ("RESERVED", re.compile(r"\$[A-Za-z0-9_.:-]{1,64}")),
    "hex digits are small": ("UUID", re.compile(validator.UUID.pattern.replace("A-F", ""))),
    "an event may have 8,193 bytes": ("EVENT_BYTES_MAX", 8193),
    "an event may have 8,191 bytes": ("EVENT_BYTES_MAX", 8191),
    "every fourth year is a leap year": ("_is_leap", lambda year: year % 4 == 0),
    "a time may be an hour older": ("PAST_MS_MAX", validator.PAST_MS_MAX + 2 * 3_600_000),
    "a time may be an hour ahead": ("FUTURE_MS_MAX", 2 * 3_600_000),
    "an id may have 129 characters": ("_is_id", lambda value: validator._is_text(value) and 1 <= len(value) <= 129),
    "an id's bytes are counted": (
        "_is_id",
        lambda value: validator._is_text(value) and 1 <= len(value.encode("utf-8", "surrogatepass")) <= 128,
    ),
    "an escape is counted as it stands": ("_shortest_character", lambda code: 1 if code < 0x80 else 6),
    "keys that stand twice are two": (
        "dict_of",
        lambda members: {key + "\ud800" * at: value for at, (key, value) in enumerate(members)},
    ),
}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", required=True, help="the event-relay to check")
    options.add_argument("--events", type=int, default=100_000, help="how many events (100,000)")
    options.add_argument("--seed", type=int, default=1, help="what the events follow from (1)")
    options.add_argument("--self-check", action="store_true", help="shows that changed rules are found out, too")
    chosen = options.parse_args()
    started = time.monotonic()
    now = int(time.time() * 1000)
    generator = Generator(chosen.seed, now)
    events = [generator.event() for _ in range(chosen.events)]
    with tempfile.TemporaryDirectory(prefix="event-relay-differential.") as folder:
        lines = lines_of(events)
        answer = validate(chosen.program, lines, folder)
        read = validator.read_lines(lines)
        wanted = validator.judge_events(read, now)
        differences = compare("line", lines, wanted, answer)
        bodies, posted, different = post_all(chosen.program, generator, events, folder, now)
        differences += different
        if chosen.self_check:
            differences += self_check(lines, read, now, answer)
    for difference in differences[:SHOWN_MAX]:
        print(difference)
    codes = {}
    for _, _, code in wanted.rejected:
        codes[code] = codes.get(code, 0) + 1
    print(
        f"{len(events)} events, seed {chosen.seed}: {wanted.accepted} accepted, {len(wanted.clamped)} of them clamped, "
        f"{len(wanted.rejected)} rejected ({', '.join(f'{code} {codes[code]}' for code in sorted(codes))}); "
        f"{bodies} bodies with {posted} events posted, {time.monotonic() - started:.0f} s"
    )
    print(f"{len(differences)} differences")
    return 1 if differences else 0


def lines_of(events):
    """The events as lines of a file: the first is a plain one, so that nobody takes the file for something else."""
    return [b'{"first":true}'] + [event for event in events if event.strip(b" \t\r")]


def validate(program, lines, folder):
    """What the program says of a file of these lines."""
    path = os.path.join(folder, "events.ndjson")
    with open(path, "wb") as file:
        file.write(b"\n".join(lines) + b"\n")
    ran = subprocess.run([program, "validate", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if ran.returncode not in (0, 1):
        sys.exit(f"validate ended with {ran.returncode}: {ran.stderr.decode(errors='replace')}")
    return json.loads(ran.stdout)


def compare(what, texts, wanted, answer):
    """Every difference between what is wanted and an answer with `accepted`, `rejected` and `clamped`, as a sentence."""
    if "rejected" not in answer:
        return [f"a {what} has the answer {answer}, and should have {len(wanted.rejected)} rejected"]
    rejected = {entry["index"]: (entry["event_id"], entry["code"]) for entry in answer["rejected"]}
    clamped = {entry["index"]: entry["event_id"] for entry in answer["clamped"]}
    wanted_rejected = {index: (event_id, code) for index, event_id, code in wanted.rejected}
    wanted_clamped = dict(wanted.clamped)
    out = []
    for name, one, other in (("rejected", wanted_rejected, rejected), ("clamped", wanted_clamped, clamped)):
        if one == other:
            continue
        for index in sorted(set(one) | set(other)):
            if one.get(index) != other.get(index):
                text = texts[index][:300] if index < len(texts) else b""
                out.append(f"{what} {index} {name}: should be {one.get(index)}, is {other.get(index)}: {text!r}")
    if len(answer["rejected"]) != len(rejected) or len(answer["clamped"]) != len(clamped):
        out.append(f"a {what}'s answer names an index twice")
    if not out and answer["accepted"] != wanted.accepted:
        out.append(f"a {what} has {answer['accepted']} accepted, should be {wanted.accepted}")
    return out


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


def post_all(program, generator, events, folder, now):
    """Posts all events in bodies to a relay; returns how many bodies and events there were, and what differs."""
    path = os.path.join(folder, "in.sock")
    configuration = os.path.join(folder, "relay.yaml")
    with open(configuration, "w", encoding="utf-8") as file:
        file.write(
            f"data_dir: {folder}/data\ningest: {{ listen: ['unix:{path}'] }}\nadmin: {{ listen: '127.0.0.1:0' }}\n"
            "log: { durability: os, min_free_disk: 1MiB }\nupstream: { url: 'http://127.0.0.1:9' }\n"
            "shutdown: { grace: 1s }\n"
        )
    log = open(os.path.join(folder, "log"), "wb")
    relay = subprocess.Popen([program, "run", "--config", configuration], stdout=log, stderr=subprocess.PIPE)
    copying = None
    try:
        copying = wait_until_ready(relay, log)
        connection = UnixConnection(path)
        bodies = 0
        different = []
        posted = 0
        for group in groups(generator.random, events):
            body = generator.body(group)
            wanted = validator.judge_body(body, now)
            answer = post(connection, body)
            bodies += 1
            posted += len(group)
            different += compare_body(bodies, group, wanted, answer)
            if len(different) > 1000:
                break
        return bodies, posted, different
    finally:
        relay.terminate()
        relay.wait()
        if copying:
            copying.join()
        log.close()


def groups(chance, events):
    """Events in groups of 1 to 100; a group has one that is no JSON only now and then, since that refuses the body."""
    at = 0
    while at < len(events):
        size = chance.choice((1, 2, 50, 99, 100, 100, 100, 100))
        group = events[at : at + size]
        at += size
        if chance.random() < 0.9:
            group = [event for event in group if is_json(event)] or [b"{}"]
        yield group


def is_json(event):
    try:
        validator.parse(event)
        return True
    except validator.NotJSON:
        return False


def wait_until_ready(relay, log):
    """Waits for the relay's word that it is ready; copies all that it says to a file, then and from then on."""
    said = []
    for line in relay.stderr:
        log.write(line)
        said.append(line.decode(errors="replace"))
        if b" ready" in line:
            copying = threading.Thread(target=shutil.copyfileobj, args=(relay.stderr, log))
            copying.start()
            return copying
    sys.exit(f"the relay doesn't get ready: {''.join(said)}")


def post(connection, body):
    """Status and answer of one request. A connection that the relay ended is opened anew."""
    headers = {"Content-Type": "application/json", "X-Write-Key": "aso_wk_differential"}
    for attempt in (1, 2):
        try:
            connection.request("POST", "/v1/events", body=body, headers=headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (http.client.HTTPException, OSError):
            connection.close()
            if attempt == 2:
                raise


def compare_body(number, group, wanted, answer):
    status, content = answer
    if wanted.error or status != 200:
        got = (status, content.get("code"))
        return [] if got == wanted.error else [f"body {number}: should be {wanted.error or 200}, is {got}: {content}"]
    return compare(f"body {number}, event", group, wanted, content)


def self_check(lines, read, now, answer):
    """A sentence for each changed rule that isn't found out; the program's answer is compared with each in turn."""
    out = []
    for name, (what, other) in MUTANTS.items():
        right = getattr(validator, what)
        setattr(validator, what, other)
        try:
            found = compare("line", lines, validator.judge_events(read, now), answer)
        finally:
            setattr(validator, what, right)
        if not found:
            out.append(f"self-check: nobody notices a validator by which {name}")
    return out


if __name__ == "__main__":
    sys.exit(main())
