--[[
  release: hand a claim back without a commit, unless the scope or its due changed since.

  KEYS[1]  scope    hash  attend:{<prefix>}:s:<scope>
  KEYS[2]  due      zset  attend:{<prefix>}:due:<lane>
  KEYS[3]  wake     list  attend:{<prefix>}:wake:<lane>

  ARGV[1]  scope    str   member of the due set
  ARGV[2]  version  str   the version the holder read; '' means that nothing was stored
  ARGV[3]  until    ms    the end of the claim
  ARGV[4]  due_at   ms    the lane's due instant from now on; '' clears it

  Returns
    1  handed back
    0  the version is another, or the due is no longer the claim's: nothing was changed
]]
-- @include wake

local due = redis.call('ZSCORE', KEYS[2], ARGV[1])
local version = redis.call('HGET', KEYS[1], 'v') or ''
if not due or tonumber(due) ~= tonumber(ARGV[3]) or version ~= ARGV[2] then
  return 0
end
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[2], ARGV[1])
  return 1
end
local head = head_of(KEYS[2])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
if tonumber(ARGV[4]) < head then
  leave_token(KEYS[3])
end
return 1
