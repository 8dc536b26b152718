--[[
  register: keep rules by their digest and count their generation.

  KEYS[1]  rules   hash   attend:{<prefix>}:rules

  ARGV[1]  digest  str    names exactly these rules
  ARGV[2]  rules   bytes  the rules

  Returns
    generation  the highest one, where that has this digest; else one more, which is the highest from now on
]]

local highest = redis.call('HGET', KEYS[1], 'highest')
local generation = tonumber(redis.call('HGET', KEYS[1], 'generation') or '0')
if highest ~= ARGV[1] then
  generation = generation + 1
  redis.call('HSET', KEYS[1], 'generation', generation, 'highest', ARGV[1], 'r:' .. ARGV[1], ARGV[2])
end
return generation
