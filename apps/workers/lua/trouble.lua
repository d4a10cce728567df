-- The circuit and the cooling of one worker, fields of the hash TROUBLE:
--   failures           how many calls in a row have failed
--   opened_at, next_try, pause_ms, reason     there while the circuit is not closed
--   trial              the one ticket that may try whether the worker answers again
--   cool_until, cool_ms                       nobody is admitted before then; how long the last cooling was
--   steady_at, paced_until                    after it they are admitted one by one until steady_at
local function troubles(...)
  return unpack(redis.call('HMGET', TROUBLE, ...))
end

local function note_trouble(...)
  redis.call('HSET', TROUBLE, ...)
  redis.call('PEXPIRE', TROUBLE, pace.trouble_ms)
  redis.call('SADD', TROUBLED, given.slug)
  redis.call('PUBLISH', NEWS, 'trouble ' .. given.slug)
end

-- Nothing is kept of troubles that are over, so that drivers need not ask about a worker that is well.
local function forget_trouble_if_over()
  local failures, opened_at, steady_at = troubles('failures', 'opened_at', 'steady_at')
  if not failures and not opened_at and now >= tonumber(steady_at or 0) then
    redis.call('DEL', TROUBLE)
    if redis.call('SREM', TROUBLED, given.slug) == 1 then
      redis.call('PUBLISH', NEWS, 'well ' .. given.slug)
    end
  end
end

-- Why the circuit keeps this ticket out; nil where it does not. Once a pause is over, the first to ask becomes the trial.
local function barred(ticket)
  local opened_at, next_try, trial, reason = troubles('opened_at', 'next_try', 'trial', 'reason')
  if not opened_at or trial == ticket then
    return nil
  end
  if trial and is_here(trial) then
    return { reason = reason, next_try = now + pace.look_ms * 2, wait_ms = pace.look_ms * 2 }
  end
  if now < tonumber(next_try) then
    return { reason = reason, next_try = tonumber(next_try), wait_ms = tonumber(next_try) - now }
  end
  redis.call('HSET', TROUBLE, 'trial', ticket)
  return nil
end

-- Until when nobody is admitted because the worker has said that it was asked too often; nil where it has not.
local function cooling_until()
  local cool_until, steady_at, paced_until = troubles('cool_until', 'steady_at', 'paced_until')
  if not cool_until or now >= tonumber(steady_at) then
    return nil
  end
  local free_at = math.max(tonumber(cool_until), tonumber(paced_until or 0))
  return now < free_at and free_at or nil
end

-- After a cooling they return one by one, at uneven distances: all at once they would be refused again.
local function pace_the_next()
  local steady_at = troubles('steady_at')
  if steady_at and now < tonumber(steady_at) then
    redis.call('HSET', TROUBLE, 'paced_until', now + math.ceil(pace.gap_ms * (0.5 + given.luck)))
  end
end
