--[[
  wake: leave a wake token for the sleepers of a lane, where none lies there.

  KEYS[1]  wake  list  attend:{<prefix>}:wake:<lane>

  Returns
    1  always
]]
-- @include wake

leave_token(KEYS[1])
return 1
