"""A service of agents that stands in: it runs each task as a thread, as many at once as it has slots.

usage: service.py SLOTS
"""
import http.server
import json
import sys
import threading

from scores import chat

SLOTS = int(sys.argv[1])
TASKS = {}
LOCK = threading.Lock()


def act(task):
    posted = task["posted"]
    try:
        chat(posted["base_url"], posted["api_key"], posted["input"]["messages"])
        with LOCK:
            task.update(status="succeeded", output={"reward": 1.0, "by": "the service"})
    except Exception as error:
        with LOCK:
            task.update(status="failed", error=str(error))


def running():
    return sum(task["status"] == "running" for task in TASKS.values())


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        posted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = posted["session_id"]
        with LOCK:
            if name not in TASKS:
                if running() >= SLOTS:
                    return self.answer(429, {})
                TASKS[name] = task = {"status": "running", "posted": posted}
                threading.Thread(target=act, args=[task], daemon=True).start()
        self.answer(202, {"id": name})

    def do_GET(self):
        with LOCK:
            if self.path == "/slots":
                return self.answer(200, {"total": SLOTS, "free": SLOTS - running()})
            task = TASKS.get(self.path.removeprefix("/tasks/"))
            if task is None:
                return self.answer(404, {})
            self.answer(200, {key: value for key, value in task.items() if key != "posted"})

    def do_DELETE(self):
        self.answer(202, {})

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
print(server.server_address[1], flush=True)
server.serve_forever()
