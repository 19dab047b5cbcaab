"""The reports of a gate for the service that runs it: JUnit, Markdown, annotations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from threadmark.judge.estimates import Interval
from threadmark.kinds.gates.judgement import KNOWN, Checked, Found, Verdict
from threadmark.present.wording import printable

FORMS = ("github", "azure", "none")
_BLANK = dict.fromkeys(range(32), " ")  # not allowed in XML and in one line


def junit(name: str, found: Found, causes: Sequence[str]) -> str:
    """A test for each demand, and one for the program's own end."""
    suite = ElementTree.Element("testsuite", name=f"threadmark gate {_clean(name)}")
    why = "\n".join(map(_clean, causes))
    cases = [
        ("runs to its end", Verdict.FAILED if found.failure else Verdict.PASSED, found.failure)
    ]
    cases += [(each.demand.words, each.verdict, sentence(each)) for each in found.checked]
    for title, verdict, message in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=_clean(name), name=_clean(title))
        if verdict is Verdict.FAILED:
            ElementTree.SubElement(case, "failure", message=_clean(message)).text = why
        elif verdict in (Verdict.UNDECIDED, Verdict.STOPPED):
            why_not = ". ".join(filter(None, (message, rounds(found))))
            ElementTree.SubElement(case, "skipped", message=_clean(why_not))
    verdicts = [verdict for _, verdict, _ in cases]
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(verdicts.count(Verdict.FAILED)))
    suite.set("skipped", str(verdicts.count(Verdict.UNDECIDED) + verdicts.count(Verdict.STOPPED)))
    suite.set("errors", "0")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def markdown(name: str, found: Found, causes: Sequence[str]) -> str:
    """A section of a summary."""
    lines = [
        f"## Threadmark gate: {_cell(name)} {found.verdict.value}",
        "",
        "| demand | verdict | speed-up over one thread |",
        "|---|---|---|",
    ]
    for each in found.checked:
        speedup = span(each.speedup, each.rounds)
        lines.append(f"| {each.demand.words} | {each.verdict.value} | {speedup} |")
    lines.append("")
    if found.failure:
        lines += [f"The program failed: {_cell(found.failure)}.", ""]
    if each_round := rounds(found):
        lines += [each_round, ""]
    if causes:
        lines += ["What explain says:", "", *(f"* {_cell(cause)}" for cause in causes), ""]
    return "\n".join(lines)


def annotated(form: str, name: str, found: Found, causes: Sequence[str]) -> list[str]:
    """Lines that a service shows beside the change; none if it has no such form."""
    said = [sentence(each) for each in found.checked if each.verdict is not Verdict.PASSED]
    said += [f"the program failed: {found.failure}"] if found.failure else []
    first = f"; {causes[0]}" if causes and found.verdict is Verdict.FAILED else ""
    if found.verdict is Verdict.UNDECIDED and found.disturbed:
        first = f"; {rounds(found)}"
    text = f"{'; '.join(said)}{first}"
    fails = found.verdict is Verdict.FAILED
    if not said or form == "none":
        return []
    if form == "github":
        escaped = _clean(text).replace("%", "%25")
        title = _clean(f"threadmark gate {name}").replace("%", "%25")
        title = title.replace(":", "%3A").replace(",", "%2C")
        return [f"::{'error' if fails else 'warning'} title={title}::{escaped}"]
    return [f"##vso[task.logissue type={'error' if fails else 'warning'}]{_clean(text)}"]


def form_here(environment: Mapping[str, str] = os.environ) -> str:
    """The form of annotations of the service that runs this."""
    if environment.get("GITHUB_ACTIONS") == "true":
        return "github"
    return "azure" if environment.get("TF_BUILD") else "none"


def sentence(each: Checked) -> str:
    """'a speed-up of 1.5 on 2 threads was asked for and it is 1.12 (1.08 to 1.17)'."""
    asked = f"{each.demand.words}: "
    if each.verdict is Verdict.STOPPED:
        return f"{asked}{each.verdict.value}"
    if not each.rounds:
        return f"{asked}no round counts"
    return f"{asked}{each.verdict.value}, the speed-up is {span(each.speedup, each.rounds)}"


def rounds(found: Found) -> str:
    """A sentence about the rounds that do not count, if any."""
    if not found.disturbed:
        return ""
    return (
        f"{found.disturbed} of {found.rounds} rounds do not count, because the machine was busy: "
        f"{found.why.rstrip('.')}."
    )


def span(ratio: Interval, count: int) -> str:
    """A speed-up after a number of rounds that count: '1.12 (1.08 to 1.17, 8 rounds)'."""
    after = f"{count} round{'s' * (count != 1)}"
    if ratio.high >= KNOWN:
        return f"not known after {after}"
    return f"{ratio.estimate:.2f} ({ratio.low:.2f} to {ratio.high:.2f}, {after})"


def _clean(text: str) -> str:
    return printable(text.translate(_BLANK))


def _cell(text: str) -> str:
    """The text for a table of Markdown."""
    return _clean(text).replace("|", "\\|").replace("<", "&lt;")
