"""Events for the differential check: good ones, and such as break or brush every rule, in every spelling that JSON has.

All of it follows from a seed and a moment. Everything is made as text, since it is the text that is hostile.
"""

import datetime
import json
import random

NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-"
CHARACTERS = ["a", "Z", "0", " ", "é", "ı", "€", "\u2028", "👍", "\U0010ffff", "\x7f", "{", "]", ",", ":", "/"]
BROKEN = [
    b"", b"nonsense", b"{", b"}", b'{"a":1', b'{"a":1}}', b'{"a":1} x', b'{"a":01}', b'{"a":1.}', b'{"a":.5}',
    b'{"a":+1}', b'{"a":0x1}', b'{"a":NaN}', b'{"a":-Infinity}', b'{"a":truexyz}', b'{"a":nul}', b"{'a':1}", b"{a:1}",
    b'{"a":1,}', b'{"a":[1,]}', b'{"a":[,]}', b'{"a" 1}', b'{"a":}', b'{"a":"\\q"}', b'{"a":"\\u12G4"}',
    b'{"a":"\\u12"}', b'{"a":"\x01"}', b'{"a":"\t"}', b'{"a":"\xff"}', b'{"a":"\xc0\xaf"}', b'{"a":"\xed\xa0\x80"}',
    b'{"a":"\xf4\x90\x80\x80"}', b'{"\xc3":1}', b'{"a":"', b'{"a":"x\\"}', b'{"a":1}/**/', b'{"a":1}{"b":2}',
    b'{"a":1e}', b'{"a":1e+}', b'{"a":--1}', b'{"a":1]}', b'{"a":[1}}', b'{"a"::1}', b'{,"a":1}', b"{\x0c}", b"{\xa0}",
    b'{"a":tru\x65x}', b'{"a":1 2}', b"\xef\xbb\xbf\xef\xbb\xbf{}",
]
NO_OBJECTS = ["7", "-0", '"text"', "null", "true", "[]", "[{}]", "1e999", '""']
NUMBERS = ["0", "-0", "39.990", "9007199254740993", "1e999", "-1E-400", "0.1e+3", "1" * 400, "12345678901234567890"]


class Generator:
    def __init__(self, seed, now):
        self.random = random.Random(seed)
        self.now = now

    def event(self):
        """An event as bytes without a line break: mostly an object, which may break several rules at once."""
        chance = self.random.random()
        if chance < 0.02:
            return self.random.choice(BROKEN)
        if chance < 0.04:
            return self.random.choice(NO_OBJECTS).encode()
        members = self._good()
        for _ in range(self.random.choice((0, 0, 1, 1, 1, 2, 3))):
            self.random.choice(self.CHANGES)(self, members)
        if self.random.random() < 0.2:
            self.random.shuffle(members)
        data = self._object(members).encode("utf-8", "surrogatepass")
        if self.random.random() < 0.01:
            at = self.random.randrange(len(data))
            data = data[:at] + self.random.choice((b"", b"\x00", b"\xff", b'"', b"\\", b"}", b",")) + data[at + 1 :]
        return data

    def body(self, events):
        """A request's body of these events, in one of many forms."""
        chance = self.random.random()
        between = self.random.choice((b",", b", ", b" ,\n", b"\r\n,\t"))
        array = b"[" + between.join(events) + b"]"
        if chance < 0.9:
            return b'{"events":' + array + b"}"
        if chance < 0.92:
            return b'{ "ev\\u0065nts" : ' + array + b' , "sent_at":"now"}\n'
        if chance < 0.94:
            return b'{"events":[1],"events":' + array + b"}"
        if chance < 0.96:
            return b'{"batch":{"events":[]},"events":' + array + b',"x":[[{"a":[null]}]]}'
        return self.random.choice((
            array, b'{"Events":' + array + b"}", b'{"events":' + array + b"}x", b'{"events":{}}', b'{"events":[]}',
            b'\xef\xbb\xbf{"events":' + array + b"}", b'{"events":' + array + b',"events":null}',
            b'{"events":' + array + b',"x":01}', b'{"events":[' + between.join(events[:1] * 101) + b"]}", b" ", b"{}",
            b'{"events":' + array[:-1] + b"}", b'{"events":' + array + b',"y":"' + b"y" * 1_048_576 + b'"}',
        ))

    # Texts

    def _string(self, text):
        """A string literal, its characters spelled in one of the ways there are."""
        if self.random.random() < 0.7:
            return json.dumps(text, ensure_ascii=self.random.random() < 0.5)
        return '"' + "".join(self._spelled(character) for character in text) + '"'

    def _spelled(self, character):
        code = ord(character)
        if code < 0x20 or character in '"\\' or 0xD800 <= code < 0xE000 or self.random.random() < 0.3:
            units = [code] if code < 0x10000 else [0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)]
            form = self.random.choice(("%04x", "%04X"))
            return "".join("\\u" + form % unit for unit in units)
        return "\\/" if character == "/" and self.random.random() < 0.5 else character

    def _text(self, length):
        one = self.random.choice(CHARACTERS)
        if self.random.random() < 0.5:
            return one * length
        return "".join(self.random.choice(CHARACTERS) for _ in range(length))

    def _edge(self, limit):
        return self.random.choice((0, 1, 2, limit - 1, limit, limit + 1, limit * 2))

    def _space(self):
        return self.random.choice(("", "", "", " ", "\t", "  ", "\r")) if self.spaced else ""

    def _object(self, members):
        self.spaced = self.random.random() < 0.1
        out = []
        for key, value in members:
            out.append(f"{self._space()}{self._string(key)}{self._space()}:{self._space()}{value}{self._space()}")
        return "{" + ",".join(out) + "}"

    def _uuid(self):
        digits = "%032x" % self.random.getrandbits(128)
        text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        return text.upper() if self.random.random() < 0.3 else text

    def _value(self, depth=0):
        kind = self.random.randrange(7 if depth < 3 else 5)
        if kind == 0:
            return self.random.choice(NUMBERS)
        if kind in (1, 2):
            return self._string(self._text(self.random.randrange(6)))
        if kind == 3:
            return self.random.choice(("true", "false"))
        if kind == 4:
            return "null"
        inner = [self._value(depth + 1) for _ in range(self.random.randrange(4))]
        if kind == 5:
            return "[" + ",".join(inner) + "]"
        return "{" + ",".join(f'"{at}":{value}' for at, value in enumerate(inner)) + "}"

    # Times

    def _moment(self, milliseconds):
        at = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
        zone = self.random.choice((0, 0, 0, 60, -300, 330, 345, -720, 14 * 60, 23 * 60 + 59, -(23 * 60 + 59)))
        at += datetime.timedelta(minutes=zone)
        text = at.strftime("%Y-%m-%d") + self.random.choice("TTTt ") + at.strftime("%H:%M")
        text += at.strftime(":%S")
        text += self.random.choice(("", ".1", ".123", ",5", ".123456789", "." + "9" * self.random.choice((20, 150))))
        if zone == 0 and self.random.random() < 0.8:
            return text + self.random.choice("ZZz")
        hours, minutes = divmod(abs(zone), 60)
        form = self.random.choice(("%02d:%02d", "%02d%02d")) % (hours, minutes)
        return text + ("-" if zone < 0 else "+") + (form[:2] if minutes == 0 and self.random.random() < 0.3 else form)

    def _good(self):
        at = self.now - self.random.randrange(6 * 24 * 3600 * 1000)
        members = [
            ("event_id", self._string(self._uuid())), ("name", self._string("purchase_completed")),
            ("anonymous_id", self._string(self._uuid())), ("occurred_at", self._string(self._moment(at))),
        ]
        if self.random.random() < 0.7:
            members.insert(3, ("user_id", self._string("u_81723")))
        if self.random.random() < 0.8:
            members.append(("properties", self._properties(self.random.randrange(6))))
        if self.random.random() < 0.5:
            members.append(("context", '{"app_version":"2.4.0","environment":"debug"}'))
        return members

    def _properties(self, count):
        members = []
        for number in range(count):
            value = self.random.choice((self._string(self._text(3)), self.random.choice(NUMBERS), "true", "null"))
            members.append((f"key_{number}", value))
        return self._object(members)

    # Changes, each of which brushes or breaks a rule

    def _set(self, members, key, value):
        places = [at for at, member in enumerate(members) if member[0] == key]
        if places and self.random.random() < 0.9:
            members[places[0]] = (key, value)
        else:
            # (Now and then it stands there twice.)
            members.insert(self.random.randrange(len(members) + 1), (key, value))

    def _wrong_type(self, members):
        key = self.random.choice(("event_id", "name", "anonymous_id", "user_id", "occurred_at", "properties", "context"))
        self._set(members, key, self._value())

    def _missing(self, members):
        if members:
            members.pop(self.random.randrange(len(members)))

    def _unknown(self, members):
        key = self.random.choice(("Name", "names", "EVENT_ID", "event_id ", "", "\u0000name", self._text(3)))
        members.insert(self.random.randrange(len(members) + 1), (key, self._value()))

    def _name(self, members):
        length = self._edge(64)
        text = "".join(self.random.choice(NAME_CHARACTERS) for _ in range(length))
        text = self.random.choice((text, text, "$" + text, "$" + text[:63], text + "\n", " " + text, text + "é", "$$", "$"))
        self._set(members, "name", self._string(text))

    def _event_id(self, members):
        text = self._uuid()
        at = self.random.randrange(36)
        text = self.random.choice((
            text[:35], text + "0", text.replace("-", ""), "{" + text + "}", text[:at] + "g" + text[at + 1 :],
            text[:at] + "-" + text[at + 1 :], text + "\n", " " + text, "", text[:at] + "é" + text[at + 1 :], text,
        ))
        self._set(members, "event_id", self._string(text))

    def _person(self, members):
        key = self.random.choice(("anonymous_id", "user_id"))
        value = self._string(self._text(self._edge(128)))
        self._set(members, key, self.random.choice((value, value, value, "null", '"\\ud800"', '"\\udc00' + "x" * 128 + '"')))

    def _when(self, members):
        # (The moment of judging is a few minutes later at most, so that no verdict depends on it.)
        week, ahead = 7 * 24 * 3600 * 1000, 5 * 60 * 1000
        near = self.random.choice((-week - 3_600_000, -week + 3_600_000, ahead - 120_000, ahead + 3_600_000, -week * 52, week))
        self._set(members, "occurred_at", self._string(self._moment(self.now + near)))

    def _bad_moment(self, members):
        text = self.random.choice((
            "2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z",
            "2026-01-01T24:00:00Z", "2026-01-01T23:60:00Z", "2026-01-01T23:59:60Z", "2026-01-01T23:59:61Z",
            "2026-01-01T00:00:00", "2026-01-01", "2026-01-01T00:00Z", "2026-01-01T00Z", "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+23:60", "2026-01-01T00:00:00+5", "2026-01-01T00:00:00+053",
            "2026-01-01T00:00:00+05:3", "2026-01-01T00:00:00+05:", "2026-01-01T00:00:00 Z", "2026-01-01T00:00:00ZZ",
            "2026-1-1T00:00:00Z", "20260101T000000Z", "2026-01-01_00:00:00Z", " 2026-01-01T00:00:00Z", "",
            "0000-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:60-23:59", "now", "1792757100",
            "２０26-01-01T00:00:00Z", "2026-01-01T00:00:00−05:00", "2026-01-01T00:00:00.1,2Z", "-2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.123\u0000Z", "2026-01-01T00:00.5Z", "2026-01-01T00:00+01", "+2026-01-01T00:00:00Z",
        ))
        self._set(members, "occurred_at", self._string(text))

    def _many_properties(self, members):
        count = self.random.choice((49, 50, 51, 52, 120))
        pairs = [(f"k{number}", "1") for number in range(count)]
        if self.random.random() < 0.5:
            # A key that stands twice is one key.
            pairs += [(f"k{self.random.randrange(count)}", self._value()) for _ in range(self.random.randrange(4))]
            self.random.shuffle(pairs)
        self._set(members, "properties", self._object(pairs))

    def _hard_properties(self, members):
        pairs = [("plain", "1")]
        key = self.random.choice((self._text(self._edge(64)), "nested", "long"))
        value = self.random.choice((
            self._value(), self._string(self._text(self._edge(1024))), '"' + "\\ud83d" * 1025 + '"', "{}", "[]",
            '"' + "\\ud83d\\udc4d" * 1024 + '"', self._string("\u0000\n\"\\"),
        ))
        pairs.append((key, value))
        if self.random.random() < 0.3:
            pairs.append((key, self.random.choice(("1", "[]", '"x"'))))
        self._set(members, "properties", self._object(pairs))

    def _large(self, members):
        """To the byte around 8,192 bytes of its shortest JSON, spelled long or short."""
        unit, size, spelled = self.random.choice((
            ("x", 1, "x"), ("ı", 2, "\\u0131"), ("€", 3, "€"), ("👍", 4, "\\ud83d\\udc4d"), ("\n", 2, "\\u000a"),
            ("\u0001", 6, "\\u0001"), ("/", 1, "\\/"),
        ))
        text = self._object(members)
        # (Its own parser would do; the length of what is all ASCII here is near enough to come to the edge.)
        rest = 8192 - len(text.encode("utf-8", "surrogatepass")) - len(',"filling":""')
        count = max(0, rest // size + self.random.choice((-1, 0, 1, 2, 5)))
        filling = spelled * count + "y" * self.random.randrange(3)
        members.append(("filling", '"' + filling + '"' + " " * self.random.choice((0, 0, 9000))))

    def _deep(self, members):
        depth = self.random.choice((2, 63, 64, 65, 200, 400))
        opening, closing = self.random.choice((("[", "]"), ('{"a":', "}")))
        self._set(members, self.random.choice(("deep", "properties", "context")), opening * depth + "1" + closing * depth)

    CHANGES = (
        _wrong_type, _wrong_type, _missing, _unknown, _name, _name, _event_id, _person, _person, _when, _when, _bad_moment,
        _bad_moment, _many_properties, _hard_properties, _hard_properties, _large, _deep,
    )
