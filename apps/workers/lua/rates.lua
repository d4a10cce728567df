-- Requests and tokens in a moving window, counted in sixty buckets: a bucket counts until all of it has left the window,
-- so that no window, wherever it begins, holds more than the limit.
local BUCKETS = 60
local width = pace.window_ms / BUCKETS
local bucket = math.floor(now / width)

-- When `amount` more fits: 0 is now. What is more than the limit itself fits into an empty window.
local function fits_at(key, limit, amount)
  if not limit then
    return 0
  end
  local room = limit - math.min(amount, limit)
  local spent, buckets = 0, {}
  local counted = redis.call('HGETALL', key)
  for i = 1, #counted, 2 do
    local number, count = tonumber(counted[i]), tonumber(counted[i + 1])
    if number < bucket - BUCKETS then
      redis.call('HDEL', key, counted[i])
    else
      spent = spent + count
      table.insert(buckets, { number = number, count = count })
    end
  end
  if spent <= room then
    return 0
  end
  table.sort(buckets, function(one, other) return one.number < other.number end)
  for _, each in ipairs(buckets) do
    spent = spent - each.count
    if spent <= room then
      return math.ceil((each.number + BUCKETS + 1) * width)
    end
  end
end

local function count(key, limit, amount)
  if limit then
    redis.call('HINCRBY', key, bucket, amount)
    redis.call('PEXPIRE', key, math.ceil(pace.window_ms * 2))
  end
end

-- Take the worst case; `correct` gives back what was not used, to the bucket it was taken from.
local function take(limits, ticket, tokens)
  count(REQUESTS, limits.requests_per_minute, 1)
  count(TOKENS, limits.tokens_per_minute, tokens)
  redis.call('HSET', ASKED, ticket, tokens .. ' ' .. bucket)
end

-- The call was not made after all: it takes nothing.
local function untake(ticket)
  local taken, from = string.match(redis.call('HGET', ASKED, ticket) or '', '^(%d+) (%d+)$')
  for key, amount in pairs({ [REQUESTS] = 1, [TOKENS] = tonumber(taken) }) do
    if taken and redis.call('HEXISTS', key, from) == 1 then
      redis.call('HINCRBY', key, from, -amount)
    end
  end
end

local function correct(ticket, used)
  local taken, from = string.match(redis.call('HGET', ASKED, ticket) or '', '^(%d+) (%d+)$')
  if taken and redis.call('HEXISTS', TOKENS, from) == 1 then
    redis.call('HINCRBY', TOKENS, from, used - tonumber(taken))
  end
end
