-- Who is next, and whether there is room. The head of the queue alone is looked at: whoever came first goes first.
local limits = learn_limits()

local function join(ticket, tokens, order)
  if not redis.call('ZSCORE', QUEUE, ticket) then
    if not order then
      local last = redis.call('ZREVRANGE', QUEUE, 0, 0, 'WITHSCORES')[2]
      order = math.max(now_us, last and tonumber(last) + 1 or 0)
    end
    redis.call('ZADD', QUEUE, order, ticket)
    redis.call('HSET', ASKED, ticket, tokens)
  end
  redis.call('ZADD', ALIVE, now + pace.lease_ms, ticket)
end

local function tokens_of(ticket)
  return tonumber(string.match(redis.call('HGET', ASKED, ticket) or '0', '^%d+'))
end

-- Why the head of the queue cannot go now, and when to look again where that is known; nil where it can.
local function obstacle(ticket)
  local opened_at, trial = troubles('opened_at', 'trial')
  if opened_at and trial ~= ticket then
    return 'place', nil -- whoever looks next is turned away
  end
  local free_at = cooling_until()
  if free_at then
    return 'cooling', free_at
  end
  if limits.concurrency and redis.call('ZCARD', HELD) >= limits.concurrency then
    return 'place', nil
  end
  free_at = math.max(
    fits_at(REQUESTS, limits.requests_per_minute, 1),
    fits_at(TOKENS, limits.tokens_per_minute, tokens_of(ticket))
  )
  if free_at > 0 then
    return 'rate', free_at
  end
end

-- A place's lease is the one its ticket had while it waited: a driver that has died meanwhile gets no new one.
local function admit(ticket)
  local lease_ends = redis.call('ZSCORE', ALIVE, ticket)
  local tokens = tokens_of(ticket)
  redis.call('ZREM', QUEUE, ticket)
  redis.call('ZREM', ALIVE, ticket)
  redis.call('ZADD', HELD, lease_ends, ticket)
  take(limits, ticket, tokens)
  pace_the_next()
  if ticket ~= given.ticket then
    local turnstile = string.match(ticket, '^[^:]+')
    redis.call('PUBLISH', NEWS .. ':' .. turnstile, 'granted ' .. given.slug .. ' ' .. ticket)
  end
end

-- Admit from the head of the queue for as long as there is room. Says what keeps the next one waiting.
local function promote()
  local mustered_at = mustering_until()
  if mustered_at then
    return 'place', mustered_at
  end
  while true do
    local head = redis.call('ZRANGE', QUEUE, 0, 0)[1]
    if not head then
      return nil, nil
    end
    local why, free_at = obstacle(head)
    if why then
      return why, free_at
    end
    admit(head)
  end
end

-- What became of the tickets, for the turnstile they belong to.
local function told(tickets, bars)
  local why, free_at = promote()
  local states, trial = {}, troubles('trial')
  for _, ticket in ipairs(tickets) do
    local ahead = redis.call('ZRANK', QUEUE, ticket)
    table.insert(states, {
      ticket = ticket,
      bar = bars[ticket],
      trial = trial == ticket,
      ahead = ahead or nil,
      order = ahead and redis.call('ZSCORE', QUEUE, ticket) or nil,
    })
  end
  return cjson.encode({ now = now, why = why, free_at = free_at, tickets = states })
end
