--[[
  acknowledge: keep that somebody took a decision, for as long as its row is in the log.

  KEYS[1]  window  hash  attend:{<prefix>}:w:<decision id>

  ARGV[1]  field   str   names who took it
  ARGV[2]  at      ms    when

  Returns
    at   when it was first said
    nil  the log has no such decision, or no more
]]

local stored = redis.call('HMGET', KEYS[1], 'id', 'trimmed')
if not stored[1] or stored[2] then
  return nil
end
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], ARGV[1])
