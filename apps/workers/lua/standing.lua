-- How it stands at each line. KEYS: the lines. Nothing is changed.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local found = {}
for i, line in ipairs(KEYS) do
  local opened_at, next_try, trial, reason, cool_until = unpack(redis.call(
    'HMGET', line .. ':trouble', 'opened_at', 'next_try', 'trial', 'reason', 'cool_until'
  ))
  local circuit = 'closed'
  if opened_at then
    local tried = trial and (redis.call('ZSCORE', line .. ':held', trial) or redis.call('ZSCORE', line .. ':alive', trial))
    circuit = (tried or now >= tonumber(next_try)) and 'half-open' or 'open'
  end
  found[i] = {
    in_flight = redis.call('ZCOUNT', line .. ':held', '(' .. now, '+inf'),
    waiting = redis.call('ZCOUNT', line .. ':alive', '(' .. now, '+inf'),
    circuit = circuit,
    reason = opened_at and reason or '',
    opened_at = opened_at and tonumber(opened_at) or nil,
    next_try = opened_at and tonumber(next_try) or nil,
    cooling_until = cool_until and tonumber(cool_until) > now and tonumber(cool_until) or nil,
  }
end
return #found > 0 and cjson.encode(found) or '[]'
