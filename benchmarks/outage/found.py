"""What a run has found: figures, and the bars on some of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from benchmarks.checkers import Checker
from benchmarks.report import Bar, console


@dataclass(slots=True)
class Found:
    """The figures and bars of one run; every name begins with the run's own."""

    run: str
    figures: dict[str, float] = field(default_factory=dict)
    bars: dict[str, Bar] = field(default_factory=dict)

    def add(self, name: str, value: float, comparison: str = "", bar: float = 0.0) -> None:
        """Add a figure, and a bar on it where there is a comparison."""
        figure = f"{self.run}_{name}"
        self.figures[figure] = value
        if comparison:
            self.bars[figure.rpartition("_")[0]] = Bar(figure, comparison, bar)

    def checked(
        self, checker: Checker, made: Mapping[str, int], held: Collection[str], *, allowed_repeats: int = 0
    ) -> None:
        """Add what the checker says once everything is handled that was appended, but for accounts that are held.

        Called again, it adds to what was found before.
        """
        appended = {account: count for account, count in made.items() if account not in held}
        said = {"lost": checker.lost(appended), "out_of_order": checker.out_of_order, "repeats": checker.duplicates}
        for name, count in said.items():
            before = self.figures.get(f"{self.run}_{name}_count", 0)
            self.add(f"{name}_count", before + count, "<=", allowed_repeats if name == "repeats" else 0)

    def tell(self) -> None:
        """Show the figures, on standard error."""
        console.print(f"{self.run}: " + ", ".join(f"{name} {value:.4g}" for name, value in self.figures.items()))
