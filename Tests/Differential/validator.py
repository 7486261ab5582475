"""The Events API's rules, read off its specification alone: nothing here knows how the relay checks them.

`judge_body` says what the answer to a request's body must be, `judge_events` what a file of events comes to. Plain on purpose. Python's own JSON reader does the reading, made as strict as RFC 8259 is.
"""

import json
import re

EVENTS_MAX = 100
BODY_BYTES_MAX = 1_048_576
EVENT_BYTES_MAX = 8192
PAST_MS_MAX = 7 * 24 * 3600 * 1000
FUTURE_MS_MAX = 5 * 60 * 1000

NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
RESERVED = re.compile(r"\$[A-Za-z0-9_.:-]{1,63}")
UUID = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?"
    r"(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)"
)


class NotJSON(Exception):
    """The text is no JSON document."""


class Number(str):
    """A number as it was written: of any size, digit by digit."""


class Members(list):
    """An object's members in their order, each key as often as it stands there."""

    def last(self, key):
        """The last value of a key, and whether there is one."""
        for name, value in reversed(self):
            if name == key:
                return value, True
        return None, False


def _refuse(word):
    raise NotJSON(word)


_DECODER = json.JSONDecoder(
    object_pairs_hook=Members, parse_int=Number, parse_float=Number, parse_constant=_refuse, strict=True
)


def parse(data):
    """The document in some bytes: objects as `Members`, arrays as lists, numbers as `Number`."""
    try:
        text = data.decode("utf-8")
        stripped = text.strip(" \t\n\r")
        value, end = _DECODER.raw_decode(stripped)
    except (ValueError, NotJSON) as error:
        raise NotJSON(str(error)) from error
    if end != len(stripped):
        raise NotJSON("goes on behind its end")
    return value


def shortest(value):
    """Bytes of the shortest JSON: no white space, no escape that needn't be; half a pair of surrogates counts 3."""
    if value is None or value is True:
        return 4
    if value is False:
        return 5
    if isinstance(value, Number):
        return len(value)
    if isinstance(value, str):
        if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
            return 2 + len(value)
        return 2 + sum(_shortest_character(ord(character)) for character in value)
    if isinstance(value, Members):
        inner = sum(shortest(key) + 1 + shortest(member) for key, member in value)
        return 2 + inner + max(0, len(value) - 1)
    return 2 + sum(shortest(element) for element in value) + max(0, len(value) - 1)


def _shortest_character(code):
    if code in (0x22, 0x5C, 0x08, 0x09, 0x0A, 0x0C, 0x0D):
        return 2
    if code < 0x20:
        return 6
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


def _is_text(value):
    return isinstance(value, str) and not isinstance(value, Number)


def _is_id(value):
    return _is_text(value) and 1 <= len(value) <= 128


def moment(value):
    """Milliseconds since 1970 of an ISO 8601 text with a time zone; None for anything else."""
    if not _is_text(value):
        return None
    found = MOMENT.fullmatch(value)
    if not found:
        return None
    year, month, day, hour, minute = (int(found[i]) for i in range(1, 6))
    second = int(found[6] or 0)
    if not 1 <= month <= 12 or not 1 <= day <= _month_days(year, month) or hour > 23 or minute > 59 or second > 60:
        return None
    fraction = int(((found[7] or "") + "000")[:3])
    zone = 0
    if found[8]:
        zone_hours, zone_minutes = int(found[9]), int(found[10] or 0)
        if zone_hours > 23 or zone_minutes > 59:
            return None
        zone = (zone_hours * 60 + zone_minutes) * (1 if found[8] == "+" else -1)
    minutes = _day_number(year, month, day) * 1440 + hour * 60 + minute - zone
    return (minutes * 60 + second) * 1000 + fraction


def _is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _month_days(year, month):
    return (31, 29 if _is_leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def _day_number(year, month, day):
    before = year - 1
    days = 365 * year + before // 4 - before // 100 + before // 400
    since = 365 * 1970 + 1969 // 4 - 1969 // 100 + 1969 // 400
    return days - since + sum(_month_days(year, earlier) for earlier in range(1, month)) + day - 1


def rejection(event):
    """The code that an element of `events` is rejected with, by the specification's order; None when it is taken."""
    if not isinstance(event, Members):
        return "invalid_event"
    if shortest(event) > EVENT_BYTES_MAX:
        return "event_too_large"
    name, _ = event.last("name")
    if _is_text(name) and RESERVED.fullmatch(name):
        return "reserved_name"
    if not _is_text(name) or not NAME.fullmatch(name):
        return "invalid_name"
    event_id, _ = event.last("event_id")
    user, _ = event.last("user_id")
    if not _is_text(event_id) or not UUID.fullmatch(event_id) or not _is_id(event.last("anonymous_id")[0]):
        return "invalid_id"
    if user is not None and not _is_id(user):
        return "invalid_id"
    if moment(event.last("occurred_at")[0]) is None:
        return "invalid_timestamp"
    return _properties_rejection(event.last("properties")[0])


def dict_of(members):
    """An object's last value for each key."""
    return dict(members)


def _properties_rejection(properties):
    if properties is None:
        return None
    if not isinstance(properties, Members):
        return "invalid_properties"
    kept = dict_of(properties)
    if len(kept) > 50:
        return "too_many_properties"
    for key, value in kept.items():
        if not 1 <= len(key) <= 64 or isinstance(value, list) or _is_text(value) and len(value) > 1024:
            return "invalid_properties"
    return None


class Answer:
    """What a body or a file comes to."""

    def __init__(self):
        self.error = None
        self.accepted = 0
        self.rejected = []
        self.clamped = []

    def add(self, index, event, now):
        code = rejection(event)
        event_id = event.last("event_id")[0] if isinstance(event, Members) else None
        if code:
            self.rejected.append((index, event_id if _is_text(event_id) else None, code))
            return
        self.accepted += 1
        at = moment(event.last("occurred_at")[0])
        if at < now - PAST_MS_MAX or at > now + FUTURE_MS_MAX:
            self.clamped.append((index, event_id))


def judge_body(body, now):
    """The answer to `POST /v1/events`; `now` in milliseconds since 1970."""
    answer = Answer()
    if len(body) > BODY_BYTES_MAX:
        answer.error = (413, "payload_too_large")
        return answer
    answer.error = (400, "invalid_body")
    try:
        document = parse(body)
    except NotJSON:
        return answer
    events = document.last("events")[0] if isinstance(document, Members) else None
    if not isinstance(events, list) or isinstance(events, Members) or not 1 <= len(events) <= EVENTS_MAX:
        return answer
    answer.error = None
    for index, event in enumerate(events):
        answer.add(index, event, now)
    return answer


def read_lines(lines):
    """The values of lines with one event each; None for one that is no JSON."""
    events = []
    for line in lines:
        try:
            events.append(parse(line))
        except NotJSON:
            events.append(None)
    return events


def judge_events(events, now):
    """What a file of these events comes to; one that is no JSON is an `invalid_event` without an id."""
    answer = Answer()
    for index, event in enumerate(events):
        answer.add(index, event, now)
    return answer
