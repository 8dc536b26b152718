--[[
  rouse: there is news for webhook subscriptions.

  KEYS[1]  due   zset  attend:{<prefix>}:due:webhook
  KEYS[2]  idle  set   attend:{<prefix>}:subs:idle
  KEYS[3]  more  set   attend:{<prefix>}:subs:more
  KEYS[4]  kept  hash  attend:{<prefix>}:subs

  ARGV[1]    now  ms   when the idle ones become due
  ARGV[2..]  id   str  each of them. One that is not idle is marked: it becomes due once it would be idle

  Returns
    n  how many became due
]]

local due = 0
for i = 2, #ARGV do
  if redis.call('SREM', KEYS[2], ARGV[i]) == 1 then
    redis.call('ZADD', KEYS[1], ARGV[1], ARGV[i])
    due = due + 1
  elseif redis.call('HEXISTS', KEYS[4], ARGV[i]) == 1 then
    redis.call('SADD', KEYS[3], ARGV[i])
  end
end
return due
