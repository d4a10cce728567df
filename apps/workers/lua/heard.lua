-- What a call has shown about the worker. `verdict` is one of
--   answered  a reply came;              down     a failure that counts;
--   busy      it was asked too often;    alive    a failure that shows nothing but that somebody answers.
local opened_at, trial, pause_ms = troubles('opened_at', 'trial', 'pause_ms')
local cool_until, cool_ms = troubles('cool_until', 'cool_ms')

local function open(pause)
  pause = math.min(pause, pace.longest_pause_ms)
  note_trouble(
    'opened_at', opened_at or now, 'pause_ms', pause, 'reason', given.reason,
    'next_try', now + math.ceil(pause * (0.8 + 0.4 * given.luck))
  )
  redis.call('HDEL', TROUBLE, 'trial', 'failures')
end

-- The calls that were refused together with the first one do not make the cooling longer.
local function cool()
  if cool_until and now < tonumber(cool_until) and not given.retry_after_ms then
    return
  end
  local wait_ms = given.retry_after_ms
  if not wait_ms then
    wait_ms = cool_ms and tonumber(cool_ms) * 2 or pace.first_cool_ms
  end
  wait_ms = math.min(wait_ms, pace.longest_cool_ms)
  local till = math.max(now + math.ceil(wait_ms * (1 + 0.1 * given.luck)), tonumber(cool_until or 0))
  note_trouble('cool_until', till, 'cool_ms', wait_ms, 'steady_at', till + pace.steady_ms)
end

if given.verdict == 'busy' then
  cool()
end

if opened_at then
  if trial == given.ticket then -- the others began before it opened: what they bring is old
    if given.verdict == 'down' then
      open(tonumber(pause_ms) * 2)
    else
      redis.call('HDEL', TROUBLE, 'opened_at', 'pause_ms', 'reason', 'next_try', 'trial')
    end
  end
elseif given.verdict == 'down' then
  local failures = redis.call('HINCRBY', TROUBLE, 'failures', 1)
  if failures >= pace.open_after then
    open(pace.first_pause_ms)
  else
    note_trouble('failures', failures)
  end
elseif given.verdict == 'answered' then
  redis.call('HDEL', TROUBLE, 'failures')
  if cool_until and now >= tonumber(cool_until) then
    redis.call('HDEL', TROUBLE, 'cool_ms') -- the next cooling begins short again
  end
end
forget_trouble_if_over()
