-- Renew every place of one turnstile at once, those that Redis has lost among them, and say who else is about.
-- KEYS: the lines. ARGV[1], as JSON: {turnstile, lease_ms, muster_ms, held: [tickets of the first line, …], alone}
-- `alone`: it let somebody in without asking. Others may have done so too, and come back in this very moment.
local given = cjson.decode(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
for i, line in ipairs(KEYS) do
  for _, ticket in ipairs(given.held[i]) do
    redis.call('ZADD', line .. ':held', now + given.lease_ms, ticket)
    redis.call('ZREM', line .. ':queue', ticket)
    redis.call('ZREM', line .. ':alive', ticket)
  end
end
if given.alone or redis.call('EXISTS', 'places:mustered') == 0 then
  redis.call('SET', 'places:mustered', now + given.muster_ms)
  redis.call('PUBLISH', 'places:news', 'muster')
end
redis.call('ZADD', 'places:turnstiles', now + given.lease_ms, given.turnstile)
redis.call('ZREMRANGEBYSCORE', 'places:turnstiles', '-inf', now)
return cjson.encode({
  turnstiles = redis.call('ZCARD', 'places:turnstiles'),
  troubled = redis.call('SMEMBERS', 'places:troubled'),
})
