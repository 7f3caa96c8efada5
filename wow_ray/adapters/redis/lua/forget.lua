-- Delete finished calls. ARGV: how long ago they ended, in microseconds; how many at most. Answers how many.
local over = redis.call('ZRANGEBYSCORE', prefix .. 'over', '-inf', '(' .. stamp(now - tonumber(ARGV[1])), 'LIMIT', 0, ARGV[2])
for _, id in ipairs(over) do
    leave(read(id))
    redis.call('DEL', call_key(id))
end
return #over
