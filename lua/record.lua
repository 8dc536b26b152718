--[[
  record: add rows to the record of who did what, and let go of the oldest past a bound.

  KEYS[1]    audit    stream  attend:{<prefix>}:audit
  KEYS[2]    readers  hash    attend:{<prefix>}:readers

  ARGV[1]    most     int     how many rows are kept
  ARGV[2..]  for each row
    row      bytes   what is added
    at       ms      when it was made
    name     str     where it is not '', the row is left out when another of this name was added lately
    within   ms      how long ago lately is

  Returns
    n  how many rows were added
]]
-- @include type

local wrong = wrong_type(KEYS, { 'stream', 'hash' })
if wrong then
  return wrong
end
local added = 0
for i = 2, #ARGV, 4 do
  local row, at, name, within = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], tonumber(ARGV[i + 3])
  local last = name ~= '' and tonumber(redis.call('HGET', KEYS[2], name) or '')
  if not last or at - last >= within then
    if name ~= '' then
      redis.call('HSET', KEYS[2], name, at)
    end
    redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[1], '*', 'd', row)
    added = added + 1
  end
end
return added
