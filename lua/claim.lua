--[[
  claim: take the scopes that are due in a lane, moving each one's due to the end of the claim.

  KEYS[1]  due    zset  attend:{<prefix>}:due:<lane>
  KEYS[2]  wake   list  attend:{<prefix>}:wake:<lane>

  ARGV[1]  now    ms    scopes due at this instant or before
  ARGV[2]  n      int   how many at most
  ARGV[3]  until  ms    when the claim ends

  Returns
    {next_at, scope, ...}  the scopes taken, earliest first, after the instant the next one is due, '' for never.
                           With n scopes taken a wake token is left, since there may be more
]]
-- @include wake

local scopes = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
for i = 1, #scopes do
  redis.call('ZADD', KEYS[1], ARGV[3], scopes[i])
end
if #scopes > 0 and #scopes == tonumber(ARGV[2]) then
  leave_token(KEYS[2])
end
local head = head_of(KEYS[1])
table.insert(scopes, 1, head and string.format('%.0f', head) or '')
return scopes
