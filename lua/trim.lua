--[[
  trim: delete the oldest rows of the log, with their windows; a window that is held goes later, when it is dropped.

  KEYS[1]    meta     hash    attend:{<prefix>}:meta
  KEYS[2]    log      stream  attend:{<prefix>}:log
  KEYS[3..]  for each row
    window   hash     attend:{<prefix>}:w:<window id>

  ARGV[1]    epoch    str     the log's epoch when the rows were read
  ARGV[2]    before   int     number of the newest row trimmed, when the rows were read
  ARGV[3]    after    int     the number of the last of these rows
  ARGV[4..]  for each row
    id       str      its stream id

  Returns
    1  trimmed
    0  somebody else trimmed since the rows were read, or the epoch is another: nothing was changed
]]

local meta = redis.call('HMGET', KEYS[1], 'epoch', 'trimmed')
if meta[1] ~= ARGV[1] or (meta[2] or '0') ~= ARGV[2] then
  return 0
end
for i = 4, #ARGV do
  local window_key = KEYS[i - 1]
  -- A deletion comes first: a full server refuses a script whose first change needs memory.
  redis.call('XDEL', KEYS[2], ARGV[i])
  local stored = redis.pcall('HMGET', window_key, 'id', 'held')
  -- A window of another row was logged again after this one was forgotten; it goes with its own.
  if not stored.err and stored[1] == ARGV[i] then
    if stored[2] then
      redis.call('HSET', window_key, 'trimmed', '1')
    else
      redis.call('DEL', window_key)
    end
  end
end
redis.call('HSET', KEYS[1], 'trimmed', ARGV[3])
return 1
