#!/usr/bin/env python3
"""Compaction over the corpus: no fact lost, none invented, never larger, and the saving it is for.

    tests/corpus/corpus_test.py [CASE …]

  NUTSHELL_SEED   the seed of the generated cases and of the facts that are taken out
"""
import dataclasses
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

import forms  # noqa: E402
import generate  # noqa: E402
import judge  # noqa: E402
import match  # noqa: E402
import mutation  # noqa: E402
import needles  # noqa: E402
import readings  # noqa: E402
import score  # noqa: E402
import store  # noqa: E402
import synthetic  # noqa: E402
from renderer import render  # noqa: E402
from support import Skip, Suite, expect, repetitions, seed_of_run  # noqa: E402

suite = Suite()
MOST_ERROR = 0.05  # of the estimate, pooled
LEAST_SAVING, LEAST_SAVING_WITHOUT_LOGS = 0.76, 0.70
SHOWN = 12  # failing cases in a message
FIXED_SEED = 3  # of one output of each form
LEAST_PARSERS = 35  # that meet a needle


class Corpus:
    """Every stored case, rendered once for all the questions asked of it."""

    rendered = None

    @classmethod
    def known(cls):
        return [(case, rendering) for case, rendering in cls.all() if case.is_known]

    @classmethod
    def unknown(cls):
        return [(case, rendering) for case, rendering in cls.all() if not case.is_known]

    @classmethod
    def all(cls):
        if cls.rendered is None:
            cases = store.all_cases()
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                cls.rendered = list(zip(cases, pool.map(render, cases)))
        return cls.rendered


def saving(pairs):
    return 1 - sum(shown for _, shown in pairs) / max(1, sum(raw for raw, _ in pairs))


def expect_no_problem(rendered):
    bad = [(case, rendering.parser, found) for case, rendering in rendered
           if (found := judge.problems(case, rendering))]
    for case, parser, found in bad:
        print(f"  {case} ({parser}): " + "; ".join(text[:200] for text in found[:4]))
    expect(not bad, f"{len(bad)} of {len(rendered)} cases: " + " ".join(str(case) for case, *_ in bad[:SHOWN]))


@suite.case
def the_corpus_is_large_enough_and_grounded():
    cases = store.all_cases()
    expect(len(cases) >= 150, f"only {len(cases)} cases")
    for case in cases:
        ungrounded = match.lost(case.facts, judge.raw_text(case))
        expect(not ungrounded, f"{case}: not in what the tool printed: {ungrounded[:2]}")


@suite.case
def the_oracle_notices_a_lost_and_an_invented_fact():
    for case in store.all_cases():
        if not case.facts:
            continue
        expect(match.lost(case.facts, "exit 1\n"), f"{case}: nothing is missed in an empty text")
    invented = match.invented("a.c:3:5: error: x", [], ["all tests passed"], "b.c:9:1 x, 7 failed, all tests passed")
    expect(len(invented) == 3, f"found only {invented}")


PLACE = {"file": "a.c", "line": 3, "column": 5, "message": "unused variable 'x'"}
STRICT = [  # a fact, a text that keeps it, and texts from which it can't be had although its words stand there
    (PLACE, "warning: unused variable 'x' ×2: b.c:1:1 a.c:1:2 3:5",
     ["a.c:3:5: other\nwarning\nwarning\nb.c:9:1: unused variable 'x'", "a.c: 13:5 unused variable 'x'"]),
    ({"path": "src/net/a.c"}, "src/net/: a.c b.c", ["src/\n net/*.c: a b", "src/*.c: b\nnet/*.c: a", "src/net/: b\na.c", "lib/src/net/a.c"]),
    ({"cells": {"NAME": "web", "READY": "0/1"}}, "all: READY=0/1\nNAME|AGE\nweb|3d",
     ["NAME|READY\nweb|1/1\ndb|0/1", "NAME   READY\nweb    1/1\n0/1"]),
    ({"change": ["a.py", 7, "-x = 1"]}, "# a.py +0 -1\n@6\n y\n-x = 1", ["# b.py +0 -1\n@7\n-x = 1", "# a.py +0 -1\n@6\n-x = 1"]),
    ({"state": ["staged modified", "src/a.py"]}, "staged modified:\nsrc/: a.py b.py\nmodified: c.py",
     ["staged modified: c.py\nmodified:\nsrc/: a.py b.py"]),
    ({"commit": ["abcdef1", "Ada Miller", "2026-01-02", "fix it"]}, "Ada Miller, 2026-01-02:\nabcdef1 fix it",
     ["Ben Okafor, 2026-01-02:\nabcdef1 fix it\nAda Miller:", "Ada Miller, 2026-01-03:\nabcdef1 fix it"]),
]


@suite.case
def the_oracle_takes_no_fact_from_words_that_stand_apart():
    for fact, keeping, losing in STRICT:
        expect(not match.lost([fact], keeping), f"{fact} is not found in {keeping!r}")
        for text in losing:
            expect(match.lost([fact], text), f"{fact} is taken from {text!r}")
    tests = [{"all": ["test_a", "1 != 2"]}, {"all": ["test_b", "3 != 4"]}]
    expect(not match.apart(tests, "FAIL test_a\n 1 != 2\nFAIL test_b\n 3 != 4"), "what stands together is apart")
    expect(len(match.apart(tests, "FAIL test_a\n 3 != 4\nFAIL test_b\n 1 != 2")) == 2, "swapped details pass")
    expect(match.invented("src/b.c", [{"path": "src/b.c"}], [], "find\nsrc/: b.c d.c"), "an invented path passes")


BLOCKS = [{"under": ["TASK [a]"], "row": ["web", "broken 1"]}, {"under": ["TASK [b]"], "row": ["web", "broken 2"]}]
RECORD = {"record": {"id": "4711", "name": "web"}}


@suite.case
def the_oracle_places_values_below_their_heading():
    expect(not match.lost(BLOCKS, "TASK [a]\n ok\n web: broken 1\nTASK [b] web: broken 2"), "what stands in its block is lost")
    for text in ("web: broken 1\nTASK [b]\n web: broken 2", "TASK [b]\n web: broken 1\nTASK [a]\n web: broken 2",
                 "TASK [a]\nTASK [b]\n web: broken 1\n db: broken 2", "TASK [a]\nweb\nbroken 1\nTASK [b]\nbroken 2"):
        expect(match.lost(BLOCKS, text), f"the blocks are taken from {text!r}")


@suite.case
def the_oracle_places_values_in_their_record():
    for text in ('{"id":4711,"name":"web"}', '[\n {\n  "id": 4711,\n  "name": "web"\n }\n]', "id=4711 name=web", "id|state|name\n4711|up|web",
                 "id: 4711\nname: web", "items: [2]\n -\n  id: 1\n -\n  id: 4711\n  name: web\n  more:\n   name: x", "all: name=web\nid|state\n4711|up", '"data": {"id":4711,"name":"web"}\nid,name\n4711,"web"'):
        expect(not match.lost([RECORD], text), f"the record is not found in {text!r}")
    for text in ('{"id":4711,"name":"db"}\n{"id":1,"name":"web"}', "id=4711 name=db\nid=1 name=web", "name|id\n4711|web", "4711 web",
                 "id|name\n4711|db\n1|web", "id: 4711\n\nname: web", " -\n  id: 4711\n -\n  name: web", "id: 4711\nid: 1\nname: web"):
        expect(match.lost([RECORD], text), f"the record is taken from {text!r}")


@suite.case
def a_name_counts_below_its_whole_directory():
    for text in ("src/net/: a.c b.md", "src/net/:\n a.c\n b.md"):
        expect("src/net/a.c" in readings.paths(text.split("\n")), f"the path is not found in {text!r}")
    if not readings.READS_SHORT_NAMES:
        for text in ("src/net/*.c: a b", "src/: x.c\n net/: a.c b.md"):
            expect("src/net/a.c" not in readings.paths(text.split("\n")), f"the path is taken from {text!r}")


@suite.case
def the_judge_sees_what_is_left_out_unsaid():
    case = store.all_cases()[0]
    said = judge.Rendering("exit 0. recall o7f3a (left out: 9999999 lines)", "x", 1, 10, 5, "o7f3a")
    expect(judge.wrong_notes(case, said), "a count of more lines than were printed passes")
    expect(judge.unsaid(case, dataclasses.replace(said, omitted=0)), "words that are gone unsaid pass")
    expect(not judge.shows_status("make says exit 2", 2), "a status in the output passes for ours")


@suite.case
def no_fact_is_lost_or_invented_and_nothing_grows():
    expect_no_problem([(case, rendering) for case, rendering in Corpus.known() if case.family not in score.BARS.pending])


@suite.case
def families_without_a_parser_keep_their_facts():
    found = score.total(Corpus.unknown())
    print(f"  {found.cases} cases, {found.lost} of {found.facts} facts lost, {found.wrong} untrue, saved {found.saved:.1%}")
    expect(found.kept >= score.BARS.unknown_kept, f"{found.lost} of {found.facts} facts lost: tests/corpus/score.py --lost tells which")
    expect(found.wrong <= score.BARS.unknown_wrong, f"{found.wrong} faults: tests/corpus/score.py --lost tells which")


@suite.case
def the_judge_notices_each_fact_that_is_taken_out():
    seed, most = seed_of_run(), repetitions(1, 10 ** 6)
    chosen, missed, tried = random.Random(seed), [], 0
    for case, rendering in Corpus.all():
        found, count = mutation.missed(case, rendering, chosen, most)
        missed += [f"{case}: {text[:200]}" for text in found]
        tried += count
    print(f"  seed {seed}, {tried} times")
    expect(tried >= len(Corpus.all()), f"only {tried} tried")
    expect(not missed, f"{len(missed)} of {tried} go unnoticed: " + "; ".join(missed[:SHOWN]))


@suite.case
def a_line_of_another_program_is_shown_wherever_it_stands():
    """One kind of needle in each case, in turn; with scripts/test --full, every kind in each case."""
    seed = seed_of_run()
    rendered = needles.rendered(needles.planted(store.all_cases(), seed, repetitions(1, len(needles.KINDS))))
    parsers = {part for _, rendering in rendered for part in rendering.parser.split("+")}
    lost = [(needle, rendering.parser, gone) for needle, rendering in rendered if (gone := needle.lost(rendering))]
    for needle, parser, gone in lost:
        print(f"  {needle} ({parser}): {gone[0]}")
    print(f"  seed {seed}, {len(lost)} of {len(rendered)} needles lost, {len(parsers)} parsers")
    expect(len(parsers) >= LEAST_PARSERS, f"only {len(parsers)} parsers met a needle: {sorted(parsers)}")
    expect(len(lost) <= (1 - score.BARS.needles_kept) * len(rendered), f"{len(lost)} of {len(rendered)} needles lost: " +
           "; ".join(str(needle) for needle, *_ in lost[:SHOWN]))


@suite.case
def the_saving_reaches_its_target():
    families, everything, without_logs = {}, [], []
    for case, rendering in Corpus.known():
        pair = (rendering.raw_tokens, rendering.tokens)
        families.setdefault(case.family, []).append(pair)
        everything.append(pair)
        if not case.is_plain_log:
            without_logs.append(pair)
    for family, pairs in sorted(families.items()):
        print(f"  {family:14} {len(pairs):3} cases {sum(raw for raw, _ in pairs):7} tokens, "
              f"saved {saving(pairs):5.1%}")
    print(f"  pooled {saving(everything):.1%}, without plain logs {saving(without_logs):.1%}")
    expect(saving(everything) >= LEAST_SAVING, f"pooled {saving(everything):.1%}")
    expect(saving(without_logs) >= LEAST_SAVING_WITHOUT_LOGS, f"without logs {saving(without_logs):.1%}")


@suite.case
def the_estimate_is_near_the_real_count():
    for name, rendered in (("known", Corpus.known()), ("unknown", Corpus.unknown())):
        counted = sum(case.tokens for case, _ in rendered)
        estimated = sum(rendering.raw_tokens for _, rendering in rendered)
        error = estimated / counted - 1
        print(f"  {name} families: estimated {estimated}, counted {counted}: {error:+.1%}")
        expect(abs(error) <= MOST_ERROR, f"the estimate of {name} families is off by {error:+.1%}")


@suite.case
def generated_cases_lose_nothing_either():
    seed = seed_of_run()
    print(f"  seed {seed}")
    rendered = [(case, render(case)) for case in generate.cases(seed, repetitions(40, 300), score.BARS.pending)]
    if not rendered:
        raise Skip("none of the tools is installed")
    expect_no_problem(rendered)


# Generated cases that once lost something: family, variant and sizes.
FOUND = [("ld", "gold-duplicate", {"count": 7}), ("ld", "gold-duplicate", {"count": 8}),
         ("ld", "gold-missing-library", {"count": 1})]

FOUND_SYNTHETIC = []  # kind and seed of outputs of invented tools that once lost something


@suite.case
def generated_cases_found_before_lose_nothing_now():
    rendered = []
    for family, name, sizes in FOUND:
        try:
            case = generate.found_before(family, name, 1, **sizes)
        except generate.Missing as missing:
            raise Skip(f"{missing} is not installed") from missing
        rendered.append((case, render(case)))
    expect_no_problem(rendered)


@suite.case
def outputs_of_invented_tools_keep_their_facts():
    seed = seed_of_run()
    rendered = [(case, render(case)) for case in [*synthetic.cases(seed, repetitions(40, 300)),
                                                  *(synthetic.case(kind, number) for kind, number in FOUND_SYNTHETIC)]]
    found = score.total(rendered)
    print(f"  seed {seed}, {found.lost} of {found.facts} facts lost, {found.wrong} untrue, saved {found.saved:.1%}")
    for case, rendering in rendered:
        if lost := score.lost_facts(case, rendering):
            print(f"  {case} ({rendering.parser}): {len(lost)} of {len(case.facts)}, {str(lost[0])[:200]}")
    expect(found.kept >= score.BARS.synthetic_kept, f"{found.lost} of {found.facts} facts lost")
    expect(found.wrong <= score.BARS.synthetic_wrong, f"{found.wrong} faults")


@suite.case
def outputs_in_the_form_of_real_tools_keep_their_facts():
    """Each form with a fixed seed, of which every fact is kept, and with fresh ones, of which a share is."""
    seed = seed_of_run()
    fixed = [forms.case(name, FIXED_SEED) for name in forms.FORMS]
    for case in fixed:
        expect(not match.lost(case.facts, judge.raw_text(case)), f"{case}: a fact is not in its output")
    expect_no_problem([(case, render(case)) for case in fixed])
    rendered = [(case, render(case)) for case in forms.cases(seed, repetitions(40, 600))]
    found = score.total(rendered)
    print(f"  seed {seed}, {found.lost} of {found.facts} facts lost, {found.wrong} untrue, saved {found.saved:.1%}")
    for case, rendering in rendered:
        if problems := judge.problems(case, rendering):
            print(f"  {case} ({rendering.parser}): {len(problems)} of {len(case.facts)}, {problems[0][:200]}")
    expect(found.kept >= score.BARS.forms_kept, f"{found.lost} of {found.facts} facts lost")
    expect(found.wrong <= score.BARS.forms_wrong, f"{found.wrong} faults")


if __name__ == "__main__":
    sys.exit(suite.run())
