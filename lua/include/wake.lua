-- Leave a wake token for the sleepers of a lane; one that lies there already is enough.
local function leave_token(wake_key)
  if redis.call('LLEN', wake_key) == 0 then
    redis.call('LPUSH', wake_key, '1')
  end
end

-- The earliest instant of a due set, or nil.
local function head_of(due_key)
  local head = redis.call('ZRANGE', due_key, 0, 0, 'WITHSCORES')
  return tonumber(head[2])
end
