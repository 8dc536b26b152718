-- The count in front of a version, `<n>-<nonce>`; 0 for none, nil where it is no version.
local function count_of(version)
  if not version or version == '' then
    return 0
  end
  return tonumber(string.match(version, '^(%d+)%-'))
end

-- What is stored of a scope: its state (none, ok, lost or bad), its version, the snapshot's version, the version
-- which that snapshot replaced, and the tail's length. Nothing after the state is given when that is bad.
local function read_scope(scope_key, tail_key)
  local fields = redis.pcall('HMGET', scope_key, 'v', 'sv', 'was')
  local length = redis.pcall('LLEN', tail_key)
  if fields.err or type(length) == 'table' then
    return 'bad'
  end
  local version, base, was = fields[1] or '', fields[2] or '', fields[3] or ''
  if version == '' and base == '' and length == 0 then
    return 'none', '', '', '', 0
  end
  local n, base_n = count_of(version), count_of(base)
  if not n or not base_n or n == 0 or n - base_n ~= length then
    return 'lost', version, base, was, length
  end
  return 'ok', version, base, was, length
end

-- Where in an ok scope's tail the entry that made a version is, counted from 1; 0 where it is not there.
-- Counts are dense, so one look is enough. An entry is stored as `<version> <payload>`.
local function find_version(tail_key, version, base, length)
  local n = count_of(version)
  if not n then
    return 0
  end
  local place = n - count_of(base)
  if place < 1 or place > length then
    return 0
  end
  local entry = redis.call('LINDEX', tail_key, place - 1)
  if string.sub(entry, 1, #version + 1) == version .. ' ' then
    return place
  end
  return 0
end
