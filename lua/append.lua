--[[
  append: add entries to a log of events, each with the next number, and let go of the oldest past a bound.

  KEYS[1]    meta       hash    attend:{<prefix>}:em:<scope>
  KEYS[2]    log        stream  attend:{<prefix>}:e:<scope>

  ARGV[1]    candidate  str     the log's epoch, should it have none yet
  ARGV[2]    most       int     how many entries are kept
  ARGV[3..]  entry      bytes   each entry, one at least

  Returns
    n  the number of the last entry added
]]
-- @include type
-- @include epoch

local wrong = wrong_type(KEYS, { 'hash', 'stream' })
if wrong then
  return wrong
end
epoch_of(KEYS[1], KEYS[2], ARGV[1])
local n
for i = 3, #ARGV do
  n = redis.call('HINCRBY', KEYS[1], 'n', 1)
  redis.call('XADD', KEYS[2], '*', 'n', n, 'd', ARGV[i])
end
if redis.call('XTRIM', KEYS[2], 'MAXLEN', ARGV[2]) > 0 then
  local first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1]
  if first[2][1] == 'n' then
    redis.call('HSET', KEYS[1], 'trimmed', tonumber(first[2][2]) - 1)
  end
end
return n
