"""Structured logs: real loggers of JavaScript, Python and Go write JSON lines and key=value; what matters was planted."""
import json
import os

from data import Database
from scenario import Case, Missing, record_fact, row_fact, unknown

SIZES = {"ten": {"count": 10, "bad": 1}, "hundred": {"count": 120, "bad": 4}, "thousand": {"count": 1000, "bad": 8},
         "clean": {"count": 300, "bad": 0}, "late": {"count": 700, "bad": 3, "where": "end"},
         "failing": {"count": 400, "bad": 5, "status": 1}}


def events(project, count, bad, where="all"):
    """(level, message, fields) of each event; the planted ones are errors and warnings that occur once."""
    places = set(project.random.sample(range(count * 9 // 10 if where == "end" else 0, count), bad))
    services = [project.word(1) for _ in range(3)]
    found = []
    for index in range(count):
        if index in places:
            level = project.random.choice(["error", "error", "warn"])
            message = project.random.choice(["cannot reach {} in time", "{} refused the connection", "lost the lock of {}",
                                             "payload of {} is malformed"]).format(project.word())
            found.append((level, message, {"job": project.number(), "host": project.word()}))
            continue
        service = project.random.choice(services)
        found.append(project.random.choice([
            ("info", "request handled", {"service": service, "path": f"/items/{project.random.randint(1, 4000)}", "ms": project.random.randint(1, 90)}),
            ("info", "request handled", {"service": service, "path": f"/users/{project.random.randint(1, 4000)}", "ms": project.random.randint(1, 90)}),
            ("debug", "cache hit", {"service": service, "key": f"item:{project.random.randint(1, 4000)}"}),
            ("info", "batch finished", {"worker": project.random.randint(1, 8), "items": project.random.randint(10, 99)})]))
    return found


def planted(found):
    return [(message, fields) for level, message, fields in found if level in ("error", "warn")]


def log_case(project, command, found, message_key, status):
    """The case of a run: each planted event as a record, all of whose values stand together."""
    ran = project.run(command)
    assert ran.exit_code == status, ran.stderr[-500:]
    facts = [record_fact(**{message_key: message}, **fields) for message, fields in planted(found)]
    return Case("", command, ran, facts, is_plain_log=True)


JAVASCRIPT = {
    "pino": "const log = require('pino')({level: 'debug'});\nconst say = (level, text, fields) => log[level](fields, text);\n",
    "winston": "const winston = require('winston');\nconst log = winston.createLogger({level: 'debug', format: winston.format.combine("
               "winston.format.timestamp(), winston.format.json()), transports: [new winston.transports.Console()]});\n"
               "const say = (level, text, fields) => log.log(level, text, fields);\n",
    "bunyan": "const log = require('bunyan').createLogger({name: 'shop', level: 'debug'});\n"
              "const say = (level, text, fields) => log[level](fields, text);\n",
}


def register_javascript(name):
    @unknown(name, [f"js/node_modules/{name}"], SIZES)
    def capture(project, count, bad, where="all", status=0):
        found = events(project, count, bad, where)
        project.write("events.json", json.dumps(found))
        (project.directory / "node_modules").symlink_to("/srv/tools/js/node_modules")
        project.write("service.js", JAVASCRIPT[name] + "for (const [level, text, fields] of require('./events.json')) say(level, text, fields);\n"
                      f"process.exitCode = {status};\n")
        return log_case(project, "node service.js", found, "message" if name == "winston" else "msg", status)
    return capture


for one in JAVASCRIPT:
    register_javascript(one)

PYTHON = {
    "structlog": ("event", "import structlog\nstructlog.configure(processors=[structlog.processors.add_log_level, "
                  "structlog.processors.TimeStamper(fmt='iso'), structlog.processors.JSONRenderer()])\nlog = structlog.get_logger()\n"
                  "def say(level, text, fields):\n    getattr(log, 'warning' if level == 'warn' else level)(text, **fields)\n"),
    "structlog-keys": ("event", "import structlog\nstructlog.configure(processors=[structlog.processors.add_log_level, "
                       "structlog.processors.TimeStamper(fmt='iso'), structlog.processors.LogfmtRenderer(key_order=['timestamp', 'level', 'event'])])\n"
                       "log = structlog.get_logger()\n"
                       "def say(level, text, fields):\n    getattr(log, 'warning' if level == 'warn' else level)(text, **fields)\n"),
    "loguru": ("message", "import sys\nfrom loguru import logger\nlogger.remove()\nlogger.add(sys.stderr, serialize=True)\n"
               "def say(level, text, fields):\n    logger.bind(**fields).log({'warn': 'WARNING'}.get(level, level.upper()), text)\n"),
    "python-json-logger": ("message", "import logging, sys\nfrom pythonjsonlogger.json import JsonFormatter\nhandler = logging.StreamHandler(sys.stdout)\n"
                           "handler.setFormatter(JsonFormatter('%(asctime)s %(levelname)s %(name)s %(message)s'))\n"
                           "log = logging.getLogger('shop')\nlog.addHandler(handler)\nlog.setLevel('DEBUG')\n"
                           "def say(level, text, fields):\n    log.log(getattr(logging, {'warn': 'WARNING'}.get(level, level.upper())), text, extra=fields)\n"),
}


def register_python(name):
    key, head = PYTHON[name]
    sizes = SIZES if name != "loguru" else {size: SIZES[size] for size in ("ten", "hundred")}  # its lines are long

    @unknown(name, ["pybuild/bin/python"], sizes)
    def capture(project, count, bad, where="all", status=0):
        project.tools = "pybuild/bin"
        found = events(project, count, bad, where)
        project.write("events.json", json.dumps(found))
        project.write("service.py", head + "import json, sys\nfor one in json.load(open('events.json')):\n    say(*one)\n" + f"sys.exit({status})\n")
        return log_case(project, "python service.py", found, key, status)
    return capture


for one in PYTHON:
    register_python(one)

GO = {
    "slog": ("msg", "log/slog", "log := slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))\n"
             "levels := map[string]slog.Level{\"debug\": slog.LevelDebug, \"info\": slog.LevelInfo, \"warn\": slog.LevelWarn, \"error\": slog.LevelError}\n"
             "say := func(level, text string, fields []any) { log.Log(context.Background(), levels[level], text, fields...) }\n", ["context"]),
    "slog-text": ("msg", "log/slog", "log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))\n"
                  "levels := map[string]slog.Level{\"debug\": slog.LevelDebug, \"info\": slog.LevelInfo, \"warn\": slog.LevelWarn, \"error\": slog.LevelError}\n"
                  "say := func(level, text string, fields []any) { log.Log(context.Background(), levels[level], text, fields...) }\n", ["context"]),
    "zap": ("msg", "go.uber.org/zap", "config := zap.NewProductionConfig()\nconfig.Sampling = nil\nconfig.Level.SetLevel(zap.DebugLevel)\n"
            "base, _ := config.Build()\nlog := base.Sugar()\n"
            "say := func(level, text string, fields []any) { switch level { case \"debug\": log.Debugw(text, fields...); case \"info\": log.Infow(text, fields...)\n"
            "case \"warn\": log.Warnw(text, fields...); default: log.Errorw(text, fields...) } }\n_ = os.Stdout\n", []),
    "zerolog": ("message", "github.com/rs/zerolog", "log := zerolog.New(os.Stdout).With().Timestamp().Logger()\n"
                "say := func(level, text string, fields []any) { at, _ := zerolog.ParseLevel(level); log.WithLevel(at).Fields(fields).Msg(text) }\n", []),
    "logrus": ("msg", "github.com/sirupsen/logrus", "log := logrus.New()\nlog.SetLevel(logrus.DebugLevel)\nlog.SetOutput(os.Stdout)\n"
               "say := func(level, text string, fields []any) { at, _ := logrus.ParseLevel(level); data := logrus.Fields{}\n"
               "for i := 0; i < len(fields); i += 2 { data[fields[i].(string)] = fields[i+1] }\nlog.WithFields(data).Log(at, text) }\n", []),
}
GO_MAIN = """package main

import (
	"encoding/json"
	"os"
	{imports}
)

func main() {{
	{head}
	var events [][]any
	bytes, _ := os.ReadFile("events.json")
	if err := json.Unmarshal(bytes, &events); err != nil {{
		panic(err)
	}}
	for _, one := range events {{
		fields := []any{{}}
		for key, value := range one[2].(map[string]any) {{
			if number, ok := value.(float64); ok {{
				value = int(number)
			}}
			fields = append(fields, key, value)
		}}
		say(one[0].(string), one[1].(string), fields)
	}}
	os.Exit({status})
}}
"""


def register_go(name):
    key, module, head, more = GO[name]

    @unknown(name, ["go"], SIZES)
    def capture(project, count, bad, where="all", status=0):
        found = events(project, count, bad, where)
        project.write("events.json", json.dumps(found))
        project.write("go.mod", "module example.org/shop\n\ngo 1.23\n")
        project.write("main.go", GO_MAIN.format(imports="\n\t".join(f'"{one}"' for one in [module, *more]), head=head, status=status))
        settings = {"GOPROXY": os.environ.get("GOPROXY", ""), "GOFLAGS": "-mod=mod", "GOCACHE": "/srv/tools/go-cache", "GOMODCACHE": "/srv/tools/go-modules"}
        built = project.run("go mod tidy && go build -o shop .", settings)
        if built.exit_code:
            raise Missing(f"{module}: {built.stderr[-200:]!r}")
        return log_case(project, "./shop", found, key, status)
    return capture


for one in GO:
    register_go(one)


@unknown("nginx", ["nginx"], {"hundred": {"count": 120, "bad": 3}, "thousand": {"count": 900, "bad": 6}})
def nginx(project, count, bad):
    """The access log of a real server: what was not found and what failed is planted among what was served."""
    port = 18431
    for page in range(6):
        project.write(f"site/page{page}.html", "x" * project.random.randint(10, 900))
    project.write("nginx.conf", f"""daemon off;
pid {project.directory}/pid;
error_log stderr;
events {{}}
http {{
  access_log /dev/stdout combined;
  server {{
    listen 127.0.0.1:{port};
    root {project.directory}/site;
    location /broken/ {{ return 503; }}
  }}
}}
""")
    places, facts, paths = set(project.random.sample(range(count), bad)), [], []
    for index in range(count):
        if index in places:
            path = f"/broken/{project.word()}"
            facts.append(row_fact(f"GET {path}", "503"))
            paths.append(path)
        else:
            paths.append(f"/page{project.random.randint(0, 5)}.html")
    project.write("ask.py", f"import http.client\nfor path in {paths!r}:\n    c = http.client.HTTPConnection('127.0.0.1', {port})\n"
                  "    c.request('GET', path)\n    c.getresponse().read()\n    c.close()\n")
    ran = project.run("nginx -c $PWD/nginx.conf -e stderr & sleep 1; python3 ask.py; sleep 0.3; kill $!; wait")
    return Case("", "docker logs web", ran, facts, is_plain_log=True)


@unknown("postgres-log", ["psql", "runuser"], {"hundred": {"count": 60, "bad": 3}, "thousand": {"count": 500, "bad": 6}})
def postgres_log(project, count, bad):
    """The log of a real server that logs every statement; statements that fail are planted."""
    with Database(project, "-c log_statement=all -c log_min_duration_statement=0") as database:
        places, facts, lines = set(project.random.sample(range(count), bad)), [], []
        lines.append("create table items (id int primary key, name text);")
        for index in range(count):
            if index in places:
                name = project.word()
                lines.append(f"select {name} from items;")
                facts.append(row_fact("ERROR", name))
                facts.append(row_fact(["STATEMENT", "LINE"], f"select {name} from items"))
            else:
                lines.append(f"insert into items values ({project.number()}, '{project.word(1)}');")
        database.psql("\n".join(lines))
        text = database.log()
    project.write("server.log", text)
    ran = project.run("cat server.log")
    return Case("", "docker logs db", ran, facts, is_plain_log=True)
