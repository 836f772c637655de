"""Findings, one line of JSON for each program that was measured, and their summary."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from ..contest import Outcome
from .candidate import Candidate

#: A peer that takes this part of our time or less makes the program a finding.
SLOW: Final = 1 / 1.3


@dataclass(frozen=True, slots=True)
class Finding:
    """A program with its times."""

    seed: int
    number: int
    candidate: dict[str, Any]
    #: Seconds of a call and of the first call, by library.
    seconds: dict[str, float]
    first: dict[str, float]
    #: The fastest peer, and its time over ours; none where no peer ran the program.
    peer: str | None
    ratio: float | None
    #: Values that are not ours, and libraries that failed.
    wrong: list[str]
    failed: list[str]
    #: Families of which programs were drawn, where not of all, and why the program is slow, if known.
    families: list[str] = field(default_factory=list)
    reason: str = ""

    @classmethod
    def of(
        cls, seed: int, number: int, candidate: Candidate, outcome: Outcome, families: Sequence[str] = ()
    ) -> Finding:
        ratio = outcome.ratio
        return cls(
            seed,
            number,
            candidate.as_dict(),
            {name: spread.median for name, spread in outcome.seconds.items()},
            outcome.first,
            outcome.best_peer,
            None if ratio is None else ratio.median,
            outcome.disagreements,
            outcome.failures,
            list(families),
        )

    @property
    def is_slow(self) -> bool:
        return self.ratio is not None and self.ratio <= SLOW

    @property
    def is_cliff(self) -> bool:
        """Whether a peer takes less than half our time: that needs a reason."""
        return self.ratio is not None and self.ratio < 0.5

    @property
    def key(self) -> str:
        """The program's name in the file of reasons; none in findings of former versions."""
        return str(self.candidate.get("key", ""))

    @property
    def is_wrong(self) -> bool:
        """Whether values differ, or we alone failed."""
        return bool(self.wrong) or any(text.startswith("tracejit:") for text in self.failed)

    def text(self) -> str:
        """The program with what was measured."""
        arguments = ", ".join(
            f"a{i}: {what} {tuple(shape)}" for i, (shape, what) in enumerate(self.candidate["arguments"])
        )
        times = ", ".join(f"{name} {seconds * 1e6:.1f} us" for name, seconds in self.seconds.items())
        mode = "gradient of the sum of squares of it plus 0.3" if self.candidate["gradient"] else "value"
        families = f" of {', '.join(self.families)}" if self.families else ""
        lines = [
            f"### {self.candidate['family']}, seed {self.seed}, number {self.number}{families}",
            "",
            f"{mode}, {self.candidate['dtype']}; {arguments}; {times}; program {self.key}",
            *([f"\nReason: {self.reason}"] if self.reason else []),
            *self.wrong,
            *self.failed,
            "",
            "```python",
            self.candidate["source"],
            "```",
            "",
        ]
        return "\n".join(lines)


def read(path: Path) -> list[Finding]:
    """Read the findings of earlier runs; none where there is no file. A line that was cut off is left out."""
    if not path.exists():
        return []
    findings = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            findings.append(Finding(**json.loads(line)))
        except json.JSONDecodeError:
            continue
    return findings


def append(path: Path, finding: Finding) -> None:
    """Append a finding."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(finding)) + "\n")


def with_reasons(findings: list[Finding], reasons: Mapping[str, str]) -> list[Finding]:
    """The findings with the reasons that people wrote down, by program."""
    return [replace(finding, reason=reasons.get(finding.key, finding.reason)) for finding in findings]


def page(findings: list[Finding]) -> str:
    """A report: shares, means by family, and every program that is slow or wrong."""
    timed = [finding for finding in findings if finding.ratio is not None]
    lines = ["# Random programs beside peers", "", _shares(timed), ""]
    lines += ["| family | programs | ahead | geometric mean | least |", "|---|---|---|---|---|"]
    for family in sorted({finding.candidate["family"] for finding in timed}):
        mine = [finding for finding in timed if finding.candidate["family"] == family]
        lines.append(
            f"| {family} | {len(mine)} | {_share(mine):.1f} % | {_mean(mine):.2f} | {_least(mine):.2f} |"
        )
    slow = sorted([finding for finding in timed if finding.is_slow], key=lambda finding: finding.ratio or 0)
    wrong = [finding for finding in findings if finding.is_wrong]
    lines += ["", f"## Wrong: {len(wrong)}", "", *[finding.text() for finding in wrong]]
    cliffs = [finding for finding in slow if finding.is_cliff]
    unexplained = sum(not finding.reason for finding in cliffs)
    count = f"{len(cliffs)}, without a reason {unexplained}"
    lines += [f"## Slower than the best peer by more than 2 times: {count}"]
    lines += ["", *[finding.text() for finding in cliffs]]
    rest = slow[len(cliffs) :]
    lines += [f"## Slower by 1.3 to 2 times: {len(rest)}", "", *[finding.text() for finding in rest]]
    return "\n".join(lines)


def _shares(timed: list[Finding]) -> str:
    if not timed:
        return "No program was measured."
    return (
        f"{len(timed)} programs; the best peer takes longer in {_share(timed):.1f} % of them, and "
        f"{_mean(timed):.2f} times as long in the geometric mean."
    )


def _ratios(findings: list[Finding]) -> list[float]:
    return [finding.ratio for finding in findings if finding.ratio is not None]


def _share(findings: list[Finding]) -> float:
    ratios = _ratios(findings)
    return 100 * sum(ratio >= 1 for ratio in ratios) / len(ratios)


def _mean(findings: list[Finding]) -> float:
    ratios = _ratios(findings)
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _least(findings: list[Finding]) -> float:
    return min(_ratios(findings))
