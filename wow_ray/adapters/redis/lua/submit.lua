-- Store calls, each unless there is one of its id, or one pending under its key. ARGV: for each its fields as JSON, texts
-- all, and its delay in microseconds. Answers for each the id of the call that is there, and 1 when it is new, else 0.
local stored = {}
for n = 1, #ARGV, 2 do
    local row = cjson.decode(ARGV[n])
    local standing = redis.call('EXISTS', call_key(row.id)) == 1 and row.id
    if not standing and row.key then standing = redis.call('GET', prefix .. 'key:' .. row['function'] .. ':' .. row.key) end
    if not standing then
        row.state = 'waiting'
        row.due = stamp(now + tonumber(ARGV[n + 1]))
        row.created_at, row.updated_at, row.etag, row.busy, row.fallbacks = stamp(now), stamp(now), '1', '0', '0'
        row.fallback, row.note, row.request_id = 'none', '', ''
        local fields = {}
        for name, value in pairs(row) do fields[#fields + 1] = name; fields[#fields + 1] = value end
        redis.call('HSET', call_key(row.id), unpack(fields))
        enter(row)
    end
    stored[#stored + 1] = standing or row.id
    stored[#stored + 1] = standing and 0 or 1
end
return stored
