--[[
  keep: store a webhook subscription, where nobody changed it meanwhile.

  KEYS[1]   kept      hash  attend:{<prefix>}:subs
  KEYS[2]   wants     hash  attend:{<prefix>}:subs:wants
  KEYS[3]   count     hash  attend:{<prefix>}:subs:count
  KEYS[4]   due       zset  attend:{<prefix>}:due:webhook
  KEYS[5]   idle      set   attend:{<prefix>}:subs:idle
  KEYS[6]   more      set   attend:{<prefix>}:subs:more

  ARGV[1]   id        str
  ARGV[2]   expected  str    the version it was made from; '' means that nothing was stored
  ARGV[3]   version   str    the one it makes, without blanks
  ARGV[4]   record    bytes
  ARGV[5]   wants     bytes  '' leaves what is stored
  ARGV[6]   owner     str
  ARGV[7]   each      int    how many one owner may have
  ARGV[8]   total     int    how many there may be
  ARGV[9]   due_at    ms     '' clears it, 'keep' leaves it
  ARGV[10]  idle      0|1    whether it waits for news
  ARGV[11]  at        ms     the instant of the change

  Returns
    0  stored, or it was before
    1  the version is another: nothing was changed
    2  the owner has as many as one may have
    3  there are as many as there may be
]]
-- @include type

local wrong = wrong_type(KEYS, { 'hash', 'hash', 'hash', 'zset', 'set', 'set' })
if wrong then
  return wrong
end
local id = ARGV[1]
local stored = redis.call('HGET', KEYS[1], id)
local version = stored and string.match(stored, '^(%S+) ') or ''
if version == ARGV[3] then
  return 0
end
if version ~= ARGV[2] then
  return 1
end
if not stored then
  if tonumber(redis.call('HGET', KEYS[3], ARGV[6]) or 0) >= tonumber(ARGV[7]) then
    return 2
  end
  if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[8]) then
    return 3
  end
  redis.call('HINCRBY', KEYS[3], ARGV[6], 1)
end
redis.call('HSET', KEYS[1], id, ARGV[3] .. ' ' .. ARGV[4])
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[2], id, ARGV[5])
  redis.call('HINCRBY', KEYS[2], 'n', 1)
end
if ARGV[9] == 'keep' then
  return 0
end
local due = ARGV[9]
redis.call('SREM', KEYS[5], id)
local more = redis.call('SREM', KEYS[6], id) == 1
if ARGV[10] == '1' then
  if more then
    due = ARGV[11]
  else
    redis.call('SADD', KEYS[5], id)
  end
end
if due == '' then
  redis.call('ZREM', KEYS[4], id)
else
  redis.call('ZADD', KEYS[4], due, id)
end
return 0
