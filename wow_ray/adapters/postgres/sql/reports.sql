-- Statements on reports of partitions.

-- name: write_report
-- Replace the report of a partition; no row = its owner's lease does not hold.
-- Caller: reports.PostgresReports.
INSERT INTO {schema}.partition_reports (partition, owner, at, report)
SELECT $1, o.id, clock_timestamp(), $3::json FROM {schema}.owners o WHERE o.id = $2 AND o.lease_until > clock_timestamp()
ON CONFLICT (partition) DO UPDATE SET owner = excluded.owner, at = excluded.at, report = excluded.report
RETURNING partition;

-- name: withdraw_report
-- Take the report of an owner away, and sweep away those that nobody has replaced for so many seconds.
-- Caller: reports.PostgresReports.
DELETE FROM {schema}.partition_reports
WHERE (partition = $1 AND owner = $2) OR at < clock_timestamp() - make_interval(secs => $3);

-- name: present_reports
-- Give all reports there are, and how old they are.
-- Caller: reports.PostgresReports.
SELECT partition, owner, at, greatest(0, extract(epoch FROM clock_timestamp() - at))::float8 AS age, report
FROM {schema}.partition_reports ORDER BY partition;
