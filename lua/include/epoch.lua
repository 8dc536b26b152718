-- The log's epoch. A log without one is new, or its meta is gone: it gets the candidate, and the counter goes on
-- from the rows that are there.
local function epoch_of(meta_key, log_key, candidate)
  local stored = redis.call('HGET', meta_key, 'epoch')
  if stored then
    return stored
  end
  local first = redis.call('XRANGE', log_key, '-', '+', 'COUNT', 1)[1]
  local last = redis.call('XREVRANGE', log_key, '+', '-', 'COUNT', 1)[1]
  local n, trimmed = 0, 0
  if last and last[2][1] == 'n' then
    n = tonumber(last[2][2]) or 0
  end
  if first and first[2][1] == 'n' then
    trimmed = (tonumber(first[2][2]) or 1) - 1
  end
  redis.call('HSET', meta_key, 'epoch', candidate, 'n', n, 'trimmed', trimmed, 'format', 1)
  return candidate
end
