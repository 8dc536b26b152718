-- An error reply that names the first of some keys that holds another type than it should, or nil. `expected` has
-- a type for each of them, from the first on; keys past those are not looked at.
local function wrong_type(keys, expected)
  for i = 1, #expected do
    local found = redis.call('TYPE', keys[i]).ok
    if found ~= 'none' and found ~= expected[i] then
      return redis.error_reply('WRONGTYPE ' .. keys[i] .. ' holds a ' .. found .. ', not a ' .. expected[i])
    end
  end
end
