"""Verifies captured webhook requests with the standardwebhooks package, which knows nothing of event-relay.

Reads JSON lines from the file named: {"secret", "headers": {name: value}, "body": base64}. Writes a line for each:
"ok", or the name of the error.
"""
import base64
import json
import sys

from standardwebhooks.webhooks import Webhook

with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        request = json.loads(line)
        try:
            Webhook(request["secret"]).verify(base64.b64decode(request["body"]), request["headers"])
            print("ok")
        except Exception as error:
            print(type(error).__name__)
