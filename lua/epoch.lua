--[[
  epoch: make sure that the log has an epoch.

  KEYS[1]  meta       hash    attend:{<prefix>}:meta
  KEYS[2]  log        stream  attend:{<prefix>}:log

  ARGV[1]  candidate  str     the epoch, should the log have none

  Returns
    epoch  the one it has now
]]
-- @include epoch

return epoch_of(KEYS[1], KEYS[2], ARGV[1])
