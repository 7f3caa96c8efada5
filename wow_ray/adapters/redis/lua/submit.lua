-- Store a call, unless there is one of that id, or one pending under its key. Answers the id, and 1 when it is new.
-- ARGV: the fields as JSON, texts all; the delay in microseconds.
local row = cjson.decode(ARGV[1])
if redis.call('EXISTS', call_key(row.id)) == 1 then return {row.id, 0} end
if row.key then
    local standing = redis.call('GET', prefix .. 'key:' .. row['function'] .. ':' .. row.key)
    if standing then return {standing, 0} end
end
row.state = 'waiting'
row.due = stamp(now + tonumber(ARGV[2]))
row.created_at, row.updated_at, row.etag, row.busy, row.fallbacks = stamp(now), stamp(now), '1', '0', '0'
row.fallback, row.note, row.request_id = 'none', '', ''
local fields = {}
for name, value in pairs(row) do fields[#fields + 1] = name; fields[#fields + 1] = value end
redis.call('HSET', call_key(row.id), unpack(fields))
enter(row)
return {row.id, 1}
