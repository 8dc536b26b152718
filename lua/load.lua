--[[
  load: give scopes as they are stored, each from the version that the caller has.

  KEYS[1..]  for each scope
    scope    hash  attend:{<prefix>}:s:<scope>
    tail     list  attend:{<prefix>}:t:<scope>

  ARGV[1..]  for each scope
    have     str   the version the caller has; '' for none

  Returns
    {{outcome, version, whole, snapshot, tail}, ...}  one for each scope
      outcome   1 ok, 3 lost, 4 bad, as commit has them; what follows is empty where it is not ok
      version   '' where nothing is stored
      whole     1: the tail carries on from the snapshot; 0: from the version the caller has
      snapshot  '' where there is none
      tail      {`<version> <payload>`, ...}
]]
-- @include scope

local OK, LOST, BAD = 1, 3, 4

local function load(scope_key, tail_key, have)
  local state, version, base, _, length = read_scope(scope_key, tail_key)
  if state == 'bad' then
    return { BAD, '', 0, '', {} }
  end
  if state == 'lost' then
    return { LOST, version, 0, '', {} }
  end
  if state == 'none' then
    return { OK, '', 0, '', {} }
  end
  if have == version then
    return { OK, version, 0, '', {} }
  end
  if have == base then
    return { OK, version, 0, '', redis.call('LRANGE', tail_key, 0, -1) }
  end
  local place = find_version(tail_key, have, base, length)
  if place > 0 then
    return { OK, version, 0, '', redis.call('LRANGE', tail_key, place, -1) }
  end
  local snapshot = redis.call('HGET', scope_key, 'snap') or ''
  return { OK, version, 1, snapshot, redis.call('LRANGE', tail_key, 0, -1) }
end

local found = {}
for i = 1, #ARGV do
  found[i] = load(KEYS[2 * i - 1], KEYS[2 * i], ARGV[i])
end
return found
