#!/usr/bin/env python3
"""Requests inside TLS that the host reads: rules on methods and paths, attacks on them, and secrets that
requests get on the host. It needs names and addresses of its own (world.py), and so root.
"""
import base64
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import relay_client
from support import (PYTHON, Failed, Skip, Suite, call, call_json, expect, expect_equal, expect_refusal,
                     read_line, runtime_directory, sandbox, start)
from world import DOMAIN, OTHER, World

suite = Suite()
world = None
trouble = ""
SITE = f"good.{DOMAIN}"
FOREIGN = f"other.{DOMAIN}"
PUBLIC = f"GET,POST https://{SITE}/public/*"
VALUE = "swordfish-0123456789"

# Prints the first line of the answer to each request, which comes as hexadecimal digits.
RAW = """
import re, socket, ssl, sys
context = ssl.create_default_context()
for text in sys.argv[2:]:
    with socket.create_connection((sys.argv[1], 443), 30) as plain:
        with context.wrap_socket(plain, server_hostname=sys.argv[1]) as server:
            server.settimeout(60)
            answer = b''
            try:
                server.sendall(bytes.fromhex(text))
                while part := server.recv(65536):
                    answer += part
            except OSError:
                pass
            print(' '.join(re.findall('HTTP/1.1 ([0-9]+)', answer.decode())) or 'nothing')
"""


def needs_world():
    if trouble:
        raise Failed(trouble)
    if world is None:
        raise Skip("names and addresses of our own need root, for a network namespace")
    world.reached()
    world.requests()


def allowing(*rules):
    return [word for rule in rules for word in ("--allow", rule)]


def inspecting(*rules):
    return ["--inspect", *allowing(*rules)]


def curl(*words, rules, flags=()):
    """Runs curl inside with a host that reads requests."""
    return call_json("run", *inspecting(*rules), *flags, "--", "curl", "-sS", "--max-time", "60", *words)


def paths():
    return [path for _, path, _, _ in world.requests()]


def raw(*requests, rules=(PUBLIC,)):
    """The statuses of the answers to each of these bytes, sent over one connection each."""
    words = [request.encode("latin-1").hex() for request in requests]
    done = call_json("run", *inspecting(*rules), "--", *PYTHON, RAW, SITE, *words)
    statuses = done["stdout"].splitlines()
    expect_equal(len(statuses), len(requests), f"answers, {done['stderr'][-300:]!r}")
    return statuses


# Rules on requests ------------------------------------------------------------------------------

@suite.case
def rules_on_methods_and_paths_hold_over_tls():
    needs_world()
    done = curl(f"https://{SITE}/public/a", rules=[PUBLIC])
    expect(done["stdout"].endswith(f"{SITE} /public/a\n"), f"an allowed request: {done}")
    expect_equal(paths(), ["/public/a"], "requests that reached the server")
    for words in ((f"https://{SITE}/private",), ("-X", "DELETE", f"https://{SITE}/public/a"),
                  ("-X", "PUT", "--data", "x", f"https://{SITE}/public/a"), (f"https://{SITE}/public",)):
        done = curl("-w", "%{http_code}", *words, rules=[PUBLIC])
        expect(done["stdout"].endswith("403"), f"{words}: {done}")
        expect("nutshell: " in done["stdout"] and "is not allowed; allowed are" in done["stdout"], f"{words}: {done}")
        expect(any(f"https://{SITE}:443/p" in reason for reason in done.get("refused_connections", [])), f"{done}")
    expect_equal(paths(), [], "requests that reached the server")


@suite.case
def rules_on_methods_and_paths_hold_without_tls():
    needs_world()
    rule = f"GET http://{SITE}/public/*"
    done = call_json("run", *allowing(rule), "--", "curl", "-sS", f"http://{SITE}/public/a", f"http://{SITE}/private")
    expect("/public/a" in done["stdout"] and f"http://{SITE}:80/private is not allowed" in done["stdout"], f"{done}")
    expect_equal(paths(), ["/public/a"], "requests that reached the server")


@suite.case
def a_request_is_told_with_its_method_and_path():
    needs_world()
    with sandbox(*inspecting(PUBLIC)) as made:
        call_json("exec", made, "--", "curl", "-sS", f"https://{SITE}/private?key=1")
        refused = [event for event in relay_client.events(made) if event["kind"] == "refused"]
        told = [(event["method"], event["path"], event["host"], event["port"]) for event in refused]
        expect_equal(told, [("GET", "/private", SITE, 443)], "the refusal")


@suite.case
def a_new_policy_ends_connections_that_are_read():
    needs_world()
    code = f"""
    import http.client
    server = http.client.HTTPSConnection("{SITE}", timeout=60)
    def ask():
        server.request("GET", "/public/a")
        answer = server.getresponse()
        answer.read()
        return answer.status
    print(ask(), flush=True)
    input()
    try:
        print(ask(), flush=True)
    except (ConnectionError, http.client.HTTPException):
        server.close()
        print("cut", ask(), flush=True)
    """
    with sandbox(*inspecting(PUBLIC)) as made:
        asking = start("exec", "-i", made, "--", *PYTHON, textwrap.dedent(code), stdin=subprocess.PIPE)
        expect_equal(read_line(asking), b"200\n", "before")
        message, _ = relay_client.set_policy(made, allow=[f"GET https://{SITE}/else/*"], tls="inspect")
        expect_equal(message, "", "the new policy")
        asking.stdin.write(b"\n")
        asking.stdin.flush()
        expect_equal(read_line(asking), b"cut 403\n", "afterwards")
        asking.communicate(timeout=60)
    expect_equal(paths(), ["/public/a"], "requests that reached the server")


@suite.case
def a_sandbox_without_inspection_gets_none_later():
    needs_world()
    with sandbox(*allowing(SITE)) as made:
        message, _ = relay_client.set_policy(made, allow=[SITE], tls="inspect")
        expect("started without inspection" in message, f"{message!r}")


@suite.case
def flags_that_would_read_nothing_are_refused():
    expect_refusal(call("run", "--inspect", "--", "true"), "--allow HOST")
    expect_refusal(call("run", "--inspect", "--network", "unsafe-full", "--", "true"), "--allow HOST")
    expect_refusal(call("run", "--allow", f"GET https://{SITE}/x", "--", "true"), "--inspect")


# Trust ------------------------------------------------------------------------------------------

@suite.case
def clients_trust_the_authority_of_their_sandbox():
    needs_world()
    source = world.scratch / "files/repository"
    if not source.exists():
        source.parent.mkdir(exist_ok=True)
        work = source.parent / "work"
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.test")
        for words in (("init", "-q", str(work)),
                      ("-C", str(work), *identity, "commit", "-q", "--allow-empty", "-m", "first"),
                      ("clone", "-q", "--bare", str(work), str(source)), ("-C", str(source), "update-server-info")):
            subprocess.run(["git", *words], check=True, stdin=subprocess.DEVNULL)
        subprocess.run(["chmod", "-R", "a+rX", str(source)], check=True)
    url = f"https://{SITE}/public/a"
    java = f"""
    import java.net.URI;
    import java.net.http.*;
    class Fetch {{
      public static void main(String[] words) throws Exception {{
        var request = HttpRequest.newBuilder(URI.create("{url}")).build();
        System.out.print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
      }}
    }}
    """
    wanted = f"{SITE} /public/a\n"
    clients = {
        "python3": ([*PYTHON, f"import urllib.request as r; print(r.urlopen('{url}', timeout=60).read().decode(), end='')"],
                    wanted),
        "curl": (["curl", "-sS", url], wanted),
        "wget": (["wget", "-q", "-O-", url], wanted),
        "git": (["sh", "-c", f"git clone -q https://{SITE}/files/repository copy && git -C copy log --format=%s"],
                "first\n"),
        "openssl": (["sh", "-c", f"openssl s_client -connect {SITE}:443 -servername {SITE} -verify_return_error "
                     "</dev/null 2>/dev/null | grep 'Verify return code'"], "(ok)\n"),
        "node": (["node", "-e", f"fetch('{url}').then(a => a.text()).then(t => process.stdout.write(t))"], wanted),
        "java": (["sh", "-c", f"cat > Fetch.java <<'END'\n{textwrap.dedent(java)}END\njava Fetch.java"], wanted),
    }
    left_out = []
    for name, (words, end) in clients.items():
        program = "javac" if name == "java" else name  # a bare runtime compiles no program
        probe = call_json("run", "--", "sh", "-c", f"command -v {program}")
        if shutil.which(program) is None or probe["status"] != 0:
            left_out.append(name)
            continue
        done = call_json("run", "--memory", "1g", "--processes", "256", "--timeout", "5m", *inspecting(SITE), "--",
                         *words, seconds=400)
        expect(done["stdout"].endswith(end), f"{name}: {done['stdout'][-200:]!r} {done['stderr'][-600:]!r}")
    expect({"python3", "curl", "git"}.isdisjoint(left_out), f"not tried: {left_out}")


@suite.case
def the_key_of_the_authority_stays_on_the_host():
    needs_world()
    script = "cat /tmp/.nutshell-trust/* | grep -a -c 'PRIVATE KEY'; openssl x509 -noout -subject " \
             "-in /tmp/.nutshell-trust/authority.pem"
    seen = set()
    for _ in range(2):
        done = call_json("run", *inspecting(SITE), "--", "sh", "-c", script)
        count, subject = done["stdout"].splitlines()
        expect_equal(count, "0", "private keys in the sandbox")
        expect("Nutshell sandbox" in subject, f"{subject!r}")
        seen.add(subject)
    expect_equal(len(seen), 2, "authorities of two sandboxes")


@suite.case
def the_host_checks_the_certificates_of_servers():
    needs_world()
    done = curl("-k", "-w", "%{http_code}", f"https://untrusted.{DOMAIN}:8443/",
                rules=[f"untrusted.{DOMAIN}:8443"])
    expect(done["stdout"].endswith("502") and "certificate" in done["stdout"], f"{done}")
    expect_equal(world.untrusted.requests, [], "requests that reached the server")


@suite.case
def the_authorities_of_the_hosts_servers_can_be_named():
    needs_world()
    words = ["run", *inspecting(SITE), "--", "curl", "-sS", "-w", "%{http_code}", f"https://{SITE}/public/a"]
    other = os.environ | {"SSL_CERT_FILE": str(world.scratch / "untrusted.pem")}
    done = call(*words, env=other)
    expect(done.stdout.endswith(b"502"), f"with a list that lacks the server's authority: {done!r}")
    done = call(*words, env=os.environ | {"SSL_CERT_FILE": str(world.authority)})
    expect(done.stdout.endswith(b"200"), f"with the list that has it: {done!r}")
    done = call(*words, env=os.environ | {"SSL_CERT_FILE": "/no/such/list"})
    expect_refusal(done, "/no/such/list")


# Attacks ----------------------------------------------------------------------------------------

@suite.case
def smuggled_requests_reach_nobody():
    needs_world()
    head = f"Host: {SITE}\r\nConnection: close\r\n"
    hidden = f"GET /private HTTP/1.1\r\nHost: {SITE}\r\n\r\n"
    attacks = {
        "two framings": f"POST /public/x HTTP/1.1\r\n{head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
                        f"0\r\n\r\n{hidden}",
        "two lengths": f"POST /public/x HTTP/1.1\r\n{head}Content-Length: 0\r\nContent-Length: {len(hidden)}\r\n\r\n"
                       + hidden,
        "a list of lengths": f"POST /public/x HTTP/1.1\r\n{head}Content-Length: 0, 5\r\n\r\n{hidden}",
        "a signed length": f"POST /public/x HTTP/1.1\r\n{head}Content-Length: +5\r\n\r\nabcde",
        "an unknown coding": f"POST /public/x HTTP/1.1\r\n{head}Transfer-Encoding: xchunked\r\n\r\n{hidden}",
        "a coding after chunked": f"POST /public/x HTTP/1.1\r\n{head}Transfer-Encoding: chunked, identity\r\n\r\n"
                                  f"0\r\n\r\n{hidden}",
        "a space before the colon": f"POST /public/x HTTP/1.1\r\n{head}Transfer-Encoding : chunked\r\n\r\n"
                                    f"0\r\n\r\n{hidden}",
        "a folded line": f"POST /public/x HTTP/1.1\r\n{head}X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
        "a bare line feed": f"GET /public/x HTTP/1.1\nHost: {SITE}\n\n{hidden}",
        "a bare line feed in a field": f"GET /public/x HTTP/1.1\r\nX: a\nY: b\r\n{head}\r\n",
        "a zero byte": f"GET /public/x HTTP/1.1\r\nX: a\0b\r\n{head}\r\n",
        "a chunk of a strange size": f"POST /public/x HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n"
                                     f"0x1\r\na\r\n0\r\n\r\n{hidden}",
        "a version of its own": f"GET /public/x HTTP/3.0\r\n{head}\r\n",
        "HTTP/2 begun unasked": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "no host": "GET /public/x HTTP/1.1\r\nConnection: close\r\n\r\n",
        "two hosts": f"GET /public/x HTTP/1.1\r\nHost: {FOREIGN}\r\n{head}\r\n",
    }
    for (name, _), status in zip(attacks.items(), raw(*attacks.values())):
        expect(status[:1] in ("4", "5"), f"{name}: {status}")
    reached = paths()
    expect("/private" not in reached, f"requests that reached the server: {reached}")


@suite.case
def a_request_in_a_body_stays_a_body():
    needs_world()
    hidden = f"GET /private HTTP/1.1\r\nHost: {SITE}\r\n\r\n"
    head = f"Host: {SITE}\r\nConnection: close\r\n"
    statuses = raw(f"POST /public/x HTTP/1.1\r\n{head}Content-Length: {len(hidden)}\r\n\r\n{hidden}",
                   f"GET /public/a HTTP/1.1\r\nHost: {SITE}\r\n\r\nGET /private HTTP/1.1\r\n{head}\r\n")
    expect_equal(statuses, ["200", "200 403"], "answers")
    got = [(method, path, body) for method, path, _, body in world.requests()]
    expect_equal(got, [("POST", "/public/x", hidden.encode()), ("GET", "/public/a", b"")], "requests")


@suite.case
def another_host_is_not_reached_through_an_allowed_one():
    needs_world()
    head = "Connection: close\r\n\r\n"
    attacks = [f"GET /public/x HTTP/1.1\r\nHost: {FOREIGN}\r\n{head}",
               f"GET https://{FOREIGN}/public/x HTTP/1.1\r\nHost: {SITE}\r\n{head}",
               f"GET https://{SITE}@{FOREIGN}/public/x HTTP/1.1\r\nHost: {SITE}\r\n{head}",
               f"GET http://{SITE}/public/x HTTP/1.1\r\nHost: {SITE}\r\n{head}",
               f"GET /public/x HTTP/1.1\r\nHost: {SITE}:8443\r\n{head}",
               f"GET /public/x HTTP/1.1\r\nHost: {SITE}.{FOREIGN}\r\n{head}",
               f"CONNECT {FOREIGN}:443 HTTP/1.1\r\nHost: {FOREIGN}:443\r\n\r\n",
               f"CONNECT {SITE}:443 HTTP/1.1\r\nHost: {SITE}:443\r\n\r\n"]
    for attack, status in zip(attacks, raw(*attacks, rules=(PUBLIC, FOREIGN))):
        expect(status[:1] == "4", f"{attack!r}: {status}")
    # The name in TLS is not the one that led to the address.
    done = curl("-k", "--connect-to", f"{FOREIGN}:443:{SITE}:443", f"https://{FOREIGN}/public/x", rules=[PUBLIC])
    expect(done["exit_code"] != 0, f"{done}")
    done = curl("-k", "--resolve", f"{SITE}:443:{OTHER}", f"https://{SITE}/public/x", rules=[PUBLIC])
    expect(done["exit_code"] != 0, f"{done}")
    expect_equal(world.reached(), [], "servers that were reached")


@suite.case
def other_forms_of_a_path_reach_nothing_else():
    needs_world()
    targets = ["/public/../private", "/public/%2e%2e/private", "/public/..%2fprivate", "/public/..%5cprivate",
               "/public/..;/private", "/public/./../private", "//public/../private", "/public/%2e%2e%2fprivate",
               "/PUBLIC/x", "/public%2fx", "/publicity", "/%70ublic/x", "/public/%252e%252e/private", "/public//x",
               "public/x", "*"]
    requests = [f"GET {target} HTTP/1.1\r\nHost: {SITE}\r\nConnection: close\r\n\r\n" for target in targets]
    for target, status in zip(targets, raw(*requests)):
        expect(status in ("400", "403"), f"{target}: {status}")
    expect_equal(paths(), [], "requests that reached the server")


@suite.case
def a_redirect_leads_only_where_rules_do():
    needs_world()
    for target in (f"https://{FOREIGN}/x", "http://169.254.169.254/latest", "http://10.9.8.7/", "http://127.0.0.1:53/",
                   f"https://{SITE}/private"):
        done = curl("-L", "-w", "%{http_code}", f"https://{SITE}/redirect?{target}",
                    rules=[f"GET https://{SITE}/redirect", PUBLIC])
        expect(done["exit_code"] != 0 or done["stdout"].endswith("403"), f"{target}: {done}")
        expect_equal([path.partition("?")[0] for path in paths()], ["/redirect"], f"requests after {target}")


# Secrets ----------------------------------------------------------------------------------------

def secret_flags(*more, host=SITE):
    return ["--secret", ",".join((f"TOKEN=@env:NUTSHELL_TEST_TOKEN,host={host}", *more))]


def last_headers():
    """Path, headers and body of the last request that a server got."""
    _, path, headers, body = world.requests()[-1]
    return path, headers, body


@suite.case
def a_request_gets_its_secret_on_the_host():
    needs_world()
    script = f'printf "%s\\n" "$TOKEN"; curl -sS -H "Authorization: Bearer $TOKEN" -H "X-Api-Key: $TOKEN" https://{SITE}/echo'
    done = call_json("run", *inspecting(SITE), *secret_flags(), "--", "sh", "-c", script)
    placeholder = done["stdout"].splitlines()[0]
    expect(placeholder.startswith("nutshell_TOKEN_") and len(placeholder) > 40, f"{placeholder!r}")
    expect(f"Authorization: Bearer {placeholder}" in done["stdout"], f"what an echo shows: {done['stdout']!r}")
    expect(VALUE not in str(done), f"the value comes back: {done}")
    _, headers, _ = last_headers()
    expect(f"Authorization: Bearer {VALUE}\n" in headers and f"X-Api-Key: {VALUE}\n" in headers, f"{headers!r}")
    expect(placeholder not in headers, f"{headers!r}")


@suite.case
def credentials_for_basic_authentication_hold_a_secret():
    needs_world()
    script = f'curl -sS -u "user:$TOKEN" https://{SITE}/echo'
    done = call_json("run", *inspecting(SITE), *secret_flags(), "--", "sh", "-c", script)
    _, headers, _ = last_headers()
    expect(base64.b64encode(f"user:{VALUE}".encode()).decode() in headers, f"{headers!r}")
    expect(base64.b64encode(f"user:{VALUE}".encode()).decode() not in done["stdout"], f"{done}")


@suite.case
def a_secret_goes_to_its_own_host_over_tls_only():
    needs_world()
    script = f"""
    curl -sS -H "X-Api-Key: $TOKEN" https://{FOREIGN}/echo >/dev/null
    curl -sS -H "X-Api-Key: $TOKEN" http://{SITE}/echo >/dev/null
    curl -sS -L -H "X-Api-Key: $TOKEN" 'https://{SITE}/redirect?https://{FOREIGN}/echo' >/dev/null
    curl -sS "https://{SITE}/$TOKEN?$TOKEN" --data "$TOKEN" >/dev/null
    """
    done = call_json("run", *inspecting(SITE, FOREIGN), *secret_flags(), "--", "sh", "-c", textwrap.dedent(script))
    expect_equal(done["status"], 0, f"the script, {done}")
    got = [(path, VALUE in headers, VALUE in path, VALUE.encode() in body)
           for _, path, headers, body in world.requests()]
    expect_equal([(path.partition("?")[0][:10], *rest) for path, *rest in got if any(rest)],
                 [("/redirect", True, False, False)], "requests that got the value")
    expect_equal(len(got), 5, "requests")


@suite.case
def a_value_goes_into_credentials_only():
    """A sandbox chooses its headers: what a server repeats from others, or cuts, must not be a value."""
    needs_world()
    script = f'''
    curl -sS -H "X-Other: $TOKEN" -H "Authorization: $(printf %070d 0)$TOKEN" https://{SITE}/echo
    curl -sS -u "???:$TOKEN" https://{SITE}/echo
    '''
    done = call_json("run", *inspecting(SITE), *secret_flags(), "--", "sh", "-c", script)
    expect_equal(done["status"], 0, f"the script, {done}")
    got = [headers for _, _, headers, _ in world.requests()]
    expect(len(got) == 2 and VALUE not in str(got), f"{got!r}")
    credentials = base64.b64decode(got[1].partition("Basic ")[2].split()[0])
    expect(credentials.startswith(b"???:nutshell_TOKEN_"), f"{credentials!r}")


@suite.case
def a_new_policy_takes_secrets_back_and_gives_no_known_value_away():
    needs_world()
    secret = {"name": "TOKEN", "hosts": [SITE]}
    ask = f'curl -sS -H "X-Api-Key: $TOKEN" https://{SITE}/echo; curl -sS -H "X-Api-Key: $TOKEN" https://{FOREIGN}/echo'
    with sandbox(*inspecting(SITE, FOREIGN), *secret_flags()) as made:
        for wider in ({**secret, "hosts": [SITE, FOREIGN]}, {**secret, "query": 1}, {**secret, "body": 1}):
            message, _ = relay_client.set_policy(made, allow=[SITE, FOREIGN], tls="inspect", secrets=[wider])
            expect("give its value again" in message, f"{wider}: {message!r}")
        for secrets, values in (([secret], 1), ([], 0)):
            message, _ = relay_client.set_policy(made, allow=[SITE, FOREIGN], tls="inspect", secrets=secrets)
            expect_equal(message, "", "the new policy")
            world.requests()
            call_json("exec", made, "--", "sh", "-c", ask)
            got = [headers for _, _, headers, _ in world.requests()]
            expect_equal((len(got), sum(VALUE in headers for headers in got)), (2, values), "requests, and values in them")


@suite.case
def a_secret_goes_into_queries_and_bodies_on_request():
    needs_world()
    script = f"""curl -sS "https://{SITE}/echo?key=$TOKEN" --json "{{\\"key\\": \\"$TOKEN\\"}}" """
    done = call_json("run", *inspecting(SITE), *secret_flags("in=query", "in=body"), "--", "sh", "-c", script)
    path, _, body = last_headers()
    expect_equal((path, body), (f"/echo?key={VALUE}", f'{{"key": "{VALUE}"}}'.encode()), "the request")
    expect(VALUE not in done["stdout"], f"{done}")


@suite.case
def a_secret_is_nowhere_in_the_sandbox_nor_on_record():
    needs_world()
    needle = VALUE[:9] + "[-]" + VALUE[10:]  # not its own command line
    search = f"cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -a -c '{needle}'; " \
             f"grep -r -a -l '{needle}' /tmp /workspace /run /etc 2>/dev/null | wc -l; env | grep -c '{needle}'"
    with sandbox(*inspecting(SITE), *secret_flags()) as made:
        call_json("exec", made, "--", "sh", "-c", f'curl -sS -H "X-Api-Key: $TOKEN" https://{SITE}/echo > /workspace/answer')
        done = call_json("exec", made, "--", "sh", "-c", search)
        expect_equal(done["stdout"].split(), ["0", "0", "0"], "places that hold the value")
        expect(VALUE not in str(relay_client.events(made)), "the events hold the value")
        status = relay_client.ask_raw(made, relay_client.question(relay_client.STATUS))
        expect(b"TOKEN" in status and VALUE.encode() not in status, f"the status: {status!r}")
        shown = call("list", "--json").stdout + call("info", made, "--json").stdout
        expect(VALUE.encode() not in shown, "lists hold the value")
        for place in (*runtime_directory().rglob("*"),):
            if place.is_file():
                expect(VALUE.encode() not in place.read_bytes(), f"{place} holds the value")
        for process in Path("/proc").glob("[0-9]*"):
            words = (process / "cmdline").read_bytes() if (process / "cmdline").exists() else b""
            expect(VALUE.encode() not in words, f"{process} shows the value: {words[:100]!r}")
    expect(VALUE in world.requests()[-1][2], "the request did not get it")


@suite.case
def bad_secrets_are_refused():
    for words, why in (((f"TOKEN={VALUE},host={SITE}",), "@env:VARIABLE"),
                       (("TOKEN=@env:NUTSHELL_NOT_SET,host=a.test",), "is not set here"),
                       (("TOKEN=@env:NUTSHELL_TEST_TOKEN",), "names no host"),
                       (("TO KEN=@env:NUTSHELL_TEST_TOKEN,host=a.test",), "is not the name of a variable"),
                       (("TOKEN=@env:NUTSHELL_TEST_SHORT,host=a.test",), "shorter than"),
                       (("TOKEN=@env:NUTSHELL_TEST_TOKEN,host=*",), "secret TOKEN"),
                       (("TOKEN=@env:NUTSHELL_TEST_TOKEN,host=*.com",), "every host of a top-level domain"),
                       (("TOKEN=@env:NUTSHELL_TEST_TOKEN,host=10.0.0.0/8",), "an address")):
        done = call("run", *inspecting(SITE), "--secret", *words, "--", "true")
        expect_refusal(done, why)
        expect(VALUE.encode() not in done.stderr, f"{done!r}")
    expect_refusal(call("run", *allowing(SITE), *secret_flags(), "--", "true"), "--inspect")


def main():
    global world, trouble
    os.environ["NUTSHELL_TEST_TOKEN"] = VALUE
    os.environ["NUTSHELL_TEST_SHORT"] = "abc"
    if os.geteuid() == 0:
        try:
            world = World()
            world.trust_authority()
            world.add_untrusted()
        except (OSError, subprocess.CalledProcessError) as error:
            trouble = f"no network of our own: {error}"
    try:
        return suite.run()
    finally:
        if world:
            world.close()


if __name__ == "__main__":
    sys.exit(main())
