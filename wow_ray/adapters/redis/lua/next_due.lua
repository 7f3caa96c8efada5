-- Give the microseconds until a call of these functions can be claimed, -1 = none is pending. ARGV: their names.
local earliest = nil
local function look(key)
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if #first > 0 and (not earliest or tonumber(first[2]) < earliest) then earliest = tonumber(first[2]) end
end
for _, name in ipairs(ARGV) do
    look(run_key(name))
    for priority = 0, 9 do look(prefix .. 'due:' .. name .. ':' .. priority) end
end
return stamp(earliest and math.max(0, earliest - now) or -1)
