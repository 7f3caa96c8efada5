-- Change a call as somebody asked, where its etag is still the one that was seen. ARGV: id, etag, fields as JSON, false
-- for those to be taken away. Answers "done", "changed" (look again) or "key" (another is pending under its key).
local row = read(ARGV[1])
if not row or row.etag ~= ARGV[2] then return 'changed' end
local fields = cjson.decode(ARGV[3])
if row.key and not pending(row.state) and pending(fields.state) then
    if redis.call('EXISTS', prefix .. 'key:' .. row['function'] .. ':' .. row.key) == 1 then return 'key' end
end
change(row, fields)
return 'done'
