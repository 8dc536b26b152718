-- An error reply that names the first of KEYS that holds another type than it should, or nil. `expected` has a type
-- for each of them, from the first on.
local function wrong_type(expected)
  for i = 1, #expected do
    local found = redis.call('TYPE', KEYS[i]).ok
    if found ~= 'none' and found ~= expected[i] then
      return redis.error_reply('WRONGTYPE ' .. KEYS[i] .. ' holds a ' .. found .. ', not a ' .. expected[i])
    end
  end
end
