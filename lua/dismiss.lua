--[[
  dismiss: forget a webhook subscription, where nobody changed it meanwhile.

  KEYS[1]  kept      hash  attend:{<prefix>}:subs
  KEYS[2]  wants     hash  attend:{<prefix>}:subs:wants
  KEYS[3]  count     hash  attend:{<prefix>}:subs:count
  KEYS[4]  due       zset  attend:{<prefix>}:due:webhook
  KEYS[5]  idle      set   attend:{<prefix>}:subs:idle
  KEYS[6]  more      set   attend:{<prefix>}:subs:more

  ARGV[1]  id        str
  ARGV[2]  expected  str   the version the decision was made on
  ARGV[3]  owner     str

  Returns
    1  forgotten
    0  the version is another, or nothing is stored: nothing was changed
]]

local stored = redis.call('HGET', KEYS[1], ARGV[1])
if not stored or string.match(stored, '^(%S+) ') ~= ARGV[2] then
  return 0
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HINCRBY', KEYS[2], 'n', 1)
if redis.call('HINCRBY', KEYS[3], ARGV[3], -1) <= 0 then
  redis.call('HDEL', KEYS[3], ARGV[3])
end
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('SREM', KEYS[5], ARGV[1])
redis.call('SREM', KEYS[6], ARGV[1])
return 1
