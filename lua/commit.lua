--[[
  commit: apply a group of writes, each wholly or not at all, each only where nobody else wrote first.

  A write is two keys and then one for each window it names; its arguments come in the same order. All checks of a
  write come before its first change, and that change is one that a full or read-only server refuses, so an error
  leaves a write undone.

  KEYS[1]    meta     hash    attend:{<prefix>}:meta
  KEYS[2]    log      stream  attend:{<prefix>}:log
  KEYS[3]    scopes   zset    attend:{<prefix>}:scopes
  KEYS[4]    settle   zset    attend:{<prefix>}:due:settle
  KEYS[5]    deliver  zset    attend:{<prefix>}:due:deliver
  KEYS[6]    bury     zset    attend:{<prefix>}:due:bury
  KEYS[7]    settle   list    attend:{<prefix>}:wake:settle
  KEYS[8]    deliver  list    attend:{<prefix>}:wake:deliver
  KEYS[9]    bury     list    attend:{<prefix>}:wake:bury
  KEYS[10]   dead     zset    attend:{<prefix>}:dead
  KEYS[11]   told     hash    attend:{<prefix>}:news:meta
  KEYS[12]   news     stream  attend:{<prefix>}:news
  KEYS[13]   open     hash    attend:{<prefix>}:open
  KEYS[14..] for each write
    scope    hash    attend:{<prefix>}:s:<scope>
    tail     list    attend:{<prefix>}:t:<scope>
    window   hash    attend:{<prefix>}:w:<window id>, for each row, each kept window, each dropped one

  ARGV[1]    epoch    str     the log's epoch, should it have none yet
  ARGV[2]    most     int     how many conditions are kept as open
  ARGV[3..]  for each write
    scope    str     the scope, member of the due sets
    expected str     the version the writer read; '' means that nothing was stored
    version  str     the version this write makes
    at       ms      the instant of the commit
    mode     str     'entry' appends to the tail, 'snapshot' replaces it, 'restart' replaces what is left of a lost scope
    payload  bytes   the entry or the snapshot
    settle   ms      the lane's due instant; '-' clears it, '' leaves it
    deliver  ms      likewise
    bury     ms      likewise
    dead     ms      when the scope's oldest dead letter died; '0' where it has none, '' leaves it
    rows     int     how many rows follow, each as: id str, summary bytes, window bytes, held '1' or '0'
    keep     int     how many kept windows follow, each as: window bytes
    drop     int     how many dropped windows follow, each as: bytes to keep of how it arrived; '' where it did not
    news     int     how many pieces of news follow, each as: condition str, what it does to that: 'opens', 'resolves'
                     or '', row bytes

  Returns
    {outcome, ...}  one for each write
      1  ok        applied now, or by an earlier sending of the same write
      2  conflict  the stored version is another
      3  lost      snapshot and tail do not fit together
      4  bad       a key of the scope holds another type
]]
-- @include type
-- @include scope
-- @include wake
-- @include epoch

local OK, CONFLICT, LOST, BAD = 1, 2, 3, 4

local meta_key, log_key, scopes_key, dead_key = KEYS[1], KEYS[2], KEYS[3], KEYS[10]
local news_meta_key, news_key, open_key = KEYS[11], KEYS[12], KEYS[13]
local due_keys = { KEYS[4], KEYS[5], KEYS[6] }
local wake_keys = { KEYS[7], KEYS[8], KEYS[9] }

-- For each lane the earliest due instant that sleepers can know of, and whether they must hear of an earlier one.
local heads = {}
local woken = {}

local function set_due(lane, scope, due_at, at)
  if due_at == '' then
    return
  end
  local due_key = due_keys[lane]
  if due_at == '-' then
    redis.call('ZREM', due_key, scope)
    return
  end
  if heads[lane] == nil then
    heads[lane] = head_of(due_key) or false
  end
  redis.call('ZADD', due_key, due_at, scope)
  local instant, head = tonumber(due_at), heads[lane]
  if not head or instant < head or instant <= tonumber(at) then
    woken[lane] = true
  end
end

local function set_dead(scope, dead_at)
  if dead_at == '0' then
    redis.call('ZREM', dead_key, scope)
  elseif dead_at ~= '' then
    redis.call('ZADD', dead_key, dead_at, scope)
  end
end

local function drop(window_key, arrival)
  local stored = redis.call('HMGET', window_key, 'id', 'trimmed', 'win')
  if not stored[3] then
    return
  end
  if stored[2] or not stored[1] then
    redis.call('DEL', window_key)
    return
  end
  redis.call('HDEL', window_key, 'held')
  if arrival ~= '' then
    redis.call('HSET', window_key, 'done', arrival)
  end
end

local function log_row(window_key, id, summary, window, held)
  if held == '1' then
    redis.call('HSET', window_key, 'held', '1')
  end
  if redis.call('HEXISTS', window_key, 'id') == 1 then
    return
  end
  epoch_of(meta_key, log_key, ARGV[1])
  local n = redis.call('HINCRBY', meta_key, 'n', 1)
  local row = redis.call('XADD', log_key, '*', 'n', n, 'd', summary, 'w', id)
  redis.call('HSETNX', window_key, 'win', window)
  redis.call('HSET', window_key, 'sum', summary, 'id', row, 'n', n)
end

local function keep(window_key, window)
  redis.call('HSETNX', window_key, 'win', window)
  redis.call('HSET', window_key, 'held', '1')
end

local function announce(condition, change, row, at)
  if change == 'opens' then
    if redis.call('HEXISTS', open_key, condition) == 1 then
      return
    end
    if redis.call('HLEN', open_key) < tonumber(ARGV[2]) then
      redis.call('HSET', open_key, condition, at .. ' ' .. row)
    end
  elseif change == 'resolves' and redis.call('HDEL', open_key, condition) == 0 then
    return
  end
  epoch_of(news_meta_key, news_key, ARGV[1])
  local n = redis.call('HINCRBY', news_meta_key, 'n', 1)
  redis.call('XADD', news_key, '*', 'n', n, 'd', row)
end

-- Whether a write may be applied: nil, or the outcome that says why not.
local function refusal(k, a, windows)
  local expected, version, mode = ARGV[a + 1], ARGV[a + 2], ARGV[a + 4]
  local state, stored, base, was, length = read_scope(KEYS[k], KEYS[k + 1])
  if state == 'bad' then
    return BAD
  end
  for i = k + 2, k + 1 + windows do
    local found = redis.call('TYPE', KEYS[i]).ok
    if found ~= 'none' and found ~= 'hash' then
      return BAD
    end
  end
  if stored == version then
    return OK
  end
  if state == 'lost' then
    return mode ~= 'restart' and LOST or nil
  end
  if mode ~= 'restart' and stored == expected then
    return nil
  end
  if base == version or was == version or find_version(KEYS[k + 1], version, base, length) > 0 then
    return OK
  end
  return CONFLICT
end

local function apply(k, a, rows, kept, dropped, news)
  local scope, version, at, mode = ARGV[a], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4]
  local payload = ARGV[a + 5]
  if mode == 'entry' then
    redis.call('HSET', KEYS[k], 'v', version)
    redis.call('RPUSH', KEYS[k + 1], version .. ' ' .. payload)
  else
    redis.call('HSET', KEYS[k], 'v', version, 'sv', version, 'was', ARGV[a + 1], 'snap', payload)
    redis.call('DEL', KEYS[k + 1])
  end
  redis.call('ZADD', scopes_key, at, scope)
  for lane = 1, 3 do
    set_due(lane, scope, ARGV[a + 5 + lane], at)
  end
  set_dead(scope, ARGV[a + 9])
  local window = k + 2
  local given = a + 14
  local drops_from, drops_given = window + rows + kept, given + rows * 4 + kept
  for i = 0, dropped - 1 do
    drop(KEYS[drops_from + i], ARGV[drops_given + i])
  end
  for _ = 1, rows do
    log_row(KEYS[window], ARGV[given], ARGV[given + 1], ARGV[given + 2], ARGV[given + 3])
    window, given = window + 1, given + 4
  end
  for _ = 1, kept do
    keep(KEYS[window], ARGV[given])
    window, given = window + 1, given + 1
  end
  given = given + dropped
  for _ = 1, news do
    announce(ARGV[given], ARGV[given + 1], ARGV[given + 2], at)
    given = given + 3
  end
end

local wrong = wrong_type(KEYS, {
  'hash', 'stream', 'zset', 'zset', 'zset', 'zset', 'list', 'list', 'list', 'zset', 'hash', 'stream', 'hash',
})
if wrong then
  return wrong
end

local outcomes = {}
local k, a = 14, 3
while a <= #ARGV do
  local rows, kept, dropped = tonumber(ARGV[a + 10]), tonumber(ARGV[a + 11]), tonumber(ARGV[a + 12])
  local news = tonumber(ARGV[a + 13])
  local windows = rows + kept + dropped
  local refused = refusal(k, a, windows)
  if not refused then
    apply(k, a, rows, kept, dropped, news)
  end
  outcomes[#outcomes + 1] = refused or OK
  k = k + 2 + windows
  a = a + 14 + rows * 4 + kept + dropped + news * 3
end
for lane = 1, 3 do
  if woken[lane] then
    leave_token(wake_keys[lane])
  end
end
return outcomes
