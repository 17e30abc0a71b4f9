"""Servers in a sandbox, for the suites about its ports."""
import textwrap

# A small server of HTTP and WebSocket that knows nothing of a proxy. It tells what it was sent, so that a test
# sees what reaches a server inside.
SERVER = textwrap.dedent("""
    import base64, hashlib, http.server, json, struct, sys, threading, time

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def log_message(self, *_):
            pass

        def answer(self, status, body, *headers):
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            if self.command != 'HEAD':
                self.wfile.write(body)

        def sent(self):
            if 'chunked' in self.headers.get('Transfer-Encoding', ''):
                body = b''
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body
            return self.rfile.read(int(self.headers.get('Content-Length', 0)))

        def serve(self):
            place = self.path.split('?')[0]
            if self.headers.get('Upgrade', '').lower() == 'websocket':
                return self.websocket()
            if place == '/large':
                return self.answer(200, bytes(range(256)) * (8 << 12))
            if place == '/away':
                return self.answer(302, b'', ('Location', '/login?next=1'))
            if place == '/cookie':
                return self.answer(200, b'', ('Set-Cookie', 'a=b'), ('X-Own', 'kept'))
            if place == '/missing':
                return self.answer(404, b'no such page')
            if place == '/nothing':
                self.send_response(204)
                return self.end_headers()
            if place == '/events':
                return self.events()
            if place in HOSTILE:
                self.wfile.write(HOSTILE[place])
                self.close_connection = True
                return None
            body = self.sent()
            told = {'method': self.command, 'path': self.path, 'headers': dict(self.headers.items()),
                    'length': len(body), 'sha256': hashlib.sha256(body).hexdigest()}
            return self.answer(200, json.dumps(told).encode(), ('Content-Type', 'application/json'))

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = serve

        def events(self):
            self.send_response(200)
            self.send_header('Content-Type', 'text/event-stream')
            self.end_headers()
            self.close_connection = True
            try:
                for number in range(1000):
                    self.wfile.write(f'data: {number}\\n\\n'.encode())
                    self.wfile.flush()
                    time.sleep(0.05)
            except OSError:
                open('/workspace/hung-up', 'w').close()

        def websocket(self):
            key = self.headers['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
            self.send_response(101)
            self.send_header('Upgrade', 'websocket')
            self.send_header('Connection', 'Upgrade')
            self.send_header('Sec-WebSocket-Accept',
                             base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
            self.end_headers()
            self.close_connection = True
            while head := self.rfile.read(2):
                size = head[1] & 127
                mask, text = self.rfile.read(4), self.rfile.read(size)
                text = bytes(byte ^ mask[i % 4] for i, byte in enumerate(text))
                if head[0] & 15 == 8:
                    return
                said = b'you said ' + text
                self.wfile.write(bytes([head[0], len(said)]) + said)
                self.wfile.flush()

    HOSTILE = {
        '/garbage': b'what do you want\\r\\n\\r\\n',
        '/two-lengths': b'HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\nab',
        '/huge-head': b'HTTP/1.1 200 OK\\r\\n' + b'X-Large: ' + b'x' * (1 << 20) + b'\\r\\n\\r\\n',
        '/unasked': b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: x\\r\\n\\r\\n',
        '/empty': b'',
        '/forged': b'HTTP/1.1 200 OK\\r\\nX-A: b\\rSet-Cookie: c=d\\r\\nContent-Length: 0\\r\\n\\r\\n',
    }

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(('127.0.0.1', int(sys.argv[1])), Handler)
    open('/workspace/ready', 'w').close()
    server.serve_forever()
""")

# Runs it in the background, and returns once it listens.
START = ("rm -f /workspace/ready; cat > /workspace/server.py; "
         "/usr/bin/python3 -I -S /workspace/server.py {port} </dev/null >/workspace/log 2>&1 & "
         "for i in $(seq 1000); do [ -e /workspace/ready ] && exit 0; sleep 0.02; done; "
         "cat /workspace/log; exit 1")


def start_words(port):
    return ["sh", "-c", START.format(port=port)]
