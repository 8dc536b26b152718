--[[
  take: claim webhook subscriptions that are due, moving each one's due to the end of the claim.

  KEYS[1]  due    zset  attend:{<prefix>}:due:webhook
  KEYS[2]  idle   set   attend:{<prefix>}:subs:idle
  KEYS[3]  more   set   attend:{<prefix>}:subs:more

  ARGV[1]  now    ms    subscriptions due at this instant or before
  ARGV[2]  n      int   how many at most
  ARGV[3]  until  ms    when the claim ends

  Returns
    {next_at, id, ...}  those taken, earliest first, after the instant the next one is due, '' for never
]]
-- @include wake

local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
for i = 1, #ids do
  redis.call('ZADD', KEYS[1], ARGV[3], ids[i])
  redis.call('SREM', KEYS[2], ids[i])
  redis.call('SREM', KEYS[3], ids[i])
end
local head = head_of(KEYS[1])
table.insert(ids, 1, head and string.format('%.0f', head) or '')
return ids
