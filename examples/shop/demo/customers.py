"""What the shop is asked for, all by a seed: deliveries, orders, parcels, in the order they are appended."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from examples.shop.shop import Line, OrderPaid, ParcelPacked, StockReceived, article, order, parcel
from wow_ray import AggregateRef, Scope
from wow_ray.events import NewCommit

ARTICLES = 40
BUYERS = 300
DELIVERIES = 15


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that will be asked for.

    `deliveries` come before the shop opens, `orders` (each with its parcels) while it works. `unknown` and `gone` are
    buyers without an address, the latter for good; `damaged` are parcels, of other buyers, that the carrier will not
    take as they are.
    """

    deliveries: tuple[NewCommit, ...]
    orders: tuple[tuple[NewCommit, ...], ...]
    unknown: frozenset[str]
    gone: frozenset[str]
    damaged: frozenset[str]

    def refs(self) -> Iterator[AggregateRef]:
        """Give every aggregate once."""
        yield from dict.fromkeys(commit.ref for commit in self.commits())

    def commits(self) -> Iterator[NewCommit]:
        """Give everything that is appended from outside."""
        yield from self.deliveries
        for commits in self.orders:
            yield from commits

    def buyers(self) -> Mapping[str, str]:
        """Give the buyer of each order."""
        return {commits[0].ref.id: _buyer(commits[0]) for commits in self.orders}

    def wanted(self) -> Mapping[str, int]:
        """Count the events that each subscription has to handle."""
        parcels = sum(len(commits) - 1 for commits in self.orders)
        return {
            "Sales.on_order_paid": len(self.orders),
            "Sales.on_order_shipped": parcels,
            "Stock.on_stock_received": len(self.deliveries),
            "Stock.on_order_paid": len(self.orders),
            "ParcelDesk.on_parcel_packed": parcels,
            "ShipmentNotifier.on_order_shipped": parcels,
        }

    def blocked(self) -> int:
        """Count the events that cannot be handled before a repair.

        A damaged parcel is not collected, so it is neither counted nor told; a buyer who is unknown is told of none.
        """
        untold = sum(len(commits) - 1 for commits in self.orders if _buyer(commits[0]) in self.unknown)
        return 3 * len(self.damaged) + untold

    def events(self) -> int:
        """Count the events there will be: what is appended from outside, and one `OrderShipped` for each parcel."""
        return sum(len(commit.events) + (commit.ref.aggregate == parcel.name) for commit in self.commits())


def plan(seed: int, orders: int) -> Plan:
    """Make a plan of so many orders of 1 to 3 parcels each; the same seed makes the same one."""
    random = Random(seed)
    deliveries = [
        NewCommit(article(f"article-{n:02}"), (StockReceived(quantity=random.randint(50, 500)),))
        for _ in range(DELIVERIES)
        for n in range(ARTICLES)
    ]
    asked = [tuple(_order(random, number)) for number in range(1, orders + 1)]
    unknown = random.sample(sorted({_buyer(commits[0]) for commits in asked}), 3)
    parcels = sorted(commit.ref.id for commits in asked for commit in commits[1:] if _buyer(commit) not in unknown)
    return Plan(
        deliveries=tuple(deliveries),
        orders=tuple(asked),
        unknown=frozenset(unknown),
        gone=frozenset(unknown[:1]),
        damaged=frozenset(random.sample(parcels, 4)),
    )


def extra_orders(asked: Plan) -> Iterator[tuple[str | None, Sequence[NewCommit]]]:
    """Give further orders without end; every fifth is of a new buyer, who is named with it."""
    random = Random()
    for number in count(len(asked.orders) + 1):
        commits = list(_order(random, number))
        newcomer = f"b-new-{number}" if number % 5 == 0 else None
        if newcomer is not None:
            commits = [replace(commit, scope=Scope(owner_id=newcomer)) for commit in commits]
        yield newcomer, commits


def _buyer(commit: NewCommit) -> str:
    return "" if commit.scope is None or commit.scope.owner_id is None else commit.scope.owner_id


def _order(random: Random, number: int) -> Iterator[NewCommit]:
    """Give an order and its parcels; the ids of commits make every append repeatable."""
    name, parcels = f"o-{number:04}", random.randint(1, 3)
    scope = Scope(owner_id=f"b-{random.randint(1, BUYERS):03}")
    articles: Sequence[int] = random.sample(range(ARTICLES), random.randint(1, 4))
    lines = tuple(
        Line(article=f"article-{n:02}", quantity=random.randint(1, 3), cents=random.randint(199, 19999))
        for n in articles
    )
    paid = OrderPaid(lines=lines, parcels=parcels)
    yield NewCommit(order(name), (paid,), expected_version=0, scope=scope, commit_id=f"paid-{name}")
    for part in range(1, parcels + 1):
        packed = ParcelPacked(order=name, grams=random.randint(100, 9000))
        ref = parcel(f"{name}-{part}")
        yield NewCommit(ref, (packed,), expected_version=0, scope=scope, commit_id=f"packed-{ref.id}")
