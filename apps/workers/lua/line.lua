-- What every script at one worker's line begins with. KEYS[1] is the line, places:{slug}; ARGV[1] what is given, as JSON.
-- Times are Redis' own, in milliseconds. A ticket is "turnstile:number"; whoever holds one renews its lease.
-- Keys are made from KEYS[1] and two fixed names: this is for one Redis, not for a cluster of them.
local given = cjson.decode(ARGV[1])
local pace = given.pace

local LINE = KEYS[1]
local HELD = LINE .. ':held' -- tickets that hold a place, by the end of their lease
local QUEUE = LINE .. ':queue' -- tickets that wait, by their order: when they came, in microseconds
local ALIVE = LINE .. ':alive' -- tickets that wait, by the end of their lease
local ASKED = LINE .. ':asked' -- ticket -> tokens it asks for; once admitted also the bucket they were taken from
local LIMITS = LINE .. ':limits' -- the limits as last told
local REQUESTS = LINE .. ':requests' -- bucket -> requests begun in it
local TOKENS = LINE .. ':tokens' -- bucket -> tokens taken in it
local TROUBLE = LINE .. ':trouble' -- the circuit and the cooling: see trouble.lua
local TROUBLED = 'places:troubled' -- slugs that have any
local MUSTERED = 'places:mustered' -- when every driver has said what it holds
local NEWS = 'places:news' -- told to every turnstile; ":<turnstile>" after it to one

local clock = redis.call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = math.floor(now_us / 1000)

local function forget(ticket)
  redis.call('ZREM', HELD, ticket)
  redis.call('ZREM', QUEUE, ticket)
  redis.call('ZREM', ALIVE, ticket)
  redis.call('HDEL', ASKED, ticket)
end

-- Take away what the dead hold: nobody has renewed it.
local function reap()
  for _, key in ipairs({ HELD, ALIVE }) do
    for _, ticket in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, 500)) do
      forget(ticket)
    end
  end
end

local function is_here(ticket)
  return redis.call('ZSCORE', HELD, ticket) or redis.call('ZSCORE', ALIVE, ticket)
end

-- A Redis that is new, or has forgotten all, admits nobody until every driver has said what it holds.
local function mustering_until()
  local mustered_at = redis.call('GET', MUSTERED)
  if not mustered_at then
    mustered_at = now + pace.muster_ms
    redis.call('SET', MUSTERED, mustered_at)
    redis.call('PUBLISH', NEWS, 'muster')
  end
  mustered_at = tonumber(mustered_at)
  return now < mustered_at and mustered_at or nil
end

-- The limits that hold: an older version never replaces a newer one, and only who comes in tells them anew.
local function learn_limits()
  local known = redis.call('GET', LIMITS)
  known = known and cjson.decode(known)
  if known and not (given.tells and given.limits.version >= known.version) then
    return known
  end
  redis.call('SET', LIMITS, cjson.encode(given.limits), 'PX', pace.remember_ms)
  return given.limits
end
