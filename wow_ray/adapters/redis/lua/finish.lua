-- Write how claims end, each where its token is still the row's. ARGV: one JSON object for each end, its fields as texts,
-- false for those to be taken away; `after` in microseconds, `aside` "1" or false. Answers the new etags in the same order,
-- empty for claims that are lost.
local etags = {}
for n = 1, #ARGV do
    local fields = cjson.decode(ARGV[n])
    local row = read(fields.id)
    if row and row.state == 'running' and row.token == fields.token then
        if fields.after then fields.due = stamp(now + tonumber(fields.after)) end
        fields.after = nil
        fields.aside_since = fields.aside and (row.aside_since or stamp(now)) or false
        fields.aside = nil
        if fields.state ~= 'running' then
            fields.token, fields.worker, fields.lease_until = false, false, false
        end
        fields.ended_at = not pending(fields.state) and stamp(now) or false
        change(row, fields)
        etags[n] = row.etag
    else
        etags[n] = ''
    end
end
return etags
