"""Debuggers and tracers: threads, leaks and system calls of small C programs, planted there."""
import xml.etree.ElementTree as ElementTree

from scenario import Case, row_fact, text_fact, under_fact, unknown


def c_program(project, text, flags=""):
    project.write("main.c", text)
    built = project.run(f"gcc -g -O0 -o main main.c -pthread{flags}")
    assert built.exit_code == 0, built.stderr


@unknown("gdb", ["gdb", "gcc"], {"few": {"count": 3, "depth": 4}, "many": {"count": 24, "depth": 9}})
def gdb_threads(project, count, depth):
    """`thread apply all bt`: each thread waits in a function of its own."""
    names = [project.word() for _ in range(count)]
    numbers = [project.number() for _ in range(count)]
    steps = "\n".join(f"static void step{n}(void (*end)(int), int value) {{ {'end(value)' if n == 0 else f'step{n - 1}(end, value)'}; }}"
                      for n in range(depth))
    waits = "\n".join(f"static void {name}(int value) {{ ready++; while (value) usleep(1000); }}" for name in names)
    runs = "\n".join(f"static void *run_{name}(void *none) {{ step{depth - 1}({name}, {number}); return none; }}"
                     for name, number in zip(names, numbers))
    starts = "\n".join(f"  pthread_create(&thread, 0, run_{name}, 0);" for name in names)
    c_program(project, "#include <pthread.h>\n#include <unistd.h>\n#include <stdlib.h>\nstatic _Atomic int ready;\n"
              f"{waits}\n{steps}\n{runs}\nint main(void) {{\n  pthread_t thread;\n{starts}\n  while (ready < {count}) usleep(1000);\n  abort();\n}}\n")
    ran = project.run("gdb -q -nx -batch -ex 'set pagination off' -ex run -ex 'thread apply all bt' ./main", seconds=120)
    facts = [row_fact("SIGABRT")]
    for index, (name, number) in enumerate(zip(names, numbers)):
        facts.append(under_fact([f"Thread {index + 2} "], name, f"value={number}"))
    return Case("", "gdb -q -batch -ex run -ex 'thread apply all bt' ./main", ran, facts)


@unknown("gdb-locals", ["gdb", "gcc"], {"few": {"count": 3}, "many": {"count": 20}})
def gdb_full(project, count):
    """`bt full` of a crash: each frame with its values."""
    names = [project.word() for _ in range(count)]
    text, facts = "#include <stdlib.h>\n", []
    for index, name in enumerate(names):
        local, number = project.word(), project.number()
        text += (f"static int {name}(int depth) {{\n  volatile int {local} = {number};\n  "
                 + ("int *nowhere = 0; *nowhere = depth;" if index == 0 else f"depth += {names[index - 1]}(depth + 1);")
                 + f"\n  return {local} + depth;\n}}\n")
        facts.append(under_fact([f"{name} (depth"], f"{local} = {number}"))
    c_program(project, text + f"int main(void) {{ return {names[-1]}(1); }}\n")
    ran = project.run("gdb -q -nx -batch -ex run -ex 'bt full' ./main")
    return Case("", "gdb -q -batch -ex run -ex 'bt full' ./main", ran, [row_fact("SIGSEGV"), *facts])


@unknown("valgrind", ["valgrind", "gcc"], {"clean": {"count": 0}, "one": {"count": 1}, "some": {"count": 8}, "many": {"count": 40}})
def valgrind(project, count):
    text, calls = "#include <stdlib.h>\n#include <string.h>\n", ""
    for index in range(count):
        name, size = project.word(), project.number(20, 4000)
        body = [f"  char *p = malloc({size}); p[0] = 1;", f"  char *p = malloc({size}); p[{size}] = 1; free(p);",
                f"  int *p = malloc({size * 4}); if (p[3]) exit(2); free(p);"][index % 3]
        text += f"__attribute__((noinline)) void {name}(void) {{\n{body}\n}}\n"
        calls += f"  {name}();\n"
    c_program(project, text + f"int main(void) {{\n{calls}  return 0;\n}}\n")
    command = "valgrind --leak-check=full ./main"
    ran = project.run(command)
    project.run("valgrind --leak-check=full --xml=yes --xml-file=report.xml ./main")
    facts = []
    for error in ElementTree.parse(project.directory / "report.xml").getroot().iter("error"):
        what = error.findtext("what") or error.find("xwhat").findtext("text")
        own = next(frame for frame in error.iter("frame") if frame.findtext("file") == "main.c")
        place = f"main.c:{own.findtext('line')}"
        facts.append(under_fact([what], own.findtext("fn"), place))
    return Case("", command, ran, [*facts, row_fact("ERROR SUMMARY:", str(len(facts)))])


@unknown("strace", ["strace", "gcc"], {"few": {"count": 20, "bad": 2}, "many": {"count": 900, "bad": 5}})
def strace(project, count, bad):
    places, lines, facts = set(project.random.sample(range(count), bad)), "", []
    for index in range(count):
        if index in places:
            name = project.word()
            lines += f'  open("/srv/{name}/settings", O_RDONLY);\n'
            facts.append(row_fact(f"/srv/{name}/settings", "ENOENT"))
        else:
            lines += f'  write(2, "", 0); lseek(2, {index}, SEEK_SET);\n'
    c_program(project, f"#include <fcntl.h>\n#include <unistd.h>\nint main(void) {{\n{lines}  return 3;\n}}\n")
    ran = project.run("strace ./main")
    return Case("", "strace ./main", ran, [*facts, row_fact("exited with 3")])


@unknown("strace-counts", ["strace", "gcc"], {"few": {"count": 40}})
def strace_counts(project, count):
    lines = "".join(f'  open("/srv/{project.word()}", O_RDONLY);\n' for _ in range(count))
    c_program(project, f"#include <fcntl.h>\n#include <unistd.h>\nint main(void) {{\n{lines}  return 0;\n}}\n")
    ran = project.run("strace -c ./main")
    return Case("", "strace -c ./main", ran, [row_fact(["openat", "open"], str(count))])


@unknown("sanitizer", ["gcc"], {"overflow": {"kind": "overflow"}, "leaks": {"kind": "leaks"}, "race": {"kind": "race"}})
def sanitizer(project, kind):
    name, size = project.word(), project.number(20, 900)
    if kind == "race":
        c_program(project, f"#include <pthread.h>\nint {name};\nstatic void *run(void *none) {{\n  {name}++;\n  return none;\n}}\n"
                  "int main(void) {\n  pthread_t one, two;\n  pthread_create(&one, 0, run, 0);\n  pthread_create(&two, 0, run, 0);\n"
                  "  pthread_join(one, 0);\n  pthread_join(two, 0);\n  return 0;\n}\n", " -fsanitize=thread")
        facts = [text_fact("data race"), row_fact(name, "global"), row_fact("main.c:4", "run")]
    elif kind == "leaks":
        names = [project.word() for _ in range(12)]
        c_program(project, "#include <stdlib.h>\n" + "".join(
            f"__attribute__((noinline)) char *{one}(void) {{\n  return malloc({size + index});\n}}\n" for index, one in enumerate(names)) +
            "int main(void) {\n" + "".join(f"  {one}();\n" for one in names) + "  return 0;\n}\n", " -fsanitize=address")
        facts = [under_fact([f"of {size + index} byte(s)"], one, f"main.c:{3 * index + 3}") for index, one in enumerate(names)]
        facts.append(row_fact("SUMMARY", "12 allocation(s)"))
    else:
        c_program(project, f"#include <stdlib.h>\nint {name}(int n) {{\n  char *p = malloc({size});\n  p[n] = 1;\n  return p[0];\n}}\n"
                  f"int main(void) {{\n  return {name}({size});\n}}\n", " -fsanitize=address")
        facts = [row_fact("heap-buffer-overflow"), row_fact(name, "main.c:4"), row_fact("WRITE of size 1"),
                 row_fact("0 bytes", ["after", "to the right of"], f"{size}-byte region")]
    ran = project.run("setarch -R ./main")
    return Case("", "./main", ran, facts)
