-- Begin leases anew. ARGV: lease in microseconds, then ids and tokens. Answers the ids of claims that are lost.
local lost = {}
for n = 2, #ARGV, 2 do
    local row = read(ARGV[n])
    if row and row.state == 'running' and row.token == ARGV[n + 1] then
        write(row, {lease_until = stamp(now + tonumber(ARGV[1]))})
        redis.call('ZADD', run_key(row['function']), row.lease_until, row.id)
    else
        lost[#lost + 1] = ARGV[n]
    end
end
return lost
