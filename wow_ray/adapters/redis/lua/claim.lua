-- Claim what is claimable. ARGV: worker, lease in microseconds, how many at most, a text no other claim has, then for
-- each function its name, its room, and how many may run at once (-1 = any number). Answers the rows as JSON.
local worker, lease, most, unique = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local found, room = {}, {}
for n = 5, #ARGV, 3 do
    local name, free, limit = ARGV[n], tonumber(ARGV[n + 1]), tonumber(ARGV[n + 2])
    if limit >= 0 then
        free = math.min(free, limit - redis.call('ZCOUNT', run_key(name), '(' .. stamp(now), '+inf'))
    end
    room[name] = free
    local left = math.min(free, most)
    if left > 0 then
        for priority = 9, 0, -1 do
            local key = prefix .. 'due:' .. name .. ':' .. priority
            local due = redis.call('ZRANGEBYSCORE', key, '-inf', stamp(now), 'WITHSCORES', 'LIMIT', 0, left)
            for m = 1, #due, 2 do
                found[#found + 1] = {id = due[m], at = tonumber(due[m + 1]), priority = priority, name = name}
            end
        end
        local dead = redis.call('ZRANGEBYSCORE', run_key(name), '-inf', stamp(now), 'WITHSCORES', 'LIMIT', 0, left)
        for m = 1, #dead, 2 do
            local priority = tonumber(redis.call('HGET', call_key(dead[m]), 'priority'))
            found[#found + 1] = {id = dead[m], at = tonumber(dead[m + 1]), priority = priority, name = name}
        end
    end
end
table.sort(found, function(a, b)
    if a.priority ~= b.priority then return a.priority > b.priority end
    if a.at ~= b.at then return a.at < b.at end
    return a.id < b.id
end)
local taken = {}
for _, one in ipairs(found) do
    if #taken < most and room[one.name] > 0 then
        room[one.name] = room[one.name] - 1
        local row = read(one.id)
        local calls = row.fallback ~= 'begun' and 1 or 0
        change(row, {
            state = 'running', token = unique .. '-' .. #taken, worker = worker, lease_until = stamp(now + lease),
            attempts = row.attempts + calls, spent = row.spent + calls, fallbacks = row.fallbacks + 1 - calls,
        })
        taken[#taken + 1] = row
    end
end
return #taken > 0 and cjson.encode(taken) or '[]'
