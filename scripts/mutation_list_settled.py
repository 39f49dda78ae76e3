"""Mistakes in the critic that ends once it has settled, and in the command around it; see `mutation_list.py`."""

from __future__ import annotations

SETTLED = "tests/critic/test_settled.py"
QUICK = "tests/scoring/test_quick.py"

MUTATIONS_SETTLED: list[tuple[str, str, str, str]] = [
    (
        "kernel/regression.py",
        'self._first_slopes *= last["w"].T',
        'self._first_slopes *= abs(last["w"].T)',
        SETTLED,
    ),
    (
        "kernel/regression.py",
        "np.copyto(self._switched, self._hidden > 0)",
        "np.copyto(self._switched, self._hidden >= 0)",
        SETTLED,
    ),
    (
        "critic/settled.py",
        "quiet + 1 if _settled(before, judged) else 0",
        "quiet + 1 if _settled(before, judged) else quiet",
        SETTLED,
    ),
    (
        "critic/settled.py",
        "SHARE_OF_INTERVAL * HALF_WIDTH * clustered_error(values, starts)",
        "SHARE_OF_INTERVAL * clustered_error(values, starts)",
        SETTLED,
    ),
    (
        "critic/settled.py",
        "abs(new.mean - old.mean) <= new.allowed",
        "new.mean - old.mean <= new.allowed",
        SETTLED,
    ),
    (
        "critic/learners.py",
        "min(1.0, AT_FULL_RATE / last)",
        "min(1.0, AT_FULL_RATE / (last - first))",
        SETTLED,
    ),
    (
        "scoring/stored.py",
        'rooms["critic"] = critic.SETTLED_REVISION',
        'rooms["critic"] = critic.REVISION',
        QUICK,
    ),
    (
        "scoring/assessment.py",
        "made = self._ahead or self._cloning_work()",
        "made = self._cloning_work()",
        QUICK,
    ),
]
