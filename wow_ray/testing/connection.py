"""A double of the database connection that a handler writes through (`ctx.connection`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as a handler gave it; `executemany` is one statement for each set of arguments."""

    sql: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What statements that contain a text are answered."""

    containing: str
    rows: tuple[Row, ...]
    error: BaseException | None


class RecordingDatabase:
    """Where the statements of several connections meet; give `connect` to the store as its factory of connections.

    `committed` holds the statements of transactions that ended well, in the order they ended; those of the others are
    in `rolled_back`. Statements are not carried out: what a query finds is what `answer` said.
    """

    def __init__(self) -> None:
        self.committed: list[Statement] = []
        self.rolled_back: list[Statement] = []
        self._answers: list[_Answer] = []

    def connect(self) -> RecordingConnection:
        """Make a connection with one open transaction."""
        return RecordingConnection(self)

    def answer(self, containing: str, *rows: Row, error: BaseException | None = None) -> None:
        """Answer statements that contain this text with these rows, or with the error; the latest word counts."""
        self._answers.insert(0, _Answer(containing, rows, error))

    def rows_for(self, sql: str) -> tuple[Row, ...]:
        """Give what was scripted for the statement: no rows, if nothing; raises the error scripted for it."""
        for answer in self._answers:
            if answer.containing in sql:
                if answer.error is not None:
                    raise answer.error
                return answer.rows
        return ()


class RecordingConnection:
    """The part of an asyncpg connection that handlers use: records `statements`, answers scripted rows.

    Stands alone in a test of one handler (`RecordingConnection()`), or belongs to a `RecordingDatabase`.
    """

    def __init__(self, database: RecordingDatabase | None = None) -> None:
        self.database = database or RecordingDatabase()
        self.statements: list[Statement] = []
        self.state: Literal["open", "committed", "rolled back"] = "open"

    def answer(self, containing: str, *rows: Row, error: BaseException | None = None) -> None:
        """Script the database of this connection; see `RecordingDatabase.answer`."""
        self.database.answer(containing, *rows, error=error)

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:  # noqa: ANN401, ASYNC109 - asyncpg's own signature
        """Record the statement; the status tells how many rows were scripted for it."""
        del timeout
        rows = self._recorded(query, args)
        return f"OK {len(rows)}"

    async def executemany(self, command: str, args: Iterable[Sequence[Any]], *, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as above
        """Record the statement once for each set of arguments."""
        del timeout
        for one in args:
            self._recorded(command, tuple(one))

    async def fetch(self, query: str, *args: Any, timeout: float | None = None) -> list[Row]:  # noqa: ANN401, ASYNC109 - as above
        """Record the query and give the rows scripted for it."""
        del timeout
        return list(self._recorded(query, args))

    async def fetchrow(self, query: str, *args: Any, timeout: float | None = None) -> Row | None:  # noqa: ANN401, ASYNC109 - as above
        """Record the query and give the first row scripted for it, or `None`."""
        del timeout
        return next(iter(self._recorded(query, args)), None)

    async def fetchval(self, query: str, *args: Any, column: int = 0, timeout: float | None = None) -> Any:  # noqa: ANN401, ASYNC109 - as above
        """Record the query and give one column of the first row scripted for it, or `None`."""
        del timeout
        row = next(iter(self._recorded(query, args)), None)
        return None if row is None else list(row.values())[column]

    def ended(self, *, committed: bool) -> None:
        """Be told how the transaction ended (by the store that opened it); the connection is of no use afterwards."""
        self.state = "committed" if committed else "rolled back"
        (self.database.committed if committed else self.database.rolled_back).extend(self.statements)

    def _recorded(self, sql: str, arguments: tuple[Any, ...]) -> tuple[Row, ...]:
        """Keep the statement and look up its rows."""
        if self.state != "open":
            msg = f"the transaction of this connection was {self.state}; it is open only during its call: {sql!r}"
            raise RuntimeError(msg)
        self.statements.append(Statement(sql, arguments))
        return self.database.rows_for(sql)
