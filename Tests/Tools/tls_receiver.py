"""A receiver of webhooks over TLS, and an HTTP proxy that only knows CONNECT, for tests.

tls_receiver.py CERTIFICATE KEY [CLIENT_CA]   says "listening PORT" and then a line of JSON for each request it answered
tls_receiver.py --proxy TARGET_PORT           takes every CONNECT to that port of this machine; a line for each
Ends with its parent.
"""
import http.server
import json
import os
import select
import socket
import socketserver
import ssl
import sys
import threading
import time


def say(line):
    print(line, flush=True)


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        peer = self.connection.getpeercert()
        self.send_response(204)
        self.end_headers()
        say(json.dumps({
            "path": self.path, "host": self.headers["Host"], "bytes": len(body),
            "events": len(json.loads(body)["data"]["events"]), "has_certificate": bool(peer),
        }))

    def log_message(self, *_):
        pass


class TLSServer(http.server.ThreadingHTTPServer):
    """The handshake is each connection's own thread's, so that a bad one holds up nobody."""
    daemon_threads = True
    context = None

    def finish_request(self, request, client_address):
        try:
            request.settimeout(30)
            request = self.context.wrap_socket(request, server_side=True)
            super().finish_request(request, client_address)
        except (ssl.SSLError, OSError):
            pass

    def handle_error(self, *_):
        pass


class Proxy(socketserver.BaseRequestHandler):
    target = 0

    def handle(self):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.request.recv(4096)
            if not piece:
                return
            head += piece
        line = head.split(b"\r\n")[0].decode()
        say(line)
        if not line.startswith("CONNECT "):
            self.request.sendall(b"HTTP/1.1 405 Only CONNECT\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", self.target)) as other:
            self.request.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            ends = {self.request: other, other: self.request}
            while True:
                for ready in select.select(list(ends), [], [])[0]:
                    piece = ready.recv(65536)
                    if not piece:
                        return
                    ends[ready].sendall(piece)


if sys.argv[1] == "--proxy":
    Proxy.target = int(sys.argv[2])
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
else:
    server = TLSServer(("127.0.0.1", 0), Receiver)
    server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.context.load_cert_chain(sys.argv[1], sys.argv[2])
    if len(sys.argv) > 3:
        server.context.verify_mode = ssl.CERT_REQUIRED
        server.context.load_verify_locations(sys.argv[3])
say(f"listening {server.server_address[1]}")
threading.Thread(target=server.serve_forever, daemon=True).start()
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.2)
