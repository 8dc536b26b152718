--[[
  remove: forget a scope, where nobody wrote to it meanwhile.

  KEYS[1]  scope    hash  attend:{<prefix>}:s:<scope>
  KEYS[2]  tail     list  attend:{<prefix>}:t:<scope>
  KEYS[3]  scopes   zset  attend:{<prefix>}:scopes
  KEYS[4]  settle   zset  attend:{<prefix>}:due:settle
  KEYS[5]  deliver  zset  attend:{<prefix>}:due:deliver
  KEYS[6]  bury     zset  attend:{<prefix>}:due:bury
  KEYS[7]  dead     zset  attend:{<prefix>}:dead

  ARGV[1]  scope    str   member of the sorted sets
  ARGV[2]  version  str   the version the decision was made on; '' means that nothing was stored, '*' any

  Returns
    1  forgotten
    0  the version is another: nothing was changed
]]

if ARGV[2] ~= '*' then
  local version = redis.call('HGET', KEYS[1], 'v') or ''
  if version ~= ARGV[2] then
    return 0
  end
end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('ZREM', KEYS[5], ARGV[1])
redis.call('ZREM', KEYS[6], ARGV[1])
redis.call('ZREM', KEYS[7], ARGV[1])
return 1
