--[[
  read: give a range of the log, with what its meta says at the same moment.

  A script and not a transaction: a server that is full refuses reads in a transaction (Redis 7.0 does).

  KEYS[1]  meta       hash    attend:{<prefix>}:meta
  KEYS[2]  log        stream  attend:{<prefix>}:log

  ARGV[1]  candidate  str     the log's epoch, should it have none yet
  ARGV[2]  from       str     the stream id to begin with, '(' in front leaves that out; '-' the oldest;
                              '+' the newest, and then backwards
  ARGV[3]  count      int     how many entries at most

  Returns
    {epoch, n, trimmed, length, entries}
      n        number of the newest row there ever was
      trimmed  number of the newest row trimmed
      length   entries in the stream
      entries  {{id, {field, value, ...}}, ...}
]]
-- @include epoch

local epoch = epoch_of(KEYS[1], KEYS[2], ARGV[1])
local counters = redis.call('HMGET', KEYS[1], 'n', 'trimmed')
local entries
if ARGV[2] == '+' then
  entries = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', ARGV[3])
else
  entries = redis.call('XRANGE', KEYS[2], ARGV[2], '+', 'COUNT', ARGV[3])
end
return { epoch, counters[1] or '0', counters[2] or '0', redis.call('XLEN', KEYS[2]), entries }
