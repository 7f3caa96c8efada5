-- What all scripts on durable calls have in common. KEYS[1] is the prefix of every key; it carries the one hash tag,
-- so that they lie on one node of a cluster. Times are microseconds of the server's clock.
--
--   <prefix>call:<id>                hash    the call
--   <prefix>due:<function>:<0..9>    zset    who waits, by when it is due
--   <prefix>run:<function>           zset    who runs, by when its lease ends
--   <prefix>key:<function>:<key>     string  the pending call under a key
--   <prefix>state:<state>            zset    everybody, by id (all scores are 0)
--   <prefix>counts                   hash    how many, by "<state> <function>"
--   <prefix>over                     zset    who is finished, by when it ended

local prefix = KEYS[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function stamp(at) return string.format('%.0f', at) end
local function call_key(id) return prefix .. 'call:' .. id end
local function due_key(row) return prefix .. 'due:' .. row['function'] .. ':' .. row.priority end
local function run_key(name) return prefix .. 'run:' .. name end

local function read(id)
    local flat = redis.call('HGETALL', call_key(id))
    if #flat == 0 then return nil end
    local row = {}
    for n = 1, #flat, 2 do row[flat[n]] = flat[n + 1] end
    return row
end

local function pending(state) return state == 'waiting' or state == 'running' end
local function finished(state) return state == 'succeeded' or state == 'cancelled' or state == 'discarded' end

-- Take a call out of every index of its state.
local function leave(row)
    if row.state == 'waiting' then redis.call('ZREM', due_key(row), row.id) end
    if row.state == 'running' then redis.call('ZREM', run_key(row['function']), row.id) end
    if finished(row.state) then redis.call('ZREM', prefix .. 'over', row.id) end
    if pending(row.state) and row.key then
        local key = prefix .. 'key:' .. row['function'] .. ':' .. row.key
        if redis.call('GET', key) == row.id then redis.call('DEL', key) end
    end
    redis.call('ZREM', prefix .. 'state:' .. row.state, row.id)
    redis.call('HINCRBY', prefix .. 'counts', row.state .. ' ' .. row['function'], -1)
end

-- Put it into every index of its state.
local function enter(row)
    if row.state == 'waiting' then redis.call('ZADD', due_key(row), row.due, row.id) end
    if row.state == 'running' then redis.call('ZADD', run_key(row['function']), row.lease_until, row.id) end
    if finished(row.state) then redis.call('ZADD', prefix .. 'over', row.ended_at, row.id) end
    if pending(row.state) and row.key then
        redis.call('SET', prefix .. 'key:' .. row['function'] .. ':' .. row.key, row.id)
    end
    redis.call('ZADD', prefix .. 'state:' .. row.state, 0, row.id)
    redis.call('HINCRBY', prefix .. 'counts', row.state .. ' ' .. row['function'], 1)
end

-- Write fields; false takes one away.
local function write(row, fields)
    local set, gone = {}, {}
    for name, value in pairs(fields) do
        if value == false then
            row[name] = nil
            gone[#gone + 1] = name
        else
            row[name] = tostring(value)
            set[#set + 1] = name
            set[#set + 1] = tostring(value)
        end
    end
    if #set > 0 then redis.call('HSET', call_key(row.id), unpack(set)) end
    if #gone > 0 then redis.call('HDEL', call_key(row.id), unpack(gone)) end
end

-- Change a call and its indexes in one step; every change has a new etag.
local function change(row, fields)
    leave(row)
    fields.etag = row.etag + 1
    fields.updated_at = stamp(now)
    write(row, fields)
    enter(row)
end
