"""What growth with threads is worth in a comparison, whatever the unit of work and other causes."""

from __future__ import annotations

import pytest
from test_contrast import FULL, LINE, A, B, compared, made, touching
from threadmark.kinds.explain.analysis.bounds import at_most
from threadmark.kinds.explain.analysis.meaning import Operand


def test_a_bound_does_not_depend_on_the_unit_of_time() -> None:
    assert at_most(0.04, 0.02) == pytest.approx(at_most(40.0, 20.0))
    assert at_most(0.04, 0.0) == pytest.approx(999)
    assert at_most(0.0, 0.0) == 1


def test_causes_do_not_depend_on_the_size_of_a_unit_of_work() -> None:
    one, many = [made(1, FULL)] * 3, [touching(80, lambda thread, _: LINE + 8 * thread)] * 3
    large, small = (compared(one, many, (units, units))[0]["causes"] for units in (1, 1e12))
    assert [(each["category"], each["certain"]) for each in large] == [("false_sharing", True)]
    assert small == large


def test_a_small_cause_does_not_hide_one_of_its_category_that_grows_much_more() -> None:
    one, many = made(1, FULL), touching(80, lambda thread, _: LINE + 8 * thread)
    for number, tid in enumerate((A, B)):
        one.look(tid, "count worker", 12)
        many.sample(tid, "count worker", 12, bx=4 * LINE + 8 * number)
    many.operands[many.stack("count worker")] = Operand("bx")
    causes = compared([one] * 3, [many] * 3)[0]["causes"]
    assert [each["name"] for each in causes] == ["words in add", "atomic in count"]
    assert {each["category"] for each in causes} == {"false_sharing"}


def test_growth_of_a_known_cause_is_no_other_cause() -> None:
    many = touching(80, lambda *_: LINE, Operand("ax"))
    causes = compared([made(1, FULL)] * 3, [many] * 3)[0]["causes"]
    assert [each["category"] for each in causes] == ["atomic"]
