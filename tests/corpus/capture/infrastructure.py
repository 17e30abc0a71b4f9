"""Ansible and other tools that set machines up: what fails and what changes was planted."""
import json

from scenario import Case, failing, row_fact, under_fact, unknown

PLAY = """- name: {play}
  hosts: all
  gather_facts: false
  tasks:
{tasks}"""


@unknown("ansible", ["ansible-playbook"], {
    "ok": {"hosts": 3, "tasks": 8, "bad": 0}, "one-fails": {"hosts": 3, "tasks": 8, "bad": 1},
    "many-hosts": {"hosts": 12, "tasks": 15, "bad": 3}, "many-tasks": {"hosts": 6, "tasks": 60, "bad": 2}})
def ansible(project, hosts, tasks, bad):
    names = [project.word(1) + str(index) for index in range(hosts)]
    project.write("hosts", "".join(f"{name} ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n" for name in names))
    failures = {project.random.randrange(tasks): project.random.choice(names) for _ in range(bad)}
    text, facts, gone = "", [], set()
    for index in range(tasks):
        task, word, number = f"set up {project.word()}", project.word(), project.number()
        host = failures.get(index)
        text += f"    - name: {task}\n"
        if host and host not in gone:
            text += f"      ansible.builtin.fail:\n        msg: cannot write {word} ({number})\n      when: inventory_hostname == '{host}'\n"
            facts.append(under_fact(f"TASK [{task}]", host, f"cannot write {word} ({number})"))
            gone.add(host)
        elif project.random.random() < 0.2:
            text += f"      ansible.builtin.command: echo {word}\n"
        else:
            text += f"      ansible.builtin.debug:\n        msg: '{word} is {number}'\n"
    project.write("site.yml", PLAY.format(play=f"deploy {project.word()}", tasks=text))
    settings = {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "False", "ANSIBLE_FORKS": "2"}
    ran = project.run("ansible-playbook -i hosts site.yml", settings)
    facts += [row_fact(name, f"failed={int(name in gone)}", "unreachable=0") for name in names]
    return Case("", "ansible-playbook -i hosts site.yml", ran, facts, failing() if bad else [])


@unknown("ansible-diff", ["ansible-playbook"], {"few": {"count": 3}, "many": {"count": 20}})
def ansible_diff(project, count):
    """The changes that --check --diff announces, each below its task and in its file."""
    text, facts = "", []
    for index in range(count):
        path, key = f"{project.directory}/etc/{project.word()}.conf", project.word()
        old, new = project.number(), project.number()
        project.write(path, "".join(f"{project.word()} = {project.number()}\n" for _ in range(9)) + f"{key} = {old}\n")
        wanted = old if index % 3 == 2 else new
        text += (f"    - name: tune {key}\n      ansible.builtin.lineinfile:\n        path: {path}\n        regexp: '^{key} ='\n"
                 f"        line: '{key} = {wanted}'\n")
        if wanted != old:
            facts += [under_fact([f"TASK [tune {key}]"], f"-{key} = {old}"), under_fact([f"TASK [tune {key}]"], f"+{key} = {wanted}")]
    project.write("hosts", "local0 ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n")
    project.write("site.yml", PLAY.format(play="tune", tasks=text))
    command = "ansible-playbook -i hosts --check --diff site.yml"
    ran = project.run(command, {"ANSIBLE_NOCOLOR": "1"})
    changed = sum(index % 3 != 2 for index in range(count))
    return Case("", command, ran, [*facts, row_fact("local0", f"ok={count}", f"changed={changed}")])


@unknown("actionlint", ["go-tools/actionlint"], {"few": {"count": 4}, "some": {"count": 20}})
def actionlint(project, count):
    project.tools = "go-tools"
    flaws = ["      - run: echo ${{{{ {a}.sha }}}}\n", "      - uses: actions/checkout\n", "      - run: echo\n        {a}: 1\n",
             "      - run: echo ${{{{ matrix.{a} }}}}\n", "      - run: echo ${{{{ toJson( }}}}\n"]
    left = count
    while left > 0:
        text = f"name: {project.word(1)}\non: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n"
        for _ in range(min(left, project.random.randint(1, 4))):
            text += f"      - run: echo {project.word()}\n" + project.random.choice(flaws).format(a=project.word())
            left -= 1
        project.write(f".github/workflows/{project.word()}.yml", text)
    project.run("git init -q .")
    ran = project.run("actionlint -no-color -shellcheck= -pyflakes=")
    found = json.loads(project.run("actionlint -no-color -shellcheck= -pyflakes= -format '{{json .}}'").text)
    facts = [{"file": one["filepath"], "line": one["line"], "column": one["column"], "message": one["message"]} for one in found]
    return Case("", "actionlint", ran, facts[:60], failing())
