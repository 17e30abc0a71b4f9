"""Tool calls through the program, for the suites that make many of them."""
import json

from support import call, expect, sandbox


class Sandbox:
    """Tool calls on one sandbox."""

    def __init__(self, identifier):
        self.id = identifier

    def run(self, tool, /, *flags, given=None, **arguments):
        words = () if given is not None else (json.dumps(arguments),)
        return call("tool", "call", tool, "-s", self.id, *flags, *words, given=given)

    def text(self, tool, /, *flags, **arguments):
        ended = self.run(tool, *flags, **arguments)
        expect(ended.status == 0, f"{tool} {str(arguments)[:100]}: {ended!r}")
        return ended.stdout.decode().rstrip("\n")

    def object(self, tool, /, *flags, **arguments):
        return json.loads(self.run(tool, "--json", *flags, **arguments).stdout)

    def error(self, code, tool, /, *flags, **arguments):
        ended = self.run(tool, *flags, **arguments)
        told = ended.stdout.decode()
        expect(ended.status == 65 and told.startswith(code + ": "),
               f"{tool} {str(arguments)[:100]}: wanted {code}, got {ended!r}")
        return told

    def shell(self, script):
        return call("exec", self.id, "--", "sh", "-c", script)


def fresh(suite, *flags):
    """Makes a case of a function that takes a sandbox of its own."""
    def decorate(function):
        def case():
            with sandbox(*flags) as identifier:
                function(Sandbox(identifier))
        case.__name__ = function.__name__
        suite.case(case)
        return case
    return decorate
