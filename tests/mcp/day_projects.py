"""Small real projects, one for each language: what a user has, and what an agent does to it in a day."""
import shutil
from dataclasses import dataclass, field


@dataclass
class Project:
    """A project whose test fails until `fix` is made in `source`."""
    name: str
    programs: tuple            # that the machine must have
    files: dict                # path and text
    source: str                # the file with the fault
    wrong: tuple               # (old, new): an edit that does not help
    fix: tuple                 # (old, new): the edit that does
    test: str                  # the command that builds and tests
    failing: str               # what its failure shows
    passing: str               # what its success shows
    extra: tuple               # (path, text): a file that the agent adds in the afternoon
    ignored: str = ""          # .gitignore
    leaves: tuple = ()         # what the build makes and git ignores
    prepare: tuple = ()        # commands on the host, before the day begins
    flags: tuple = field(default=())  # of the server

    def missing(self):
        return [program for program in self.programs if not shutil.which(program)]


GO = Project(
    name="go", programs=("go",),
    files={"go.mod": "module example.org/sums\n\ngo 1.18\n",
           "sums/sums.go": "package sums\n\nfunc Sum(values []int) int {\n\ttotal := 1\n\tfor _, value := range values {\n"
                           "\t\ttotal += value\n\t}\n\treturn total\n}\n",
           "sums/sums_test.go": "package sums\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n"
                                "\tif got := Sum([]int{1, 2, 3}); got != 6 {\n\t\tt.Fatalf(\"Sum is %d, not 6\", got)\n"
                                "\t}\n}\n",
           "main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/sums/sums\"\n)\n\nfunc main() {\n"
                      "\tfmt.Println(sums.Sum([]int{1, 2}))\n}\n"},
    source="sums/sums.go", wrong=("return total", "return total + 1"), fix=("total := 1", "total := 0"),
    test="go build -o bin/sums . && go test ./...", failing="Sum is", passing="ok",
    extra=("sums/doc.go", "// Package sums adds numbers.\npackage sums\n"), ignored="/bin/\n", leaves=("bin/",))

NODE = Project(
    name="node", programs=("node", "npm"),
    files={"package.json": '{\n  "name": "words",\n  "version": "1.0.0",\n  "type": "module",\n'
                           '  "scripts": {"build": "mkdir -p dist && cp words.js dist/", "test": "node test.js"}\n}\n',
           "words.js": "export function count(text) {\n  return text.split(\" \").length;\n}\n",
           "test.js": "import assert from 'node:assert';\nimport { count } from './words.js';\n"
                      "assert.strictEqual(count('one  two'), 2, 'two blanks count once');\nconsole.log('all passed');\n"},
    source="words.js", wrong=('split(" ")', 'split("")'), fix=('split(" ")', "split(/ +/)"),
    test="npm run build --silent && npm test --silent", failing="two blanks count once", passing="all passed",
    extra=("lines.js", "export const lines = (text) => text.split('\\n').length;\n"),
    ignored="node_modules/\ndist/\n", leaves=("dist/",))

PYTHON = Project(
    name="python", programs=("python3",),
    files={"shop/__init__.py": "", "shop/prices.py": "def total(prices):\n    return sum(prices) + 1\n",
           "tests/__init__.py": "", "tests/test_prices.py": "import unittest\n\nfrom shop.prices import total\n\n\nclass Prices(unittest.TestCase):\n"
                                   "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n\n\n"
                                   "if __name__ == '__main__':\n    unittest.main()\n"},
    source="shop/prices.py", wrong=("+ 1", "+ 2"), fix=(" + 1", ""),
    test=".venv/bin/python -m unittest discover -s tests -t .", failing="AssertionError", passing="OK",
    extra=("shop/vat.py", "VAT = 0.19\n"), ignored=".venv/\n__pycache__/\n",
    leaves=("shop/__pycache__/", "tests/__pycache__/"), prepare=(("python3", "-m", "venv", ".venv"),))

RUST = Project(
    name="rust", programs=("cargo", "rustc"),
    files={"Cargo.toml": '[package]\nname = "area"\nversion = "0.1.0"\nedition = "2018"\n\n[dependencies]\n',
           "src/lib.rs": "pub fn area(width: u32, height: u32) -> u32 {\n    width + height\n}\n\n#[test]\n"
                         "fn area_is_a_product() {\n    assert_eq!(area(3, 4), 12, \"three by four\");\n}\n"},
    source="src/lib.rs", wrong=("width + height", "width - height"), fix=("width + height", "width * height"),
    test="cargo test --offline", failing="three by four", passing="1 passed",
    extra=("README.md", "# area\n"), ignored="/target/\n", leaves=("target/",),
    prepare=(("cargo", "generate-lockfile", "--offline"),))

JAVA = Project(
    name="java", programs=("javac", "java"),
    files={"src/Upper.java": "final class Upper {\n  static String of(String text) {\n    return text.toLowerCase();\n  }\n}\n",
           "test/UpperTest.java": "final class UpperTest {\n  public static void main(String[] args) {\n"
                                  "    String found = Upper.of(\"abc\");\n    if (!found.equals(\"ABC\")) {\n"
                                  "      throw new AssertionError(\"found \" + found);\n    }\n"
                                  "    System.out.println(\"all passed\");\n  }\n}\n"},
    source="src/Upper.java", wrong=("toLowerCase", "trim"), fix=("toLowerCase", "toUpperCase"),
    test="javac -d build src/*.java test/*.java && java -cp build UpperTest", failing="found abc", passing="all passed",
    extra=("src/Lower.java", "final class Lower {}\n"), ignored="build/\n", leaves=("build/",))

CPP = Project(
    name="cpp", programs=("cmake", "c++", "make"),
    files={"CMakeLists.txt": "cmake_minimum_required(VERSION 3.16)\nproject(clamp CXX)\nenable_testing()\n"
                             "add_executable(clamp_test clamp_test.cc)\nadd_test(NAME clamp COMMAND clamp_test)\n",
           "clamp.h": "inline int clamp(int value, int most) { return value > most ? value : most; }\n",
           "clamp_test.cc": "#include \"clamp.h\"\n#include <cstdio>\n\nint main() {\n  if (clamp(5, 3) == 3) return 0;\n"
                            "  std::puts(\"clamp(5, 3) is not 3\");\n  return 1;\n}\n"},
    source="clamp.h", wrong=("? value : most", "? value : value"), fix=("? value : most", "? most : value"),
    # The build directory was configured on the host: its cache holds the project's own path.
    test="cmake --build build -- -s && ctest --test-dir build --output-on-failure && echo the tests pass", failing="clamp(5, 3) is not 3",
    passing="the tests pass", extra=("NOTES.md", "clamps\n"), ignored="/build/\n", leaves=("build/",),
    prepare=(("cmake", "-S", ".", "-B", "build", "-G", "Unix Makefiles"),))

ALL = (GO, NODE, PYTHON, RUST, JAVA, CPP)
